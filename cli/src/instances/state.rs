//! The status of an Instance in a word or two, as the column STATUS has it.

use std::fmt;

use fedhub_api::conditions::find;
use fedhub_api::reason::{InstancePhase, Reason};
use fedhub_core::object::{Object, ObjectView};

use crate::model::status::is_going;
use crate::view::condition::{Finding, Standing, of_instance};
use crate::view::text::spaced;

/// How an Instance is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The instance runs, and is reachable.
    Available,
    /// The instance is being started.
    Starting,
    /// The instance is being stopped.
    Stopping,
    /// The instance is kept, and does not run.
    Suspended,
    /// The instance is kept, and does not run, by its user's order for it alone.
    Stopped,
    /// The instance waits, for this if it is known.
    Pending(Option<String>),
    /// The instance failed, for this reason.
    Failed(String),
    /// The state is not known for now, for this reason.
    Unknown(String),
}

/// The state that a reason of `Ready`, or of `QuotaGranted` behind it, stands for; `None` where its text says
/// it.
fn by_reason(reason: &str) -> Option<State> {
    let Some(known) = Reason::parse(reason) else {
        return reason.is_empty().then_some(State::Pending(None));
    };
    known.instance_phase().map(|phase| match phase {
        InstancePhase::Starting => State::Starting,
        InstancePhase::Stopping => State::Stopping,
        InstancePhase::Suspended => State::Suspended,
        InstancePhase::Stopped => State::Stopped,
        InstancePhase::Pending(why) => State::Pending(Some(why.to_owned()).filter(|why| !why.is_empty())),
        InstancePhase::Failed(why) => State::Failed(why.to_owned()),
        InstancePhase::Unknown(why) => State::Unknown(why.to_owned()),
    })
}

impl State {
    /// Returns the state of an Instance.
    pub fn from_instance(instance: &Object) -> Self {
        if is_going(instance) {
            return Self::Stopping;
        }
        let Some(finding) = of_instance(instance.status()) else { return Self::Available };
        by_reason(&finding.reason).unwrap_or_else(|| Self::other(&finding))
    }

    /// Returns the state of an Instance for a reason that has no word of its own.
    fn other(finding: &Finding) -> Self {
        match finding.standing() {
            Standing::Unknown => Self::Unknown(spaced(&finding.reason)),
            _ => Self::Pending(Some(spaced(&finding.reason))),
        }
    }

    /// Returns whether an action is required, which the reason alone does not say.
    pub fn standing(&self, instance: &Object) -> Standing {
        match self {
            Self::Available => Standing::Ready,
            Self::Failed(_) => Standing::Blocked,
            Self::Unknown(_) => Standing::Unknown,
            _ => of_instance(instance.status()).map_or(Standing::OnItsWay, |finding| finding.standing()),
        }
    }

    /// The word by which totals count it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Starting => "starting",
            Self::Stopping => "stopping",
            Self::Suspended => "suspended",
            Self::Stopped => "stopped",
            Self::Pending(_) => "pending",
            Self::Failed(_) => "failed",
            Self::Unknown(_) => "unknown",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Available => f.write_str("Available"),
            Self::Starting => f.write_str("Starting"),
            Self::Stopping => f.write_str("Stopping"),
            Self::Suspended => f.write_str("Suspended"),
            Self::Stopped => f.write_str("Stopped"),
            Self::Pending(None) => f.write_str("Pending"),
            Self::Pending(Some(why)) => write!(f, "Pending ({why})"),
            Self::Failed(why) => write!(f, "Failed ({why})"),
            Self::Unknown(why) => write!(f, "Unknown ({why})"),
        }
    }
}

/// Whether an Instance says anything about its quota that refuses it.
pub fn is_refused_quota(instance: &Object) -> bool {
    let quota = find(instance.status(), "QuotaGranted");
    quota.is_some_and(|it| it["status"] == "False" || it["reason"] == Reason::QuotaNoBudget.as_str())
}
