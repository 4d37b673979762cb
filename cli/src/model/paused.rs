//! The pause of a Workload's rollout.

use fedhub_api::conditions::{find, said};
use fedhub_api::facts::workload::{is_paused, paused_details};
use fedhub_api::reason::Reason;
use fedhub_core::message::Quoted;
use fedhub_core::object::{Object, ObjectView};
use fedhub_terminal::plain;

use super::status::generation;

/// A pause of a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paused {
    /// Whether the platform has said that a change of the newest generation is held back.
    pub holds: bool,
    /// What follows after "paused", in the platform's words; empty until the platform has observed the pause.
    details: String,
}

impl Paused {
    /// Returns how a Workload's rollout is paused; `None` if it is not.
    pub fn from_workload(workload: &Object) -> Option<Self> {
        if !is_paused(workload) {
            return None;
        }
        let (status, _, message) = find(workload.status(), "Progressing")
            .filter(|condition| {
                said(condition).1 == Reason::RolloutPaused
                    && condition["observedGeneration"] == generation(workload)
            })
            .map_or(("", "", ""), said);
        Some(Self { holds: status == "Unknown", details: plain(paused_details(message)).into_owned() })
    }

    /// Creates a pause of which the platform has said that it `holds`, in a message that may be empty.
    pub fn from_rollout((holds, message): (bool, String)) -> Self {
        let details = paused_details(&message).trim_end_matches('.');
        Self { holds, details: plain(details).into_owned() }
    }

    /// Returns a sentence: `The rollout of "web" is paused, which holds back a new template in "DFW".`
    pub fn sentence(&self, workload: &str) -> String {
        format!("The rollout of {} is {}.", Quoted(workload), self.words())
    }

    /// Without the Workload's name: `paused, which holds back a new template in "DFW"`.
    pub fn words(&self) -> String {
        format!("paused{}", self.details)
    }
}
