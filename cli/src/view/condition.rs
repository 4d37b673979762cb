//! What a condition that is not as it should be says to a user: what is wrong, who has to act, what to do.

use fedhub_api::conditions::{find, is_default, said};
use fedhub_api::responsibility::{Responsible, separated};
use fedhub_api::transitions::TERMINATION_OVERDUE;
use fedhub_terminal::output::Colour;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::text::{spaced, wrapped};

/// How something of the project is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Standing {
    /// As it should be.
    Ready,
    /// It passes by itself.
    OnItsWay,
    /// Nothing is known yet, or not any more.
    Unknown,
    /// Somebody has to act.
    Blocked,
}

impl Standing {
    /// Its colour.
    pub fn colour(self) -> Colour {
        match self {
            Self::Ready => Colour::Green,
            Self::OnItsWay | Self::Unknown => Colour::Yellow,
            Self::Blocked => Colour::Red,
        }
    }
}

/// A condition in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The condition's reason.
    pub reason: String,
    /// What is the matter.
    pub what: String,
    /// Who has to act; `None` where this version does not know the reason.
    pub responsible: Option<Responsible>,
    /// What to do; empty where that is nothing, or not known.
    pub remedy: &'static str,
    /// Since when.
    pub since: Option<Timestamp>,
    status: String,
}

impl Finding {
    /// What a condition says.
    pub fn of(condition: &Value) -> Self {
        let (status, reason, message) = said(condition);
        let apart = separated(reason, message);
        let what = if apart.what.is_empty() { spaced(reason) } else { apart.what.to_owned() };
        let since = condition["lastTransitionTime"].as_str().filter(|_| !is_default(condition));
        Self {
            reason: reason.to_owned(),
            what: if what.is_empty() { "no reason is given".to_owned() } else { what },
            responsible: apart.responsible,
            remedy: apart.remedy,
            since: since.and_then(|since| since.parse().ok()),
            status: status.to_owned(),
        }
    }

    /// What follows from it.
    pub fn standing(&self) -> Standing {
        match self.responsible {
            Some(Responsible::User | Responsible::Operator) => Standing::Blocked,
            None if self.status == "Unknown" => Standing::Unknown,
            Some(Responsible::Nobody) | None => Standing::OnItsWay,
        }
    }

    /// Who has to act, and on what, in a sentence to the user.
    pub fn action(&self) -> String {
        match self.responsible {
            Some(Responsible::User) => format!("What you can do: {}", self.remedy),
            Some(Responsible::Operator) => format!("The platform operator has to act: {}", self.remedy),
            Some(Responsible::Nobody) => "Nobody has to act: it passes by itself".to_owned(),
            None => "If this lasts, the platform operator has to act".to_owned(),
        }
    }

    /// Both, wrapped, in lines behind so many spaces.
    pub fn lines(&self, indent: usize, width: Option<usize>) -> String {
        let what = wrapped(&sentence(&self.what), indent, width);
        format!("{what}\n{}", wrapped(&self.action(), indent, width))
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        json!({
            "reason": self.reason,
            "message": self.what,
            "responsible": self.responsible.map(|it| it.to_string()),
            "remedy": Some(self.remedy).filter(|it| !it.is_empty()),
            "since": self.since.map(fedhub_core::clock::stamp),
        })
    }
}

/// The text with a capital letter at its beginning.
pub fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
}

/// Conditions of a deployment, in the order in which they explain it.
const OF_DEPLOYMENT: [&str; 4] = ["Available", "ReplicasReady", "ReferencedDataReady", "Federated"];

/// What the status of a deployment says that it is not as it should be; `None` where nothing does. Of what several
/// conditions say, what somebody has to act on goes first.
pub fn of_deployment(status: &Value) -> Option<Finding> {
    let overdue = find(status, TERMINATION_OVERDUE).filter(|it| it["status"] == "True");
    foremost(OF_DEPLOYMENT.iter().filter_map(|kind| unmet(status, kind)).chain(overdue.map(Finding::of)))
}

/// What the status of an Instance says that it is not Ready; `None` where it is. `Ready` says it all but what a refusal of
/// quota is called.
pub fn of_instance(status: &Value) -> Option<Finding> {
    let ready = unmet(status, "Ready")?;
    let quota = || unmet(status, "QuotaGranted").filter(|it| it.reason != "PendingEvaluation");
    let other = match ready.reason.as_str() {
        "PendingQuota" => quota(),
        "SchedulingGatesPresent" => quota().filter(|it| it.standing() == Standing::Blocked),
        _ => None,
    };
    Some(other.unwrap_or(ready))
}

/// What the status of a Workload says that it is not available; `None` where it is.
pub fn of_workload(status: &Value) -> Option<Finding> {
    unmet(status, "Available")
}

/// The finding of a condition that is not True, or that is not there.
fn unmet(status: &Value, kind: &str) -> Option<Finding> {
    match find(status, kind) {
        Some(condition) if condition["status"] == "True" => None,
        Some(condition) if is_default(condition) => Some(unreported()),
        Some(condition) => Some(Finding::of(condition)),
        // A deployment refers to no data, and no Instance of an older cell has this condition.
        None if kind == "ReferencedDataReady" => None,
        None => Some(unreported()),
    }
}

/// The finding where nothing was reported yet.
pub fn unreported() -> Finding {
    Finding {
        reason: "Pending".to_owned(),
        what: "nothing has been reported yet".to_owned(),
        responsible: None,
        remedy: "",
        since: None,
        status: "Unknown".to_owned(),
    }
}

/// The first of the worst.
fn foremost(all: impl Iterator<Item = Finding>) -> Option<Finding> {
    all.reduce(|first, next| if next.standing() > first.standing() { next } else { first })
}
