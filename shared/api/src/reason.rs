//! The closed list of reasons, and who has to act on each (C9); the table is `table`.
//!
//! Every message of a condition that is not True ends with who has to act, on every plane: the user (image,
//! quota, template), the platform operator (location, network service), or nobody (moving).
//!
//! Decides C9.

mod about;
mod attribution;
mod table;
mod text;

use std::fmt;

use strum::VariantArray;

pub use about::{InstancePhase, Responsible};
pub use attribution::{Attribution, attributed, is_attributed, separated, waits};
pub use table::Reason;
pub use text::{AnyReason, ServiceReason};

use about::Source;

impl Reason {
    /// The reason of that text; `None` for one that this version does not know, such as a provider's own or a
    /// later version's.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    /// Every reason that this version knows.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::VARIANTS.iter().copied()
    }

    /// The text in the API.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Who can make it go away.
    pub fn responsible(self) -> Responsible {
        self.about().responsible
    }

    /// What to do to make it go away; empty where it passes by itself.
    pub fn remedy(self) -> &'static str {
        self.about().remedy
    }

    /// Whether it does not go away by waiting alone: its user or the platform operator has to act.
    pub fn needs_action(self) -> bool {
        self.responsible() != Responsible::Nobody
    }

    /// Whether it is a stage on the way to what is wanted, which something holds if it lasts.
    pub fn is_stage(self) -> bool {
        self.about().is_stage
    }

    /// The remedy for a project's user: without objects of the platform, and how it is built.
    pub fn remedy_for_users(self) -> &'static str {
        self.about().remedy_for_users.unwrap_or(self.remedy())
    }

    /// Whether a condition has it that is not as it should be.
    pub fn is_unmet(self) -> bool {
        !matches!(self.about().source, Source::Met | Source::Event(_))
    }

    /// The kind of object that its Event is about; `None` where it is a condition's.
    pub fn event_on(self) -> Option<&'static str> {
        match self.about().source {
            Source::Event(on) => Some(on),
            Source::Cell | Source::Workload | Source::Federation | Source::Refusal | Source::Met => None,
        }
    }

    /// Whether the condition `Federated` of a deployment reports it (F10).
    pub fn is_reported_by_federation(self) -> bool {
        matches!(self.about().source, Source::Federation | Source::Refusal)
    }

    /// Whether the federator shows it on `Available`, in place of a cell's word (I10, I11).
    pub fn is_refusal(self) -> bool {
        self.about().source == Source::Refusal
    }

    /// Whether a user asked for what it says, which stays so until that user asks for something else.
    pub fn is_wanted(self) -> bool {
        self.about().is_wanted
    }

    /// Whether it is a cell's word on which somebody has to act, and which `Federated` does not report. What
    /// a user asked for is none.
    pub fn is_problem_of_cell(self) -> bool {
        self.needs_action() && !self.is_wanted() && self.about().source == Source::Cell
    }

    /// Whether a Workload reports it of its cities without repeating the words of a deployment (W3).
    pub fn is_of_workload(self) -> bool {
        self.about().is_of_workload
    }

    /// Whether the quota service has to do with it, or cannot be asked.
    pub fn is_of_quota(self) -> bool {
        self.about().is_of_quota
    }

    /// The weight beside what else blocks in a cell: the greatest is reported (C9).
    pub fn weight_in_cell(self) -> u8 {
        self.about().in_cell
    }

    /// The weight beside what else keeps a Workload from being available: the greatest is reported (W3). A
    /// reason that requires action has a greater one than a reason that passes.
    pub fn weight_in_workload(self) -> u8 {
        self.about().weight_in_workload()
    }

    /// How an Instance is whose `Ready` has it; `None` where its text says it.
    pub fn instance_phase(self) -> Option<InstancePhase> {
        self.about().instance
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Compares with the text of a condition.
impl PartialEq<Reason> for &str {
    fn eq(&self, reason: &Reason) -> bool {
        *self == reason.as_str()
    }
}

impl AsRef<str> for Reason {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

/// Whether the user or the platform operator has to act on the reason of that text. A reason that this
/// version does not know may pass.
pub fn needs_action(text: &str) -> bool {
    Reason::parse(text).is_some_and(Reason::needs_action)
}

#[cfg(test)]
mod tests;
