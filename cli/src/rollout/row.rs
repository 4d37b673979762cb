//! How far one city of a placement is.

use super::stage::Phase;
use super::waves::Turn;
use crate::model::{Counts, Obstacle};

/// A city of a placement. Its key is both: a city may be in several placements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name of the placement.
    pub placement: String,
    /// The code of the city.
    pub city: String,
    /// How far it is.
    pub phase: Phase,
    /// The numbers of its newest generation; `None` until they are reported.
    pub counts: Option<Counts>,
    /// How many Instances are there that are to go.
    pub old: i64,
    /// The obstacle in its way.
    pub obstacle: Option<Obstacle>,
    /// What the city waits for, in the platform's words.
    pub awaits: Option<String>,
    /// How far it is in a rollout over waves.
    pub turn: Option<Turn>,
}
