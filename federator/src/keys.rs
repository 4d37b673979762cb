//! Events to keys: which event concerns which WD and which policy.
//!
//! Decides F1.

use fedhub_api::cells::{CellDown, lost_since};
use fedhub_cache::digest::deployment;
use fedhub_cache::digest::{Digest, Uid};
use fedhub_cache::{Change, Known, View};
use fedhub_core::names::{CITY_CODE, FEDERATION_NAMESPACE, PlaneName, hub_namespace, project_namespace_uid};
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId};
use fedhub_planes::Listener;
use fedhub_planes::{Plane, ProjectNamespace};
use tokio::time::Instant;

use crate::Federator;
use crate::late::Gone;
use crate::progress::Progress;
use crate::space::{Read, held};

impl Federator {
    /// What cannot be worked on yet is looked at when its plane comes into sync. Says whether there will be a pass.
    pub(crate) fn enqueue(&self, plane: &PlaneName, namespace: &str, name: &str) -> bool {
        let Some(project) = self.planes.project(plane) else { return false };
        let key = project.key(Kind::WorkloadDeployment, namespace, name);
        self.notice(&project, &key);
        self.planes.ready(plane) && self.queue.add(key, &project.id)
    }

    /// Has it looked at in a few seconds how far that WD has come (U2).
    pub(crate) fn notice(&self, project: &Plane, key: &Key) {
        let wd = project.store(Kind::WorkloadDeployment).digest(&key.namespace, &key.name);
        let Some(facts) = wd.as_ref().and_then(Digest::deployment) else { return };
        self.noticed.notice(key, facts.generation, Instant::now());
    }

    /// The same, of all WDs of a city.
    fn notice_city(&self, code: Option<&str>) {
        for project in self.planes.projects() {
            let here = |wd: View<'_>| {
                let concerned =
                    code.is_some() && wd.digest.deployment().is_some_and(|d| d.city.as_deref() == code);
                concerned.then(|| project.key(Kind::WorkloadDeployment, wd.namespace, wd.name))
            };
            let keys = project.store(Kind::WorkloadDeployment).select(None, here);
            for key in keys {
                self.notice(&project, &key);
            }
        }
    }

    /// The same, of those WDs that may say something else of their cell than is so, as after a restart: of cells that are
    /// down, and those that do not say that all is well.
    fn notice_doubtful(&self, project: &Plane) {
        let mut down = self.planes.clusters();
        down.retain(|cluster| CellDown::of(cluster).is_some());
        let down: Vec<&str> = down.iter().filter_map(|cluster| cluster.label(CITY_CODE)).collect();
        let doubtful = |wd: View<'_>| {
            let facts = wd.digest.deployment().filter(|_| !wd.digest.terminating)?;
            let is_down = facts.city.as_deref().is_some_and(|city| down.contains(&city));
            let unwell =
                || facts.federated != 0 && facts.federated != Progress::Applied.digest(facts.generation);
            (is_down || unwell()).then(|| project.key(Kind::WorkloadDeployment, wd.namespace, wd.name))
        };
        for key in project.store(Kind::WorkloadDeployment).select(None, doubtful) {
            self.notice(project, &key);
        }
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
        if !self.planes.ready(plane) {
            return;
        }
        let names = project
            .store(Kind::WorkloadDeployment)
            .select(None, |wd| of(wd.digest).then(|| (wd.namespace.to_owned(), wd.name.to_owned())));
        for (namespace, name) in names {
            if !self.rests(plane, project, &namespace, &name) {
                self.enqueue(plane, &namespace, &name);
            }
        }
    }

    /// Whether a WD that is looked at only because everything is, is in order: then it needs no turn. After a restart
    /// that is almost every one. Where its namespace belongs is told by the hub namespace's labels and by the marks on
    /// both planes that name each other, and need not be asked for (F2).
    fn rests(&self, plane: &PlaneName, project: &Plane, namespace: &str, name: &str) -> bool {
        let Some(wd) = project.store(Kind::WorkloadDeployment).digest(namespace, name) else { return true };
        let at = ProjectNamespace { plane: plane.clone(), namespace: namespace.to_owned() };
        let Some(hub) = self.marked_space(&at, &wd) else { return false };
        let key = project.key(Kind::WorkloadDeployment, namespace, name);
        let sight = self.sight(project, &key, wd, hub);
        let rests = self.in_order(plane, project, &key, &sight);
        if rests {
            self.planes.metrics().reconciles_skipped.with_label_values(&["federator"]).inc();
        }
        let wds = project.store(Kind::WorkloadDeployment);
        // While a list is under way, one that it has not named yet may be gone, and its namespace with it.
        if let (true, Some(uid)) =
            (rests && wds.confirmed(namespace, name), project_namespace_uid(&sight.hub_namespace_name))
        {
            let epoch = wds.epoch();
            self.namespaces.insert(at, Read { uid: uid.to_owned(), epoch });
        }
        rests
    }

    /// The project plane and namespace that a hub namespace is for: by its labels or, where it has none yet, by the
    /// WDs that wait for it. Events of namespaces that are nobody's are dropped: engaging a plane reads everything
    /// anyway (F1).
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
            .and_then(ProjectNamespace::of)
    }

    /// A WD went while this process looked on. Where its hub WD is gone too, that is remembered, by whoever leads.
    fn departs(&self, plane: &PlaneName, wd: &Known) {
        let hub = self.planes.hub();
        let (true, true, Some(object)) = (wd.digest.terminating, hub.synced(), &wd.object) else { return };
        let Some(hub_namespace) = object.annotation(FEDERATION_NAMESPACE) else { return };
        if hub.store(Kind::WorkloadDeployment).digest(hub_namespace, &wd.name).is_none() {
            let gone = Gone { uid: object.uid().to_owned(), hub_namespace: hub_namespace.to_owned() };
            let key = Key {
                plane: PlaneId::Project(plane.clone()),
                kind: Kind::WorkloadDeployment,
                namespace: wd.namespace.to_string(),
                name: wd.name.to_string(),
            };
            self.departed.note(&key, gone, Instant::now());
        }
    }

    /// Forgets what went unseen, while a plane's client was replaced.
    fn prune(&self, plane: &Plane) {
        match &plane.id {
            PlaneId::Project(name) => {
                let stands = |key: &Key| plane.store(key.kind).digest(&key.namespace, &key.name).is_some();
                self.holds.retain(self.planes.metrics(), |key| key.plane != plane.id || stands(key));
                self.noticed.retain(|key| key.plane != plane.id || stands(key));
                self.stalls.retain(|key| key.plane != plane.id || stands(key));
                self.seen_deleted.retain(|key| key.plane != plane.id || stands(key));
                let wds = plane.store(Kind::WorkloadDeployment);
                self.namespaces.retain(|at, _| at.plane != *name || wds.any(Some(&at.namespace), |_| true));
            }
            PlaneId::Hub => {
                let policies = plane.store(Kind::PropagationPolicy).objects(None);
                let stand = policies.iter().map(|p| Uid::new(p.uid())).collect();
                self.quiet.keep(&stand);
                self.touches.keep(&stand);
            }
            PlaneId::Management | PlaneId::Cell => {}
        }
    }

    fn waiting_for(&self, name: &str) -> Option<ProjectNamespace> {
        self.namespaces
            .iter()
            .find(|known| hub_namespace(&known.value().uid) == name)
            .map(|known| known.key().clone())
    }

    fn policies_of(&self, hub_namespace: &str, code: &str) {
        self.policies_that(hub_namespace, |policy| policy.label(CITY_CODE) == Some(code));
    }

    fn policies_that(&self, hub_namespace: &str, concerned: impl Fn(&Object) -> bool) {
        let hub = self.planes.hub();
        for policy in hub.store(Kind::PropagationPolicy).objects(Some(hub_namespace)) {
            if concerned(&policy) {
                self.queue.add(hub.key(Kind::PropagationPolicy, hub_namespace, policy.name()), &PlaneId::Hub);
            }
        }
    }

    fn project_changed(&self, plane: &PlaneName, change: &Change) {
        let wd = change.known();
        if !self.enqueue(plane, &wd.namespace, &wd.name)
            && let Some(project) = self.planes.project(plane)
        {
            project.store(Kind::WorkloadDeployment).release(&wd.namespace, &wd.name);
        }
        let replaced = match change {
            Change::Applied { old: Some(old), new } => {
                if city(old) != city(new) || new.digest.terminating {
                    self.policies_of_project(plane, old);
                }
                old.digest.uid != new.digest.uid
            }
            Change::Applied { old: None, .. } => false,
            Change::Deleted { last, inferred } => {
                self.policies_of_project(plane, last);
                if !*inferred {
                    self.departs(plane, last);
                }
                let project = self.planes.project(plane);
                // After a gap nobody knows what became of the namespace meanwhile.
                *inferred || project.is_none_or(|p| !held(&p, &last.namespace))
            }
        };
        if replaced {
            self.namespaces.remove(&at(plane, wd));
        }
        if matches!(change, Change::Deleted { .. })
            && let Some(project) = self.planes.project(plane)
        {
            self.seen_deleted.forget(&project.key(Kind::WorkloadDeployment, &wd.namespace, &wd.name));
        }
    }

    fn policies_of_project(&self, plane: &PlaneName, wd: &Known) {
        let uid = self.namespaces.get(&at(plane, wd)).map(|read| read.uid.clone());
        if let (Some(uid), Some(code)) = (uid, city(wd)) {
            self.policies_of(&hub_namespace(&uid), code);
        }
    }

    fn hub_changed(&self, kind: Kind, change: &Change) {
        let (seen, old) = (change.known(), change.old());
        let gone = matches!(change, Change::Deleted { .. });
        match kind {
            Kind::WorkloadDeployment => {
                let hub_key = self.planes.hub().key(kind, &seen.namespace, &seen.name);
                let mut wanted = false;
                if let Some(home) = self.owner(&seen.namespace) {
                    self.note_deletion(&home, change);
                    let ProjectNamespace { plane, namespace } = home;
                    wanted = self.enqueue(&plane, &namespace, &seen.name);
                    self.planes.count_dropped(&plane);
                    if self.planes.is_gone(&plane) {
                        self.orphan_of_gone(&plane, &hub_key);
                    }
                }
                if !wanted {
                    self.planes.hub().store(kind).release(&seen.namespace, &seen.name);
                }
                if gone {
                    self.orphans.set(&hub_key, None, self.planes.metrics());
                }
                // F6, F7: whose policies it is a matter of.
                let claim = |wd: &Known| wd.digest.deployment().map(|d| d.claim);
                if gone || old.is_some_and(|old| city(old) != city(seen) || claim(old) != claim(seen)) {
                    self.policies_that(&seen.namespace, |policy| {
                        let claims = deployment::claim(Some(policy.name()));
                        [Some(seen), old].into_iter().flatten().any(|wd| {
                            claim(wd) == Some(claims)
                                || (city(wd).is_some() && policy.label(CITY_CODE) == city(wd))
                        })
                    });
                }
            }
            Kind::PropagationPolicy => {
                self.queue.add(self.planes.hub().key(kind, &seen.namespace, &seen.name), &PlaneId::Hub);
                if let Some(ProjectNamespace { plane, namespace }) = self.owner(&seen.namespace) {
                    self.enqueue_namespace(&plane, &namespace);
                }
                if gone {
                    self.quiet.forget(&seen.digest.uid);
                    self.touches.forget(&seen.digest.uid);
                }
            }
            Kind::Namespace => {
                let states =
                    [Some(seen), old].into_iter().flatten().filter_map(|known| known.object.as_deref());
                for ProjectNamespace { plane, namespace } in states.filter_map(ProjectNamespace::of) {
                    self.enqueue_namespace(&plane, &namespace);
                }
                if gone {
                    self.orphans.retain(self.planes.metrics(), |key| key.namespace != *seen.name);
                }
            }
            Kind::Cluster => {
                let code = |known: &Known| Some(known.object.as_ref()?.label(CITY_CODE)?.to_owned());
                let (before, now) = (old.and_then(code), code(seen));
                let down = |known: &Known| known.object.as_deref().and_then(CellDown::of);
                let changed = old.is_some_and(|old| down(old) != down(seen));
                if changed {
                    self.notice_city(now.as_deref());
                }
                let lost = |known: &Known| known.object.as_deref().and_then(lost_since);
                if before != now
                    || gone
                    || old.is_some_and(|old| {
                        lost(old) != lost(seen) || down(old).is_some() && down(seen).is_none()
                    })
                {
                    let concerned = |wd: &Digest| {
                        let city = wd.deployment().and_then(|d| d.city.as_deref());
                        city.is_some() && (city == before.as_deref() || city == now.as_deref())
                    };
                    self.planes.projects().iter().for_each(|p| self.enqueue_all(p, concerned));
                }
            }
            _ => {}
        }
    }
}

/// The city of a WD, as its plane says it.
fn city(wd: &Known) -> Option<&str> {
    wd.digest.deployment()?.city.as_deref()
}

/// Where a WD of a project plane is.
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
            return;
        }
        let hub = self.planes.hub();
        let look = |policies: Vec<ObjectRef>| {
            for policy in policies {
                let key = hub.key(Kind::PropagationPolicy, policy.namespace(), policy.name());
                self.queue.add(key, &PlaneId::Hub);
            }
        };
        let policies = hub.store(Kind::PropagationPolicy);
        match &plane.id {
            PlaneId::Project(name) => {
                self.notice_doubtful(plane);
                self.enqueue_all(plane, |_| true);
                self.enqueue_suspects(name, plane);
                let theirs = self.planes.tenants().of_plane(name);
                for namespace in theirs {
                    look(policies.objects(Some(&namespace)));
                }
            }
            PlaneId::Hub => {
                for project in self.planes.projects() {
                    self.notice_doubtful(&project);
                    self.enqueue_all(&project, |_| true);
                    if let PlaneId::Project(name) = &project.id {
                        self.enqueue_suspects(name, &project);
                    }
                }
                self.planes.gone().iter().for_each(|name| self.orphan_all(name));
                self.departed.keys().into_iter().for_each(|key| {
                    let lane = key.plane.clone();
                    self.queue.add(key, &lane);
                });
                look(policies.objects(None));
            }
            PlaneId::Management | PlaneId::Cell => {}
        }
    }

    fn left(&self, plane: &Plane) {
        let PlaneId::Project(name) = &plane.id else { return };
        self.queue.forget(&plane.id);
        self.namespaces.retain(|at, _| at.plane != *name);
        self.holds.retain(self.planes.metrics(), |key| key.plane != plane.id);
        self.noticed.retain(|key| key.plane != plane.id);
        self.stalls.retain(|key| key.plane != plane.id);
        self.seen_deleted.retain(|key| key.plane != plane.id);
        self.forget_orphans(name);
    }

    fn gone(&self, plane: &PlaneName) {
        self.orphan_all(plane);
    }
}
