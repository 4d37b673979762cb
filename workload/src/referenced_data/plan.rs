//! What a pass over one WD does for its referenced data: a pure function from its [`Snapshot`].
//!
//! Decides W5.

use std::time::Duration;

use fedhub_api::facts::deployment::mark_hash;
use fedhub_api::facts::referenced::condition_hash;
use fedhub_core::object::Kind;
use fedhub_planes::{ServiceState, WriteState};

use super::desired::{Fault, Verdict, condition, error_text, expected_text};
use super::snapshot::{Snapshot, Source, SourceState, Standing};
use super::{SOURCE_LIMIT, TOTAL_LIMIT};

/// When it is asked again for what no event tells of: a right that is granted, a name that becomes free.
const RETRY: Duration = Duration::from_mins(1);

/// What one pass is to do, in the order of the fields; the first write that fails ends it.
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
    /// What the condition is to say, where it says something else.
    pub condition: Option<ConditionChange>,
    /// Companions that the WD is no longer to be counted for; the last one that is takes it away.
    pub releases: Vec<Standing>,
    /// Whether the finalizer comes off the WD.
    pub release: bool,
    /// What comes after the writes.
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

/// What becomes of the condition `ReferencedDataReady`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionChange {
    /// It says this.
    Put(Verdict),
    /// It goes: the WD refers to nothing.
    Remove,
}

/// What comes after the writes of a plan.
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
    let only = |then| DataPlan { then, ..DataPlan::default() };
    if seen.writes != WriteState::Active {
        return only(NextStep::AwaitChange);
    }
    if seen.service == ServiceState::Unknown && !seen.terminating {
        return only(NextStep::AwaitChange);
    }
    if seen.terminating || seen.service == ServiceState::Withdrawn {
        return match (seen.references.held, seen.federated) {
            (false, _) => DataPlan::default(),
            // What runs in the cell may need its data until the WD is gone from the hub.
            (true, true) => only(NextStep::AwaitChange),
            (true, false) => leave(seen),
        };
    }
    if seen.references.any() { follow(seen) } else { leave(seen) }
}

/// The WD refers to nothing any more, or leaves the hub: its companions are released, and seen to be so by a live read
/// before the finalizer is.
fn leave(seen: &Snapshot) -> DataPlan {
    let token = seen.token();
    let releases: Vec<_> = seen.companions.iter().filter(|c| c.facts.is_of(&token)).cloned().collect();
    if !releases.is_empty() {
        let then = if seen.is_live { NextStep::ReadLive } else { NextStep::Requeue };
        return DataPlan { releases, then, ..DataPlan::default() };
    }
    if seen.references.held && !seen.is_live {
        return DataPlan { then: NextStep::ReadLive, ..DataPlan::default() };
    }
    let said = seen.references.expected != 0 || seen.references.error != 0;
    let clears = Annotations { clear: true, ..Annotations::default() };
    let condition = seen.references.condition != 0 && !seen.terminating;
    DataPlan {
        annotations: (said && !seen.terminating).then_some(clears),
        condition: condition.then_some(ConditionChange::Remove),
        release: seen.references.held,
        ..DataPlan::default()
    }
}

/// What is done for one source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Its companion is in order.
    InSync,
    Copy,
    Count,
    /// Its companion, or its list, is pending.
    Wait,
    /// Instances do without.
    Skip,
    Fail(Fault),
}

/// Has the companions follow what the WD refers to.
fn follow(seen: &Snapshot) -> DataPlan {
    if !seen.references.held {
        return DataPlan { hold: true, then: NextStep::Requeue, ..DataPlan::default() };
    }
    let mut plan = DataPlan::default();
    let (mut expected, mut failed, mut waits, mut total) = (Vec::new(), None, false, 0);
    let mut unused: Vec<(Kind, &str)> = Vec::new();
    for source in &seen.sources {
        let step = step(seen, source, &mut total);
        let named = || (source.kind, source.name.clone());
        match step {
            Step::Copy => plan.copies.push(named()),
            Step::Count => plan.counts.push(named()),
            Step::Wait => waits = true,
            Step::Skip => unused.push((source.kind, &source.name)),
            Step::Fail(fault) => failed = failed.or_else(|| Some(fault.of(source, &seen.home.namespace))),
            Step::InSync => {}
        }
        if !matches!(step, Step::Skip | Step::Fail(_)) {
            expected.push(named());
        }
    }
    if let Some(verdict) = failed {
        say(seen, &mut plan, verdict);
    } else if waits || !plan.copies.is_empty() || !plan.counts.is_empty() {
        // Said once it is so.
    } else {
        say(seen, &mut plan, Verdict::Ready(expected));
    }
    let wrote = !plan.copies.is_empty() || !plan.counts.is_empty();
    if wrote {
        plan.then = NextStep::Requeue;
    } else if waits {
        plan.then = NextStep::AwaitChange;
    } else {
        // What is no longer referred to goes after the annotation that named it.
        plan.releases = released(seen, &unused);
        plan.then = if plan.releases.is_empty() { NextStep::Done } else { NextStep::Requeue };
    }
    let is_unseen = |s: &Source| matches!(s.state, SourceState::Unauthorized | SourceState::NameTaken);
    if plan.then == NextStep::Done && seen.sources.iter().any(is_unseen) {
        plan.then = NextStep::RequeueAfter(RETRY);
    }
    plan
}

fn step(seen: &Snapshot, source: &Source, total: &mut usize) -> Step {
    let fault = match source.state {
        SourceState::Unknown => return Step::Wait,
        SourceState::Absent => Fault::NotFound,
        SourceState::Unauthorized => Fault::Unauthorized,
        SourceState::NameTaken => Fault::NameTaken,
        SourceState::Stands { version, bytes } => match fits(seen, source, (version, bytes), total) {
            Ok(()) => return stands(seen, source, version),
            Err(fault) => fault,
        },
    };
    if source.optional { Step::Skip } else { Step::Fail(fault) }
}

/// Whether a source is within the limits, as far as its size is known, together with those before it.
fn fits(seen: &Snapshot, source: &Source, of: (u64, usize), total: &mut usize) -> Result<(), Fault> {
    let (version, read) = of;
    let companion = seen.companion(source.kind, &source.name).map(|c| &c.facts);
    let copied = companion.filter(|c| c.copied_from == version).map_or(0, |c| c.bytes as usize);
    let bytes = copied.max(read);
    if bytes > SOURCE_LIMIT {
        return Err(Fault::TooLarge(bytes));
    }
    if *total + bytes > TOTAL_LIMIT {
        return Err(Fault::TooLargeTogether(*total + bytes));
    }
    *total += bytes;
    Ok(())
}

/// What is done for a source that is there.
fn stands(seen: &Snapshot, source: &Source, version: u64) -> Step {
    // The federator makes the hub namespace, whose event comes.
    if seen.space.is_none() {
        return Step::Wait;
    }
    match seen.companion(source.kind, &source.name) {
        None => Step::Copy,
        Some(companion) if companion.terminating => Step::Wait,
        Some(Standing { facts, .. }) if facts.copied_from != version || facts.referenced_by.is_none() => {
            Step::Copy
        }
        Some(companion) if companion.facts.is_of(&seen.token()) => Step::InSync,
        Some(_) => Step::Count,
    }
}

/// How many bytes of content the companions have that are in order.
pub fn copied_bytes(seen: &Snapshot) -> usize {
    let of = |source: &Source| {
        let facts = &seen.companion(source.kind, &source.name)?.facts;
        matches!(source.state, SourceState::Stands { version, .. } if version == facts.copied_from)
            .then_some(facts.bytes as usize)
    };
    seen.sources.iter().filter_map(of).sum()
}

/// The companions that the WD is counted for and does not refer to: none that it refers to is taken away for an error.
fn released(seen: &Snapshot, unused: &[(Kind, &str)]) -> Vec<Standing> {
    let token = seen.token();
    let is_used = |c: &Standing| {
        // Those in another hub namespace than the WD's are left behind, once it is known which is its own.
        let is_here = seen.space.as_deref().is_none_or(|space| space == c.space);
        is_here && seen.references.contains(c.kind, &c.name) && !unused.contains(&(c.kind, &c.name))
    };
    let is_left = |c: &&Standing| c.facts.is_of(&token) && !is_used(c) && !c.terminating;
    seen.companions.iter().filter(is_left).cloned().collect()
}

/// Puts into the plan what is said by annotations and condition, where they say something else.
fn say(seen: &Snapshot, plan: &mut DataPlan, verdict: Verdict) {
    let stands = &seen.references;
    let expected = match &verdict {
        Verdict::Ready(expected) => Some(expected_text(seen.generation, expected)),
        Verdict::Failed { .. } => None,
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
