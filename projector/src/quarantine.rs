//! Hub Instances that no retry can project (P7). A state in memory, judged anew whenever the facts change: one log
//! line, a gauge by reason; nothing is deleted or annotated for it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use fedhub_shared::metrics::Metrics;
use fedhub_shared::object::Key;

/// Why an Instance is not projected, and will not be before something about it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The labels of its hub namespace are missing or name no plane.
    Unidentifiable,
    /// Its own labels name another plane or namespace than its hub namespace does (I6).
    Contradictory,
    /// The project WD lives in another hub namespace now.
    StaleNamespace,
    /// Neither its labels nor its name tell its WD (P1).
    Unnamed,
    /// Another Instance has its name in the project namespace (P4).
    NameTaken,
    /// The project plane has no such WD, past the grace.
    DeploymentAbsent,
}

impl Reason {
    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Unidentifiable => "unidentifiable",
            Self::Contradictory => "contradictory",
            Self::StaleNamespace => "stale_namespace",
            Self::Unnamed => "unnamed",
            Self::NameTaken => "name_taken",
            Self::DeploymentAbsent => "deployment_absent",
        }
    }
}

/// Why an Instance is not projected for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Its owner is not there yet; the owner's event brings it back (I5).
    Parked,
    /// No retry can change it (P7).
    Quarantined(Reason),
}

/// The Instances that are not projected, and why.
#[derive(Default)]
pub struct Wards(Mutex<BTreeMap<Key, Verdict>>);

impl Wards {
    /// Remembers the verdict on `key`; says whether it is news. `None`: it is projected, or gone.
    pub fn set(&self, key: &Key, verdict: Option<Verdict>, metrics: &Metrics) -> bool {
        let mut wards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match verdict {
            Some(verdict) => wards.insert(key.clone(), verdict),
            None => wards.remove(key),
        };
        if before == verdict {
            return false;
        }
        count(metrics, before, -1);
        count(metrics, verdict, 1);
        true
    }

    /// Forgets the Instances of a hub namespace.
    pub fn forget(&self, namespace: &str, metrics: &Metrics) {
        let mut wards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wards.retain(|key, verdict| {
            let kept = key.namespace != namespace;
            if !kept {
                count(metrics, Some(*verdict), -1);
            }
            kept
        });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn count(metrics: &Metrics, verdict: Option<Verdict>, change: i64) {
    let objects = |state| metrics.objects.with_label_values(&["projector", state]);
    match verdict {
        Some(Verdict::Parked) => objects("parked").add(change),
        Some(Verdict::Quarantined(reason)) => {
            objects("quarantined").add(change);
            metrics.quarantined.with_label_values(&[reason.label()]).add(change);
        }
        None => {}
    }
}
