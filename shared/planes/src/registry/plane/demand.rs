//! Watches on demand: of kinds that are watched on a plane only while a controller requests them. Other
//! planes have neither a watch of such a kind nor a store.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};

use fedhub_api::facts::Store;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::registry::watched::Watched;

/// A kind that was asked for.
pub struct Demanded {
    pub(crate) watched: Watched,
    pub(crate) store: Store,
    wanted: watch::Sender<bool>,
    /// Whether a task watches it, or is about to end.
    running: Mutex<bool>,
    /// Whether the plane does not let it be listed.
    refused: AtomicBool,
}

impl Demanded {
    pub(crate) fn new(watched: Watched, store: Store) -> Self {
        Self {
            watched,
            store,
            wanted: watch::Sender::new(false),
            running: Mutex::new(false),
            refused: AtomicBool::new(false),
        }
    }

    /// Whether the plane does not let it be listed.
    pub fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Acquire)
    }

    /// The plane does not let it be listed; returns whether that is news.
    pub(crate) fn refuse(&self) -> bool {
        !self.refused.swap(true, Ordering::AcqRel)
    }

    /// The plane lets it be listed.
    pub(crate) fn accept(&self) {
        self.refused.store(false, Ordering::Release);
    }

    /// Wants it, or no more; returns whether a task has to be started.
    pub(crate) fn want(&self, wanted: bool) -> bool {
        let mut running = self.running.lock();
        self.wanted.send_replace(wanted);
        let starts = wanted && !*running;
        *running |= starts;
        starts
    }

    /// Watches for as long as it is wanted and the plane is engaged. What was known is forgotten afterwards.
    pub(crate) async fn follow<F: Future<Output = ()>>(
        &self,
        stop: &CancellationToken,
        watch: impl Fn() -> F,
    ) {
        loop {
            let mut wanted = self.wanted.subscribe();
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // This cannot fail: the sender lives as long as `self`.
                _ = wanted.wait_for(|wanted| !wanted) => {}
                () = watch() => {}
            }
            self.store.clear();
            self.accept();
            let mut running = self.running.lock();
            if !*self.wanted.borrow() {
                *running = false;
                return;
            }
        }
    }
}
