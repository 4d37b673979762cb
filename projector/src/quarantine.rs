//! Hub Instances that no retry can project (P7). A state in memory, judged anew whenever the facts change: one log
//! line, a gauge by reason; nothing is deleted or annotated for it.

use fedhub_shared::metrics::Metrics;
use fedhub_shared::verdicts::{Counted, Verdicts};

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
pub type Wards = Verdicts<Verdict>;

impl Counted for Verdict {
    fn count(self, metrics: &Metrics, change: i64) {
        let objects = |state| metrics.objects.with_label_values(&["projector", state]);
        match self {
            Self::Parked => objects("parked").add(change),
            Self::Quarantined(reason) => {
                objects("quarantined").add(change);
                metrics.quarantined.with_label_values(&[reason.label()]).add(change);
            }
        }
    }
}
