//! Starts and ends an instance's processes, and records each before and after it is started, so that a later
//! command can end what a killed harness left.

use std::collections::HashMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command as Spawn, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::layout::Layout;
use super::planes::Role;
use super::state::{Command, Process, State};
use super::wait::NotYet;
use crate::Error;

/// How long a process may take to end by itself. The rest of its work is not needed here.
const GRACE: Duration = Duration::from_secs(1);

/// Go's collector runs when the heap has grown by so many percent, not by its default of 100: the planes'
/// programs spend processors, which two lanes have too few of, and not memory.
const GARBAGE_COLLECTION: (&str, &str) = ("GOGC", "400");

/// The processes of one instance.
pub struct Supervisor {
    layout: Layout,
    inner: Mutex<Inner>,
}

struct Inner {
    state: State,
    /// Those that this harness started itself: they stay zombies until it has asked how they ended.
    children: HashMap<String, Child>,
    /// Whether everything ends with this value.
    armed: bool,
}

impl Supervisor {
    /// Supervises an instance. `armed`: every process ends when this value is dropped, until
    /// [`Self::disarm`].
    pub fn new(layout: Layout, state: State, armed: bool) -> Self {
        Self { layout, inner: Mutex::new(Inner { state, children: HashMap::new(), armed }) }
    }

    /// From now on the processes outlive this value.
    pub fn disarm(&self) -> Result<(), Error> {
        let mut inner = self.inner();
        inner.armed = false;
        inner.state.ready = true;
        inner.state.save(&self.layout)
    }

    /// Takes over what another command has written down since. The caller holds the instance's lock.
    pub fn reload(&self) -> Result<(), Error> {
        let state = State::load(&self.layout)?.filter(|state| state.ready);
        self.inner().state = state.ok_or_else(|| Error::NotUp(self.layout.name().to_owned()))?;
        Ok(())
    }

    /// What is written down.
    pub fn state(&self) -> State {
        self.inner().state.clone()
    }

    /// Starts a process, or starts it again.
    pub fn start(&self, mut command: Command) -> Result<(), Error> {
        // The kernel names a process's program without symbolic links.
        command.program =
            fs::canonicalize(&command.program).map_err(Error::file("find", &command.program))?;
        let name = command.name.clone();
        let log_path = self.layout.log(&name);
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(&log_path)
            .map_err(Error::file("open", &log_path))?;
        let errors = log.try_clone().map_err(Error::file("open", &log_path))?;

        let mut inner = self.inner();
        let entry = Process { command: command.clone(), identity: None, stopped: false };
        match inner.state.process_mut(&name) {
            Some(known) => *known = entry,
            None => inner.state.processes.push(entry),
        }
        inner.state.save(&self.layout)?;

        let (variable, mark) = inner.state.mark(&name);
        let mut spawn = Spawn::new(&command.program);
        spawn.args(&command.arguments).current_dir(self.layout.root());
        spawn.env_clear().env(variable, mark).envs([GARBAGE_COLLECTION]);
        for kept in ["PATH", "HOME", "TMPDIR"] {
            spawn.envs(std::env::var_os(kept).map(|value| (kept, value)));
        }
        // A group of its own: Ctrl-C at the terminal reaches the harness alone, which ends things in order.
        spawn.stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
        let child = spawn.spawn().map_err(Error::file("start", &command.program))?;
        let identity = i32::try_from(child.id()).ok().and_then(super::process::Identity::from_pid);
        inner.children.insert(name.clone(), child);
        if let Some(known) = inner.state.process_mut(&name) {
            known.identity = identity;
        }
        inner.state.save(&self.layout)
    }

    /// Fails once a process that should serve has ended.
    pub fn check(&self, name: &str) -> Result<(), NotYet> {
        let mut inner = self.inner();
        if inner.state.process_mut(name).is_none_or(|process| process.runs()) {
            return Ok(());
        }
        let log = self.layout.log(name);
        let tail = tail(&fs::read_to_string(&log).unwrap_or_default());
        let process = name.to_owned();
        Err(NotYet::Never(if tail.contains("address already in use") {
            Error::PortTaken { process, log }
        } else {
            Error::ProcessEnded { process, log, tail }
        }))
    }

    /// Ends some processes and writes down that this was meant.
    pub async fn stop(self: &Arc<Self>, names: Vec<String>, manner: Manner) -> Result<(), Error> {
        let this = self.clone();
        let stop = move || {
            let mut inner = this.inner();
            let mut meant = Vec::new();
            for name in names {
                if let Some(process) = inner.state.process_mut(&name) {
                    process.stopped = true;
                    meant.push(process.clone());
                }
            }
            end_all(&meant, manner);
            inner.reap();
            inner.state.save(&this.layout)
        };
        tokio::task::spawn_blocking(stop).await?
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A panic while it was held leaves a state that is still good enough to end the processes by.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn reap(&mut self) {
        self.children.retain(|_, child| !matches!(child.try_wait(), Ok(Some(_))));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.armed {
            self.state.identify();
            end_all(&self.state.processes, Manner::AtOnce);
            self.reap();
        }
    }
}

/// How processes are ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Controllers, API servers, etcd; each asked first.
    InOrder,
    /// Without asking: as a machine that fails would, or because nothing of a start that failed is of use.
    AtOnce,
}

/// Ends processes. A PID that now belongs to another process is left alone.
pub fn end_all(processes: &[Process], manner: Manner) {
    for role in [Role::Controller, Role::ApiServer, Role::Etcd] {
        let of_role: Vec<_> = processes.iter().filter(|process| process.command.role == role).collect();
        if manner == Manner::InOrder && role != Role::Etcd {
            signal_all(&of_role, Signal::SIGTERM);
            await_end(&of_role, GRACE);
        }
        signal_all(&of_role, Signal::SIGKILL);
        await_end(&of_role, Duration::from_secs(5));
    }
}

fn signal_all(processes: &[&Process], signal: Signal) {
    for process in processes {
        if let Some(identity) = &process.identity {
            identity.signal(&process.command.program, signal);
        }
    }
}

fn await_end(processes: &[&Process], limit: Duration) {
    let start = Instant::now();
    while start.elapsed() < limit && processes.iter().any(|process| process.runs()) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The last lines of a log.
fn tail(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::topology::planes::Cells;

    fn sleeper(name: &str) -> Command {
        Command {
            name: name.to_owned(),
            role: Role::Controller,
            program: "/bin/sleep".into(),
            arguments: vec!["60".to_owned()],
        }
    }

    fn supervisor(planes: &std::path::Path, armed: bool) -> Supervisor {
        let layout = Layout::below(planes, "x").unwrap();
        layout.create_root().unwrap();
        layout.create().unwrap();
        let state = State::new(&layout, Cells::Two, BTreeMap::new()).unwrap();
        Supervisor::new(layout, state, armed)
    }

    #[test]
    fn an_armed_supervisor_takes_its_processes_along() {
        let planes = tempfile::tempdir().unwrap();
        let supervisor = supervisor(planes.path(), true);
        supervisor.start(sleeper("one")).unwrap();
        let process = supervisor.state().processes[0].clone();
        assert!(process.runs());
        drop(supervisor);
        assert!(!process.runs());
    }

    #[tokio::test]
    async fn a_disarmed_one_leaves_them_to_the_next_command() {
        let planes = tempfile::tempdir().unwrap();
        let first = supervisor(planes.path(), true);
        first.start(sleeper("one")).unwrap();
        first.disarm().unwrap();
        let layout = first.layout.clone();
        drop(first);
        let state = State::load(&layout).unwrap().unwrap();
        assert!(state.ready && state.processes[0].runs());
        let second = Arc::new(Supervisor::new(layout, state, false));
        second.stop(vec!["one".to_owned()], Manner::InOrder).await.unwrap();
        let stopped = &second.state().processes[0];
        assert!(stopped.stopped && !stopped.runs());
    }

    #[test]
    fn a_process_that_ended_is_noticed_with_its_last_words() {
        let planes = tempfile::tempdir().unwrap();
        let supervisor = supervisor(planes.path(), true);
        let mut command = sleeper("one");
        command.arguments = vec!["no-number".to_owned()];
        supervisor.start(command).unwrap();
        await_end(&supervisor.state().processes.iter().collect::<Vec<_>>(), Duration::from_secs(5));
        let Err(NotYet::Never(Error::ProcessEnded { tail, .. })) = supervisor.check("one") else {
            panic!("not noticed")
        };
        assert!(tail.contains("no-number"), "{tail}");
    }
}
