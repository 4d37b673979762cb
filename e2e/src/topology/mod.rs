//! The real planes: etcd, API servers, Karmada and controller managers as plain processes on this machine.
//!
//! ```no_run
//! # async fn example() -> Result<(), fedhub_e2e::Error> {
//! use fedhub_e2e::fedhub;
//! use fedhub_e2e::topology::{self, Options, Planes};
//!
//! let planes = Planes::up(&Options::new("demo"), fedhub::end).await?;
//! let hub = planes.client("hub").await?;
//! let fedhub = planes.fedhub_kubeconfig("project-a");
//! topology::down("demo", fedhub::end).await?;
//! # Ok(()) }
//! ```
//!
//! An instance is a directory; any number of instances run beside each other. What runs is written down in
//! its `state.json`, so that every later command, also one after a crash, can end exactly that.

mod admission;
mod commands;
mod crds;
mod hub;
pub(crate) mod identities;
mod inotify;
pub(crate) mod kubeconfig;
mod layout;
pub(crate) mod manifests;
mod options;
pub(crate) mod pki;
pub mod planes;
pub(crate) mod ports;
mod probe;
pub(crate) mod process;
mod ready;
mod start;
mod state;
mod steps;
mod supervisor;
pub(crate) mod wait;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use commands::{CONTROLLERS as KARMADA_CONTROLLERS, api_server_process};
use futures::future::BoxFuture;
pub use identities::{CELLS_NAMESPACE, Holder, NAMESPACE as FEDHUB_NAMESPACE};
use kube::Client;
pub use layout::Layout;
pub(crate) use layout::write_atomically;
use nix::sys::signal::Signal;
pub use options::Options;
pub use pki::write_servers;
pub(crate) use ports::ports_directory;

use self::commands::Programs;
use self::planes::{Cells, Plane, Role};
use self::state::State;
use self::supervisor::{Manner, Supervisor};
use crate::Error;
use crate::progress::Progress;
use crate::tools::{self, Tool};

/// The name of an instance where none is given.
pub const DEFAULT_NAME: &str = "default";

/// How often `up` tries again when another process took a port between our choice and a server's start.
const PORT_ATTEMPTS: usize = 3;

/// A running instance. Dropping it leaves it running.
pub struct Planes {
    layout: Layout,
    supervisor: Arc<Supervisor>,
}

/// Ends what runs beside the planes of an instance, which they do not know.
pub type EndBeside = fn(&Layout) -> BoxFuture<'_, Result<(), Error>>;

/// How a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStatus {
    /// Its name.
    pub name: String,
    /// Its PID, while it runs.
    pub pid: Option<i32>,
    /// Whether it was stopped on purpose.
    pub stopped: bool,
}

impl Planes {
    /// Builds what is missing, ends what is left of an instance of this name, and starts a fresh one. Returns
    /// when it is usable, end to end. When this fails or is dropped, nothing that it started is left running.
    ///
    /// What runs beside the planes is written down among what goes with them: `end_beside` ends it first.
    pub async fn up(options: &Options, end_beside: EndBeside) -> Result<Self, Error> {
        let layout = Layout::from_name(&options.name)?;
        let programs = programs(&options.progress).await?;
        inotify::ensure(options.cells, &options.progress);
        let _lock = layout.lock().await?;
        let mut attempts = 1..=PORT_ATTEMPTS;
        loop {
            attempts.next();
            end_recorded(&layout, end_beside).await?;
            layout.wipe()?;
            let mut unfinished = Unfinished { layout: &layout, finished: false };
            let started = start::start(options, &layout, &programs).await;
            unfinished.finished = started.is_ok();
            drop(unfinished);
            match started {
                Ok(supervisor) => return Ok(Self { layout, supervisor: Arc::new(supervisor) }),
                Err(error @ Error::PortTaken { .. }) if !attempts.is_empty() => {
                    options.progress.warn(format!("{error}: starting over with other ports"));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The instance of this name that some earlier command started.
    pub fn load(name: &str) -> Result<Self, Error> {
        let layout = Layout::from_name(name)?;
        match State::load(&layout)? {
            Some(state) if state.ready => {
                Ok(Self { supervisor: Arc::new(Supervisor::new(layout.clone(), state, false)), layout })
            }
            _ => Err(Error::NotUp(name.to_owned())),
        }
    }

    /// The instance's files.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Which cells it has.
    pub fn cells(&self) -> Cells {
        self.supervisor.state().cells
    }

    /// The kubeconfig of a plane's administrator.
    pub fn kubeconfig(&self, plane: &str) -> PathBuf {
        self.layout.kubeconfig(plane)
    }

    /// fedhub's own kubeconfig for a plane. Cells have none.
    pub fn fedhub_kubeconfig(&self, plane: &str) -> PathBuf {
        self.layout.fedhub_kubeconfig(plane)
    }

    /// A plane's audit log.
    pub fn audit_log(&self, plane: &str) -> PathBuf {
        self.layout.audit_log(plane)
    }

    /// A client of a plane's administrator.
    pub async fn client(&self, plane: &str) -> Result<Client, Error> {
        kubeconfig::client(&kubeconfig_of(&self.layout, plane)?).await
    }

    /// Every process, in the order of its start.
    pub fn processes(&self) -> Vec<ProcessStatus> {
        let state = self.supervisor.state();
        state
            .processes
            .iter()
            .map(|process| ProcessStatus {
                name: process.command.name.clone(),
                pid: process.identity.as_ref().filter(|_| process.runs()).map(|identity| identity.pid),
                stopped: process.stopped,
            })
            .collect()
    }

    /// Ends one process, such as a cell's API server, until it is started again.
    pub async fn stop_process(&self, name: &str) -> Result<(), Error> {
        self.end_process(name, Manner::InOrder).await
    }

    /// Kills one process (SIGKILL), as a machine that fails would; it is gone until it is started again.
    pub async fn kill_process(&self, name: &str) -> Result<(), Error> {
        self.end_process(name, Manner::AtOnce).await
    }

    /// Pauses one process (SIGSTOP), as a machine that hangs would: it answers nothing, and its connections
    /// stay.
    pub async fn pause_process(&self, name: &str) -> Result<(), Error> {
        self.signal_process(name, Signal::SIGSTOP).await
    }

    /// Lets one that is paused go on (SIGCONT).
    pub async fn resume_process(&self, name: &str) -> Result<(), Error> {
        self.signal_process(name, Signal::SIGCONT).await
    }

    async fn signal_process(&self, name: &str, signal: Signal) -> Result<(), Error> {
        let _lock = self.layout.lock().await?;
        self.supervisor.reload()?;
        let process = self.known(name)?;
        if let Some(identity) = &process.identity {
            identity.signal(&process.command.program, signal);
        }
        Ok(())
    }

    /// Starts one more process beside the planes, which ends with them.
    pub(crate) async fn add_process(
        &self,
        name: &str,
        program: PathBuf,
        arguments: Vec<String>,
    ) -> Result<(), Error> {
        let _lock = self.layout.lock().await?;
        self.supervisor.reload()?;
        self.supervisor.start(state::Command {
            name: name.to_owned(),
            role: Role::Controller,
            program,
            arguments,
        })
    }

    /// Fails once a process has ended by itself.
    pub(crate) fn runs(&self, name: &str) -> Result<(), wait::NotYet> {
        self.supervisor.check(name)
    }

    async fn end_process(&self, name: &str, manner: Manner) -> Result<(), Error> {
        let _lock = self.layout.lock().await?;
        self.supervisor.reload()?;
        self.known(name)?;
        self.supervisor.stop(vec![name.to_owned()], manner).await
    }

    /// Starts a process that was stopped, as it was started before, and waits until it serves.
    pub async fn start_process(&self, name: &str) -> Result<(), Error> {
        let lock = self.layout.lock().await?;
        self.supervisor.reload()?;
        let process = self.known(name)?;
        if !process.runs() {
            self.supervisor.start(process.command)?;
        }
        drop(lock);
        ready::serves(&self.supervisor, &self.layout, name).await
    }

    /// Loses the hub's state and sets the hub up again, empty: no namespaces, no objects, new UIDs. fedhub
    /// gets a new token for it, for the old one was of a service account that is no more. After a failure
    /// take the instance down.
    pub async fn rebuild_hub(&self, options: &Options) -> Result<(), Error> {
        let programs = programs(&options.progress).await?;
        let _lock = self.layout.lock().await?;
        self.supervisor.reload()?;
        start::rebuild_hub(options, &self.layout, &programs, &self.supervisor).await
    }

    fn known(&self, name: &str) -> Result<state::Process, Error> {
        let state = self.supervisor.state();
        let found = state.processes.iter().find(|process| process.command.name == name).cloned();
        found.ok_or_else(|| Error::Unknown {
            kind: "process",
            name: name.to_owned(),
            known: state
                .processes
                .iter()
                .map(|process| process.command.name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        })
    }
}

async fn programs(progress: &Progress) -> Result<Programs, Error> {
    Ok(Programs {
        etcd: tools::ensure(Tool::Etcd, progress).await?,
        kubernetes: tools::ensure(Tool::Kubernetes, progress).await?,
        karmada: tools::ensure(Tool::Karmada, progress).await?,
    })
}

/// Ends whatever is left of the instance of this name, in whatever state it is. `end_beside` ends what
/// runs beside it. Returns how many processes of the planes were ended.
pub async fn down(name: &str, end_beside: EndBeside) -> Result<usize, Error> {
    let layout = Layout::from_name(name)?;
    if !layout.root().is_dir() {
        return Ok(0);
    }
    let _lock = layout.lock().await?;
    let ended = end_recorded(&layout, end_beside).await?;
    clear(&layout)?;
    Ok(ended)
}

/// The kubeconfig of a plane's administrator in an instance, whether or not that runs.
pub fn kubeconfig_of(layout: &Layout, plane: &str) -> Result<PathBuf, Error> {
    Ok(layout.kubeconfig(Plane::named(plane)?.name))
}

/// Ends the processes that are written down and gives up the ports. The caller holds the instance's lock.
async fn end_recorded(layout: &Layout, end_beside: EndBeside) -> Result<usize, Error> {
    let beside = end_beside(layout).await;
    let ended = match State::load(layout)? {
        None => 0,
        Some(mut state) => {
            state.identify();
            let running = state.processes.iter().filter(|process| process.runs()).count();
            tokio::task::spawn_blocking(move || supervisor::end_all(&state.processes, Manner::InOrder))
                .await?;
            running
        }
    };
    beside?;
    release_ports(layout)?;
    Ok(ended)
}

/// A start that clears up after itself unless it is finished, also when it is given up half-way. The
/// supervisor has ended its processes by then.
struct Unfinished<'a> {
    layout: &'a Layout,
    finished: bool,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // What cannot be removed now is removed by the next command.
            let _ = clear(self.layout);
        }
    }
}

/// Gives up the ports and removes everything but the logs.
fn clear(layout: &Layout) -> Result<(), Error> {
    release_ports(layout)?;
    layout.wipe_but_evidence()
}

fn release_ports(layout: &Layout) -> Result<(), Error> {
    ports::release(&ports_directory(), layout)
}

/// Which cells an instance has that was brought up.
pub fn cells(layout: &Layout) -> Result<Cells, Error> {
    let state = State::load(layout)?.ok_or_else(|| Error::NotUp(layout.name().to_owned()))?;
    Ok(state.cells)
}

/// The files of an instance that users need to know.
pub fn summary(planes: &Planes) -> String {
    let layout = planes.layout();
    let cells = planes.cells();
    let relative = |path: &Path| {
        let here = std::env::current_dir().unwrap_or_default();
        path.strip_prefix(&here).unwrap_or(path).display().to_string()
    };
    let mut lines = vec!["kubeconfigs of the administrators (system:masters), for tests:".to_owned()];
    lines.extend(
        cells
            .planes()
            .map(|plane| format!("  {:<11} {}", plane.name, relative(&layout.kubeconfig(plane.name)))),
    );
    lines.push("kubeconfigs of fedhub itself:".to_owned());
    lines.extend(
        cells
            .planes()
            .filter(|plane| plane.knows_fedhub())
            .map(|plane| format!("  {:<11} {}", plane.name, relative(&layout.fedhub_kubeconfig(plane.name)))),
    );
    lines.push(format!("logs and audit logs: {0}/logs, {0}/audit", relative(layout.root())));
    lines.join("\n")
}
