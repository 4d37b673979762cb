//! Events to keys: which change concerns which Instance and which claim.

use fedhub_api::cells::CellSource;
use fedhub_api::conditions::{find, said};
use fedhub_api::facts::{Change, Known, View};
use fedhub_core::names::{
    EXPECTED_REFERENCED_DATA, INSTANCE_FINALIZER, INSTANCE_POWER, PlaneName, REFERENCED_DATA_ERROR,
    SOURCE_GENERATION,
};
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};
use fedhub_planes::{Listener, Plane, ProjectNamespace};

use super::quota::QuotaState;
use super::{InstanceController, InstancePlan};
use crate::domain::instances::Instance;
use crate::domain::quota::claim;
use crate::domain::quota::verdict::reports_failure;
use crate::domain::referenced_data;
use crate::domain::status::deployment::suspended;
use crate::domain::status::{QUOTA_GRANTED, gates};
use crate::identity::Identity;

/// Why an Instance is enqueued.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// The Instance itself changed: no reason to ask for quota again before its time, if that has just
    /// failed.
    Itself,
    /// Something changed that it depends on.
    Related,
}

impl InstanceController {
    /// The lane of an Instance; `None` where the caches show that it is in sync. Only a request for quota
    /// goes to a project's plane, so that its failure blocks nothing else (I8).
    fn lane(&self, instance: &Object, cause: Cause) -> Option<PlaneId> {
        if instance.has_finalizer(INSTANCE_FINALIZER) {
            return Some(PlaneId::Cell);
        }
        if instance.is_terminating() {
            let plan = self.plan_terminating(instance);
            return (plan.status.is_some() || plan.requeue_after.is_some()).then_some(PlaneId::Cell);
        }
        let writes = |plan: &InstancePlan| plan.status.is_some() || plan.opens.is_some();
        match self.quota_state(instance) {
            QuotaState::Ask(ask) => {
                let refused = find(instance.status(), QUOTA_GRANTED)
                    .filter(|c| said(c).0 == "False" || reports_failure(c));
                let due = match refused {
                    Some(stands) if cause == Cause::Itself => writes(&self.plan(instance, stands)),
                    _ => true,
                };
                due.then(|| ask.project.id.clone())
            }
            // The claim has to be recreated.
            QuotaState::Remake { ask, .. } => Some(ask.project.id.clone()),
            known => {
                let plan = self.plan(instance, &self.verdict(instance, &known));
                (writes(&plan) || plan.requeue_after.is_some()).then_some(PlaneId::Cell)
            }
        }
    }

    fn enqueue(&self, namespace: &str, name: &str, cause: Cause) {
        let cell = self.cell.anchor();
        if !cell.synced() {
            // All are enqueued when it is.
            return;
        }
        let Some(instance) = cell.store(Kind::Instance).object(namespace, name) else { return };
        match self.lane(&instance, cause) {
            Some(lane) => {
                self.queue.add(cell.key(Kind::Instance, namespace, name), &lane);
            }
            None => self.cell.metrics().reconciles_skipped.with_label_values(&["readiness"]).inc(),
        }
    }

    /// Enqueues the Instances of a namespace, or of all, that are like that.
    fn enqueue_all(&self, namespace: Option<&str>, of: impl Fn(&Object) -> bool) {
        let those = |i: View<'_>| {
            i.object.is_some_and(|o| of(o)).then(|| (i.namespace.to_owned(), i.name.to_owned()))
        };
        for (namespace, name) in self.cell.anchor().store(Kind::Instance).select(namespace, those) {
            self.enqueue(&namespace, &name, Cause::Related);
        }
    }

    /// Enqueues the Instances that one controller made: by its UID (C3).
    fn enqueue_made_by(&self, namespace: &str, uid: &str) {
        self.enqueue_all(Some(namespace), |i| Instance::from_object(i).owner == Some(uid));
    }

    /// Enqueues the Instances of the WD that a binding belongs to.
    fn enqueue_bound(&self, binding: &Object) {
        if let Some(uid) = Instance::from_object(binding).owner {
            self.enqueue_made_by(binding.namespace(), uid);
        }
    }

    /// Enqueues the Instances of a project.
    fn enqueue_project(&self, name: &PlaneName) {
        for namespace in self.cell.anchor().store(Kind::Namespace).objects(None) {
            if ProjectNamespace::from_hub_namespace(&namespace)
                .is_some_and(|consumer| consumer.plane == *name)
            {
                self.enqueue_all(Some(namespace.name()), |_| true);
            }
        }
    }

    fn cell_changed(&self, kind: Kind, change: &Change) {
        let seen = change.known();
        let gone = matches!(change, Change::Deleted { .. });
        let now = seen.object.as_deref();
        let was = change.old().and_then(|old| old.object.as_deref());
        self.networks.note(kind, change);
        match kind {
            Kind::Instance if gone => self.free(seen),
            Kind::Instance => self.enqueue(&seen.namespace, &seen.name, Cause::Itself),
            // With it go its Instances.
            Kind::WorkloadDeployment | Kind::Namespace if gone => {}
            Kind::WorkloadDeployment => {
                let expected = |o: &Object| {
                    [EXPECTED_REFERENCED_DATA, REFERENCED_DATA_ERROR, SOURCE_GENERATION, INSTANCE_POWER]
                        .map(|key| o.annotation(key).map(str::to_owned))
                };
                let follows = |o: Option<&Object>| o.map(|o| (o.uid().to_owned(), suspended(o), expected(o)));
                if follows(was) != follows(now) {
                    self.enqueue_made_by(&seen.namespace, &seen.digest.uid.to_string());
                }
            }
            Kind::Namespace
                if was.map(ProjectNamespace::from_hub_namespace)
                    != now.map(ProjectNamespace::from_hub_namespace) =>
            {
                self.enqueue_all(Some(&seen.name), |_| true);
            }
            Kind::NetworkBinding => now.into_iter().for_each(|binding| self.enqueue_bound(binding)),
            // They are their context's, and not a WD's.
            Kind::NetworkContext | Kind::SubnetClaim | Kind::Subnet => {
                let objects = [was, now].into_iter().flatten();
                let bindings =
                    objects.flat_map(|object| self.networks.bindings(self.cell.anchor(), kind, object));
                bindings.for_each(|binding| self.enqueue_bound(&binding));
            }
            Kind::ConfigMap | Kind::Secret => {
                self.enqueue_all(Some(&seen.namespace), referenced_data::concerns);
            }
            Kind::LocationBinding => {
                self.enqueue_all(None, |i| gates::of(i).contains(&gates::NETWORK));
            }
            // It may be waited for, or have another size.
            Kind::InstanceType => self.enqueue_all(None, |i| gates::of(i).contains(&gates::QUOTA)),
            _ => {}
        }
    }

    /// An Instance is gone: its claim may be free.
    fn free(&self, instance: &Known) {
        let (Some(quota), Some(cell)) = (&self.quota, self.cell_id()) else { return };
        let name = claim::name(&instance.name, &cell);
        match self.consumer(&instance.namespace) {
            Some(consumer) => {
                let Some(project) = quota.projects.engaged(&consumer.plane) else { return };
                let claim = project.store(Kind::ResourceClaim).object(&consumer.namespace, &name);
                if let Some(claim) = claim {
                    self.check(&project, &claim);
                }
            }
            // Its namespace went before it did.
            None => {
                for project in quota.projects.projects() {
                    self.check_all(&project, |claim| claim.name() == name);
                }
            }
        }
    }

    /// Enqueues a claim, if it may have to go.
    pub(super) fn check(&self, project: &Plane, claim: &Object) {
        if self.cell.anchor().synced() && project.synced() && self.seems_free(claim) {
            self.queue.add(project.key(Kind::ResourceClaim, claim.namespace(), claim.name()), &project.id);
        }
    }

    fn check_all(&self, project: &Plane, of: impl Fn(&Object) -> bool) {
        for claim in project.store(Kind::ResourceClaim).objects(None) {
            if of(&claim) {
                self.check(project, &claim);
            }
        }
    }

    /// Enqueues all Instances, and the claims that may have to be released.
    fn resync(&self) {
        self.enqueue_all(None, |_| true);
        for project in self.quota.iter().flat_map(|quota| quota.projects.projects()) {
            self.check_all(&project, |_| true);
        }
    }

    /// Notes the marks of all claims, by the cell's present identity.
    fn note_claims(&self) {
        let Some(quota) = &self.quota else { return };
        for project in quota.projects.projects() {
            for claim in project.store(Kind::ResourceClaim).objects(None) {
                let key = project.key(Kind::ResourceClaim, claim.namespace(), claim.name());
                quota.identity.note(&key, CellSource::from_object(&claim).as_ref());
            }
        }
    }

    fn claim_changed(&self, project: &Plane, change: &Change) {
        let (Some(quota), Some(claim)) = (&self.quota, change.known().object.as_deref()) else { return };
        let there = matches!(change, Change::Applied { .. });
        let key = project.key(Kind::ResourceClaim, claim.namespace(), claim.name());
        quota.identity.note(&key, CellSource::from_object(claim).filter(|_| there).as_ref());
        let Some(cell) = self.cell_id() else { return };
        if let Some((namespace, name)) = claim::instance_of(claim, &cell) {
            self.enqueue(namespace, name, Cause::Related);
        }
        if there {
            self.check(project, claim);
        }
    }
}

impl Listener for InstanceController {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        if Identity::is_changed_by(plane, kind, change) {
            self.note_claims();
            self.resync();
        }
        // By that a claim of this cell may come to be asked for again.
        if Identity::declares(plane, kind, change) && self.cell.anchor().synced() {
            self.enqueue_all(None, |_| true);
        }
        match (&plane.id, kind) {
            (PlaneId::Cell, _) => self.cell_changed(kind, change),
            (PlaneId::Project(_), Kind::ResourceClaim) => self.claim_changed(plane, change),
            _ => {}
        }
    }

    fn synced(&self, plane: &Plane, _kind: Kind) {
        if !plane.synced() {
            return;
        }
        match &plane.id {
            PlaneId::Cell => {
                self.queue.mark_healthy(&plane.id);
                self.resync();
            }
            PlaneId::Project(name) => {
                self.queue.mark_healthy(&plane.id);
                self.enqueue_project(name);
                self.check_all(plane, |_| true);
            }
            PlaneId::Hub | PlaneId::Management => {}
        }
    }

    fn left(&self, plane: &Plane) {
        let PlaneId::Project(name) = &plane.id else { return };
        self.queue.forget(&plane.id);
        if let Some(quota) = &self.quota {
            quota.identity.forget(&plane.id);
        }
        // Instances that wait for quota report that from now on.
        self.enqueue_project(name);
    }
}
