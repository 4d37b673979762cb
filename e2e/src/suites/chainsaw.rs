//! One run of chainsaw over some suites.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::catalog::Suite;
use super::output::{News, Reader, Result as SuiteResult};
use crate::Error;
use crate::progress::Progress;
use crate::tools::{Built, Tool};
use crate::topology::Planes;

/// How many lines of a suite that failed are shown; its log has them all.
const SHOWN: usize = 40;

/// What chainsaw is run with.
pub struct Context<'a> {
    /// The program.
    pub chainsaw: &'a Path,
    /// This program, as scripts are to call it.
    pub this: &'a Path,
    /// Where scripts find kubectl, and with it the users' command line.
    pub path: [&'a Path; 2],
    /// The planes.
    pub planes: &'a Planes,
    /// Where fedhub answers.
    pub fedhub_url: String,
    /// What suites need beside that.
    pub programs: &'a Programs,
    /// How many suites run at once.
    pub parallel: usize,
    /// How long an operation may take.
    pub timeout: Duration,
    /// Where it says what it does.
    pub progress: &'a Progress,
}

/// Programs that only some suites need; empty where none of those that run does.
#[derive(Default)]
pub struct Programs {
    previous_release: PathBuf,
    collector: PathBuf,
    terminals: Option<Built>,
    bash_completion: PathBuf,
    fish: PathBuf,
    zsh: PathBuf,
}

impl Programs {
    /// Records where a tool was built, so that scripts find its program.
    pub fn keep(&mut self, tool: Tool, built: &Built) {
        match tool {
            Tool::PreviousRelease => self.previous_release = built.program("fedhub"),
            Tool::Collector => self.collector = built.program("otelcol"),
            Tool::Tmux => self.terminals = Some(built.clone()),
            Tool::BashCompletion => self.bash_completion = built.dir().into(),
            Tool::Fish => self.fish = built.dir().into(),
            Tool::Zsh => self.zsh = built.dir().into(),
            _ => {}
        }
    }

    fn terminal(&self) -> PathBuf {
        self.terminals.as_ref().map(|built| built.program("usr/bin/tmux")).unwrap_or_default()
    }
}

/// A suite that came to its end.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub result: SuiteResult,
    /// When.
    pub ended: Instant,
}

/// Ends chainsaw and its scripts with this value, also on an interruption.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

/// Runs suites together. Says of each how it ended, and shows what was said about those that failed.
pub async fn run(context: &Context<'_>, suites: &[Suite]) -> Result<Vec<Ran>, Error> {
    let mut command = tokio::process::Command::new(context.chainsaw);
    command.arg("test").arg("--no-color").arg("--config").arg(configuration(context)?);
    for suite in suites {
        command.arg("--test-dir").arg(&suite.directory);
    }
    environment(context, &mut command);
    // A group of its own, for its scripts are to end with it.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(Error::file("start", context.chainsaw))?;
    let mut group = Group(child.id().and_then(|pid| i32::try_from(pid).ok()).map(Pid::from_raw));
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let mut reader = Reader::default();
    let mut ends = BTreeMap::new();
    let errors = async {
        let mut lines = Vec::new();
        follow(stderr, context.chainsaw, |line| lines.push(line.to_owned())).await.map(|()| lines)
    };
    let said = follow(stdout, context.chainsaw, |line| {
        if let Some(News::Through(name)) = reader.line(line) {
            context.progress.step(format!("{name}: through"));
            ends.insert(name, Instant::now());
        }
    });
    let ((), errors) = tokio::try_join!(said, errors)?;
    let status = child.wait().await.map_err(Error::file("wait for", context.chainsaw))?;
    group.0 = None;
    for suite in suites {
        let log = context.planes.layout().log(&format!("suite-{}", suite.name));
        fs::write(&log, reader.lines(&suite.name).join("\n")).map_err(Error::file("write", log))?;
    }
    for result in reader.results() {
        report(context, &reader, result);
    }
    if let Some(missing) =
        suites.iter().find(|suite| !reader.results().iter().any(|result| result.name == suite.name))
    {
        let output = reader.others().iter().chain(&errors).cloned().collect::<Vec<_>>().join("\n");
        let command = format!("chainsaw test {}", missing.name);
        return Err(Error::Command { command, status: status.to_string(), output });
    }
    let now = Instant::now();
    let results = reader.results().iter().cloned();
    Ok(results.map(|result| Ran { ended: ends.get(&result.name).copied().unwrap_or(now), result }).collect())
}

async fn follow(
    stream: Option<impl AsyncRead + Unpin>,
    program: &Path,
    mut line: impl FnMut(&str),
) -> Result<(), Error> {
    let Some(stream) = stream else { return Ok(()) };
    let mut stream = BufReader::new(stream);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = stream.read_until(b'\n', &mut bytes).await;
        if read.map_err(Error::file("read from", program))? == 0 {
            return Ok(());
        }
        line(String::from_utf8_lossy(&bytes).trim_end());
    }
}

fn report(context: &Context<'_>, reader: &Reader, result: &SuiteResult) {
    let SuiteResult { name, passed, time } = result;
    let seconds = time.as_secs_f64();
    if *passed {
        context.progress.step(format!("PASS {name} ({seconds:.1} s)"));
        return;
    }
    let layout = context.planes.layout();
    context.progress.warn(format!(
        "FAIL {name} ({seconds:.1} s); of {}:\n{}\nfedhub's log: {}",
        layout.log(&format!("suite-{name}")).display(),
        reader.reason(name, SHOWN).join("\n"),
        layout.log("fedhub").display(),
    ));
}

fn environment(context: &Context<'_>, command: &mut tokio::process::Command) {
    let layout = context.planes.layout();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let path = context.path.iter().map(|path| path.to_path_buf()).chain(std::env::split_paths(&rest));
    let libraries = context.programs.terminals.as_ref().map(Built::libraries).unwrap_or_default();
    let default = context.planes.kubeconfig("project-a");
    command
        .env("PATH", std::env::join_paths(path).unwrap_or(rest))
        .env("E2E", context.this)
        .env("E2E_INSTANCE", layout.name())
        .env("FEDHUB_URL", &context.fedhub_url)
        .env("FEDHUB_LOG", layout.log("fedhub"))
        .env("PREVIOUS_RELEASE", &context.programs.previous_release)
        .env("COLLECTOR", &context.programs.collector)
        .env("TMUX_PROGRAM", context.programs.terminal())
        .env("TMUX_LIBRARIES", std::env::join_paths(libraries).unwrap_or_default())
        .env("BASH_COMPLETION", &context.programs.bash_completion)
        .env("FISH", &context.programs.fish)
        .env("ZSH", &context.programs.zsh)
        .env("CELLS", layout.cell_role_kubeconfig("project-a").parent().unwrap_or(layout.root()))
        .env("KUBECONFIGS", default.parent().unwrap_or(layout.root()))
        // Chainsaw insists on a default cluster, although every suite names its own.
        .env("KUBECONFIG", default);
}

/// Nothing is cleaned up: the planes are thrown away, and `restart-writes-nothing` sees what all others left.
fn configuration(context: &Context<'_>) -> Result<PathBuf, Error> {
    let planes = context.planes.cells().planes();
    let clusters: serde_json::Map<_, _> = planes
        .map(|plane| (plane.name.to_owned(), json!({ "kubeconfig": context.planes.kubeconfig(plane.name) })))
        .collect();
    let time = format!("{}s", context.timeout.as_secs());
    let configuration = json!({
        "apiVersion": "chainsaw.kyverno.io/v1alpha2",
        "kind": "Configuration",
        "metadata": { "name": "fedhub" },
        "spec": {
            "clusters": clusters,
            "cleanup": { "skipDelete": true },
            "execution": { "parallel": context.parallel },
            "timeouts": {
                "apply": time, "assert": time, "cleanup": time, "delete": time, "error": time, "exec": time,
            },
        },
    });
    let directory = context.planes.layout().scratch("chainsaw");
    fs::create_dir_all(&directory).map_err(Error::file("create", &directory))?;
    let path = directory.join("configuration.yaml");
    let json = serde_json::to_vec_pretty(&configuration)
        .map_err(|error| Error::Manifest { path: path.clone(), problem: error.to_string() })?;
    fs::write(&path, json).map_err(Error::file("write", &path))?;
    Ok(path)
}
