//! What is written down of a process beside an instance: enough for any later command to signal exactly that
//! process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};
use tokio::process::Child;

use super::member::Member;
use super::pod::{Pod, name_of};
use crate::Error;
use crate::topology::Layout;
use crate::topology::process::{self, Identity};
use crate::topology::wait::{NotYet, until};

/// The variable that marks the process; its value is the file with what is written down of it.
const MARK: &str = "FEDHUB_E2E_STATE";
/// How long it may take to end by itself: its own limit is ten seconds.
const STOP: Duration = Duration::from_secs(20);

/// How one that was started before is started for once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Once {
    /// The components of `deploy/`.
    pub components: Vec<String>,
    /// The plane, in place of its own.
    pub plane: Option<String>,
    /// The flags of `fedhub run`, each in place of the one of its name if there is one.
    pub flags: Vec<String>,
    /// The variables, each in place of the one of its name if there is one.
    pub variables: Vec<(String, String)>,
    /// The program, in place of the one that it was first started from.
    pub program: Option<PathBuf>,
}

/// The state that is stored of a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its variables.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Flags that it is given at every start, in place of those of their names.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Where its page is.
    pub port: u16,
    /// The one that runs was started with other flags, for a while.
    #[serde(default)]
    pub otherwise: bool,
    /// The program of the one that runs, where it was started from another.
    #[serde(default)]
    pub other_program: Option<PathBuf>,
    /// `None` if the harness was killed in the instant between starting it and writing this.
    pub identity: Option<Identity>,
}

impl State {
    /// Returns the state of a process that does not run yet.
    pub fn new(program: PathBuf, pod: Pod, port: u16) -> Self {
        let Pod { arguments, environment } = pod;
        let flags = Vec::new();
        let otherwise = false;
        let other_program = None;
        let identity = None;
        Self { program, arguments, environment, flags, port, otherwise, other_program, identity }
    }

    /// Reads the stored state of a process, if it was ever started.
    pub fn load(layout: &Layout, member: Member) -> Result<Option<Self>, Error> {
        let path = member.file(layout);
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file("read", path)(error)),
        };
        let mut state: Self = serde_json::from_slice(&content)
            .map_err(|error| Error::Manifest { path: path.clone(), problem: error.to_string() })?;
        if state.identity.is_none() {
            state.identity = process::find(state.running(), &format!("{MARK}={}", path.display()));
        }
        Ok(Some(state))
    }

    /// Writes it down.
    pub fn save(&self, layout: &Layout, member: Member) -> Result<(), Error> {
        let path = member.file(layout);
        let content = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::Manifest { path: path.clone(), problem: error.to_string() })?;
        crate::topology::write_atomically(&path, &content)
    }

    /// Forgets a process.
    pub fn forget(layout: &Layout, member: Member) -> Result<(), Error> {
        let path = member.file(layout);
        fs::remove_file(&path).map_err(Error::file("remove", path))
    }

    /// The program of the process that runs.
    pub fn running(&self) -> &Path {
        self.other_program.as_deref().unwrap_or(&self.program)
    }

    /// Starts the process, as `pod` for this once if there is one, with the flags and variables of `once` in
    /// place of those of their names. The child itself need not be awaited: the runtime reaps it, and later
    /// checks go by its identity.
    pub fn spawn(
        &mut self,
        layout: &Layout,
        member: Member,
        pod: Option<&Pod>,
        once: &Once,
    ) -> Result<Child, Error> {
        let path = layout.log(&member.name());
        let log =
            fs::File::options().create(true).append(true).open(&path).map_err(Error::file("open", &path))?;
        let errors = log.try_clone().map_err(Error::file("open", &path))?;
        // The kernel names a process's program without symbolic links.
        let canonical = |path: &PathBuf| fs::canonicalize(path).map_err(Error::file("find", path));
        self.other_program = once.program.as_ref().map(canonical).transpose()?;
        self.otherwise =
            pod.is_some() || !once.flags.is_empty() || !once.variables.is_empty() || once.program.is_some();
        self.identity = None;
        self.save(layout, member)?;
        let mut command = tokio::process::Command::new(self.running());
        let (arguments, environment) =
            pod.map_or((&self.arguments, &self.environment), |pod| (&pod.arguments, &pod.environment));
        let arguments = replaced(&replaced(arguments, &self.flags), &once.flags);
        command.args(arguments).current_dir(layout.root());
        // Nothing but this: fedhub takes its flags from the environment too.
        command
            .env_clear()
            .env(MARK, member.file(layout))
            .envs(environment)
            .envs(once.variables.iter().cloned());
        for kept in ["PATH", "HOME", "TMPDIR"] {
            command.envs(std::env::var_os(kept).map(|value| (kept, value)));
        }
        // A group of its own: Ctrl-C at the terminal reaches the harness alone, which ends things in order.
        command.stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
        let child = command.spawn().map_err(Error::file("start", self.running()))?;
        self.identity = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Identity::from_pid);
        self.save(layout, member)?;
        Ok(child)
    }

    /// Whether it runs, paused or not.
    pub fn runs(&self) -> bool {
        self.identity.as_ref().is_some_and(|identity| identity.runs(self.running()))
    }

    /// Sends it a signal, if it runs.
    pub fn signal(&self, signal: Signal) {
        if let Some(identity) = &self.identity {
            identity.signal(self.running(), signal);
        }
    }

    /// Asks it to end and waits until it has. One that does not in time is killed, and that is an error.
    pub async fn stop(&self) -> Result<(), Error> {
        self.signal(Signal::SIGTERM);
        // One that is paused hears of it only when it goes on.
        self.signal(Signal::SIGCONT);
        let ended = self.ended().await;
        if ended.is_err() {
            self.kill().await?;
        }
        ended
    }

    /// Kills it and waits until it is gone.
    pub async fn kill(&self) -> Result<(), Error> {
        self.signal(Signal::SIGKILL);
        self.ended().await
    }

    async fn ended(&self) -> Result<(), Error> {
        until("fedhub to end", STOP, || async {
            if self.runs() { Err(NotYet::again("it runs")) } else { Ok(()) }
        })
        .await
    }
}

/// The arguments, with each flag in place of the one of its name.
pub fn replaced(arguments: &[String], flags: &[String]) -> Vec<String> {
    arguments
        .iter()
        .filter(|argument| !flags.iter().any(|flag| name_of(flag) == name_of(argument)))
        .chain(flags)
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_takes_the_place_of_the_one_of_its_name() {
        let of = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        let arguments = of(&["run", "--discovery=kubeconfigs", "--workers=2"]);
        assert_eq!(replaced(&arguments, &[]), arguments);
        let flags = of(&["--discovery=milo", "--discovery-kubeconfig=x"]);
        let expected = of(&["run", "--workers=2", "--discovery=milo", "--discovery-kubeconfig=x"]);
        assert_eq!(replaced(&arguments, &flags), expected);
    }
}
