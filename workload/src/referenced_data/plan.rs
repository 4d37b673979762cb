//! The decision of a pass over one WD's referenced data: a pure function of its [`Snapshot`].
//!
//! Decides W5.

use std::time::Duration;

use fedhub_api::facts::deployment::mark_hash;
use fedhub_api::facts::referenced::condition_hash;
use fedhub_core::object::Kind;
use fedhub_planes::{ServiceState, WriteState};

use super::desired::{DataVerdict, SourceFault, condition, error_text, expected_text};
use super::limits::{DataAllowance, is_settled, known_bytes};
use super::snapshot::{DataSource, Snapshot, SourceState, StandingCompanion};

/// When it is asked again for what no event tells of: a right that is granted, a name that becomes free.
const RETRY: Duration = Duration::from_mins(1);

/// The writes of one pass, in the order of the fields; the first write that fails ends it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataPlan {
    /// Whether the finalizer is put on the WD, before anything is copied for it.
    pub hold: bool,
    /// Sources that are read and copied.
    pub copies: Vec<(Kind, String)>,
    /// Companions that are in order and that the WD is to be counted for.
    pub counts: Vec<(Kind, String)>,
    /// The annotations of the WD, where they are to be others.
    pub annotations: Option<Annotations>,
    /// The change of the condition, if it changes.
    pub condition: Option<ConditionChange>,
    /// Companions that the WD is no longer to be counted for; the last one that is takes it away.
    pub releases: Vec<StandingCompanion>,
    /// Whether the finalizer comes off the WD.
    pub release: bool,
    /// The next step after the writes.
    pub then: NextStep,
}

/// The annotations of a WD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// `expected-referenced-data`; `None` where it stays as it is, or goes with [`Self::clear`].
    pub expected: Option<String>,
    /// `referenced-data-error`; `None` where there is to be none.
    pub error: Option<String>,
    /// Whether `expected-referenced-data` is to go.
    pub clear: bool,
}

/// A change of the condition `ReferencedDataReady`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionChange {
    /// It says this.
    Put(DataVerdict),
    /// It goes: the WD refers to nothing.
    Remove,
}

/// The next step after the writes of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NextStep {
    /// Nothing: everything is as it should be.
    #[default]
    Done,
    /// Plan again at once.
    Requeue,
    /// Read the companions live, then plan again (I3).
    ReadLive,
    /// An event will come.
    AwaitChange,
    /// Plan again after this time.
    RequeueAfter(Duration),
}

/// Decides.
pub fn plan(seen: &Snapshot) -> DataPlan {
    match seen.writes {
        WriteState::Paused => return await_change(),
        // Its plane takes what releases objects that are being deleted.
        WriteState::Suspended if !seen.terminating => return await_change(),
        WriteState::Suspended | WriteState::Active => {}
    }
    if !seen.terminating && (seen.service == ServiceState::Unknown || seen.unread) {
        return await_change();
    }
    if seen.terminating || seen.service == ServiceState::Withdrawn {
        return match (seen.references.held, seen.federated) {
            (false, true) => DataPlan::default(),
            // Instances that run in the cell may need their data until the WD is gone from the hub.
            (true, true) => await_change(),
            (_, false) => leave(seen),
        };
    }
    if seen.references.any() { follow(seen) } else { leave(seen) }
}

fn await_change() -> DataPlan {
    DataPlan { then: NextStep::AwaitChange, ..DataPlan::default() }
}

/// Whether Instances may be on an older template, whose data they need where they start again.
fn is_rolling_out(seen: &Snapshot) -> bool {
    seen.federated && !seen.references.rolled_out
}

/// The WD refers to nothing any more, or leaves the hub: its companions are released, and seen to be so by a
/// live read before the finalizer is.
fn leave(seen: &Snapshot) -> DataPlan {
    let stands = &seen.references;
    let removes = (stands.condition != 0 && !seen.terminating).then_some(ConditionChange::Remove);
    // A hub without its namespace was lost, and what is restored of it may bring the companions back (I3).
    let lost = seen.federated && seen.space.is_none();
    if stands.held && (is_rolling_out(seen) || lost) {
        let annotations = (stands.error != 0).then(Annotations::default);
        return DataPlan { annotations, condition: removes, ..await_change() };
    }
    // The annotation goes before what it names.
    if (stands.expected != 0 || stands.error != 0) && !seen.terminating {
        let annotations = Some(Annotations { clear: true, ..Annotations::default() });
        return DataPlan { annotations, condition: removes, then: NextStep::Requeue, ..DataPlan::default() };
    }
    let token = seen.token();
    let (ends, releases): (Vec<_>, Vec<_>) =
        seen.companions.iter().filter(|c| c.facts.is_of(&token)).cloned().partition(|c| c.terminating);
    if !releases.is_empty() {
        let then = if seen.is_live { NextStep::ReadLive } else { NextStep::Requeue };
        return DataPlan { releases, then, ..DataPlan::default() };
    }
    if let (true, Some(first)) = (stands.held, ends.first()) {
        let mut plan = await_change();
        say(seen, &mut plan, DataVerdict::ends(first.kind, &first.name));
        return plan;
    }
    if stands.held && !seen.is_live {
        return DataPlan { then: NextStep::ReadLive, ..DataPlan::default() };
    }
    DataPlan { condition: removes, release: stands.held, ..DataPlan::default() }
}

/// The step for one source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Its companion is in order.
    InSync,
    Copy,
    Count,
    /// Its list, or the hub namespace, is pending.
    Wait,
    /// Its companion is being deleted.
    Ends,
    /// Instances do without.
    Skip,
    Fail(SourceFault),
}

/// Plans the writes that make the companions match what the WD refers to.
fn follow(seen: &Snapshot) -> DataPlan {
    if !seen.references.held {
        return DataPlan { hold: true, then: NextStep::Requeue, ..DataPlan::default() };
    }
    let mut plan = DataPlan::default();
    let mut expected = Vec::new();
    let mut failed = None;
    let mut ends = None;
    let mut waits = false;
    let mut unused: Vec<(Kind, &str)> = Vec::new();
    for (source, step) in steps(seen) {
        let named = || (source.kind, source.name.clone());
        match step {
            Step::Copy => plan.copies.push(named()),
            Step::Count => plan.counts.push(named()),
            Step::Wait => waits = true,
            Step::Ends => ends = ends.or_else(|| Some(DataVerdict::ends(source.kind, &source.name))),
            Step::Skip => unused.push((source.kind, &source.name)),
            Step::Fail(fault) => failed = failed.or_else(|| Some(fault.of(source, &seen.home.namespace))),
            Step::InSync => {}
        }
        if !matches!(step, Step::Skip | Step::Fail(_)) {
            expected.push(named());
        }
    }
    let writes = !plan.copies.is_empty() || !plan.counts.is_empty();
    let is_failing = failed.is_some();
    if let Some(verdict) = failed {
        say(seen, &mut plan, verdict);
    } else if let Some(verdict) = ends.clone() {
        say(seen, &mut plan, verdict);
    } else if !waits && !writes {
        // Said once it is so.
        expected.extend(still_needed(seen));
        expected.sort_unstable();
        say(seen, &mut plan, DataVerdict::Ready(expected));
    }
    if writes {
        plan.then = NextStep::Requeue;
    } else if waits || ends.is_some() {
        plan.then = NextStep::AwaitChange;
    } else {
        // Data that is no longer referred to is released after the annotation that named it.
        plan.releases = released(seen, &unused, is_failing);
        plan.then = if plan.releases.is_empty() { NextStep::Done } else { NextStep::Requeue };
    }
    let is_idle = matches!(plan.then, NextStep::Done | NextStep::AwaitChange);
    if is_idle && seen.sources.iter().any(|source| source.state.is_retried()) {
        plan.then = NextStep::RequeueAfter(RETRY);
    }
    plan
}

/// What is done for each source, in their order. What is in order already takes its part of the limit first.
fn steps(seen: &Snapshot) -> Vec<(&DataSource, Step)> {
    let mut allowance = DataAllowance::default();
    let (settled, rest): (Vec<_>, Vec<_>) =
        seen.sources.iter().enumerate().partition(|(_, source)| is_settled(seen, source));
    let ordered = settled.into_iter().chain(rest);
    let mut steps: Vec<_> =
        ordered.map(|(at, source)| (at, source, step(seen, source, &mut allowance))).collect();
    steps.sort_unstable_by_key(|(at, ..)| *at);
    steps.into_iter().map(|(_, source, step)| (source, step)).collect()
}

fn step(seen: &Snapshot, source: &DataSource, allowance: &mut DataAllowance) -> Step {
    let fault = match source.state {
        SourceState::Unknown => return Step::Wait,
        SourceState::Absent => SourceFault::NotFound,
        SourceState::Unauthorized => SourceFault::Unauthorized,
        SourceState::NameTaken => SourceFault::NameTaken,
        SourceState::Refused(code) => SourceFault::Refused(code),
        SourceState::Unsupported(what) => SourceFault::Unsupported(what),
        SourceState::Stands { version, .. } => match allowance.take(known_bytes(seen, source)) {
            Ok(()) => return stands(seen, source, version),
            Err(fault) => fault,
        },
    };
    // A granted gate stays open (C6), and the loss of the right to read the source proves nothing (I4).
    if source.state == SourceState::Unauthorized && is_settled(seen, source) {
        return match allowance.take(known_bytes(seen, source)) {
            Ok(()) => Step::InSync,
            Err(fault) => Step::Fail(fault),
        };
    }
    // A copy that the hub refuses to renew is not taken away for that.
    let is_kept = matches!(source.state, SourceState::Refused(_)) && seen.kept_companion(source).is_some();
    match source.optional {
        true if is_kept => Step::InSync,
        true => Step::Skip,
        false => Step::Fail(fault),
    }
}

/// What is done for a source that is there.
fn stands(seen: &Snapshot, source: &DataSource, version: u64) -> Step {
    // The federator makes the hub namespace, whose event comes.
    if seen.space.is_none() {
        return Step::Wait;
    }
    match seen.companion(source.kind, &source.name) {
        None => Step::Copy,
        Some(companion) if companion.terminating => Step::Ends,
        Some(StandingCompanion { facts, .. })
            if facts.copied_from != version || facts.referenced_by.is_none() =>
        {
            Step::Copy
        }
        Some(companion) if !companion.facts.is_of(&seen.token()) => Step::Count,
        Some(companion) if companion.edited => Step::Copy,
        Some(_) => Step::InSync,
    }
}

/// Returns the sources that the WD no longer refers to and that Instances on its older template need: the
/// cell has them for as long as the annotation names them.
fn still_needed(seen: &Snapshot) -> Vec<(Kind, String)> {
    let token = seen.token();
    let former = seen
        .companions
        .iter()
        .filter(|c| {
            let is_here = seen.space.as_deref() == Some(&*c.space);
            is_here && c.facts.is_of(&token) && !c.terminating && !seen.references.contains(c.kind, &c.name)
        })
        .map(|c| (c.kind, c.name.clone()));
    if is_rolling_out(seen) { former.collect() } else { Vec::new() }
}

/// The companions that the WD is counted for and needs no more: those of optional sources that are gone, and
/// those that no Instance has to have. None is taken away while a source fails: what runs is on a template
/// before that.
fn released(seen: &Snapshot, unused: &[(Kind, &str)], is_failing: bool) -> Vec<StandingCompanion> {
    let token = seen.token();
    let is_left = |c: &&StandingCompanion| {
        // Those in another hub namespace than the WD's are left behind, once it is known which is its own.
        let is_here = seen.space.as_deref().is_none_or(|space| space == c.space);
        if is_here && seen.references.contains(c.kind, &c.name) {
            return unused.contains(&(c.kind, &c.name));
        }
        !(is_failing || is_here && is_rolling_out(seen))
    };
    let counted = seen.companions.iter().filter(|c| c.facts.is_of(&token) && !c.terminating);
    counted.filter(is_left).cloned().collect()
}

/// Puts into the plan what is said by annotations and condition, where they say something else.
fn say(seen: &Snapshot, plan: &mut DataPlan, verdict: DataVerdict) {
    let stands = &seen.references;
    let expected = match &verdict {
        DataVerdict::Ready(expected) => Some(expected_text(seen.generation, expected)),
        DataVerdict::Ends { .. } | DataVerdict::Failed { .. } => None,
    };
    let error = error_text(&verdict);
    let differs = expected.as_deref().is_some_and(|text| mark_hash(Some(text)) != stands.expected)
        || mark_hash(error.as_deref()) != stands.error;
    if differs {
        plan.annotations = Some(Annotations { expected, error, clear: false });
    }
    let condition = condition(&verdict, None, seen.generation, jiff::Timestamp::UNIX_EPOCH);
    if condition_hash(Some(&condition)) != stands.condition {
        plan.condition = Some(ConditionChange::Put(verdict));
    }
}
