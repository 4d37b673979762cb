//! The check of a plane's identity, before anything of it is listed.

use std::sync::Arc;

use fedhub_api::reason::Reason;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, PlaneId};
use kube::runtime::events::EventType;
use tokio::time::Instant;

use super::identities::{Identities, IdentityError};
use crate::transport::backoff::{Attempt, Backoffs};
use crate::{Plane, Planes};

impl Planes {
    /// Returns when the plane is the one that its name stands for, and its watch of `kind` may go on. One
    /// that turns out to be another cluster than before is reengaged with nothing known of it, and waits
    /// until an operator accepts it; `waits` are those between two questions.
    pub(crate) async fn recognise(self: &Arc<Self>, plane: &Plane, kind: Kind, waits: &mut Backoffs) {
        let (Some(identities), PlaneId::Project(name)) = (&self.identities, &plane.id) else { return };
        let mut lost = identities.lost.subscribe();
        loop {
            let attempt = plane.attempt();
            lost.mark_unchanged();
            let Err(rejection) = self.ask(identities, plane, name).await else {
                plane.recognition.answered(false);
                waits.succeeded(Attempt::Identity);
                return;
            };
            self.metrics.watch_restarts.with_label_values(&[plane.id.kind(), rejection.label]).inc();
            plane.recognition.answered(rejection.unserved);
            if plane.recognition.is_unserved() {
                self.listeners().iter().for_each(|listener| listener.unserved(plane));
            }
            if self.drops_another(plane, &rejection) {
                return std::future::pending().await;
            }
            let wait = waits.after(Attempt::Identity, rejection.failure, plane.is_starting());
            if let Some(event) = rejection.refused {
                self.publish_refusal(plane, event, &rejection.reason);
                if self.unhealthy(plane, kind, rejection.reason.clone()) {
                    tracing::warn!(plane = %name, reason = rejection.label, error = rejection.reason, retry_in = ?wait, "plane refused");
                }
            } else {
                let reason = rejection.failure.reason(rejection.label);
                self.failed(plane, kind, reason, rejection.reason, Some(wait));
            }
            tokio::select! {
                () = plane.wait(wait, rejection.failure, &attempt, waits) => {}
                _ = lost.changed(), if rejection.refused.is_some() => {}
            }
        }
    }

    /// Asks a plane who it is, where something of it is as if it were another than before: a namespace has
    /// another UID. Returns whether it is the one that its name stands for; where it is not, or does not say,
    /// nothing is to be done there.
    pub async fn confirm(self: &Arc<Self>, plane: &Plane) -> bool {
        let (Some(identities), PlaneId::Project(name)) = (&self.identities, &plane.id) else { return true };
        match self.ask(identities, plane, name).await {
            Ok(()) => true,
            Err(rejection) => {
                self.drops_another(plane, &rejection);
                false
            }
        }
    }

    /// Reengages a plane with nothing known of it, if it is another cluster than before. Returns whether it
    /// is.
    fn drops_another(self: &Arc<Self>, plane: &Plane, rejection: &IdentityError) -> bool {
        let is_another = rejection.refused.is_some() && plane.recognition.holds();
        if is_another {
            plane.recognition.set(false);
            let error = &rejection.reason;
            tracing::warn!(plane = %plane.id, error, "plane identity changed, dropping cached state");
            self.reengage(plane);
        }
        is_another
    }

    /// Publishes a refusal as an Event on the Project or the Secret: once for each refusal, by the leader.
    fn publish_refusal(&self, plane: &Plane, event: Reason, reason: &str) {
        let Some((about, events)) = plane.origin.about.as_ref().filter(|_| self.leads()) else { return };
        if plane.recognition.is_news(reason) {
            events.send(about.clone(), EventType::Warning, event, reason.to_owned());
        }
    }

    /// Asks, unless another watch of the plane had an answer since this began to wait.
    async fn ask(
        &self,
        identities: &Identities,
        plane: &Plane,
        name: &PlaneName,
    ) -> Result<(), IdentityError> {
        let since = Instant::now();
        identities.loaded().await?;
        let mut asked = plane.recognition.asked.lock().await;
        if plane.recognition.holds() && asked.is_some_and(|asked| asked >= since) {
            return Ok(());
        }
        // As with lists, thousands of planes must not be asked at once.
        let permit = self.list_permit(plane).await;
        // In a box: thousands of watches that wait for their turn must not hold room for the question.
        permit.hold(Box::pin(identities.judge(name, plane))).await?;
        plane.recognition.set(true);
        *asked = Some(Instant::now());
        Ok(())
    }

    /// Checks planes again whose remembered identity is no longer the one that they were accepted by.
    pub(super) fn recheck_identities(self: &Arc<Self>, names: &[PlaneName]) {
        for plane in names.iter().filter_map(|name| self.project(name)) {
            tracing::info!(plane = %plane.id, "remembered identity changed, checking plane identity again");
            plane.recognition.set(false);
            self.reengage(&plane);
        }
    }
}
