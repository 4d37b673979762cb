//! The measurement of a generation's way, by watch events and by acknowledged writes (U5).

use std::fmt::Display;

use fedhub_api::facts::{Deployment, DigestExt, Known};
use fedhub_core::names::{CITY_CODE, PlaneName};
use fedhub_core::object::{Key, Kind, ObjectView};
use fedhub_core::trace::{self, Converged, TracedGeneration};
use fedhub_planes::{Plane, ServiceState};
use prometheus::HistogramVec;
use tokio::time::Instant;

use crate::Federator;
use crate::convergence::Measured;

/// The label of cities that no Cluster carries: users write what they like.
const OTHER: &str = "other";

impl Federator {
    /// A watch, or a list, shows a project WD. What the first list of a plane shows may have been there for
    /// long.
    pub(crate) fn follow_generation(&self, project: &Plane, old: Option<&Known>, new: &Known) {
        let Some(facts) = new.digest.deployment() else { return };
        let key = &project.key(Kind::WorkloadDeployment, &new.namespace, &new.name);
        let before = old.filter(|old| old.digest.uid == new.digest.uid);
        if new.digest.terminating || old.is_some() && before.is_none() {
            self.convergence.lock().forget(key);
        }
        // Of a service that is withdrawn, nothing is on its way (W9).
        if new.digest.terminating || project.service() == ServiceState::Withdrawn {
            return;
        }
        let observed = facts.observed_generation();
        if let Some(observed) = observed {
            self.converged(key, &new.digest.uid, observed);
        }
        let known = before.and_then(|old| old.digest.deployment());
        let is_news = known.map_or_else(|| project.synced(), |known| known.generation < facts.generation);
        if is_news && observed.is_none_or(|observed| observed < facts.generation) {
            let city = new.digest.city().unwrap_or_default();
            self.convergence.lock().seen(key, facts.generation, city, Instant::now());
        }
    }

    /// A watch shows the hub WD of a project's namespace.
    pub(crate) fn hub_reported(&self, plane: &PlaneName, namespace: &str, hub: &Known) {
        let Some(observed) = hub.digest.deployment().and_then(Deployment::observed_generation) else {
            return;
        };
        let Some(project) = self.planes.project(plane) else { return };
        let key = project.key(Kind::WorkloadDeployment, namespace, &hub.name);
        let measured = self.convergence.lock().reported(&key, observed, Instant::now());
        self.measure(&self.planes.metrics().convergence_karmada, &measured);
    }

    /// The status of that project WD says that generation.
    pub(crate) fn converged(&self, key: &Key, uid: impl Display, observed: i64) {
        let measured = self.convergence.lock().returned(key, observed, Instant::now());
        self.measure(&self.planes.metrics().convergence, &measured);
        if let Some(recorder) = trace::recorder()
            && self.planes.leads()
            && let Some(took) = measured.took.into_iter().max()
        {
            let change = TracedGeneration { uid: uid.to_string(), generation: observed };
            recorder.converged(Converged { key: key.clone(), change, took });
        }
    }

    fn measure(&self, histogram: &HistogramVec, measured: &Measured) {
        // A standby follows too, so that it can go on where the leader ends; it measures nothing.
        if measured.took.is_empty() || !self.planes.leads() {
            return;
        }
        let clusters = self.planes.clusters();
        let is_known = clusters.iter().any(|cluster| cluster.label(CITY_CODE) == Some(&measured.city));
        let histogram = histogram.with_label_values(&[if is_known { &*measured.city } else { OTHER }]);
        measured.took.iter().for_each(|took| histogram.observe(took.as_secs_f64()));
    }
}
