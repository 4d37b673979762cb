//! The properties of a reason: its source, who has to act, what to do, and its weight beside others.

use std::borrow::Cow;

pub(super) const NOBODY: &str = "No action required";
/// What the ending for a user's reason begins with; its remedy follows.
pub(super) const USER: &str = "Action required by the user: ";
/// The beginning of the ending for a platform operator's reason.
pub(super) const OPERATOR: &str = "Action required by the platform operator: ";

/// The weight in a Workload of a reason that requires action and has no weight of its own there.
const ACTION: u8 = 5;

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
    /// The Workload controller, about a Workload as a whole.
    Workload,
    /// The way to the cell: the condition `Federated` and its Events report it (F10).
    Federation,
    /// The way to the cell as well, and `Available` shows it in place of a cell's word (I10, I11).
    Refusal,
    /// A condition that is as it should be.
    Met,
    /// An Event for which no condition has the reason, about an object of this kind.
    Event(&'static str),
}

/// How an Instance is whose `Ready` has a reason, as users read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstancePhase {
    /// It is being started.
    Starting,
    /// It is being stopped.
    Stopping,
    /// It is kept and does not run.
    Suspended,
    /// It is kept and does not run, by its user's order for it alone.
    Stopped,
    /// It waits for this; empty where nothing is known of it.
    Pending(&'static str),
    /// It failed, by this.
    Failed(&'static str),
    /// Nobody can tell for now, because of this.
    Unknown(&'static str),
}

/// What follows from a reason alone.
#[derive(Clone, Copy)]
pub(super) struct About {
    pub source: Source,
    pub responsible: Responsible,
    /// What to do; empty for nobody.
    pub remedy: &'static str,
    /// The remedy for a project's user, who sees no objects of the platform; `None` where that is the remedy.
    pub remedy_for_users: Option<&'static str>,
    /// Whether it is a stage on the way to what is wanted.
    pub is_stage: bool,
    /// Whether a user asked for it, so that it is no problem.
    pub is_wanted: bool,
    /// Whether the quota service has to do with it.
    pub is_of_quota: bool,
    /// Whether the Workload controller reports it of a city without repeating a deployment.
    pub is_of_workload: bool,
    /// The weight beside other reasons in a cell; the greatest is reported.
    pub in_cell: u8,
    /// The weight beside other deployments' in a Workload (W3); `None` where who has to act decides.
    pub in_workload: Option<u8>,
    /// How an Instance is that has it; `None` where its text says it.
    pub instance: Option<InstancePhase>,
}

impl About {
    pub const fn new(source: Source, responsible: Responsible, remedy: &'static str) -> Self {
        Self {
            source,
            responsible,
            remedy,
            remedy_for_users: None,
            is_stage: false,
            is_wanted: false,
            is_of_quota: false,
            is_of_workload: matches!(source, Source::Workload),
            in_cell: 0,
            in_workload: None,
            instance: None,
        }
    }

    /// Sets one weight both in a cell and in a Workload.
    pub const fn weight(self, weight: u8) -> Self {
        self.in_cell(weight).in_workload(weight)
    }

    pub const fn in_cell(self, weight: u8) -> Self {
        Self { in_cell: weight, ..self }
    }

    pub const fn in_workload(self, weight: u8) -> Self {
        Self { in_workload: Some(weight), ..self }
    }

    pub const fn wanted(self) -> Self {
        Self { is_wanted: true, ..self }
    }

    pub const fn of_quota(self) -> Self {
        Self { is_of_quota: true, ..self }
    }

    pub const fn of_workload(self) -> Self {
        Self { is_of_workload: true, ..self }
    }

    pub const fn instance(self, phase: InstancePhase) -> Self {
        Self { instance: Some(phase), ..self }
    }

    pub const fn for_users(self, remedy: &'static str) -> Self {
        Self { remedy_for_users: Some(remedy), ..self }
    }

    pub fn weight_in_workload(&self) -> u8 {
        let by_action = if self.responsible == Responsible::Nobody { 0 } else { ACTION };
        self.in_workload.unwrap_or(by_action)
    }

    /// The end of the message of a condition that is not True.
    pub fn ending(&self) -> Cow<'static, str> {
        match self.responsible {
            Responsible::Nobody => Cow::Borrowed(NOBODY),
            Responsible::User => Cow::Owned(format!("{USER}{}", self.remedy)),
            Responsible::Operator => Cow::Owned(format!("{OPERATOR}{}", self.remedy)),
        }
    }
}
