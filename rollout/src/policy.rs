//! What the user asks of a rollout.

use std::time::Duration;

/// The way in which cities get a new revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// By waves, each gated by the health of those before it.
    #[default]
    InOrder,
    /// All cities at once.
    AllAtOnce,
    /// Another controller assigns revisions (R9).
    External,
}

/// When a wave requires approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approval {
    /// Never.
    #[default]
    None,
    /// Before its first city.
    Before,
    /// After its last city, before the next wave.
    After,
}

/// What happens to a city whose cell cannot be reached (R5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unreachable {
    /// It is passed over and caught up later.
    #[default]
    Skip,
    /// The rollout waits for it.
    Hold,
}

/// What follows when more cities of a wave fail than may (R6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// Nothing new starts.
    #[default]
    Pause,
    /// Each city returns to its last good revision, by the same waves and gates.
    RollBack,
}

/// Cities that get a new revision together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wave {
    /// Its name, unique in the rollout.
    pub name: Box<str>,
    /// The deployments in it, by name, in the order in which they start.
    pub deployments: Vec<Box<str>>,
    /// When it requires approval.
    pub approval: Approval,
    /// How long a city has to be healthy on the new revision before it counts as complete.
    pub soak: Duration,
    /// The most cities in flight; at least 1.
    pub max_concurrent: usize,
    /// The most cities that may fail.
    pub max_failures: usize,
}

/// What the user asks of a rollout, with the waves as they would be frozen if it started now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The way in which cities get a new revision.
    pub strategy: Strategy,
    /// The waves in their order; every deployment is in exactly one.
    pub waves: Vec<Wave>,
    /// How long one city may take to become healthy.
    pub progress_deadline: Duration,
    /// What happens to a city whose cell cannot be reached.
    pub unreachable: Unreachable,
    /// What follows when too many cities fail.
    pub on_failure: OnFailure,
    /// Whether nothing new starts.
    pub paused: bool,
    /// Whether the rollout is given up: all deployments end in one revision (R7).
    pub abort: bool,
}

impl Policy {
    /// The policy of a Workload without a rollout of its own: its deployments one after the other.
    pub fn one_by_one(deployments: impl IntoIterator<Item = Box<str>>, progress_deadline: Duration) -> Self {
        let wave = Wave {
            name: "all".into(),
            deployments: deployments.into_iter().collect(),
            approval: Approval::None,
            soak: Duration::ZERO,
            max_concurrent: 1,
            max_failures: 0,
        };
        Self {
            strategy: Strategy::InOrder,
            waves: vec![wave],
            progress_deadline,
            unreachable: Unreachable::Skip,
            on_failure: OnFailure::Pause,
            paused: false,
            abort: false,
        }
    }
}
