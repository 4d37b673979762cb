//! What an instance consists of while it runs, in `state.json`: enough for any later command to end it,
//! restart parts of it, or find its way to it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::layout::{Layout, write_atomically};
use super::planes::{Cells, Role};
use super::process::{self, Identity};
use crate::Error;

/// The variable that marks every process of an instance.
const MARK: &str = "FEDHUB_PLANES_RUN";

/// An instance, as it is written down.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    /// The instance's name.
    pub name: String,
    /// Random, new for each `up`: marks the processes of this run in their environment.
    pub run: String,
    /// Which cells it has.
    pub cells: Cells,
    /// Whether `up` came to its end.
    pub ready: bool,
    /// Ports by what listens on them.
    pub ports: BTreeMap<String, u16>,
    /// The processes in the order of their start.
    pub processes: Vec<Process>,
}

/// How a process is started. Kept, so that it can be started again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Command {
    /// Its name, unique in the instance.
    pub name: String,
    /// When it is ended.
    pub role: Role,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// A process that was started, or was about to be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Process {
    /// How it is started.
    pub command: Command,
    /// Its identity; `None` if the harness was killed in the instant between starting it and writing this.
    pub identity: Option<Identity>,
    /// Whether it was stopped on purpose.
    pub stopped: bool,
}

impl State {
    /// A new run without processes.
    pub fn new(layout: &Layout, cells: Cells, ports: BTreeMap<String, u16>) -> Result<Self, Error> {
        let run = super::pki::random_token()?;
        Ok(Self { name: layout.name().to_owned(), run, cells, ready: false, ports, processes: Vec::new() })
    }

    /// What is written down for an instance, if anything is.
    pub fn load(layout: &Layout) -> Result<Option<Self>, Error> {
        let path = layout.state();
        match fs::read(&path) {
            Ok(content) => match serde_json::from_slice(&content) {
                Ok(state) => Ok(Some(state)),
                Err(error) => Err(Error::Manifest { path, problem: error.to_string() }),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("read", path)(error)),
        }
    }

    /// Writes it down.
    pub fn save(&self, layout: &Layout) -> Result<(), Error> {
        let path = layout.state();
        let content = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::Manifest { path: path.clone(), problem: error.to_string() })?;
        write_atomically(&path, &content)
    }

    /// The port of that name.
    pub fn port(&self, name: &str) -> Result<u16, Error> {
        self.ports.get(name).copied().ok_or_else(|| Error::Unknown {
            kind: "port",
            name: name.to_owned(),
            known: self.ports.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }

    /// The entry of that name.
    pub fn process_mut(&mut self, name: &str) -> Option<&mut Process> {
        self.processes.iter_mut().find(|process| process.command.name == name)
    }

    /// The environment entry that marks a process as this run's; its name distinguishes two that run one
    /// program.
    pub fn mark(&self, process: &str) -> (&'static str, String) {
        (MARK, format!("{}/{process}", self.run))
    }

    /// Fills in who the processes are that were started but not written down.
    pub fn identify(&mut self) {
        let run = self.run.clone();
        for process in self.processes.iter_mut().filter(|process| process.identity.is_none()) {
            let mark = format!("{MARK}={run}/{}", process.command.name);
            process.identity = process::find(&process.command.program, &mark);
        }
    }
}

impl Process {
    /// Whether it runs.
    pub fn runs(&self) -> bool {
        self.identity.as_ref().is_some_and(|identity| identity.runs(&self.command.program))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_not_written_down_is_found_by_its_mark() {
        let planes = tempfile::tempdir().unwrap();
        let layout = Layout::below(planes.path(), "x").unwrap();
        layout.create_root().unwrap();
        let program = fs::canonicalize("/bin/sleep").unwrap();
        let mut state = State::new(&layout, Cells::Two, BTreeMap::new()).unwrap();
        let (variable, mark) = state.mark("sleeper");
        let arguments = vec!["60".to_owned()];
        let mut child =
            std::process::Command::new("/bin/sleep").args(&arguments).env(variable, mark).spawn().unwrap();
        for name in ["sleeper", "never-started"] {
            let command = Command {
                name: name.to_owned(),
                role: Role::Etcd,
                program: program.clone(),
                arguments: arguments.clone(),
            };
            state.processes.push(Process { command, identity: None, stopped: false });
        }
        state.save(&layout).unwrap();

        let mut read = State::load(&layout).unwrap().unwrap();
        // Its environment can be read a moment after its start, when it is a process of that program.
        let started = std::time::Instant::now();
        while read.processes[0].identity.is_none() && started.elapsed().as_secs() < 30 {
            read.identify();
            std::thread::yield_now();
        }
        let found = read.processes[0].identity.clone();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found.unwrap().pid, i32::try_from(child.id()).unwrap());
        assert_eq!(read.processes[1].identity, None);
        assert!(!read.processes[0].runs());
    }
}
