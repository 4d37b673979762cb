//! What a plane is held to be.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long the server of a plane has to say that there is none before that is believed.
const UNSERVED: Duration = Duration::from_mins(2);

/// What a plane is held to be.
#[derive(Default)]
pub(crate) struct Recognition {
    /// When it last said who it is. Held while it is asked: the watches of a plane ask once.
    pub(super) asked: tokio::sync::Mutex<Option<Instant>>,
    recognised: std::sync::atomic::AtomicBool,
    /// Since when its server says that there is no such plane.
    unserved: Mutex<Option<Instant>>,
    /// The refusal that an Event says already.
    said: Mutex<Option<String>>,
}

impl Recognition {
    /// Of a plane that is not asked.
    pub(crate) fn certain() -> Self {
        Self { asked: tokio::sync::Mutex::default(), recognised: true.into(), ..Self::default() }
    }

    pub(crate) fn holds(&self) -> bool {
        self.recognised.load(std::sync::atomic::Ordering::Acquire)
    }

    /// Whether the server has said for a while that there is no such plane: one that starts up may say so, too.
    pub(crate) fn is_unserved(&self) -> bool {
        let since = *self.unserved.lock().unwrap_or_else(PoisonError::into_inner);
        since.is_some_and(|since| since.elapsed() >= UNSERVED)
    }

    pub(super) fn answered(&self, unserved: bool) {
        let mut since = self.unserved.lock().unwrap_or_else(PoisonError::into_inner);
        *since = if unserved { since.or_else(|| Some(Instant::now())) } else { None };
    }

    /// Whether no Event says that refusal yet. From now on one does.
    pub(super) fn is_news(&self, refusal: &str) -> bool {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.replace(refusal.to_owned()).as_deref() != Some(refusal)
    }

    pub(super) fn set(&self, recognised: bool) {
        self.recognised.store(recognised, std::sync::atomic::Ordering::Release);
    }
}
