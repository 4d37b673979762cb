//! Events to keys: which event concerns which WD and which policy.

use fedhub_shared::engine::{Change, Listener};
use fedhub_shared::names::{
    CITY_CODE, FEDERATION_NAMESPACE, PlaneName, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, decode_plane,
    hub_namespace,
};
use fedhub_shared::object::{Key, Kind, Object, ObjectView, PlaneId};
use fedhub_shared::planes::Plane;
use tokio::time::Instant;

use crate::Federator;
use crate::controller::held;
use crate::late::Gone;
use crate::observe::city;

impl Federator {
    fn enqueue(&self, plane: &PlaneName, namespace: &str, name: &str) {
        let id = PlaneId::Project(plane.clone());
        let key = Key {
            plane: id.clone(),
            kind: Kind::WorkloadDeployment,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        self.queue.add(key, &id);
    }

    fn enqueue_namespace(&self, plane: &PlaneName, namespace: &str, of: impl Fn(&Object) -> bool) {
        let Some(project) = self.planes.project(plane) else { return };
        for wd in project.store(Kind::WorkloadDeployment).in_namespace(namespace) {
            if of(&wd) {
                self.enqueue(plane, namespace, wd.called());
            }
        }
    }

    fn enqueue_all(&self, project: &Plane, of: impl Fn(&Object) -> bool) {
        let PlaneId::Project(name) = &project.id else { return };
        for wd in project.store(Kind::WorkloadDeployment).all() {
            if of(&wd) {
                self.enqueue(name, wd.space(), wd.called());
            }
        }
    }

    /// The project plane and namespace that a hub namespace is for: by its labels or, where it has none yet, by the
    /// WDs that wait for it. Events of namespaces that are nobody's are dropped: engaging a plane reads everything
    /// anyway (F1).
    pub(crate) fn owner(&self, hub_namespace: &str) -> Option<(PlaneName, String)> {
        let owner = self.labelled(hub_namespace).or_else(|| self.waiting_for(hub_namespace));
        if owner.is_none() {
            self.planes.metrics().events_dropped.with_label_values(&["unlabelled_namespace"]).inc();
        }
        owner
    }

    /// The project plane and namespace that a hub namespace's labels name.
    pub(crate) fn labelled(&self, hub_namespace: &str) -> Option<(PlaneName, String)> {
        self.planes.hub().store(Kind::Namespace).get("", hub_namespace).as_deref().and_then(named)
    }

    /// A WD went while this process looked on. Where its hub WD is gone too, that is remembered, by whoever leads.
    fn departs(&self, plane: &PlaneName, wd: &Object) {
        let Some(hub_namespace) = wd.annotation(FEDERATION_NAMESPACE) else { return };
        let on_hub = self.planes.hub().store(Kind::WorkloadDeployment).get(hub_namespace, wd.called());
        if wd.deleting() && self.planes.hub().synced() && on_hub.is_none() {
            let gone = Gone { uid: wd.uid().to_owned(), hub_namespace: hub_namespace.to_owned() };
            self.departed.note(&project_key(plane, wd), gone, Instant::now());
        }
    }

    /// Forgets what went unseen: while a plane's client was replaced, or as the answer to a write came after the event.
    fn prune(&self, plane: &Plane) {
        let stands = |key: &Key| plane.store(key.kind).get(&key.namespace, &key.name).is_some();
        self.echoes.retain(&plane.id, stands);
        match &plane.id {
            PlaneId::Project(name) => {
                self.holds.retain(&plane.id, self.planes.metrics(), stands);
                let wds = plane.store(Kind::WorkloadDeployment);
                self.namespaces.retain(|(of, space), _| of != name || !wds.in_namespace(space).is_empty());
            }
            PlaneId::Hub => {
                let policies = plane.store(Kind::PropagationPolicy).all();
                self.quiet.keep(&policies.iter().map(|p| p.uid()).collect());
            }
            PlaneId::Management => {}
        }
    }

    fn waiting_for(&self, name: &str) -> Option<(PlaneName, String)> {
        self.namespaces
            .iter()
            .find(|known| hub_namespace(known.value()) == name)
            .map(|known| known.key().clone())
    }

    fn policies_of(&self, hub_namespace: &str, code: &str) {
        let hub = self.planes.hub();
        for policy in hub.store(Kind::PropagationPolicy).in_namespace(hub_namespace) {
            if policy.label(CITY_CODE) == Some(code) {
                self.queue
                    .add(hub.key(Kind::PropagationPolicy, hub_namespace, policy.called()), &PlaneId::Hub);
            }
        }
    }

    fn project_changed(&self, plane: &PlaneName, change: &Change) {
        let wd = change.object();
        self.enqueue(plane, wd.space(), wd.called());
        let replaced = match change {
            Change::Applied { old: Some(old), new } => {
                if city(old) != city(new) || new.deleting() {
                    self.policies_of_project(plane, old);
                }
                old.uid() != new.uid()
            }
            Change::Applied { old: None, .. } => false,
            Change::Deleted { last, gap } => {
                self.policies_of_project(plane, last);
                self.echoes.forget(&project_key(plane, last));
                if !*gap {
                    self.departs(plane, last);
                }
                let project = self.planes.project(plane);
                // After a gap nobody knows what became of the namespace meanwhile.
                *gap || project.is_none_or(|p| !held(&p, last.space()))
            }
        };
        if replaced {
            self.namespaces.remove(&(plane.clone(), wd.space().to_owned()));
        }
    }

    fn policies_of_project(&self, plane: &PlaneName, wd: &Object) {
        let uid = self.namespaces.get(&(plane.clone(), wd.space().to_owned())).map(|uid| uid.value().clone());
        if let Some(uid) = uid {
            self.policies_of(&hub_namespace(&uid), city(wd));
        }
    }

    fn hub_changed(&self, kind: Kind, change: &Change) {
        let object = change.object();
        let hub = self.planes.hub();
        match kind {
            Kind::WorkloadDeployment => {
                if let Some((plane, namespace)) = self.owner(object.space()) {
                    self.enqueue(&plane, &namespace, object.called());
                }
                let old = if let Change::Applied { old, .. } = change { old.as_ref() } else { None };
                let codes = [Some(object), old].into_iter().flatten().filter_map(|o| o.label(CITY_CODE));
                let unlabelled = old.is_some_and(|o| o.label(CITY_CODE) != object.label(CITY_CODE));
                if matches!(change, Change::Deleted { .. }) || unlabelled {
                    codes.for_each(|code| self.policies_of(object.space(), code));
                }
                if let Change::Deleted { last, .. } = change {
                    self.echoes.forget(&hub.key(kind, last.space(), last.called()));
                }
            }
            Kind::PropagationPolicy => {
                self.queue.add(hub.key(kind, object.space(), object.called()), &PlaneId::Hub);
                if let Some((plane, namespace)) = self.owner(object.space()) {
                    self.enqueue_namespace(&plane, &namespace, |_| true);
                }
                if let Change::Deleted { last, .. } = change {
                    self.quiet.forget(last);
                    self.echoes.forget(&hub.key(kind, last.space(), last.called()));
                }
            }
            Kind::Namespace => {
                let old = if let Change::Applied { old, .. } = change { old.as_deref() } else { None };
                if let Change::Deleted { last, .. } = change {
                    self.echoes.forget(&hub.key(kind, "", last.called()));
                }
                for (plane, namespace) in [Some(object.as_ref()), old].into_iter().flatten().filter_map(named)
                {
                    self.enqueue_namespace(&plane, &namespace, |_| true);
                }
            }
            Kind::Cluster => {
                let (old, gone) = match change {
                    Change::Applied { old, .. } => (old.as_ref().and_then(|o| o.label(CITY_CODE)), false),
                    Change::Deleted { .. } => (None, true),
                };
                let new = object.label(CITY_CODE);
                if old != new || gone {
                    let concerned = |wd: &Object| Some(city(wd)) == old || Some(city(wd)) == new;
                    self.planes.projects().iter().for_each(|p| self.enqueue_all(p, concerned));
                }
            }
            Kind::Instance => {}
        }
    }
}

/// The project plane and namespace that a hub namespace's labels name.
fn named(namespace: &Object) -> Option<(PlaneName, String)> {
    let plane = decode_plane(namespace.label(UPSTREAM_CLUSTER)?)?;
    Some((plane, namespace.label(UPSTREAM_NAMESPACE)?.to_owned()))
}

fn project_key(plane: &PlaneName, wd: &Object) -> Key {
    Key {
        plane: PlaneId::Project(plane.clone()),
        kind: Kind::WorkloadDeployment,
        namespace: wd.space().to_owned(),
        name: wd.called().to_owned(),
    }
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
        self.queue.works(&plane.id);
        self.prune(plane);
        // Passes that came too early ended without a trace: everything is looked at once.
        match &plane.id {
            PlaneId::Project(_) => self.enqueue_all(plane, |_| true),
            PlaneId::Hub => {
                self.planes.projects().iter().for_each(|p| self.enqueue_all(p, |_| true));
                self.departed.keys().into_iter().for_each(|key| {
                    let lane = key.plane.clone();
                    self.queue.add(key, &lane);
                });
            }
            PlaneId::Management => {}
        }
        let hub = self.planes.hub();
        for policy in hub.store(Kind::PropagationPolicy).all() {
            self.queue.add(hub.key(Kind::PropagationPolicy, policy.space(), policy.called()), &PlaneId::Hub);
        }
    }

    fn left(&self, plane: &Plane) {
        let PlaneId::Project(name) = &plane.id else { return };
        self.queue.forget(&plane.id);
        self.namespaces.retain(|(of, _), _| of != name);
        self.echoes.retain(&plane.id, |_| false);
        self.holds.retain(&plane.id, self.planes.metrics(), |_| false);
    }
}
