//! What a term means for the rest of the process: whether its workers are given keys; and what the rest means
//! for it: whether it is worth to have one.

use std::pin::pin;
use std::sync::Arc;

use fedhub_api::facts::Change;
use fedhub_core::fence::Term;
use fedhub_core::object::Kind;
use fedhub_engine::Queue;
use fedhub_planes::{Listener, Plane, Planes};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Notifies the election when the hub and every reachable project plane are in sync.
pub struct WarmUp {
    /// The registry.
    pub planes: Arc<Planes>,
    /// The token of [`super::Leadership::warm`].
    pub warm: CancellationToken,
}

impl WarmUp {
    fn look(&self) {
        if !self.warm.is_cancelled() && self.planes.warm() {
            self.warm.cancel();
        }
    }
}

/// The last plane that is awaited may come into sync, fail or leave.
impl Listener for WarmUp {
    fn changed(&self, _: &Plane, _: Kind, _: &Change) {}

    fn synced(&self, _: &Plane, _: Kind) {
        self.look();
    }

    fn failing(&self, _: &Plane) {
        self.look();
    }

    fn left(&self, _: &Plane) {
        self.look();
    }
}

/// Holds the queues from now on while the process does not lead, and lets them go in each term, until the
/// election has ended. They keep nothing meanwhile, however long that is; at the beginning of a term
/// everything that is known is looked at once.
pub fn follow(
    mut terms: watch::Receiver<Option<Term>>,
    registries: Vec<Arc<Planes>>,
    queues: Vec<Arc<Queue>>,
) -> impl Future<Output = ()> {
    hold(&queues);
    async move {
        let mut epoch = None;
        loop {
            let term = *terms.borrow_and_update();
            if term.map(|term| term.epoch) != epoch {
                epoch = term.map(|term| term.epoch);
                hold(&queues);
                if let Some(term) = term {
                    // The watch may not have shown yet what operators paused just now.
                    match read_pauses(&mut terms, &registries, term.epoch).await {
                        Ok(true) => {}
                        Ok(false) => continue,
                        Err(_) => return,
                    }
                    for queue in &queues {
                        queue.gather(term.since);
                    }
                    for planes in &registries {
                        planes.resync();
                    }
                    for queue in &queues {
                        queue.lead(term.epoch);
                    }
                }
            }
            if terms.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Reads what is paused, and returns whether that succeeded in the same term. An error where the election has
/// ended.
async fn read_pauses(
    terms: &mut watch::Receiver<Option<Term>>,
    registries: &[Arc<Planes>],
    epoch: i32,
) -> Result<bool, watch::error::RecvError> {
    let mut read = pin!(async {
        for planes in registries {
            planes.read_pauses().await;
        }
    });
    loop {
        tokio::select! {
            biased;
            () = &mut read => return Ok(true),
            changed = terms.changed() => {
                changed?;
                if terms.borrow().map(|term| term.epoch) != Some(epoch) {
                    return Ok(false);
                }
            }
        }
    }
}

fn hold(queues: &[Arc<Queue>]) {
    for queue in queues {
        queue.hold();
    }
}
