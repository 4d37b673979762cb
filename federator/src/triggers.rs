//! Events to keys: which event concerns which WD and which policy.
//!
//! Decides F1.

use fedhub_api::cells::{CellDown, lost_since};
use fedhub_api::facts::deployment::mark_hash;
use fedhub_api::facts::{Change, Digest, DigestExt, Known, View};
use fedhub_cache::digest::Uid;
use fedhub_core::names::{CITY_CODE, PlaneName, hub_namespace, project_namespace_uid};
use fedhub_core::object::{Key, Kind, Object, ObjectView, PlaneId};
use fedhub_planes::Listener;
use fedhub_planes::{Plane, ProjectNamespace, ServiceState, WriteState};

use crate::Federator;
use crate::controller::Target;
use crate::hub_namespace::held;
use crate::namespaces::NamespaceUid;
use crate::progress::Outlook;

impl Federator {
    /// Enqueues a WD. One that cannot be worked on yet is enqueued when its plane comes into sync. Returns
    /// whether there will be a pass.
    pub(crate) fn enqueue(&self, plane: &PlaneName, namespace: &str, name: &str) -> bool {
        let Some(project) = self.planes.engaged(plane) else { return false };
        self.queue.add(project.key(Kind::WorkloadDeployment, namespace, name), &project.id)
    }

    fn enqueue_namespace(&self, plane: &PlaneName, namespace: &str) {
        let Some(project) = self.planes.project(plane) else { return };
        for name in
            project.store(Kind::WorkloadDeployment).select(Some(namespace), |wd| Some(wd.name.to_owned()))
        {
            self.enqueue(plane, namespace, &name);
        }
    }

    fn enqueue_all(&self, project: &Plane, of: impl Fn(&Digest) -> bool) {
        let PlaneId::Project(plane) = &project.id else { return };
        if self.planes.engaged(plane).is_none() {
            return;
        }
        let names = project
            .store(Kind::WorkloadDeployment)
            .select(None, |wd| of(wd.digest).then(|| (wd.namespace.to_owned(), wd.name.to_owned())));
        for (namespace, name) in names {
            if !self.is_in_sync(plane, project, &namespace, &name) {
                self.enqueue(plane, &namespace, &name);
            }
        }
    }

    /// Whether a WD that is checked only because every one is, is in sync: then it is not enqueued. After a
    /// restart that is almost every one. Its hub namespace follows from that one's labels and from the marks
    /// on both planes that name each other, and need not be asked for (F2).
    fn is_in_sync(&self, plane: &PlaneName, project: &Plane, namespace: &str, name: &str) -> bool {
        let wds = project.store(Kind::WorkloadDeployment);
        let Some(wd) = wds.digest(namespace, name) else { return true };
        let at = ProjectNamespace { plane: plane.clone(), namespace: namespace.to_owned() };
        let Some(space) = self.marked_hub_namespace(&at, &wd) else { return false };
        let key = project.key(Kind::WorkloadDeployment, namespace, name);
        let of = Target { project, home: &at, key: &key };
        let Some(seen) = self.snapshot_of(of, wd, space) else { return false };
        let in_sync = self.settles(project, &seen);
        if in_sync {
            self.planes.metrics().reconciles_skipped.with_label_values(&["federator"]).inc();
        }
        // Of what there is to come back for no event tells, and after a restart nothing is remembered.
        let waits = self.outlook(&seen, &key) != Outlook::Settled;
        // Only a WD that is federated there proves its namespace; while a list is under way, one that it has
        // not named yet may be gone, and its namespace with it.
        let federated = seen.hub.is_some() && !seen.project.terminating && seen.writes == WriteState::Active;
        if let (true, Some(uid)) = (
            in_sync && federated && wds.confirmed(namespace, name),
            project_namespace_uid(&seen.hub_namespace_name),
        ) {
            let epoch = wds.epoch();
            self.namespaces.insert(at, NamespaceUid { uid: uid.to_owned(), epoch });
        }
        in_sync && !waits
    }

    /// The project plane and namespace that a hub namespace is for: by its labels or, where it has none yet,
    /// by the WDs that wait for it. Events of namespaces without an owner are dropped: engaging a plane reads
    /// everything anyway (F1).
    pub(crate) fn owner(&self, hub_namespace: &str) -> Option<ProjectNamespace> {
        let owner = self.labelled(hub_namespace).or_else(|| self.waiting_for(hub_namespace));
        if owner.is_none() {
            self.planes.metrics().events_dropped.with_label_values(&["unlabelled_namespace"]).inc();
        }
        owner
    }

    /// The project plane and namespace that a hub namespace's labels name.
    pub(crate) fn labelled(&self, hub_namespace: &str) -> Option<ProjectNamespace> {
        self.planes
            .hub()
            .store(Kind::Namespace)
            .object("", hub_namespace)
            .as_deref()
            .and_then(ProjectNamespace::from_hub_namespace)
    }

    /// Forgets what went unseen, while a plane's client was replaced.
    fn prune(&self, plane: &Plane) {
        match &plane.id {
            PlaneId::Project(name) => {
                let stands = |key: &Key| plane.store(key.kind).digest(&key.namespace, &key.name).is_some();
                self.retain(|key| key.plane != plane.id || stands(key));
                let wds = plane.store(Kind::WorkloadDeployment);
                self.namespaces.retain(name, |namespace| wds.any(Some(namespace), |_| true));
            }
            PlaneId::Hub => {
                let policies = plane.store(Kind::PropagationPolicy).objects(None);
                let stand = policies.iter().map(|p| Uid::new(p.uid())).collect();
                self.unused.keep(&stand);
                self.touches.keep(&stand);
            }
            PlaneId::Management | PlaneId::Cell => {}
        }
    }

    /// Forgets all WDs but these.
    fn retain(&self, keep: impl Fn(&Key) -> bool) {
        self.blocked.retain(self.planes.metrics(), &keep);
        self.waits.retain(&keep);
        self.convergence.lock().retain(&keep);
        self.seen_deleted.retain(|key, _| keep(key));
    }

    fn waiting_for(&self, name: &str) -> Option<ProjectNamespace> {
        self.namespaces.find(|uid| hub_namespace(uid) == name)
    }

    /// Enqueues the policies of a hub namespace, or of all, that a change concerns.
    fn policies_that(&self, hub_namespace: Option<&str>, concerned: impl Fn(&Object) -> bool) {
        let hub = self.planes.hub();
        for policy in hub.store(Kind::PropagationPolicy).objects(hub_namespace) {
            if concerned(&policy) {
                let key = hub.key(Kind::PropagationPolicy, policy.namespace(), policy.name());
                self.queue.add(key, &PlaneId::Hub);
            }
        }
    }

    /// Enqueues the policies of a project plane.
    fn enqueue_policies(&self, plane: &PlaneName) {
        for namespace in self.planes.tenants().of_plane(plane) {
            self.policies_that(Some(&namespace), |_| true);
        }
    }

    fn project_changed(&self, plane: &PlaneName, change: &Change) {
        let wd = change.known();
        let project = self.planes.project(plane);
        if let (Some(project), Change::Applied { old, new }) = (&project, change) {
            self.follow_generation(project, old.as_ref(), new);
        }
        if !self.enqueue(plane, &wd.namespace, &wd.name)
            && let Some(project) = project
        {
            project.store(Kind::WorkloadDeployment).release(&wd.namespace, &wd.name);
        }
        let replaced = match change {
            Change::Applied { old: Some(old), new } => {
                if old.digest.city() != new.digest.city() || new.digest.terminating {
                    self.policies_of_project(plane, old);
                }
                old.digest.uid != new.digest.uid
            }
            Change::Applied { old: None, .. } => false,
            Change::Deleted { last, inferred } => {
                self.policies_of_project(plane, last);
                let project = self.planes.project(plane);
                // After a gap it is unknown what became of the namespace meanwhile.
                *inferred || project.is_none_or(|p| !held(&p, &last.namespace))
            }
        };
        if replaced {
            self.namespaces.remove(&at(plane, wd));
        }
        if is_gone(change)
            && let Some(project) = self.planes.project(plane)
        {
            let key = project.key(Kind::WorkloadDeployment, &wd.namespace, &wd.name);
            self.seen_deleted.remove(&key);
            self.waits.end(&key);
            self.convergence.lock().forget(&key);
        }
    }

    fn policies_of_project(&self, plane: &PlaneName, wd: &Known) {
        let uid = self.namespaces.get(&at(plane, wd)).map(|read| read.uid);
        if let (Some(uid), Some(code)) = (uid, wd.digest.city()) {
            self.policies_that(Some(&hub_namespace(&uid)), |policy| policy.label(CITY_CODE) == Some(code));
        }
    }

    fn hub_changed(&self, kind: Kind, change: &Change) {
        match kind {
            Kind::WorkloadDeployment => self.hub_deployment_changed(change),
            Kind::PropagationPolicy => self.policy_changed(change),
            Kind::Namespace => self.hub_namespace_changed(change),
            Kind::Cluster => self.cluster_changed(change),
            Kind::Instance if is_gone(change) => self.copy_gone(change.known()),
            _ => {}
        }
    }

    fn hub_deployment_changed(&self, change: &Change) {
        let kind = Kind::WorkloadDeployment;
        let hub = self.planes.hub();
        let seen = change.known();
        let old = change.old();
        let gone = is_gone(change);
        let hub_key = hub.key(kind, &seen.namespace, &seen.name);
        let mut wanted = false;
        if let Some(home) = self.owner(&seen.namespace) {
            self.note_deletion(&home, change);
            let ProjectNamespace { plane, namespace } = home;
            self.hub_reported(&plane, &namespace, seen);
            wanted = self.enqueue(&plane, &namespace, &seen.name);
            self.planes.count_dropped(&plane);
            if self.planes.is_gone(&plane) {
                self.orphan_of_gone(&plane, &hub_key);
            }
        }
        if !wanted {
            hub.store(kind).release(&seen.namespace, &seen.name);
        }
        if gone {
            self.orphans.set(&hub_key, None, self.planes.metrics());
        }
        // F6, F7: the policies that are concerned.
        let claim = |wd: &Known| wd.digest.deployment().map(|facts| facts.claimed_by);
        if gone || old.is_some_and(|old| old.digest.city() != seen.digest.city() || claim(old) != claim(seen))
        {
            self.policies_that(Some(&seen.namespace), |policy| {
                let claims = mark_hash(Some(policy.name()));
                [Some(seen), old].into_iter().flatten().any(|wd| {
                    claim(wd) == Some(claims)
                        || (wd.digest.city().is_some() && policy.label(CITY_CODE) == wd.digest.city())
                })
            });
        }
    }

    fn policy_changed(&self, change: &Change) {
        let seen = change.known();
        let key = self.planes.hub().key(Kind::PropagationPolicy, &seen.namespace, &seen.name);
        self.queue.add(key, &PlaneId::Hub);
        if let Some(ProjectNamespace { plane, namespace }) = self.owner(&seen.namespace) {
            self.enqueue_namespace(&plane, &namespace);
        }
        if is_gone(change) {
            self.unused.forget(&seen.digest.uid);
            self.touches.forget(&seen.digest.uid);
        }
    }

    fn hub_namespace_changed(&self, change: &Change) {
        let states = [Some(change.known()), change.old()].into_iter().flatten();
        let states = states.filter_map(|known| known.object.as_deref());
        for ProjectNamespace { plane, namespace } in states.filter_map(ProjectNamespace::from_hub_namespace) {
            self.enqueue_namespace(&plane, &namespace);
        }
        if is_gone(change) {
            self.orphans.retain(self.planes.metrics(), |key| key.namespace != change.known().name);
        }
    }

    fn cluster_changed(&self, change: &Change) {
        let seen = change.known();
        let old = change.old();
        let code = |known: &Known| Some(known.object.as_ref()?.label(CITY_CODE)?.to_owned());
        let before = old.and_then(code);
        let now = code(seen);
        let down = |known: &Known| known.object.as_deref().and_then(CellDown::from_cluster);
        if old.is_some_and(|old| down(old) != down(seen)) {
            // A short outage is not reported.
            for project in self.planes.projects() {
                let here = |wd: View<'_>| {
                    let is_here = now.is_some() && wd.digest.city() == now.as_deref();
                    is_here.then(|| project.key(Kind::WorkloadDeployment, wd.namespace, wd.name))
                };
                for key in project.store(Kind::WorkloadDeployment).select(None, here) {
                    self.queue.add_after(key, self.config.patience);
                }
            }
        }
        let lost = |known: &Known| known.object.as_deref().and_then(lost_since);
        let recovers = |old: &Known| lost(old) != lost(seen) || down(old).is_some() && down(seen).is_none();
        if before != now || is_gone(change) || old.is_some_and(recovers) {
            let concerned =
                |wd: &Digest| wd.city().is_some() && [before.as_deref(), now.as_deref()].contains(&wd.city());
            self.planes.projects().iter().for_each(|p| self.enqueue_all(p, concerned));
        }
    }
}

fn is_gone(change: &Change) -> bool {
    matches!(change, Change::Deleted { .. })
}

/// Returns the project namespace of a WD of a project plane.
fn at(plane: &PlaneName, wd: &Known) -> ProjectNamespace {
    ProjectNamespace { plane: plane.clone(), namespace: wd.namespace.to_string() }
}

impl Listener for Federator {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        match (&plane.id, kind) {
            (PlaneId::Project(name), Kind::WorkloadDeployment) => self.project_changed(name, change),
            (PlaneId::Hub, kind) => self.hub_changed(kind, change),
            _ => {}
        }
    }

    fn synced(&self, plane: &Plane, _kind: Kind) {
        if !plane.synced() {
            return;
        }
        self.queue.mark_healthy(&plane.id);
        self.prune(plane);
        if !self.planes.hub().synced() {
            // Those that need it say so.
            return self.enqueue_all(plane, |wd| {
                wd.deployment().is_none_or(|wd| wd.observed_generation() != Some(wd.generation))
            });
        }
        match &plane.id {
            PlaneId::Project(name) => {
                if plane.service() == ServiceState::Withdrawn {
                    self.convergence.lock().retain(|key| key.plane != plane.id);
                }
                self.enqueue_all(plane, |_| true);
                self.enqueue_suspects(name, plane);
                self.enqueue_policies(name);
            }
            PlaneId::Hub => {
                for project in self.planes.projects() {
                    self.enqueue_all(&project, |_| true);
                    if let PlaneId::Project(name) = &project.id {
                        self.enqueue_suspects(name, &project);
                    }
                }
                self.planes.gone().iter().for_each(|name| self.orphan_all(name));
                self.policies_that(None, |_| true);
            }
            PlaneId::Management | PlaneId::Cell => {}
        }
    }

    fn left(&self, plane: &Plane) {
        let PlaneId::Project(name) = &plane.id else { return };
        self.queue.forget(&plane.id);
        self.namespaces.retain(name, |_| false);
        self.retain(|key| key.plane != plane.id);
        self.forget_orphans(name);
    }

    fn gone(&self, plane: &PlaneName) {
        self.orphan_all(plane);
        self.enqueue_policies(plane);
    }
}
