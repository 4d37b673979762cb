//! The Events on a WD (F10, U3).

use fedhub_api::transitions;
use fedhub_core::object::{Kind, ObjectRef, ObjectView};
use fedhub_planes::events::reference_to;
use fedhub_planes::{Distrust, Plane};
use serde_json::Value;

use crate::Federator;
use crate::progress::{self, Transition};

impl Federator {
    /// Publishes the transitions of a WD as Events, by the status that was stored in place of the one before:
    /// on its way to the cell (F10), and in the cell (U3).
    pub(crate) fn announce(&self, project: &Plane, before: &ObjectRef, status: &Value) {
        let city = before.spec()["cityCode"].as_str().unwrap_or_default();
        if let Some(transition) = progress::transition(before.status(), status, city) {
            publish(project, before, transition);
        }
        // What a restored hub reports was published before.
        if self.planes.distrust() == Some(Distrust::Restored) {
            return;
        }
        for transition in transitions::of_deployment(before.status(), status) {
            if transition.routine {
                continue;
            }
            project.events.transition(reference_to(Kind::WorkloadDeployment, before), transition);
        }
    }
}

/// Publishes that a WD has moved to another city (F10).
pub(crate) fn announce_move(project: &Plane, wd: &ObjectRef, from: &str, to: &str) {
    let plane = &project.id;
    tracing::info!(%plane, namespace = wd.namespace(), name = wd.name(), from, to, "moved to another city");
    publish(project, wd, Transition::moved(from, to));
}

/// An Event on a WD, which nothing waits for.
fn publish(project: &Plane, wd: &ObjectRef, transition: Transition) {
    let about = reference_to(Kind::WorkloadDeployment, wd);
    project.events.send(about, transition.type_, transition.reason, transition.note);
}
