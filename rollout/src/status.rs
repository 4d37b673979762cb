//! What was decided of a rollout and is kept of it.

use jiff::Timestamp;

use super::{Cause, Revision, Strategy, Wave};

/// Where a rollout goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// To the target.
    #[default]
    Forward,
    /// Back to each city's last good revision.
    Back,
    /// To one revision everywhere, by `abort`.
    Abort,
}

/// The side of a wave that was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Its beginning.
    Before,
    /// Its end.
    After,
}

/// An approval, irrevocable once it is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approved {
    /// The name of the wave.
    pub wave: Box<str>,
    /// Which side of it.
    pub gate: Gate,
    /// Who approved it.
    pub by: Box<str>,
    /// When it was taken.
    pub at: Timestamp,
}

/// How far one deployment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString)]
pub enum CityState {
    /// Its turn has not come.
    Waiting,
    /// It was assigned the revision, and is not healthy on it yet.
    Updating,
    /// It is healthy, and has to stay so for the soak time.
    Soaking,
    /// It is complete.
    Complete,
    /// It failed.
    Failed,
    /// Its cell cannot be reached: it is left as it is and caught up later.
    Skipped,
}

/// One deployment of a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CityStatus {
    /// The name of the deployment.
    pub deployment: Box<str>,
    /// The code of the city.
    pub city: Box<str>,
    /// The name of its wave.
    pub wave: Box<str>,
    /// How far it is.
    pub state: CityState,
    /// The revision that it is allowed.
    pub revision: Option<Revision>,
    /// The revision on which it was complete when this rollout started: where the way back leads. The
    /// target once the whole rollout is complete.
    pub last_good: Option<Revision>,
    /// Since when it is in this state.
    pub since: Timestamp,
    /// Why it failed; after a roll back, why there was one.
    pub cause: Option<Cause>,
}

/// What was decided of a rollout and is kept of it. Its default is that of no rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The revision that it goes to; on the way back the one that failed; `None` before the first rollout.
    pub target: Option<Revision>,
    /// Where it goes.
    pub direction: Direction,
    /// The strategy that the plan was made by; `None` where that is not known.
    pub strategy: Option<Strategy>,
    /// The frozen plan (R8).
    pub plan: Vec<Wave>,
    /// The deployments, in the order of the plan.
    pub cities: Vec<CityStatus>,
    /// The approvals taken for this target.
    pub approvals: Vec<Approved>,
}
