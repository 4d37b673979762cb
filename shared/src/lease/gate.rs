//! What a term means for the rest of the process: whether its workers are given keys.

use std::sync::Arc;

use tokio::sync::watch;

use super::Term;
use crate::engine::Queue;
use crate::planes::Planes;

/// Holds the queues from now on while the process does not lead, and lets them go in each term, until the election has
/// ended. They keep nothing meanwhile, however long that is; at the beginning of a term everything that is known is
/// looked at once.
pub fn follow(
    mut terms: watch::Receiver<Option<Term>>,
    planes: Arc<Planes>,
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
                    for queue in &queues {
                        queue.gather(term.since);
                    }
                    planes.look_again();
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

fn hold(queues: &[Arc<Queue>]) {
    for queue in queues {
        queue.hold();
    }
}
