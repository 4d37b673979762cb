//! Whose turn it is, as `order` decides it.

use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_api::facts::Workload;
use fedhub_api::facts::carried::WantedTemplate;
use fedhub_api::reason::Reason;
use fedhub_core::object::{Key, Kind, bare};
use fedhub_rollout::{Status, Verdict};
use jiff::Timestamp;
use serde_json::Value;

use crate::rollouts::status;

/// The template of each WD that does not simply get the newest one, by its name; `None` for one that is not
/// created yet.
pub(super) type Templates = BTreeMap<Box<str>, Option<WantedTemplate>>;

/// Whose turn it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// What WDs get that do not simply get the newest template.
    pub(super) templates: Templates,
    /// The revision that cities keep until it is their turn; `None` where nothing is held back. The status
    /// keeps it, for where the last WD that carries it is deleted by hand.
    pub held: Option<u64>,
    /// The status that the WorkloadRollout should have; `None` where there is none, or it stays as it is.
    pub status: Option<Value>,
    /// What was decided of each WD where no WorkloadRollout keeps it.
    pub(super) decided: Option<Status>,
    /// How the rollout ended, where that is not on the newest template.
    pub outcome: Option<Reason>,
    /// When to decide again although nothing has changed.
    pub next: Option<Duration>,
    /// The state of the rollout; `None` where nothing is held back.
    pub verdict: Option<Verdict>,
}

impl Turns {
    /// The template that the WD of that name is to have; `None` where it is not created yet.
    pub fn template(&self, deployment: &str, facts: &Workload) -> Option<WantedTemplate> {
        self.templates.get(deployment).copied().unwrap_or(Some(WantedTemplate::Newest(facts.revision)))
    }

    /// The status that a WorkloadRollout has of it, or would have: how far each WD is. `None` where nothing
    /// is held back. For readers that explain a decision which they do not carry out.
    pub fn shown(&self, workload: &Key, now: Timestamp) -> Option<Value> {
        if let Some(status) = &self.status {
            return Some(status.clone());
        }
        let none = bare(Kind::WorkloadRollout, &workload.namespace, &workload.name);
        let decided = self.decided.clone().unwrap_or_default();
        self.verdict.as_ref().map(|verdict| status::render(&none, &decided, verdict, now))
    }
}
