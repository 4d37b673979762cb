//! Asks project planes again for the optional kinds that they do not serve.

use std::sync::Arc;

use fedhub_core::object::Kind;
use tokio::time::Instant;

use crate::absences::{Absence, Absent};
use crate::pump::pump;
use crate::{Plane, Planes};

impl Planes {
    /// Has a kind that the plane does not serve watched again when the wait is over.
    pub(crate) fn await_serving(&self, plane: &Arc<Plane>, kind: Kind, absence: Absence) {
        let Absence { wait, waits } = absence;
        let absent = Absent { plane: Arc::downgrade(plane), kind, waits };
        self.absences.enter(Instant::now() + wait, self.seed(), absent);
    }

    /// Starts the watches whose waits are over, until the registry is stopped.
    pub(crate) async fn keep_asking(self: Arc<Self>) {
        loop {
            tokio::select! {
                biased;
                () = self.anchor.stop.cancelled() => return,
                () = self.absences.next() => {}
            }
            for Absent { plane, kind, waits } in self.absences.over(Instant::now()) {
                if let Some(plane) = plane.upgrade() {
                    self.tasks.spawn(pump(self.clone(), plane, kind, Some(waits)));
                }
            }
        }
    }
}
