//! How far the rollout of a Workload has come, and which WDs give way to those that take their place. Pure.
//!
//! A city that is swapped for another is created first and removed last: a WD that is not wanted any more
//! stays until every wanted one is available, or was for the move deadline in vain. While none of the wanted
//! sites has a WD, nothing gives way.
//!
//! A rollout is complete once its instances are ready. What happens to them later is told by `Available`, as
//! it is of a Deployment of Kubernetes.
//!
//! A part of W1, which [`super::plan`] decides, and of W3, which [`super::summary`] does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fedhub_api::facts::carried::WantedTemplate;
use fedhub_api::facts::workload::{RolloutSaid, paused_message};
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_api::reason::{Reason, attributed};
use fedhub_cache::digest::Uid;
use fedhub_core::message::{Quoted, named};
use fedhub_core::object::{Key, PlaneId};
use fedhub_rollout::Verdict;
use jiff::Timestamp;

use super::paused::{self, Said};
use super::snapshot::{Site, SiteState, Snapshot};
use crate::rollouts::status::requires_approval;

/// How long a rollout may make no progress before its condition `Progressing` says so.
pub const PROGRESS_DEADLINE: Duration = Duration::from_mins(10);

/// The placements of a Workload with their sites.
pub type Sites<'a> = [(&'a str, Vec<Site<'a>>)];

/// How far the rollout of a Workload has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollout {
    /// The own WDs that are not wanted any more and are not being deleted.
    pub unwanted: Vec<String>,
    /// How much longer these stay; `None` where they give way now.
    holds: Option<Duration>,
    /// Instances, those on the newest template, and those of them that are ready.
    wanted: i64,
    updated: i64,
    ready: i64,
    /// Steps that the newest generation has taken: they only grow while it comes any further.
    steps: i64,
    /// Whether no wanted site has a WD, nor gets one now.
    none: bool,
    on_its_way: bool,
    /// Whether instances are behind because their WD is suspended.
    rests: bool,
    /// The cities whose turn has not come.
    held: Vec<String>,
    /// Whether one of them cannot be reached.
    is_left: bool,
    /// What the others wait for.
    verdict: Option<Verdict>,
    /// How it ended, where that is not on the newest template.
    outcome: Option<Reason>,
    /// Whether a WorkloadRollout decides, which has a deadline of its own for each city.
    is_governed: bool,
    /// When it may be the turn of another one.
    next: Option<Duration>,
}

impl Rollout {
    /// Summarizes the rollout of the Workload with this UID, whose sites are in these states.
    pub fn new(seen: &Snapshot, uid: &str, sites: &Sites<'_>, states: &[Vec<SiteState<'_>>]) -> Self {
        let turns = seen.turns();
        let mut rollout = Self {
            none: true,
            verdict: turns.verdict.clone(),
            next: turns.next,
            outcome: turns.outcome,
            is_governed: seen.rollout.is_some(),
            ..Self::default()
        };
        let mut names = BTreeSet::new();
        let mut stands = false;
        for (site, state) in sites.iter().flat_map(|(_, sites)| sites).zip(states.iter().flatten()) {
            names.insert(&site.name);
            stands |= state.placed().is_some();
            rollout.holds = rollout.holds.max(seen.holds(site, state));
            rollout.count(seen, site, state);
        }
        // One that asks for no city at all is not swapped for anything.
        if !stands && !names.is_empty() {
            rollout.holds = Some(Duration::MAX);
        }
        let own =
            seen.own(uid).filter(|(name, deployment, _)| !deployment.terminating && !names.contains(name));
        rollout.unwanted = own.map(|(name, ..)| name.clone()).collect();
        let is_open = rollout.is_governed
            && matches!(rollout.verdict, Some(Verdict::Progressing | Verdict::AwaitingApproval { .. }));
        rollout.on_its_way |= !rollout.none && (rollout.keeps() || is_open);
        rollout
    }

    fn count(&mut self, seen: &Snapshot, site: &Site<'_>, state: &SiteState<'_>) {
        let is_active = !seen.is_withdrawn();
        let is_missing = is_active && matches!(state, SiteState::Missing);
        self.none &= state.placed().is_none() && !is_missing;
        self.on_its_way |= is_missing;
        let Some(placed) = state.placed() else { return };
        let [replicas, _, updated, desired, ready] = placed.counters.map(i64::from);
        // What its user stopped does not become ready, and nothing waits for it (V9).
        let ready = ready + i64::from(placed.stopped);
        let all = replicas.max(desired);
        let is_paused = seen.facts().is_some_and(|facts| facts.paused);
        let is_held = !is_paused
            && !seen.has_newest(site, placed)
            && !matches!(site.wanted.which, WantedTemplate::Newest(_));
        if is_held {
            let is_away = placed.unreachable || !seen.locations.contain(site.wanted.city);
            self.is_left |= is_away;
            self.held.push(Quoted(site.wanted.city).to_string());
            self.on_its_way = true;
            self.wanted += all;
            return;
        }
        let updated = updated.min(all);
        self.wanted += all;
        self.updated += updated;
        self.ready += ready.min(updated);
        let is_behind = !placed.observed || !seen.is_as_wanted(site, placed);
        if !is_behind {
            self.steps += updated + ready;
        }
        let was_complete = seen.facts().is_some_and(|facts| facts.rollout == RolloutSaid::Complete);
        let is_short = updated < all || ready < all && !was_complete;
        self.rests |= is_short && placed.suspended;
        self.on_its_way |= is_short && !placed.suspended || is_active && is_behind;
    }

    /// Whether what is not wanted any more gives way now.
    pub fn gives_way(&self) -> bool {
        self.holds.is_none()
    }

    fn keeps(&self) -> bool {
        !self.unwanted.is_empty() && !self.gives_way()
    }

    /// The condition `Progressing`.
    pub fn progressing(&self, seen: &Snapshot, sites: &Sites<'_>, states: &[Vec<SiteState<'_>>]) -> Said {
        let is_paused = seen.facts().is_some_and(|facts| facts.paused);
        let has_deadline = !is_paused && !self.is_governed && !self.is_over();
        let said = self.unpaused(has_deadline && seen.stalled >= PROGRESS_DEADLINE);
        if !is_paused {
            return said;
        }
        paused::progressing(
            seen,
            sites.iter().flat_map(|(_, sites)| sites).zip(states.iter().flatten()),
            said,
        )
    }

    fn unpaused(&self, is_overdue: bool) -> Said {
        let Self { updated, wanted, ready, .. } = self;
        let (status, reason, message) = match (self.none, self.on_its_way, *wanted) {
            (true, ..) if self.keeps() => {
                ("False", Reason::NoDeployments, "The Workload has no deployments in its cities".to_owned())
            }
            (true, ..) => ("False", Reason::NoDeployments, "The Workload has no deployments".to_owned()),
            (false, false, _) if self.rests => {
                let message = "The instances are suspended: the newest template starts when they are resumed";
                ("False", Reason::Suspended, message.to_owned())
            }
            (false, false, _) => {
                ("False", Reason::RolloutComplete, "All instances are on the newest template".to_owned())
            }
            (false, true, 0) => {
                ("True", Reason::RolloutInProgress, "No instance has been reported yet".to_owned())
            }
            (false, true, _) => {
                let unready =
                    if ready < updated { format!(", {ready} of them ready") } else { String::new() };
                let message = format!("{updated} of {wanted} instances are on the newest template{unready}");
                ("True", Reason::RolloutInProgress, message)
            }
        };
        let message = format!("{message}{}{}", self.waiting(), self.kept());
        if let Some(said) = self.stopped(&message) {
            return said;
        }
        if is_overdue && status == "True" {
            let minutes = PROGRESS_DEADLINE.as_secs() / 60;
            let message = format!("{message}. It has made no progress for {minutes} minutes");
            let message = attributed(Reason::ProgressDeadlineExceeded, &message).into_owned();
            return ("False", Reason::ProgressDeadlineExceeded, message);
        }
        (status, reason, message)
    }

    /// What is said of a rollout that does not go on by itself, or went another way; `message` is how far it
    /// is.
    fn stopped(&self, message: &str) -> Option<Said> {
        if let Some(reason) = self.outcome {
            return Some(("False", reason, attributed(reason, message).into_owned()));
        }
        let (status, reason, message) = match self.verdict.as_ref()? {
            Verdict::Stalled { deployment, cause } => {
                let name = Quoted(deployment);
                let message = format!("{message}. WorkloadDeployment {name} failed by {}", cause.reason);
                ("False", Reason::CityFailed, message)
            }
            Verdict::RolledBack { deployment, cause } => {
                let name = Quoted(deployment);
                let message = format!("{message}. WorkloadDeployment {name} failed by {}", cause.reason);
                ("False", Reason::RolloutRolledBack, message)
            }
            Verdict::AwaitingApproval { wave, gate } => {
                let message = format!("{message}. {}", requires_approval(wave, *gate));
                return Some(("True", Reason::RolloutInProgress, message));
            }
            Verdict::Paused if self.is_governed => {
                let message = paused_message(&format!(". {message}"));
                return Some(("Unknown", Reason::RolloutPaused, message));
            }
            Verdict::Paused | Verdict::Progressing | Verdict::Complete => return None,
        };
        Some((status, reason, attributed(reason, &message).into_owned()))
    }

    /// Whether all is done but for cities that cannot be reached.
    fn is_over(&self) -> bool {
        self.is_left && self.verdict == Some(Verdict::Complete)
    }

    /// Lists the cities whose turn has not come.
    fn waiting(&self) -> String {
        let Some(cities) = named(&self.held) else { return String::new() };
        let plural = if self.held.len() > 1 { "" } else { "s" };
        let is_over = self.outcome.is_some() || matches!(self.verdict, Some(Verdict::RolledBack { .. }));
        if is_over {
            return format!(". {cities} keep{plural} another template");
        }
        if self.is_over() {
            return format!(". {cities} cannot be reached, and get{plural} it then");
        }
        format!(". {cities} wait{plural} for the cities before")
    }

    /// Lists the WDs that stay although they are not wanted any more.
    fn kept(&self) -> String {
        let names: Vec<_> = self.unwanted.iter().map(|name| Quoted(name).to_string()).collect();
        let Some(names) = named(&names).filter(|_| self.keeps()) else { return String::new() };
        let plural = if self.unwanted.len() > 1 { "s" } else { "" };
        format!(". Keeping WorkloadDeployment{plural} {names} until every city of the Workload is available")
    }

    /// When the plan has to be made again although nothing has changed.
    pub fn next_deadline(&self, seen: &Snapshot) -> Option<Duration> {
        let is_paused = seen.facts().is_none_or(|facts| facts.paused);
        let has_deadline = self.on_its_way && !is_paused && !self.is_governed && !self.is_over();
        let left = PROGRESS_DEADLINE.saturating_sub(seen.stalled);
        let progress = Some(left).filter(|left| has_deadline && !left.is_zero());
        let turn = self.next;
        let moves = self.holds.filter(|holds| self.keeps() && *holds < Duration::MAX);
        progress.into_iter().chain(moves).chain(turn).min()
    }
}

impl Snapshot {
    /// How much longer a wanted site holds what it takes the place of; `None` where it is available, or had
    /// its time.
    fn holds(&self, site: &Site<'_>, state: &SiteState<'_>) -> Option<Duration> {
        if matches!(state, SiteState::Duplicate) {
            return None;
        }
        let stands = state.placed().zip(self.deployments.get(&site.name));
        let Some((placed, deployment)) = stands.filter(|(_, deployment)| !deployment.terminating) else {
            // A WD that does not exist yet cannot take the place of another.
            return Some(Duration::MAX);
        };
        // A WD that is suspended, or without instances, has nothing to wait for.
        let is_idle = placed.suspended || placed.counters[3] == 0;
        if placed.observed && (placed.available || is_idle) {
            return None;
        }
        self.options.move_deadline.checked_sub(self.age(deployment)).filter(|left| !left.is_zero())
    }

    fn age(&self, deployment: &Digest) -> Duration {
        let created = deployment.deployment().map_or(0, |facts| facts.created);
        let age = self.now.as_second() - i64::from(created);
        Duration::from_secs(u64::try_from(age).unwrap_or_default())
    }

    /// The rollout of the Workload, where one can go on.
    pub fn rollout(&self) -> Option<Rollout> {
        let workload = self.workload.as_ref().filter(|workload| !workload.terminating)?;
        if self.is_withdrawn() || self.facts()?.placements.is_none() || self.facts()?.too_large().is_some() {
            return None;
        }
        let uid = workload.uid.to_string();
        let sites = self.sites(&uid);
        let states = self.states(&uid, &sites);
        Some(Rollout::new(self, &uid, &sites, &states))
    }

    /// When the plan has to be made again although nothing has changed.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.rollout()?.next_deadline(self)
    }
}

/// When each rollout in progress last made progress. Another process counts from when it first sees a
/// rollout, so that a deadline may be reported late and never early.
#[derive(Default)]
pub(super) struct Stalls(BTreeMap<Key, Stall>);

struct Stall {
    /// The UID and the generation of the Workload.
    of: (Uid, i64),
    steps: i64,
    /// `None` where the deadline was over before.
    since: Option<Timestamp>,
}

impl Stalls {
    /// Returns how long the rollout of that Workload has made no progress.
    pub fn stalled(&mut self, seen: &Snapshot) -> Duration {
        let rollout = seen.rollout().filter(|rollout| rollout.on_its_way);
        let (Some(rollout), Some(workload), Some(facts)) = (rollout, &seen.workload, seen.facts()) else {
            self.0.remove(&seen.key);
            return Duration::ZERO;
        };
        let of = (workload.uid.clone(), facts.generation);
        let since = Some(seen.now).filter(|_| facts.rollout != RolloutSaid::Overdue);
        let begun = |of: &(Uid, i64)| Stall { of: of.clone(), steps: rollout.steps, since };
        let stall = self.0.entry(seen.key.clone()).or_insert_with(|| begun(&of));
        if stall.of != of {
            *stall = begun(&of);
        } else if rollout.steps > stall.steps {
            *stall = Stall { of, steps: rollout.steps, since: Some(seen.now) };
        }
        let Some(since) = stall.since else { return Duration::MAX };
        Duration::try_from(seen.now.duration_since(since)).unwrap_or_default()
    }

    /// Drops a Workload that is gone.
    pub fn forget(&mut self, workload: &Key) {
        self.0.remove(workload);
    }

    /// Drops those of a plane.
    pub fn forget_plane(&mut self, plane: &PlaneId) {
        self.0.retain(|workload, _| workload.plane != *plane);
    }
}
