//! Whether a plane is recognised as the one that its name stands for.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long the server of a plane has to say that there is none before that is believed.
const UNSERVED: Duration = Duration::from_mins(2);

/// Whether a plane is recognised as the one that its name stands for.
#[derive(Default)]
pub(crate) struct Recognition {
    /// When it last showed its identity. Held while it is asked: the watches of a plane ask once.
    pub(super) asked: tokio::sync::Mutex<Option<Instant>>,
    recognised: std::sync::atomic::AtomicBool,
    /// When its server first answered that there is no such plane.
    unserved: Mutex<Option<Instant>>,
    /// The refusal that was published as an Event.
    said: Mutex<Option<String>>,
}

impl Recognition {
    /// Creates the recognition of a plane that is trusted without being asked.
    pub(crate) fn certain() -> Self {
        Self { asked: tokio::sync::Mutex::default(), recognised: true.into(), ..Self::default() }
    }

    pub(crate) fn holds(&self) -> bool {
        self.recognised.load(std::sync::atomic::Ordering::Acquire)
    }

    /// Whether the server has said for a while that there is no such plane: one that starts up may say so,
    /// too.
    pub(crate) fn is_unserved(&self) -> bool {
        let since = *self.unserved.lock();
        since.is_some_and(|since| since.elapsed() >= UNSERVED)
    }

    pub(super) fn answered(&self, unserved: bool) {
        let mut since = self.unserved.lock();
        *since = if unserved { since.or_else(|| Some(Instant::now())) } else { None };
    }

    /// Marks a refusal as published, and returns whether it was not before.
    pub(super) fn is_news(&self, refusal: &str) -> bool {
        let mut said = self.said.lock();
        said.replace(refusal.to_owned()).as_deref() != Some(refusal)
    }

    pub(super) fn set(&self, recognised: bool) {
        self.recognised.store(recognised, std::sync::atomic::Ordering::Release);
    }
}
