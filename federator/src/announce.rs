//! What is told of what was stored: Events on a WD (F10, U3), measurements and logs.

use fedhub_api::reason::Reason;
use fedhub_api::transitions;
use fedhub_core::metrics::Hop;
use fedhub_core::object::{Kind, ObjectRef, ObjectView};
use fedhub_planes::events::{EventType, reference_to};
use fedhub_planes::{Distrust, Plane, ProjectNamespace};
use tokio::time::Instant;

use crate::Federator;
use crate::moving::finished;
use crate::progress::{self, Transition};
use crate::snapshot::Snapshot;
use crate::teardown;

impl Federator {
    /// The hub WD was made, or made to follow its project WD, in answer to an event that came at `since`.
    pub(crate) fn federated(&self, project: &Plane, seen: &Snapshot, since: Instant) {
        let metrics = self.planes.metrics();
        metrics.propagated(Hop::ProjectToHub, since.elapsed());
        let key = seen.project_key();
        let generation = seen.project.generation;
        self.convergence.lock().federated(&key, generation, seen.city(), since, Instant::now());
        let Snapshot { home: ProjectNamespace { plane, namespace }, name, .. } = seen;
        if seen.stalled {
            metrics.resyncs.inc();
            tracing::info!(%plane, namespace, name, city = seen.city(), "resynced");
        } else {
            tracing::info!(%plane, namespace, name, city = seen.city(), "federated");
        }
        if let Some(from) = finished(seen)
            && !seen.is_read_only()
        {
            let to = seen.city();
            tracing::info!(%plane, namespace, name, from, to, "moved to another city");
            publish(project, &seen.project_subject().stub, Transition::moved(&from, to));
        }
    }

    /// The status of a WD was stored, in place of the one before. Its transitions are published as Events: on
    /// its way to the cell (F10), and in the cell (U3).
    pub(crate) fn status_stored(&self, project: &Plane, before: &ObjectRef, stored: &ObjectRef) {
        let status = stored.status();
        if let Some(observed) = status["observedGeneration"].as_i64() {
            let key = project.key(Kind::WorkloadDeployment, before.namespace(), before.name());
            self.converged(&key, before.uid(), observed);
        }
        let city = before.spec()["cityCode"].as_str().unwrap_or_default();
        if let Some(transition) = progress::transition(before.status(), status, city) {
            publish(project, before, transition);
        }
        // What a restored hub reports was published before.
        if self.planes.distrust() == Some(Distrust::Restored) {
            return;
        }
        for transition in transitions::of_deployment(before.status(), status) {
            if !transition.routine {
                project.events.transition(reference_to(Kind::WorkloadDeployment, before), transition);
            }
        }
    }
}

/// Tells that the hub WD goes although cells that are not reached still have Instances of it.
pub(crate) fn announce_unreached(project: &Plane, seen: &Snapshot) {
    let Some(left) = seen.teardown.left.as_deref().filter(|left| !left.is_empty()) else { return };
    let cells = teardown::named(left);
    tracing::warn!(
        plane = %project.id, namespace = seen.home.namespace, name = seen.name, cells,
        "cell not reached for too long, no longer waiting for its teardown"
    );
    let note = format!("deleted without its cell, which tears the Instances down when it is back: {cells}");
    let about = reference_to(Kind::WorkloadDeployment, &seen.project_subject().stub);
    project.events.send(about, EventType::Warning, Reason::DeletedWithoutCell, note);
}

/// An Event on a WD, which nothing waits for.
fn publish(project: &Plane, wd: &ObjectRef, transition: Transition) {
    let about = reference_to(Kind::WorkloadDeployment, wd);
    project.events.send(about, transition.type_, transition.reason, transition.note);
}
