//! The newest resourceVersion of a server, and how often that of the hub went back.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fedhub_core::object::{Kind, PlaneId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::Instant;

/// What is known of a server's resourceVersions.
pub(crate) struct Revision {
    /// The newest that was seen, since the server last went back.
    pub(crate) newest: AtomicU64,
    /// How often it went back.
    pub(crate) life: watch::Sender<u64>,
    /// The kinds that were listed since.
    listed: Mutex<BTreeSet<Kind>>,
    /// When the server was last asked. Held while it is: watches that begin together ask once.
    pub(crate) asked: tokio::sync::Mutex<Option<Instant>>,
    /// The server was asked before the last lists, and what is remembered of it was known.
    pub(crate) verified: AtomicBool,
}

impl Revision {
    /// Creates the revision of a plane on which absence is to mean something: the hub; `None` for others.
    pub(crate) fn from_plane(plane: &PlaneId) -> Option<Box<Self>> {
        (*plane == PlaneId::Hub).then(|| {
            Box::new(Self {
                newest: AtomicU64::new(0),
                life: watch::channel(0).0,
                listed: Mutex::default(),
                asked: tokio::sync::Mutex::default(),
                verified: AtomicBool::new(false),
            })
        })
    }

    pub(crate) fn listed(&self) -> MutexGuard<'_, BTreeSet<Kind>> {
        self.listed.lock()
    }

    /// Whether the server was asked before the last lists, and what is remembered of it was known.
    pub(crate) fn is_verified(&self) -> bool {
        self.verified.load(Ordering::Acquire)
    }

    pub(crate) fn goes_back(&self, to: u64) {
        self.newest.store(to, Ordering::Release);
        self.listed().clear();
        self.life.send_modify(|life| *life += 1);
    }
}

/// A watch's view of the life of its server.
pub(crate) struct Life(pub(crate) Option<watch::Receiver<u64>>);

impl Life {
    /// Returns when the server went back to an earlier state, so that only a new list helps. `newest` was
    /// named before.
    pub(crate) async fn ends(&mut self, newest: &AtomicU64) {
        // In a box: of thousands of planes only the hub has one.
        if let Some(life) = &mut self.0
            && Box::pin(life.changed()).await.is_ok()
        {
            newest.store(0, Ordering::Relaxed);
            return;
        }
        std::future::pending::<()>().await;
    }

    /// A list begins: it is of the life that the server has now.
    pub(crate) fn begins(&mut self) {
        if let Some(life) = &mut self.0 {
            life.mark_unchanged();
        }
    }
}

/// Why no deletion is inferred from what the hub lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distrust {
    /// The hub was restored, and not every cell in use has written back since.
    Restored,
    /// It is not known whether the hub was restored.
    Unverified,
}

impl Distrust {
    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Restored => "hub_restored",
            Self::Unverified => "hub_unverified",
        }
    }
}
