//! fedhub as a process of its own beside an instance of the planes, with the identities that `deploy/` gives it.
//!
//! ```no_run
//! # async fn example() -> Result<(), fedhub_e2e::Error> {
//! use fedhub_e2e::{fedhub::{Fedhub, Options}, planes::{self, Planes}};
//!
//! let planes = Planes::up(&planes::Options::new("demo")).await?;
//! let fedhub = Fedhub::start(planes.layout(), &Options::new()).await?;
//! fedhub.stop().await?; // SIGTERM, and waits
//! fedhub.start_again().await?; // as it was started before
//! fedhub.end().await?;
//! planes.down().await
//! # }
//! ```
//!
//! What runs is written down in the instance's directory, so that any later command ([`Fedhub::load`]) can stop,
//! kill and start it, also a script within a suite, and also after the harness itself was killed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    Error,
    planes::{
        Layout, ports, ports_directory,
        process::{self, Identity},
        topology::{HUB, MANAGEMENT, projects},
        wait::{NotYet, http_ok, until},
    },
};

/// What the process, its log and its port are called.
const NAME: &str = "fedhub";
/// The variable that marks the process; its value is the instance's directory.
const MARK: &str = "FEDHUB_E2E_INSTANCE";
/// How long fedhub may take to become ready, and to have engaged every project plane.
const START: Duration = Duration::from_mins(1);
/// Samples that are zero while there is nothing to do. What the federator has pending includes policies in their
/// quiet time; what the projector has pending includes Instances whose grace runs, so its failures are asked for.
const AT_WORK: [&str; 3] = [
    "fedhub_queue_depth{",
    "fedhub_objects{controller=\"federator\",state=\"pending\"}",
    "fedhub_oldest_unsynced_seconds{controller=\"projector\"}",
];
/// How long it may take to end by itself: its own limit is ten seconds.
const STOP: Duration = Duration::from_secs(20);

/// How fedhub is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program.
    pub program: PathBuf,
    /// Flags of `fedhub run` after those that the harness gives; a flag given twice is an error of fedhub's.
    pub arguments: Vec<String>,
}

impl Options {
    /// The `fedhub` beside the running program: one `cargo build` makes both.
    pub fn new() -> Self {
        let here = std::env::current_exe().unwrap_or_default();
        Self { program: here.with_file_name(NAME), arguments: Vec::new() }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

/// A fedhub beside an instance. Dropping it leaves it running; [`end`] ends it.
#[derive(Debug, Clone)]
pub struct Fedhub {
    layout: Layout,
    port: u16,
}

/// What is written down.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    program: PathBuf,
    arguments: Vec<String>,
    port: u16,
    /// The one that runs was started with other flags, for a while.
    #[serde(default)]
    otherwise: bool,
    /// Nobody, if the harness was killed in the instant between starting it and writing this.
    identity: Option<Identity>,
}

impl Fedhub {
    /// Starts fedhub for an instance and waits until it is ready and has engaged every project plane. One that
    /// still runs there is ended first.
    pub async fn start(layout: &Layout, options: &Options) -> Result<Self, Error> {
        end(layout).await?;
        let name = [NAME.to_owned()];
        let port = ports::reserve(&ports_directory(), layout, &name)?.values().copied().next();
        let port = port.unwrap_or_default();
        // The kernel names a process's program without symbolic links.
        let program = fs::canonicalize(&options.program).map_err(Error::file("find", &options.program))?;
        let mut arguments = flags(layout, port);
        arguments.push("--leader-elect=false".to_owned());
        arguments.extend(options.arguments.iter().cloned());
        State { program, arguments, port, otherwise: false, identity: None }.save(layout)?;
        let fedhub = Self { layout: layout.clone(), port };
        fedhub.start_again().await?;
        Ok(fedhub)
    }

    /// The fedhub that some earlier command started beside an instance, whether or not it runs now.
    pub fn load(layout: &Layout) -> Result<Self, Error> {
        let state = State::load(layout)?.ok_or_else(|| not_started(layout))?;
        Ok(Self { layout: layout.clone(), port: state.port })
    }

    /// Starts it as it was started before, and waits as [`Self::start`] does. Does nothing to one that runs, unless
    /// it was started otherwise.
    pub async fn start_again(&self) -> Result<(), Error> {
        let state = self.state()?;
        if state.runs() && !state.otherwise {
            return self.ready().await;
        }
        self.start_with(&[]).await
    }

    /// Starts it with these flags for once, each in place of the one of its name if there is one; the next start is
    /// as before. One that runs is stopped.
    pub async fn start_with(&self, flags: &[String]) -> Result<(), Error> {
        self.stop().await?;
        let lock = self.layout.lock().await?;
        let mut state = self.state()?;
        if !state.runs() {
            state.otherwise = !flags.is_empty();
            state.spawn(&self.layout, flags)?;
        }
        drop(lock);
        self.ready().await
    }

    /// Asks it to end (SIGTERM) and waits until it has. One that does not in time is killed, and that is an error.
    pub async fn stop(&self) -> Result<(), Error> {
        let state = self.state()?;
        state.signal(Signal::SIGTERM);
        let ended = state.ended(STOP).await;
        if ended.is_err() {
            self.kill().await?;
        }
        ended
    }

    /// Kills it (SIGKILL), as a machine that fails would.
    pub async fn kill(&self) -> Result<(), Error> {
        let state = self.state()?;
        state.signal(Signal::SIGKILL);
        state.ended(STOP).await
    }

    /// [`Self::stop`], then [`Self::start_again`].
    pub async fn restart(&self) -> Result<(), Error> {
        self.stop().await?;
        self.start_again().await
    }

    /// Its PID, while it runs.
    pub fn pid(&self) -> Option<i32> {
        self.state().ok().filter(State::runs)?.identity.map(|identity| identity.pid)
    }

    /// What it writes; a restart goes on in the same file.
    pub fn log(&self) -> PathBuf {
        self.layout.log(NAME)
    }

    /// Where it answers `/livez`, `/readyz` and `/metrics`: the same after a restart.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A scrape.
    pub async fn metrics(&self) -> Result<String, Error> {
        let answer = get(self.port, "/metrics").await.map_err(Error::file("scrape", self.url()))?;
        Ok(answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }

    /// Waits until it has nothing left to do: nothing is queued or waits for another try, and no pass began between
    /// two looks. What it cannot do (a quarantined Instance, a WD without a cell) does not count.
    pub async fn settled(&self) -> Result<(), Error> {
        let before = std::cell::Cell::new(None);
        until("fedhub to come to rest", START, || async {
            self.check()?;
            let metrics = self.metrics().await.map_err(NotYet::again)?;
            let passes = total(&metrics, "fedhub_reconciles_total{");
            let waiting = AT_WORK.iter().map(|name| total(&metrics, name)).sum::<f64>();
            // Straight after a start nothing waits yet: everything has to have had its pass.
            let begun = passes >= total(&metrics, "fedhub_objects{");
            let quiet = begun && waiting == 0.0 && before.replace(Some(passes)) == Some(passes);
            if quiet { Ok(()) } else { Err(NotYet::again(format!("{passes} passes, {waiting}"))) }
        })
        .await
    }

    /// Stops it, kindly if it lets us, and forgets it.
    pub async fn end(self) -> Result<(), Error> {
        end(&self.layout).await
    }

    async fn ready(&self) -> Result<(), Error> {
        until("fedhub to be ready", START, || async {
            self.check()?;
            http_ok(self.port, "/readyz").await
        })
        .await?;
        let planes = projects().count();
        until("fedhub to engage every project plane", START, || async {
            self.check()?;
            let metrics = self.metrics().await.map_err(NotYet::again)?;
            match sample(&metrics, "fedhub_planes{state=\"engaged\"}") {
                #[allow(clippy::cast_precision_loss)] // a handful
                Some(engaged) if engaged >= planes as f64 => Ok(()),
                engaged => Err(NotYet::again(format!("engaged: {engaged:?} of {planes}"))),
            }
        })
        .await
    }

    /// Fails once it has ended.
    fn check(&self) -> Result<(), NotYet> {
        if self.state().map_err(NotYet::Never)?.runs() {
            return Ok(());
        }
        let log = self.log();
        let content = fs::read_to_string(&log).unwrap_or_default();
        let lines: Vec<_> = content.lines().collect();
        let tail = lines[lines.len().saturating_sub(15)..].join("\n");
        Err(NotYet::Never(Error::ProcessEnded { process: NAME.to_owned(), log, tail }))
    }

    fn state(&self) -> Result<State, Error> {
        State::load(&self.layout)?.ok_or_else(|| not_started(&self.layout))
    }
}

/// Ends whatever fedhub was started beside an instance, in whatever state it is.
pub async fn end(layout: &Layout) -> Result<(), Error> {
    let Some(state) = State::load(layout)? else { return Ok(()) };
    state.signal(Signal::SIGTERM);
    if state.ended(STOP).await.is_err() {
        state.signal(Signal::SIGKILL);
        state.ended(STOP).await?;
    }
    let path = State::path(layout);
    fs::remove_file(&path).map_err(Error::file("remove", path))
}

/// What every fedhub beside an instance is told.
pub(crate) fn flags(layout: &Layout, port: u16) -> Vec<String> {
    vec![
        "run".to_owned(),
        "--enable-management-controllers".to_owned(),
        "--discovery=kubeconfigs".to_owned(),
        format!("--hub-kubeconfig={}", layout.fedhub_kubeconfig(HUB).display()),
        format!("--management-kubeconfig={}", layout.fedhub_kubeconfig(MANAGEMENT).display()),
        format!("--admin-address=127.0.0.1:{port}"),
    ]
}

/// The value of a sample of a scrape, by its name with all its labels.
pub fn sample(metrics: &str, name: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The sum of the samples whose names begin so.
fn total(metrics: &str, prefix: &str) -> f64 {
    let values = metrics.lines().filter(|line| line.starts_with(prefix));
    values.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

fn not_started(layout: &Layout) -> Error {
    let known = format!("none was started beside instance `{}`", layout.name());
    Error::Unknown { kind: "process", name: NAME.to_owned(), known }
}

/// An answer of a process on this machine, its head included.
pub(crate) async fn get(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

impl State {
    /// Beside fedhub's kubeconfigs: it goes with the instance.
    fn path(layout: &Layout) -> PathBuf {
        layout.fedhub_kubeconfig(HUB).with_file_name("process.json")
    }

    fn load(layout: &Layout) -> Result<Option<Self>, Error> {
        let path = Self::path(layout);
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file("read", path)(error)),
        };
        let mut state: Self = serde_json::from_slice(&content)
            .map_err(|error| Error::Manifest { path, problem: error.to_string() })?;
        if state.identity.is_none() {
            state.identity = process::find(&state.program, &format!("{MARK}={}", mark(layout)));
        }
        Ok(Some(state))
    }

    fn save(&self, layout: &Layout) -> Result<(), Error> {
        let path = Self::path(layout);
        let content = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::Manifest { path: path.clone(), problem: error.to_string() })?;
        crate::planes::write_atomically(&path, &content)
    }

    fn spawn(&mut self, layout: &Layout, flags: &[String]) -> Result<(), Error> {
        let path = layout.log(NAME);
        let log =
            fs::File::options().create(true).append(true).open(&path).map_err(Error::file("open", &path))?;
        let errors = log.try_clone().map_err(Error::file("open", &path))?;
        self.identity = None;
        self.save(layout)?;
        let mut command = tokio::process::Command::new(&self.program);
        command.args(replaced(&self.arguments, flags)).current_dir(layout.root());
        // Nothing but this: fedhub takes its flags from the environment too.
        command.env_clear().env(MARK, mark(layout));
        for kept in ["PATH", "HOME", "TMPDIR"] {
            command.envs(std::env::var_os(kept).map(|value| (kept, value)));
        }
        // A group of its own: Ctrl-C at the terminal reaches the harness alone, which ends things in order. Nobody
        // waits for the child itself: the runtime reaps it, and whoever looks at it does so by its identity.
        command.stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
        let child = command.spawn().map_err(Error::file("start", &self.program))?;
        self.identity = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Identity::of);
        self.save(layout)
    }

    fn runs(&self) -> bool {
        self.identity.as_ref().is_some_and(|identity| identity.runs(&self.program))
    }

    fn signal(&self, signal: Signal) {
        if let Some(identity) = &self.identity {
            identity.signal(&self.program, signal);
        }
    }

    async fn ended(&self, limit: Duration) -> Result<(), Error> {
        until("fedhub to end", limit, || async {
            if self.runs() { Err(NotYet::again("it runs")) } else { Ok(()) }
        })
        .await
    }
}

/// The arguments, with each flag in place of the one of its name.
fn replaced<'a>(arguments: &'a [String], flags: &'a [String]) -> Vec<&'a String> {
    let name = |argument: &'a String| argument.split('=').next();
    let stays = |argument: &&'a String| !flags.iter().any(|flag| name(flag) == name(argument));
    arguments.iter().filter(stays).chain(flags).collect()
}

fn mark(layout: &Layout) -> &str {
    Path::to_str(layout.root()).unwrap_or_else(|| layout.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_found_by_its_whole_name() {
        let metrics = "# TYPE fedhub_planes gauge\nfedhub_planes{state=\"engaged\"} 2\nfedhub_planesx 3\n";
        assert_eq!(sample(metrics, "fedhub_planes{state=\"engaged\"}"), Some(2.0));
        assert_eq!(sample(metrics, "fedhub_planes"), None);
    }

    #[test]
    fn a_flag_takes_the_place_of_the_one_of_its_name() {
        let of = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        let arguments = of(&["run", "--discovery=kubeconfigs", "--workers=2"]);
        assert_eq!(replaced(&arguments, &[]), arguments.iter().collect::<Vec<_>>());
        let flags = of(&["--discovery=milo", "--discovery-kubeconfig=x"]);
        let expected = of(&["run", "--workers=2", "--discovery=milo", "--discovery-kubeconfig=x"]);
        assert_eq!(replaced(&arguments, &flags), expected.iter().collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn what_was_started_is_found_and_ended_by_a_later_command() {
        let planes = tempfile::tempdir().unwrap();
        let layout = Layout::below(planes.path(), "x").unwrap();
        layout.create_root().unwrap();
        layout.create().unwrap();
        assert!(Fedhub::load(&layout).is_err());
        let program = fs::canonicalize("/bin/sleep").unwrap();
        let arguments = vec!["60".to_owned()];
        let mut state = State { program, arguments, port: 1, otherwise: false, identity: None };
        state.spawn(&layout, &[]).unwrap();
        state.identity = None;
        state.save(&layout).unwrap();
        let fedhub = Fedhub::load(&layout).unwrap();
        assert!(fedhub.pid().is_some());
        fedhub.stop().await.unwrap();
        assert_eq!(fedhub.pid(), None);
        fedhub.end().await.unwrap();
        assert!(Fedhub::load(&layout).is_err());
    }
}
