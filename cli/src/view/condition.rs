//! What a condition that is not as it should be says to a user: what is wrong, who has to act, what to do.

use fedhub_api::conditions::{find, is_default, said};
use fedhub_api::responsibility::{PROGRESS_DEADLINE_EXCEEDED, Responsible, separated};
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

/// The reason of what is suspended: it is as it is meant to be, and stays so.
pub const SUSPENDED: &str = "Suspended";

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
            reason: plain(reason).into_owned(),
            what: if what.is_empty() { "no reason is given".to_owned() } else { plain(&what).into_owned() },
            responsible: apart.responsible,
            remedy: apart.remedy,
            since: since.and_then(|since| since.parse().ok()),
            status: status.to_owned(),
        }
    }

    /// What an obstacle says.
    pub fn of_obstacle(obstacle: &Obstacle) -> Self {
        Self::of(&json!({"status": "False", "reason": obstacle.reason, "message": obstacle.message}))
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
            Some(Responsible::User) => format!("What you can do: {}", in_users_words(self.remedy)),
            Some(Responsible::Operator) => {
                format!("The platform operator has to act; tell them the reason: {}", self.reason)
            }
            Some(Responsible::Nobody) if self.reason == SUSPENDED => {
                "It runs again once it is resumed".to_owned()
            }
            Some(Responsible::Nobody) => "Nobody has to act: it passes by itself".to_owned(),
            None => "If this lasts, the platform operator has to act".to_owned(),
        }
    }

    /// What is the matter, who has to act, and on what, on one line.
    pub fn line(&self) -> String {
        format!("{}. {}", self.what, self.action())
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

/// Words of the platform without whose job it is.
pub fn without_attribution(words: &str) -> String {
    plain(separated("", words).what).into_owned()
}

/// A remedy without what a project's user never sees: objects of the platform, and how it is built.
fn in_users_words(remedy: &str) -> &str {
    match remedy {
        "delete the WorkloadDeployment of that name, or rename the placement" => "rename the placement",
        "make the WorkloadDeployment smaller" => "make the workload smaller",
        "correct spec.cityCode" => "correct the code of the city",
        "look at the instance's logs for why it ends" => "find out why the program in the container ends",
        "choose a city that is served, or ask the platform operator for a cell in this one"
        | "choose cities that are served, or ask the platform operator for a cell or a location there" => {
            "choose another city, or ask the platform operator to serve this one"
        }
        "see what the workload's deployments say holds the rollout up" => {
            "see what its cities say, and look at its events"
        }
        "see the project's ServiceEntitlement for what suspended the service" => {
            "see what the command access says of the project"
        }
        other => other,
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

/// That the rollout of a Workload has made no progress for longer than it may.
pub fn of_rollout(status: &Value) -> Option<Finding> {
    find(status, "Progressing").filter(|it| said(it).1 == PROGRESS_DEADLINE_EXCEEDED).map(Finding::of)
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

#[cfg(test)]
mod tests {
    use fedhub_api::responsibility::{reasons, remedy, responsible};

    use super::*;

    #[test]
    fn c9_remedies_for_users_name_nothing_that_they_never_see() {
        const UNSEEN: [&str; 6] = ["WorkloadDeployment", "spec.", "cell", "Entitlement", "logs", "hub"];
        for reason in reasons() {
            let finding = Finding::of(&json!({"status": "False", "reason": reason, "message": "words"}));
            let action = finding.action();
            let seen = UNSEEN.iter().find(|word| action.replace(reason, "").contains(**word));
            assert_eq!(seen, None, "{reason}: {action}");
            assert_eq!(responsible(reason) == Some(Responsible::User), action.starts_with("What you can do"));
            assert_eq!(finding.remedy, remedy(reason));
        }
    }

    #[test]
    fn words_of_a_condition_steer_no_terminal() {
        let finding = Finding::of(&json!({"status": "False", "reason": "Odd", "message": "\u{1b}[2Jdone"}));
        assert_eq!(finding.lines(0, None).lines().next(), Some("\\u{1b}[2Jdone"));
    }
}
