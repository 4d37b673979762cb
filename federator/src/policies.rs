//! One pass over a `PropagationPolicy`: whether any WD uses it (F7), and whether it claims any that it does
//! not select, after a move (F6).

use std::time::Duration;

use fedhub_api::facts::DigestExt;
use fedhub_api::facts::deployment::mark_hash;
use fedhub_cache::digest::Uid;
use fedhub_core::errors::Error;
use fedhub_core::hash::KeyedHasher;
use fedhub_core::names::{CITY_CODE, TOUCHED, binding_name};
use fedhub_core::object::{Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::{Job, Outcome};
use fedhub_planes::{Pass, Plane, Precondition, ProjectNamespace, ServiceState, WriteState};
use serde_json::json;
use tokio::time::Instant;

use crate::Federator;
use crate::moving::{Bound, FIRST, keeps};
use crate::policy::{PolicyVerdict, uses};

impl Federator {
    /// Reconciles a policy.
    pub(crate) async fn reconcile_policy(&self, job: &Job) -> Result<Outcome, Error> {
        let key = &job.key;
        let pass = &job.pass;
        let hub = self.planes.hub();
        if !hub.synced() {
            return Err(Error::NotEngaged(PlaneId::Hub));
        }
        let Some(policy) = hub.store(Kind::PropagationPolicy).object(&key.namespace, &key.name) else {
            return Ok(Outcome::Unchanged);
        };
        let Some(ProjectNamespace { plane, namespace }) = self.owner(&key.namespace) else {
            return Ok(Outcome::AwaitChange);
        };
        let project = self.planes.engaged(&plane);
        // Who is on the way cannot be known while the plane is not in sync. From one that is gone nothing
        // comes.
        if project.is_none() && !self.planes.is_gone(&plane) {
            return Err(Error::NotEngaged(PlaneId::Project(plane)));
        }
        if project.as_ref().is_some_and(|project| project.write_state() == WriteState::Paused) {
            return Ok(Outcome::AwaitChange);
        }
        // Of a project whose service is withdrawn, none is on its way (W9).
        let comes_from = project.filter(|project| project.service() != ServiceState::Withdrawn);
        let used = |code: &str| {
            let any = |of: &Plane, space: &str, on_hub| {
                of.store(Kind::WorkloadDeployment).any(Some(space), |wd| uses(wd.digest, code, on_hub))
            };
            any(hub, &key.namespace, true)
                || comes_from.as_ref().is_some_and(|project| any(project, &namespace, false))
        };
        // A policy without a city is not ours to judge.
        let used = policy.label(CITY_CODE).is_none_or(used);
        match self.unused.judge(&policy, used, self.config.policy_gc_delay, Instant::now()) {
            // Karmada releases all that a deleted policy claims.
            PolicyVerdict::Delete => {
                hub.delete(pass, Kind::PropagationPolicy, &policy, Precondition::UidAndVersion).await?;
                tracing::info!(namespace = key.namespace, name = key.name, "deleted unused policy");
                Ok(Outcome::Updated)
            }
            PolicyVerdict::Keep => self.touch(pass, &policy, None).await,
            PolicyVerdict::RequeueAfter(wait) => self.touch(pass, &policy, Some(wait)).await,
        }
    }

    /// Touches a policy that claims WDs which it does not select, so that Karmada releases them (F6). `wait`:
    /// when to check it again in any case.
    pub(crate) async fn touch(
        &self,
        pass: &Pass,
        policy: &ObjectRef,
        wait: Option<Duration>,
    ) -> Result<Outcome, Error> {
        let hub = self.planes.hub();
        let uid = Uid::new(policy.uid());
        let claimed_by = mark_hash(Some(policy.name()));
        let strays = hub.store(Kind::WorkloadDeployment).select(Some(policy.namespace()), |wd| {
            let city = wd.digest.deployment().filter(|d| d.claimed_by == claimed_by)?.city.as_deref()?;
            (!wd.digest.terminating && !keeps(policy, city)).then(|| wd.name.to_owned())
        });
        if strays.is_empty() || policy.is_terminating() {
            self.touches.forget(&uid);
            return Ok(wait.map_or(Outcome::Unchanged, Outcome::RequeueAfter));
        }
        let names = strays.iter().fold(KeyedHasher::default(), |sum, name| sum.text(name)).end();
        let due = self.touches.due(&uid, names, Instant::now());
        if due.is_zero() {
            let now = self.planes.clock().now().to_string();
            self.writer(hub, pass)
                .patch_metadata(Kind::PropagationPolicy, policy, json!({"annotations": {TOUCHED: now}}))
                .await?;
            tracing::debug!(
                namespace = policy.namespace(),
                name = policy.name(),
                strays = strays.len(),
                "touched policy that claims WorkloadDeployments of other cities"
            );
        }
        let again = if due.is_zero() { FIRST } else { due };
        Ok(Outcome::RequeueAfter(wait.map_or(again, |wait| wait.min(again))))
    }

    /// Reads Karmada's `ResourceBinding` of the hub WD of that name, for a WD of that city.
    pub(crate) async fn bound(
        &self,
        pass: &Pass,
        space: &str,
        wd: &str,
        city: &str,
    ) -> Result<Option<Bound>, Error> {
        let hub = self.planes.hub();
        let name = binding_name(&Kind::WorkloadDeployment.resource().kind, wd);
        let cells: Vec<String> = self.cells_of(city).iter().map(|cell| cell.name().to_owned()).collect();
        let binding = hub.get_live(pass, Kind::ResourceBinding, space, &name).await?;
        Ok(binding.map(|binding| Bound::new(&binding, &cells)))
    }
}
