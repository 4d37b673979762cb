//! fedhub as processes beside an instance of the planes, as the Deployments of `deploy/` describe it (`pod`)
//! and with the identities that `deploy/` gives it.
//!
//! ```no_run
//! # async fn example() -> Result<(), fedhub_e2e::Error> {
//! use fedhub_e2e::{fedhub::{self, Fedhub, Options}, topology::{self, Planes}};
//!
//! let planes = Planes::up(&topology::Options::new("demo"), fedhub::end).await?;
//! let fedhub = Fedhub::start(planes.layout(), &Options::new()).await?;
//! fedhub.stop().await?; // SIGTERM, and waits
//! fedhub.start_again().await?; // as it was started before
//! fedhub.end().await?;
//! topology::down("demo", fedhub::end).await.map(drop)
//! # }
//! ```
//!
//! There is one of the management role, and for a while a second beside it ([`Fedhub::second`]); they elect a
//! leader. [`chain`] starts one for each cell ([`Fedhub::cell`]), and the simulated services that a cell and
//! quota need. What runs is written down in the instance's directory, so that any later command
//! ([`Fedhub::load`]) can stop, kill, pause and start it, also a script within a suite, and also after the
//! harness itself was killed.

pub mod chain;
mod member;
pub(crate) mod pod;
mod rest;
pub(crate) mod scrape;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, join_all};
use nix::sys::signal::Signal;

use self::member::Member;
pub(crate) use self::member::{SIMULATED, beside};
use self::pod::{Overlay, Pod};
pub use self::scrape::sample;
pub use self::state::Once;
use self::state::State;
pub(crate) use self::state::replaced;
use crate::Error;
use crate::topology::planes::projects;
use crate::topology::wait::{NotYet, http_ok, until};
use crate::topology::{Layout, ports, ports_directory};

/// How long fedhub may take to become ready, and to have engaged every project plane.
const START: Duration = Duration::from_mins(1);

/// How fedhub is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program.
    pub program: PathBuf,
    /// Flags of `fedhub run` besides those of its Deployment, each in place of the one of its name if there
    /// is one.
    pub arguments: Vec<String>,
}

impl Options {
    /// The `fedhub` beside the running program: one `cargo build` makes both.
    pub fn new() -> Self {
        let here = std::env::current_exe().unwrap_or_default();
        Self { program: here.with_file_name(Member::First.name()), arguments: Vec::new() }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

/// A fedhub beside an instance, or simulated services for it. Dropping it leaves it running; [`end`] ends it.
#[derive(Debug, Clone)]
pub struct Fedhub {
    layout: Layout,
    member: Member,
    port: u16,
}

impl Fedhub {
    /// Starts fedhub for an instance and waits until it is ready and has engaged every project plane. What
    /// still runs there is ended first.
    pub async fn start(layout: &Layout, options: &Options) -> Result<Self, Error> {
        end(layout).await?;
        // The kernel names a process's program without symbolic links.
        let program = fs::canonicalize(&options.program).map_err(Error::file("find", &options.program))?;
        let port = port(layout, Member::First)?;
        let overlay = Overlay::from_member(Member::First, &[], None)?
            .ok_or_else(|| not_started(layout, Member::First))?;
        let pod = overlay.pod_for_suites(layout, port).await?;
        let flags = options.arguments.clone();
        State { flags, ..State::new(program, pod, port) }.save(layout, Member::First)?;
        let fedhub = Self { layout: layout.clone(), member: Member::First, port };
        fedhub.start_again().await?;
        Ok(fedhub)
    }

    /// The fedhub that some earlier command started beside an instance, whether or not it runs now.
    pub fn load(layout: &Layout) -> Result<Self, Error> {
        Self::known(layout, Member::First)
    }

    /// The fedhub of a cell, once [`chain::start`] has started it. `cell` is its name, or what comes after
    /// `cell-`.
    pub fn cell(layout: &Layout, cell: &str) -> Result<Self, Error> {
        Self::known(layout, Member::cell(cell)?)
    }

    /// The simulated services of a cell, once [`chain::start`] has started it.
    pub fn services(layout: &Layout, cell: &str) -> Result<Self, Error> {
        Self::known(layout, Member::services(cell)?)
    }

    /// A simulated region service for a cell; [`Self::start_again`] starts it.
    pub fn region(layout: &Layout, cell: &str) -> Result<Self, Error> {
        Self::besides(layout, Member::region(cell)?)
    }

    /// The provider of a cell that runs processes; [`Self::start_again`] starts it. What it runs goes on
    /// without it.
    pub fn processes(layout: &Layout, cell: &str) -> Result<Self, Error> {
        Self::besides(layout, Member::processes(cell)?)
    }

    /// A process that only suites start.
    fn besides(layout: &Layout, member: Member) -> Result<Self, Error> {
        if let Some(state) = State::load(layout, member)? {
            return Ok(Self { layout: layout.clone(), member, port: state.port });
        }
        let first = State::load(layout, Member::First)?.ok_or_else(|| not_started(layout, Member::First))?;
        let port = port(layout, member)?;
        let pod = Pod { arguments: member.arguments(layout, port), environment: BTreeMap::new() };
        State::new(member.program(&first.program), pod, port).save(layout, member)?;
        Ok(Self { layout: layout.clone(), member, port })
    }

    fn known(layout: &Layout, member: Member) -> Result<Self, Error> {
        let state = State::load(layout, member)?.ok_or_else(|| not_started(layout, member))?;
        Ok(Self { layout: layout.clone(), member, port: state.port })
    }

    /// A second replica beside the first, with its flags; [`Self::start_again`] starts it.
    pub fn second(layout: &Layout) -> Result<Self, Error> {
        let member = Member::Second;
        if let Some(state) = State::load(layout, member)? {
            return Ok(Self { layout: layout.clone(), member, port: state.port });
        }
        let first = State::load(layout, Member::First)?.ok_or_else(|| not_started(layout, Member::First))?;
        let port = port(layout, member)?;
        let own = [format!("--admin-address=127.0.0.1:{port}")];
        let arguments = replaced(&first.arguments, &own);
        State { arguments, port, otherwise: false, other_program: None, identity: None, ..first }
            .save(layout, member)?;
        Ok(Self { layout: layout.clone(), member, port })
    }

    /// Starts it as it was started before, and waits as [`Self::start`] does. Does nothing to one that runs,
    /// unless it was started otherwise.
    pub async fn start_again(&self) -> Result<(), Error> {
        let state = self.state()?;
        if state.runs() && !state.otherwise {
            return self.ready(None).await;
        }
        self.start_with(&Once::default()).await
    }

    /// Starts it otherwise for once; the next start is as before. One that runs is stopped.
    pub async fn start_with(&self, once: &Once) -> Result<(), Error> {
        let overlay = self.overlay(once)?;
        let pod = self.pod(overlay.as_ref()).await?;
        self.stop().await?;
        let lock = self.layout.lock().await?;
        let mut state = self.state()?;
        if !state.runs() {
            state.spawn(&self.layout, self.member, pod.as_ref(), once)?;
        }
        drop(lock);
        self.ready(overlay.as_ref()).await
    }

    /// Starts it like [`Self::start_with`], and stays until it has ended. Says how it did, which only its
    /// parent can.
    pub async fn attend(&self, once: &Once) -> Result<ExitStatus, Error> {
        let pod = self.pod(self.overlay(once)?.as_ref()).await?;
        self.stop().await?;
        let lock = self.layout.lock().await?;
        let mut state = self.state()?;
        let mut child = state.spawn(&self.layout, self.member, pod.as_ref(), once)?;
        drop(lock);
        child.wait().await.map_err(Error::file("wait for", state.running()))
    }

    /// The overlay of `deploy/` that it is started from for once, if another than usual.
    fn overlay(&self, once: &Once) -> Result<Option<Overlay>, Error> {
        let overlay = Overlay::from_member(self.member, &once.components, once.plane.as_deref())?;
        // What simulates services is not in `deploy/`, and its flags are its own.
        if overlay.is_some() {
            pod::may_differ(&once.flags)?;
            pod::may_be_set(&once.variables)?;
        }
        let usual = once.components.is_empty() && once.plane.is_none();
        Ok(overlay.filter(|_| !usual))
    }

    async fn pod(&self, overlay: Option<&Overlay>) -> Result<Option<Pod>, Error> {
        let Some(overlay) = overlay else { return Ok(None) };
        overlay.pod_for_suites(&self.layout, self.port).await.map(Some)
    }

    /// Asks it to end (SIGTERM) and waits until it has. One that does not in time is killed, and that is an
    /// error.
    pub async fn stop(&self) -> Result<(), Error> {
        self.state()?.stop().await
    }

    /// Kills it (SIGKILL), as a machine that fails would.
    pub async fn kill(&self) -> Result<(), Error> {
        self.state()?.kill().await
    }

    /// Pauses it (SIGSTOP), as a machine that is overloaded would.
    pub fn pause(&self) -> Result<(), Error> {
        self.state()?.signal(Signal::SIGSTOP);
        Ok(())
    }

    /// Lets one that is paused go on (SIGCONT).
    pub fn resume(&self) -> Result<(), Error> {
        self.state()?.signal(Signal::SIGCONT);
        Ok(())
    }

    /// [`Self::stop`], then [`Self::start_again`].
    pub async fn restart(&self) -> Result<(), Error> {
        self.stop().await?;
        self.start_again().await
    }

    /// Restores the state after a run that was interrupted: the first replica runs alone, as it was started.
    pub async fn restore(&self) -> Result<(), Error> {
        if let Some(second) = State::load(&self.layout, Member::Second)? {
            second.stop().await?;
        }
        self.resume()?;
        self.start_again().await
    }

    /// Its PID, while it runs.
    pub fn pid(&self) -> Option<i32> {
        self.state().ok().filter(State::runs)?.identity.map(|identity| identity.pid)
    }

    /// Whether it stopped without having been ended by [`end`].
    pub fn ended(&self) -> bool {
        self.state().is_ok_and(|state| !state.runs())
    }

    /// Returns the path of its log; a restart appends to the same file.
    pub fn log(&self) -> PathBuf {
        self.layout.log(&self.member.name())
    }

    /// Where it answers `/livez`, `/readyz` and `/metrics`: the same after a restart.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A scrape.
    pub async fn metrics(&self) -> Result<String, Error> {
        scrape::metrics(self.port).await.map_err(Error::file("scrape", self.url()))
    }

    /// Stops it and its second, kindly if they let us, and forgets them.
    pub async fn end(self) -> Result<(), Error> {
        end(&self.layout).await
    }

    /// Waits until it is, started from this overlay if from another than usual.
    async fn ready(&self, overlay: Option<&Overlay>) -> Result<(), Error> {
        if let Member::Region(_) = self.member {
            return until(format!("{} to serve", self.member.name()), START, || async {
                self.check()?;
                http_ok(self.port, "/_control/check").await
            })
            .await;
        }
        if !self.member.has_page() {
            // It works on what is there, whenever it came.
            return Ok(());
        }
        until(format!("{} to be ready", self.member.name()), START, || async {
            self.check()?;
            http_ok(self.port, "/readyz").await
        })
        .await?;
        if let Member::Cell(_) = self.member {
            return self.lead().await;
        }
        let single = overlay.is_some_and(|overlay| overlay.has("single-cluster"));
        let planes = if single { 1 } else { projects().count() };
        until("fedhub to engage every project plane", START, || async {
            self.check()?;
            let metrics = self.metrics().await.map_err(NotYet::again)?;
            // One that is paused is engaged, too.
            let states = ["engaged", "paused"].map(|state| format!("fedhub_planes{{state=\"{state}\"}}"));
            let engaged: f64 = states.iter().filter_map(|state| sample(&metrics, state)).sum();
            #[allow(clippy::cast_precision_loss)] // a handful
            let all = engaged >= planes as f64;
            if all { Ok(()) } else { Err(NotYet::again(format!("engaged: {engaged} of {planes}"))) }
        })
        .await?;
        self.lead().await
    }

    async fn lead(&self) -> Result<(), Error> {
        until("a fedhub to lead", START, || async {
            self.check()?;
            if self.led().await { Ok(()) } else { Err(NotYet::again("none does")) }
        })
        .await
    }

    /// Whether it leads, or another that it may stand by for.
    async fn led(&self) -> bool {
        let replicas =
            if let Member::Cell(_) = self.member { vec![self.member] } else { Member::REPLICAS.to_vec() };
        for replica in replicas {
            let Ok(Some(state)) = State::load(&self.layout, replica) else { continue };
            if state.runs() && scrape::metrics(state.port).await.is_ok_and(|metrics| scrape::leads(&metrics))
            {
                return true;
            }
        }
        false
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
        Err(NotYet::Never(Error::ProcessEnded { process: self.member.name(), log, tail }))
    }

    fn state(&self) -> Result<State, Error> {
        State::load(&self.layout, self.member)?.ok_or_else(|| not_started(&self.layout, self.member))
    }
}

/// Ends whatever was started beside an instance, in whatever state it is.
pub fn end(layout: &Layout) -> BoxFuture<'_, Result<(), Error>> {
    let ended = join_all(Member::all().map(|member| async move {
        let Some(state) = State::load(layout, member)? else { return Ok(()) };
        // It is gone even where it would not go by itself.
        if state.stop().await.is_err() {
            state.kill().await?;
        }
        State::forget(layout, member)
    }));
    ended.map(|ended| ended.into_iter().collect()).boxed()
}

fn port(layout: &Layout, member: Member) -> Result<u16, Error> {
    let reserved = ports::reserve(&ports_directory(), layout, &[member.name()])?;
    Ok(reserved.values().copied().next().unwrap_or_default())
}

fn not_started(layout: &Layout, member: Member) -> Error {
    let known = format!("none was started beside instance `{}`", layout.name());
    Error::Unknown { kind: "process", name: member.name(), known }
}
