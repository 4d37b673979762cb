//! One trace for each change, across the processes that carry it.
//!
//! A change is a generation of a project's `WorkloadDeployment`. The hub WD and the cell's carry its UID and
//! generation as their origin mark (annotations `source-uid` and `source-generation`), which is written with
//! the change itself: from it every process derives the same trace, so that a trace costs no write and makes
//! no object differ (I7).
//!
//! Where the spans go is not known here: see [`record_to`]. Without a recorder nothing of this costs
//! anything.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::hash;
use crate::names::{SOURCE_GENERATION, SOURCE_UID};
use crate::object::{Key, Object, ObjectView};

/// A generation of a project's WD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedGeneration {
    /// UID of the project WD.
    pub uid: String,
    /// Its generation.
    pub generation: i64,
}

impl TracedGeneration {
    /// Returns the change that the origin mark of a hub WD, or of a cell's WD, names.
    pub fn of_mark(wd: &Object) -> Option<Self> {
        let generation = wd.annotation(SOURCE_GENERATION)?.parse().ok()?;
        Some(Self { uid: wd.annotation(SOURCE_UID)?.to_owned(), generation })
    }

    /// The id of its trace: the same in every process and version. Never zero.
    pub fn trace_id(&self) -> u128 {
        let Self { uid, generation } = self;
        let high = hash::text(&format!("{uid}/{generation}"));
        let low = hash::text(&format!("{generation}/{uid}"));
        (u128::from(high) << 64 | u128::from(low)).max(1)
    }

    /// The id of the span of its whole way, which all others of the trace are below. Never zero.
    pub fn root_span_id(&self) -> u64 {
        hash::text(&format!("change/{}/{}", self.uid, self.generation)).max(1)
    }
}

/// A reconcile that had something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reconciled {
    /// The controller.
    pub controller: &'static str,
    /// The object.
    pub key: Key,
    /// `updated`, `waiting`, or the category of the error.
    pub outcome: &'static str,
    /// Whether it failed.
    pub failed: bool,
    /// How long it took, until now.
    pub took: Duration,
    /// How long it had waited for a worker before.
    pub waited: Duration,
    /// The change that the reconcile answered, if it is known.
    pub change: Option<TracedGeneration>,
}

/// A change that has come all the way: its status is back in the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converged {
    /// The project WD.
    pub key: Key,
    /// The change.
    pub change: TracedGeneration,
    /// How long it took from its first sight, until now.
    pub took: Duration,
}

/// Receives the data of spans. Called on the path of reconciles: must not block.
pub trait Recorder: Send + Sync {
    /// A reconcile that had something to do has ended.
    fn reconciled(&self, span: Reconciled);
    /// A change has converged.
    fn converged(&self, span: Converged);
}

static RECORDER: OnceLock<Arc<dyn Recorder>> = OnceLock::new();

/// Installs the recorder of this process's spans. Later calls are ignored.
pub fn record_to(recorder: Arc<dyn Recorder>) {
    drop(RECORDER.set(recorder));
}

/// Returns the recorder of this process's spans, if one is installed.
pub fn recorder() -> Option<&'static Arc<dyn Recorder>> {
    RECORDER.get()
}

/// The change that a reconcile answers, as far as it has said so.
#[derive(Debug)]
pub struct Answered {
    /// Whether anybody asks.
    is_asked: bool,
    change: Mutex<Option<TracedGeneration>>,
}

impl Answered {
    /// Creates an empty record if spans are recorded.
    pub fn recorded() -> Self {
        Self::new(recorder().is_some())
    }

    fn new(is_asked: bool) -> Self {
        Self { is_asked, change: Mutex::default() }
    }

    /// Says which change the reconcile answers. Evaluated only while spans are recorded.
    pub fn say(&self, change: impl FnOnce() -> Option<TracedGeneration>) {
        if self.is_asked
            && let Some(change) = change()
        {
            *self.change.lock().unwrap_or_else(PoisonError::into_inner) = Some(change);
        }
    }

    /// Returns the change that was said last.
    pub fn said(&self) -> Option<TracedGeneration> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn change(uid: &str, generation: i64) -> TracedGeneration {
        TracedGeneration { uid: uid.to_owned(), generation }
    }

    /// Processes of different versions have to agree, so these never change.
    #[test]
    fn a_change_has_one_trace_everywhere() {
        let one = change("7c6e0a54-5a4f-4b51-9d54-0f3f6f6f1c11", 3);
        assert_eq!(format!("{:032x}", one.trace_id()), "cbe21a422cf49d4b456b28c49c10c957");
        assert_eq!(format!("{:016x}", one.root_span_id()), "776aad1ee3b41f40");
        let changes = (0..1000).map(|n| change(&format!("uid-{}", n % 10), n / 10));
        let ids: BTreeSet<_> = changes.map(|change| (change.trace_id(), change.root_span_id())).collect();
        assert_eq!(ids.len(), 1000);
    }

    #[test]
    fn the_origin_mark_names_the_change() {
        let wd = |annotations| {
            let wd = json!({"metadata": {"name": "web", "uid": "another", "annotations": annotations}});
            TracedGeneration::of_mark(&serde_json::from_value(wd).unwrap())
        };
        assert_eq!(wd(json!({SOURCE_UID: "u", SOURCE_GENERATION: "7"})), Some(change("u", 7)));
        assert_eq!(wd(json!({SOURCE_UID: "u", SOURCE_GENERATION: "x"})), None);
        assert_eq!(wd(json!({SOURCE_UID: "u"})), None);
        assert_eq!(wd(json!({})), None);
    }

    #[test]
    fn a_reconcile_says_what_it_answers_and_nothing_is_evaluated_unasked() {
        let unasked = Answered::new(false);
        unasked.say(|| panic!("nobody asks"));
        assert_eq!(unasked.said(), None);
        let asked = Answered::new(true);
        asked.say(|| None);
        assert_eq!(asked.said(), None);
        asked.say(|| Some(change("u", 1)));
        asked.say(|| None);
        assert_eq!(asked.said(), Some(change("u", 1)));
    }
}
