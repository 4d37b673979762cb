//! Asks project planes again for the optional kinds that they do not serve.

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::object::Kind;
use tokio::time::Instant;

use crate::absences::{Absence, Absent};
use crate::pump::pump;
use crate::{Plane, Planes};

/// The time from one question to the next. With thousands of planes that serve none of the kinds it bounds what the questions
/// cost, above all after a start, when all of them are new.
const APART: Duration = Duration::from_millis(10);

impl Planes {
    /// Has a kind that the plane does not serve watched again when the wait is over.
    pub(crate) fn await_serving(&self, plane: &Arc<Plane>, kind: Kind, absence: Absence) {
        let Absence { wait, waits } = absence;
        let absent = Absent { plane: Arc::downgrade(plane), kind, waits };
        self.absences.enter(Instant::now() + wait, self.seed(), absent);
    }

    /// Starts the watches whose waits are over, one after the other, until the registry is stopped.
    pub(crate) async fn keep_asking(self: Arc<Self>) {
        let asks = async {
            loop {
                while let Some(Absent { plane, kind, waits }) = self.absences.take(Instant::now()) {
                    if let Some(plane) = plane.upgrade() {
                        self.tasks.spawn(pump(self.clone(), plane, kind, Some(waits)));
                        tokio::time::sleep(APART).await;
                    }
                }
                self.absences.next().await;
            }
        };
        self.anchor.stop.run_until_cancelled(asks).await;
    }
}
