//! Events to keys: which event concerns which WD and which policy.

use fedhub_shared::digest::Digest;
use fedhub_shared::engine::{Change, Known, Listener};
use fedhub_shared::names::{
    CITY_CODE, PlaneName, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, decode_plane, hub_namespace,
};
use fedhub_shared::object::{Key, Kind, Object, ObjectView, PlaneId};
use fedhub_shared::planes::Plane;

use crate::Federator;
use crate::controller::held;

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
        let names = project
            .store(Kind::WorkloadDeployment)
            .select(None, |wd| of(wd.digest).then(|| (wd.namespace.to_owned(), wd.name.to_owned())));
        for (namespace, name) in names {
            self.enqueue(plane, &namespace, &name);
        }
    }

    /// The project plane and namespace that a hub namespace is for: by its labels or, where it has none yet, by the
    /// WDs that wait for it. Events of namespaces that are nobody's are dropped: engaging a plane reads everything
    /// anyway (F1).
    pub(crate) fn owner(&self, hub_namespace: &str) -> Option<(PlaneName, String)> {
        let namespace = self.planes.hub().store(Kind::Namespace).object("", hub_namespace);
        let owner = namespace.as_deref().and_then(named).or_else(|| self.waiting_for(hub_namespace));
        if owner.is_none() {
            self.planes.metrics().events_dropped.with_label_values(&["unlabelled_namespace"]).inc();
        }
        owner
    }

    fn waiting_for(&self, name: &str) -> Option<(PlaneName, String)> {
        self.namespaces
            .iter()
            .find(|known| hub_namespace(known.value()) == name)
            .map(|known| known.key().clone())
    }

    fn policies_of(&self, hub_namespace: &str, code: &str) {
        let hub = self.planes.hub();
        for policy in hub.store(Kind::PropagationPolicy).objects(Some(hub_namespace)) {
            if policy.label(CITY_CODE) == Some(code) {
                self.queue
                    .add(hub.key(Kind::PropagationPolicy, hub_namespace, policy.called()), &PlaneId::Hub);
            }
        }
    }

    fn project_changed(&self, plane: &PlaneName, change: &Change) {
        let wd = change.known();
        self.enqueue(plane, &wd.namespace, &wd.name);
        let replaced = match change {
            Change::Applied { old: Some(old), new } => {
                if city(old) != city(new) || new.digest.deleting {
                    self.policies_of_project(plane, old);
                }
                old.digest.uid != new.digest.uid
            }
            Change::Applied { old: None, .. } => false,
            Change::Deleted { last, gap } => {
                self.policies_of_project(plane, last);
                let project = self.planes.project(plane);
                // After a gap nobody knows what became of the namespace meanwhile.
                *gap || project.is_none_or(|p| !held(&p, &last.namespace))
            }
        };
        if replaced {
            self.namespaces.remove(&(plane.clone(), wd.namespace.to_string()));
        }
    }

    fn policies_of_project(&self, plane: &PlaneName, wd: &Known) {
        let uid =
            self.namespaces.get(&(plane.clone(), wd.namespace.to_string())).map(|uid| uid.value().clone());
        if let (Some(uid), Some(code)) = (uid, city(wd)) {
            self.policies_of(&hub_namespace(&uid), code);
        }
    }

    fn hub_changed(&self, kind: Kind, change: &Change) {
        let (seen, old) = (change.known(), change.old());
        let gone = matches!(change, Change::Deleted { .. });
        match kind {
            Kind::WorkloadDeployment => {
                if let Some((plane, namespace)) = self.owner(&seen.namespace) {
                    self.enqueue(&plane, &namespace, &seen.name);
                }
                if gone || old.is_some_and(|old| city(old) != city(seen)) {
                    let codes = [Some(seen), old].into_iter().flatten().filter_map(city);
                    codes.for_each(|code| self.policies_of(&seen.namespace, code));
                }
            }
            Kind::PropagationPolicy => {
                self.queue.add(self.planes.hub().key(kind, &seen.namespace, &seen.name), &PlaneId::Hub);
                if let Some((plane, namespace)) = self.owner(&seen.namespace) {
                    self.enqueue_namespace(&plane, &namespace);
                }
                if gone {
                    self.quiet.forget(&seen.digest.uid);
                }
            }
            Kind::Namespace => {
                let states =
                    [Some(seen), old].into_iter().flatten().filter_map(|known| known.object.as_deref());
                for (plane, namespace) in states.filter_map(named) {
                    self.enqueue_namespace(&plane, &namespace);
                }
            }
            Kind::Cluster => {
                let code = |known: &Known| Some(known.object.as_ref()?.label(CITY_CODE)?.to_owned());
                let (before, now) = (old.and_then(code), code(seen));
                if before != now || gone {
                    let concerned = |wd: &Digest| {
                        let city = wd.deployment().and_then(|d| d.city.as_deref());
                        city.is_some() && (city == before.as_deref() || city == now.as_deref())
                    };
                    self.planes.projects().iter().for_each(|p| self.enqueue_all(p, concerned));
                }
            }
            Kind::Instance => {}
        }
    }
}

/// The city of a WD, as its plane says it.
fn city(wd: &Known) -> Option<&str> {
    wd.digest.deployment()?.city.as_deref()
}

/// The project plane and namespace that a hub namespace's labels name.
fn named(namespace: &Object) -> Option<(PlaneName, String)> {
    let plane = decode_plane(namespace.label(UPSTREAM_CLUSTER)?)?;
    Some((plane, namespace.label(UPSTREAM_NAMESPACE)?.to_owned()))
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
        // Passes that came too early ended without a trace: everything is looked at once.
        match &plane.id {
            PlaneId::Project(_) => self.enqueue_all(plane, |_| true),
            PlaneId::Hub => self.planes.projects().iter().for_each(|p| self.enqueue_all(p, |_| true)),
            PlaneId::Management => {}
        }
        let hub = self.planes.hub();
        for policy in hub.store(Kind::PropagationPolicy).objects(None) {
            self.queue.add(hub.key(Kind::PropagationPolicy, policy.space(), policy.called()), &PlaneId::Hub);
        }
    }

    fn left(&self, plane: &Plane) {
        let PlaneId::Project(name) = &plane.id else { return };
        self.queue.forget(|key| key.plane == plane.id);
        self.namespaces.retain(|(of, _), _| of != name);
    }
}
