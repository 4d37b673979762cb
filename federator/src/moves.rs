//! What a move needs of the hub (F6): a look at its `ResourceBinding`, and the touch of the policy that is left.

use std::time::Duration;

use fedhub_cache::digest::Uid;
use fedhub_cache::digest::deployment::claim;
use fedhub_core::errors::Error;
use fedhub_core::hash::KeyedHasher;
use fedhub_core::message::Quoted;
use fedhub_core::names::{FEDERATOR_MANAGER, TOUCHED, binding_name};
use fedhub_core::object::{Kind, ObjectRef, ObjectView};
use fedhub_engine::Outcome;
use fedhub_planes::Plane;
use fedhub_planes::PlaneWriter;
use fedhub_planes::events::EventType;
use serde_json::json;
use tokio::time::Instant;

use crate::Federator;
use crate::condition::say;
use crate::moving::{Bound, FIRST, keeps};

impl Federator {
    /// What Karmada's `ResourceBinding` says of the hub WD of that name, for a WD of that city.
    pub(crate) async fn bound(&self, space: &str, wd: &str, city: &str) -> Result<Option<Bound>, Error> {
        let hub = self.planes.hub();
        let name = binding_name(&Kind::WorkloadDeployment.resource().kind, wd);
        let cells: Vec<String> = self.cells_of(city).iter().map(|cell| cell.name().to_owned()).collect();
        let binding = hub.get_live(Kind::ResourceBinding, space, &name).await?;
        Ok(binding.map(|binding| Bound::of(&binding, &cells)))
    }

    /// Touches a policy that claims WDs which it does not select, so that Karmada lets go of them (F6). `wait`: when to
    /// look at it again in any case.
    pub(crate) async fn touch(&self, policy: &ObjectRef, wait: Option<Duration>) -> Result<Outcome, Error> {
        let (hub, uid) = (self.planes.hub(), Uid::new(policy.uid()));
        let claimed = claim(Some(policy.name()));
        let strays = hub.store(Kind::WorkloadDeployment).select(Some(policy.namespace()), |wd| {
            let city = wd.digest.deployment().filter(|d| d.claim == claimed)?.city.as_deref()?;
            (!wd.digest.terminating && !keeps(policy, city)).then(|| wd.name.to_owned())
        });
        if strays.is_empty() || policy.is_terminating() {
            self.touches.forget(&uid);
            return Ok(wait.map_or(Outcome::Unchanged, Outcome::RequeueAfter));
        }
        let names = strays.iter().fold(KeyedHasher::default(), |sum, name| sum.text(name)).end();
        let due = self.touches.due(&uid, names, Instant::now());
        if due.is_zero() {
            let writer =
                PlaneWriter { plane: hub, manager: FEDERATOR_MANAGER, metrics: self.planes.metrics() };
            let now = self.planes.clock().now().to_string();
            writer
                .patch_metadata(Kind::PropagationPolicy, policy, json!({"annotations": {TOUCHED: now}}))
                .await?;
            tracing::debug!(
                namespace = policy.namespace(),
                name = policy.name(),
                strays = strays.len(),
                "policy touched: it claims WorkloadDeployments of other cities"
            );
        }
        let again = if due.is_zero() { FIRST } else { due };
        Ok(Outcome::RequeueAfter(wait.map_or(again, |wait| wait.min(again))))
    }
}

/// A move is finished (F10).
pub(crate) fn say_moved(project: &Plane, wd: &ObjectRef, from: &str, to: &str) {
    tracing::info!(plane = %project.id, namespace = wd.namespace(), name = wd.name(), from, to, "moved to another city");
    let note = format!("moved from city {} to city {}", Quoted(from), Quoted(to));
    say(project, wd, EventType::Normal, "Moved", note);
}
