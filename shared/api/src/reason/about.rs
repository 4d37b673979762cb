//! What follows from a reason alone: its source, who has to act, and what to do.

use std::borrow::Cow;

pub(super) const NOBODY: &str = "No action required";

/// Who can make a reason go away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Responsible {
    /// The user who wrote the workload.
    User,
    /// The operator of the platform: cells, hub, and the services of cells.
    Operator,
    /// Nobody: it passes by itself.
    Nobody,
}

/// The source of a reason, which decides the Event that reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A cell, or its services.
    Cell,
    /// The way to the cell: the condition `Federated` and its Events report it (F10).
    Federation,
    /// The way to the cell as well, and `Available` shows it in place of a cell's word (I10, I11).
    Refusal,
}

/// What follows from a reason alone.
pub(super) struct About {
    pub source: Source,
    pub responsible: Responsible,
    /// What to do; empty for nobody.
    pub remedy: &'static str,
    /// Whether it is a stage on the way to what is wanted.
    pub is_stage: bool,
}

impl About {
    /// The end of the message of a condition that is not True.
    pub fn ending(&self) -> Cow<'static, str> {
        match self.responsible {
            Responsible::Nobody => Cow::Borrowed(NOBODY),
            Responsible::User => Cow::Owned(format!("Action required by the user: {}", self.remedy)),
            Responsible::Operator => {
                Cow::Owned(format!("Action required by the platform operator: {}", self.remedy))
            }
        }
    }
}
