//! Asks project planes again for the optional kinds that they do not serve.

use std::sync::Arc;

use fedhub_core::object::{Kind, Object};
use kube::Api;
use kube::api::ListParams;
use tokio::time::Instant;

use crate::absences::{Absence, Absent};
use crate::backoff::Backoffs;
use crate::pump::pump;
use crate::watch_failures::is_not_found;
use crate::{Plane, Planes};

impl Planes {
    /// Has a kind that the plane does not serve watched again when the wait is over.
    pub(crate) fn await_serving(&self, plane: &Arc<Plane>, kind: Kind, absence: Absence) {
        let Absence { wait, waits } = absence;
        let absent = Absent { plane: Arc::downgrade(plane), kind, waits };
        self.absences.enter(Instant::now() + wait, self.seed(), absent);
    }

    /// Asks for the kinds whose waits are over, one after the other, until the registry is stopped.
    pub(crate) async fn keep_asking(self: Arc<Self>) {
        let asks = async {
            loop {
                while let Some(Absent { plane, kind, waits }) = self.absences.take(Instant::now()) {
                    if let Some(plane) = plane.upgrade() {
                        self.tasks.spawn(self.clone().ask_again(plane, kind, waits));
                        tokio::time::sleep(self.absences.pace(Instant::now())).await;
                    }
                }
                self.absences.next().await;
            }
        };
        self.anchor.stop.run_until_cancelled(asks).await;
    }

    /// Asks whether the plane serves the kind by now, and watches it if that may be so: who answers is asked only then.
    async fn ask_again(self: Arc<Self>, plane: Arc<Plane>, kind: Kind, mut waits: Backoffs) {
        let api: Api<Object> = Api::all_with(plane.client(), kind.resource());
        let one = ListParams::default().limit(1);
        let answer = tokio::select! {
            biased;
            () = plane.stop.cancelled() => return,
            answer = api.list_metadata(&one) => answer,
        };
        if answer.is_err_and(|error| is_not_found(&error)) {
            let wait = waits.after_absence();
            self.await_serving(&plane, kind, Absence { wait, waits });
        } else {
            pump(self, plane, kind, Some(waits)).await;
        }
    }
}
