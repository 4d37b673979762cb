//! The input and output of a queue: its limits, a key that a worker takes, and the outcome that it returns.

use std::time::Duration;

use fedhub_core::object::Key;
use fedhub_core::trace::Answered;
use fedhub_planes::Pass;
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
#[derive(Debug)]
pub struct Job {
    /// The key.
    pub key: Key,
    /// When the key began to be out of sync, less the time that it was told to wait: what was waited out is
    /// no delay.
    pub since: Instant,
    /// When the first event came that no pass has settled yet, waits included.
    pub unsettled_since: Instant,
    /// How long the key was ready before it was taken.
    pub waited: Duration,
    /// The pass: the term that the reconcile belongs to and the permission to ask the hub, a parameter of
    /// each of its requests.
    pub pass: Pass,
    /// The change that the reconcile answers, once the reconcile has said so.
    pub answered: Answered,
}

/// How a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The object was in sync; nothing was written.
    Unchanged,
    /// Something was written; now the object is in sync.
    Updated,
    /// Nothing can be done before an event enqueues the key again.
    AwaitChange,
    /// The key is enqueued again after this time; not a failure.
    RequeueAfter(Duration),
    /// The reconcile failed: the key is enqueued again after its back-off.
    Failed,
    /// The reconcile wrote again and again without coming into sync, or met a bug: the key is enqueued again
    /// after its back-off, and not by the events of its own writes.
    Diverged,
}

/// What a reconcile has learned of a plane.
pub(super) struct Learned {
    /// The circuit of the plane that failed it is open.
    pub interrupted: bool,
    /// The failure is new: the plane has answered since its last failure, or this key had not failed.
    pub news: bool,
}

/// How a reconcile has ended, besides its outcome.
pub(super) struct Ended {
    /// Whether a plane whose circuit breaker is open failed the reconcile.
    pub interrupted: bool,
    /// Whether the pass failed because of the hub, or was held back when it asked the hub for something.
    pub needs_hub: bool,
    /// When the first event came meanwhile.
    pub again: Option<Instant>,
}
