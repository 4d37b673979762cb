//! What a queue is told, what it gives out, and what it takes back.

use std::time::Duration;

use fedhub_core::object::Key;
use tokio::time::Instant;

/// Limits of a queue.
#[derive(Clone, Debug)]
pub struct QueueConfig {
    /// Keys of one plane that may be in flight at once.
    pub per_plane: usize,
    /// First back-off of a key that failed.
    pub backoff_first: Duration,
    /// Longest back-off; each failure doubles the last one until here.
    pub backoff_max: Duration,
    /// Seed of the jitter (a tenth of the back-off, either way).
    pub seed: u64,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            per_plane: 16,
            backoff_first: Duration::from_millis(500),
            backoff_max: Duration::from_mins(5),
            seed: 0,
        }
    }
}

/// A key that a worker has taken.
#[derive(Clone, Debug)]
pub struct Job {
    /// The key.
    pub key: Key,
    /// When the first event came that this pass answers.
    pub since: Instant,
    /// How long the key was ready before it was taken.
    pub waited: Duration,
    /// The term of leadership that the pass belongs to.
    pub epoch: i32,
    /// Whether the pass may ask the hub: while that fails, only the passes that try it.
    pub asks_hub: bool,
}

/// How a pass over a key ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was as it should be; nothing was written.
    Unchanged,
    /// Something was written; now everything is as it should be.
    Updated,
    /// An event will bring it back: nothing to do before that.
    AwaitChange,
    /// To be looked at again after this time; not a failure.
    RequeueAfter(Duration),
    /// It failed: again after the back-off.
    Failed,
}

/// What a pass told.
pub(super) struct Learnt {
    /// The plane that failed it is kept from more.
    pub interrupted: bool,
    /// Nobody knows yet: the plane had not failed since it last answered, or not this key.
    pub news: bool,
}
