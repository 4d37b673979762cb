//! Has planes say who they are, before anything of them is listed.

use std::sync::Arc;

use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, PlaneId};
use kube::runtime::events::EventType;
use tokio::time::Instant;

use super::identities::{Doubt, Identities};
use crate::backoff::{Attempt, Backoffs};
use crate::{Plane, Planes};

impl Planes {
    /// Returns when the plane is the one that its name stands for, and its watch of `kind` may go on. One that turns
    /// out to be another cluster than before is engaged anew, with nothing known of it, and waits there until an operator
    /// says so; `waits` are those between two questions.
    pub(crate) async fn recognise(self: &Arc<Self>, plane: &Plane, kind: Kind, waits: &mut Backoffs) {
        let (Some(identities), PlaneId::Project(name)) = (&self.identities, &plane.id) else { return };
        let mut lost = identities.lost.subscribe();
        loop {
            let attempt = plane.attempt();
            lost.mark_unchanged();
            let Err(doubt) = self.ask(identities, plane, name).await else {
                plane.recognition.answered(false);
                waits.succeeded(Attempt::Identity);
                return;
            };
            self.metrics.watch_restarts.with_label_values(&[plane.id.kind(), doubt.label]).inc();
            plane.recognition.answered(doubt.unserved);
            if plane.recognition.is_unserved() {
                self.listeners().iter().for_each(|listener| listener.unserved(plane));
            }
            if doubt.refused.is_some() && plane.recognition.holds() {
                plane.recognition.set(false);
                tracing::warn!(plane = %name, cause = doubt.reason, "another cluster answers: nothing that was known of the plane counts");
                self.reengage(plane);
                return std::future::pending().await;
            }
            let wait = waits.after(Attempt::Identity, doubt.failure, plane.is_starting());
            if let Some(event) = doubt.refused {
                self.say_refused(plane, event, &doubt.reason);
                if plane.unhealthy(kind, doubt.reason.clone()) {
                    tracing::warn!(plane = %name, reason = doubt.label, error = doubt.reason, retry_in = ?wait, "plane refused: nothing is done there");
                }
            } else {
                let reason = doubt.failure.reason(doubt.label);
                self.failed(plane, kind, reason, doubt.reason, Some(wait));
            }
            tokio::select! {
                () = plane.wait(wait, doubt.failure, &attempt, waits) => {}
                _ = lost.changed(), if doubt.refused.is_some() => {}
            }
        }
    }

    /// An Event on the Project or the Secret says that its plane is refused: the leader's, one for each refusal.
    fn say_refused(&self, plane: &Plane, event: &'static str, reason: &str) {
        let Some((about, events)) = plane.origin.about.as_ref().filter(|_| self.leads()) else { return };
        if plane.recognition.is_news(reason) {
            events.send(about.clone(), EventType::Warning, event, reason.to_owned());
        }
    }

    /// Asks, unless another watch of the plane had an answer since this began to wait.
    async fn ask(&self, identities: &Identities, plane: &Plane, name: &PlaneName) -> Result<(), Doubt> {
        let since = Instant::now();
        identities.loaded().await?;
        let mut asked = plane.recognition.asked.lock().await;
        if plane.recognition.holds() && asked.is_some_and(|asked| asked >= since) {
            return Ok(());
        }
        // As with lists, thousands of planes must not be asked at once.
        let _turn = self.turn_to_list(plane).await;
        identities.judge(name, plane).await?;
        plane.recognition.set(true);
        *asked = Some(Instant::now());
        Ok(())
    }

    /// Has planes judged anew of which something else is remembered now than what they were accepted by.
    pub(super) fn judge_anew(self: &Arc<Self>, names: &[PlaneName]) {
        for plane in names.iter().filter_map(|name| self.project(name)) {
            tracing::info!(plane = %plane.id, "its identity is judged anew");
            plane.recognition.set(false);
            self.reengage(&plane);
        }
    }
}
