//! What a condition that is not as it should be says to a user: what is wrong, who has to act, what to do.

use fedhub_api::conditions::{find, is_default, said};
use fedhub_api::reason::{Reason, Responsible, separated};
use fedhub_api::transitions::TERMINATION_OVERDUE;
use fedhub_terminal::output::Colour;
use fedhub_terminal::plain;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::text::{spaced, wrapped};
use crate::model::Obstacle;

/// How something of the project is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Standing {
    /// Everything is as it should be.
    Ready,
    /// The state passes by itself.
    OnItsWay,
    /// The state is not known yet, or not any more.
    Unknown,
    /// The user or the operator has to act.
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
    /// The problem, in words.
    pub what: String,
    /// The reason that says who has to act and what to do: that of the condition, or of an Instance's that it
    /// repeats; `None` where this version does not know it.
    pub attributed: Option<Reason>,
    /// Who has to act, also if the reason is another version's.
    responsible: Option<Responsible>,
    /// When it began.
    pub since: Option<Timestamp>,
    status: String,
}

impl Finding {
    /// Reads a condition.
    pub fn from_condition(condition: &Value) -> Self {
        let (status, reason, message) = said(condition);
        let apart = separated(reason, message);
        let what = if apart.what.is_empty() { spaced(reason) } else { apart.what.to_owned() };
        let since = condition["lastTransitionTime"].as_str().filter(|_| !is_default(condition));
        Self {
            reason: plain(reason).into_owned(),
            what: if what.is_empty() { "no reason is given".to_owned() } else { plain(&what).into_owned() },
            attributed: apart.reason,
            responsible: apart.responsible,
            since: since.and_then(|since| since.parse().ok()),
            status: status.to_owned(),
        }
    }

    /// Describes an obstacle.
    pub fn of_obstacle(obstacle: &Obstacle) -> Self {
        Self::from_condition(
            &json!({"status": "False", "reason": obstacle.reason, "message": obstacle.message}),
        )
    }

    /// Returns who has to act; `None` if this version does not know the reason.
    pub fn responsible(&self) -> Option<Responsible> {
        self.responsible
    }

    /// The reason whose remedy the message has.
    fn remedied(&self) -> Option<Reason> {
        self.attributed.filter(|reason| Some(reason.responsible()) == self.responsible)
    }

    /// Returns the standing: whether the user or the operator has to act.
    pub fn standing(&self) -> Standing {
        match self.responsible() {
            // A user asked for it: nothing is in anybody's way.
            _ if self.attributed.is_some_and(Reason::is_wanted) => Standing::OnItsWay,
            Some(Responsible::User | Responsible::Operator) => Standing::Blocked,
            None if self.status == "Unknown" => Standing::Unknown,
            Some(Responsible::Nobody) | None => Standing::OnItsWay,
        }
    }

    /// Says who has to act, and on what, in a sentence to the user.
    pub fn action(&self) -> String {
        match self.responsible {
            None => "If this lasts, the platform operator has to act".to_owned(),
            Some(Responsible::User) => {
                // The remedy of another version is part of the message.
                let remedy = self.remedied().map_or("what the message says", Reason::remedy_for_users);
                format!("What you can do: {remedy}")
            }
            Some(Responsible::Operator) => {
                format!("The platform operator has to act; tell them the reason: {}", self.reason)
            }
            // It is as it is meant to be, and stays so.
            Some(Responsible::Nobody) if self.reason.as_str() == Reason::Suspended => {
                "It runs again once it is resumed".to_owned()
            }
            Some(Responsible::Nobody) if self.reason.as_str() == Reason::RolloutAborted => {
                "It stays so until it is retried".to_owned()
            }
            Some(Responsible::Nobody) => "No action is required: it passes by itself".to_owned(),
        }
    }

    /// Says what is wrong, who has to act, and on what, on one line.
    pub fn line(&self) -> String {
        format!("{}. {}", self.what, self.action())
    }

    /// Returns what is wrong and what to do, wrapped, with each line indented by `indent` spaces.
    pub fn lines(&self, indent: usize, width: Option<usize>) -> String {
        let what = wrapped(&sentence(&self.what), indent, width);
        format!("{what}\n{}", wrapped(&self.action(), indent, width))
    }

    /// Returns the finding for `--output json` and `yaml`.
    pub fn json(&self) -> Value {
        json!({
            "reason": self.reason,
            "message": self.what,
            "responsible": self.responsible().map(|responsible| responsible.to_string()),
            "remedy": self.remedied().map(Reason::remedy).filter(|remedy| !remedy.is_empty()),
            "since": self.since.map(fedhub_core::clock::stamp),
        })
    }
}

/// Words of the platform without whose job it is.
pub fn without_attribution(words: &str) -> String {
    plain(separated("", words).what).into_owned()
}

/// The text with a capital letter at its beginning.
pub fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
}

/// Conditions of a deployment, in the order in which they explain it.
const OF_DEPLOYMENT: [&str; 4] = ["Available", "ReplicasReady", "ReferencedDataReady", "Federated"];

/// Returns why a deployment is not as it should be, by its status; `None` if it is. Of several conditions,
/// those that require an action go first.
pub fn of_deployment(status: &Value) -> Option<Finding> {
    let overdue = find(status, TERMINATION_OVERDUE).filter(|it| it["status"] == "True");
    foremost(
        OF_DEPLOYMENT
            .iter()
            .filter_map(|kind| unmet(status, kind))
            .chain(overdue.map(Finding::from_condition)),
    )
}

/// Returns why an Instance is not Ready, by its status; `None` if it is. `Ready` says everything but the
/// reason of a refusal of quota.
pub fn of_instance(status: &Value) -> Option<Finding> {
    let ready = unmet(status, "Ready")?;
    let quota = || unmet(status, "QuotaGranted").filter(|it| it.reason.as_str() != Reason::PendingEvaluation);
    let other = match Reason::parse(&ready.reason) {
        Some(Reason::PendingQuota) => quota(),
        Some(Reason::SchedulingGatesPresent) => quota().filter(|it| it.standing() == Standing::Blocked),
        _ => None,
    };
    Some(other.unwrap_or(ready))
}

/// Returns the finding that the rollout of a Workload has made no progress for longer than it may.
pub fn of_rollout(status: &Value) -> Option<Finding> {
    find(status, "Progressing")
        .filter(|it| said(it).1 == Reason::ProgressDeadlineExceeded)
        .map(Finding::from_condition)
}

/// Returns why a Workload is not available, by its status; `None` if it is.
pub fn of_workload(status: &Value) -> Option<Finding> {
    unmet(status, "Available")
}

/// The finding of a condition that is not True, or that is not there.
fn unmet(status: &Value, kind: &str) -> Option<Finding> {
    match find(status, kind) {
        Some(condition) if condition["status"] == "True" => None,
        Some(condition) if is_default(condition) => Some(unreported()),
        Some(condition) => Some(Finding::from_condition(condition)),
        // A deployment refers to no data, and no Instance of an older cell has this condition.
        None if kind == "ReferencedDataReady" => None,
        None => Some(unreported()),
    }
}

/// The finding where nothing was reported yet.
pub fn unreported() -> Finding {
    Finding {
        reason: Reason::Pending.as_str().to_owned(),
        what: "nothing has been reported yet".to_owned(),
        attributed: None,
        responsible: None,
        since: None,
        status: "Unknown".to_owned(),
    }
}

/// The first of the worst.
fn foremost(all: impl Iterator<Item = Finding>) -> Option<Finding> {
    all.reduce(|first, next| if next.standing() > first.standing() { next } else { first })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c9_remedies_for_users_name_nothing_that_they_never_see() {
        const UNSEEN: [&str; 6] = ["WorkloadDeployment", "spec.", "cell", "Entitlement", "logs", "hub"];
        for reason in Reason::all() {
            let text = reason.as_str();
            let finding =
                Finding::from_condition(&json!({"status": "False", "reason": text, "message": "words"}));
            let action = finding.action();
            let seen = UNSEEN.iter().find(|word| action.replace(text, "").contains(**word));
            assert_eq!(seen, None, "{reason}: {action}");
            assert_eq!(reason.responsible() == Responsible::User, action.starts_with("What you can do"));
            assert_eq!(finding.attributed, Some(reason));
        }
    }

    #[test]
    fn words_of_a_condition_steer_no_terminal() {
        let finding =
            Finding::from_condition(&json!({"status": "False", "reason": "Odd", "message": "\u{1b}[2Jdone"}));
        assert_eq!(finding.lines(0, None).lines().next(), Some("\\u{1b}[2Jdone"));
    }
}
