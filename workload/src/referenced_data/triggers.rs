//! Events to keys: which event concerns which WD; and which project planes have their `ConfigMap`s and
//! Secrets watched.

use std::collections::BTreeSet;

use fedhub_api::facts::{Change, Digest, DigestExt, Known, View};
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, PlaneId};
use fedhub_planes::{DATA_KINDS, Listener, Plane, ProjectNamespace};

use super::ReferencedData;
use super::snapshot::refers_to;

const WD: Kind = Kind::WorkloadDeployment;

/// Whether a WD refers to anything, or did.
fn concerns(wd: &Digest) -> bool {
    wd.deployment().is_some_and(|facts| facts.references().is_some())
}

/// Whether the template of a WD that stays refers to objects of this kind.
fn refers(wd: &Digest, kind: Kind) -> bool {
    let references = wd.deployment().and_then(|facts| facts.references());
    !wd.terminating && references.is_some_and(|references| references.iter().any(|r| r.kind == kind))
}

/// Whether a companion's count names a WD of this namespace.
fn is_in(wd: &str, namespace: &str) -> bool {
    wd.split_once('/').is_some_and(|(of, _)| of == namespace)
}

impl ReferencedData {
    fn enqueue(&self, plane: &PlaneName, project: &Plane, namespace: &str, name: &str) {
        if self.planes.ready(plane) {
            self.queue.add(project.key(WD, namespace, name), &project.id);
        }
    }

    /// Enqueues the WDs of a project plane, or of one namespace there, that are like that.
    fn enqueue_where(&self, project: &Plane, namespace: Option<&str>, is_so: impl Fn(&Digest) -> bool) {
        let PlaneId::Project(plane) = &project.id else { return };
        // All of a plane is looked at when it comes into sync.
        if !self.planes.ready(plane) {
            return;
        }
        let pick = |wd: View<'_>| is_so(wd.digest).then(|| (wd.namespace.to_owned(), wd.name.to_owned()));
        for (namespace, name) in project.store(WD).select(namespace, pick) {
            self.enqueue(plane, project, &namespace, &name);
        }
    }

    fn enqueue_all(&self, home: &ProjectNamespace, is_so: impl Fn(&Digest) -> bool) {
        if let Some(project) = self.planes.project(&home.plane) {
            self.enqueue_where(&project, Some(&home.namespace), is_so);
        }
    }

    fn deployment_changed(&self, plane: &PlaneName, project: &Plane, change: &Change) {
        let seen = change.known();
        let old = change.old().map(|old| &old.digest);
        if !concerns(&seen.digest) && !old.is_some_and(concerns) {
            return;
        }
        let stays = matches!(change, Change::Applied { .. });
        for kind in DATA_KINDS {
            if stays && refers(&seen.digest, kind) {
                self.planes.demand(project, kind, true);
            } else if refers(&seen.digest, kind) || old.is_some_and(|old| refers(old, kind)) {
                self.reconsider(project, kind);
            }
        }
        if stays {
            self.enqueue(plane, project, &seen.namespace, &seen.name);
        }
    }

    /// Ends the watch of a kind that no WD of the plane refers to any more.
    fn reconsider(&self, project: &Plane, kind: Kind) {
        if project.demanded(kind).is_some() && !project.store(WD).any(None, |wd| refers(wd.digest, kind)) {
            self.planes.demand(project, kind, false);
            self.uncopied.lock().retain(|key, _| key.plane != project.id || key.kind != kind);
        }
    }

    fn source_changed(&self, project: &Plane, kind: Kind, change: &Change) {
        let seen = change.known();
        if matches!(change, Change::Deleted { .. }) {
            self.uncopied.lock().remove(&project.key(kind, &seen.namespace, &seen.name));
        }
        self.enqueue_where(project, Some(&seen.namespace), |wd| refers_to(wd, kind, &seen.name));
    }

    fn companion_changed(&self, hub: &Plane, kind: Kind, change: &Change) {
        let seen = change.known();
        self.note_edit(hub, kind, change);
        let namespace = hub.store(Kind::Namespace).object("", &seen.namespace);
        let Some(home) = namespace.as_deref().and_then(ProjectNamespace::from_hub_namespace) else { return };
        let Some(project) = self.planes.project(&home.plane) else { return };
        self.enqueue_where(&project, Some(&home.namespace), |wd| refers_to(wd, kind, &seen.name));
        let wds = [Some(seen), change.old()]
            .into_iter()
            .flatten()
            .filter_map(|known| known.digest.companion().and_then(|c| c.referenced_by.clone()))
            .flatten();
        self.enqueue_counted(&project, &home.plane, wds.filter(|wd| is_in(wd, &home.namespace)));
    }

    /// Enqueues WDs that companions count, those too that refer to nothing any more: a hub that was restored
    /// may count them.
    fn enqueue_counted(&self, project: &Plane, plane: &PlaneName, wds: impl Iterator<Item = Box<str>>) {
        for wd in wds.collect::<BTreeSet<_>>() {
            if let Some((namespace, name)) = wd.split_once('/')
                && project.store(WD).digest(namespace, name).is_some()
            {
                self.enqueue(plane, project, namespace, name);
            }
        }
    }

    /// Enqueues the WDs that anything refers to or that companions count: when a plane or the hub comes into
    /// sync.
    fn enqueue_concerned(&self, project: &Plane) {
        self.enqueue_where(project, None, concerns);
        let PlaneId::Project(plane) = &project.id else { return };
        let hub = self.planes.hub();
        for space in self.planes.tenants().of_plane(plane) {
            let Some(home) = hub
                .store(Kind::Namespace)
                .object("", &space)
                .as_deref()
                .and_then(ProjectNamespace::from_hub_namespace)
            else {
                continue;
            };
            for kind in DATA_KINDS {
                let wds = hub
                    .store(kind)
                    .select(Some(&space), |view| view.digest.companion()?.referenced_by.clone())
                    .into_iter()
                    .flatten();
                self.enqueue_counted(project, plane, wds.filter(|wd| is_in(wd, &home.namespace)));
            }
        }
    }

    /// Notes a write of a companion that changed neither what it is the copy of nor its count: it may have
    /// another content.
    fn note_edit(&self, hub: &Plane, kind: Kind, change: &Change) {
        let seen = change.known();
        let key = hub.key(kind, &seen.namespace, &seen.name);
        let is_edit = |old: &Known| {
            let old = &old.digest;
            let new = &seen.digest;
            old.uid == new.uid && old.version != new.version && old.companion() == new.companion()
        };
        match change {
            Change::Deleted { .. } => {
                self.edited.lock().remove(&key);
            }
            Change::Applied { old: Some(old), .. } if is_edit(old) => {
                self.edited.lock().insert(key, seen.digest.version.clone());
            }
            Change::Applied { .. } => {}
        }
    }
}

impl Listener for ReferencedData {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        match (&plane.id, kind) {
            (PlaneId::Project(name), WD) => self.deployment_changed(name, plane, change),
            (_, Kind::ConfigMap | Kind::Secret) => {
                // Only their digests are read.
                plane.store(kind).release(&change.known().namespace, &change.known().name);
                match &plane.id {
                    PlaneId::Project(_) => self.source_changed(plane, kind, change),
                    PlaneId::Hub => self.companion_changed(plane, kind, change),
                    PlaneId::Management | PlaneId::Cell => {}
                }
            }
            (PlaneId::Hub, Kind::Namespace) => {
                let states = [Some(change.known()), change.old()].into_iter().flatten();
                let homes: BTreeSet<_> = states
                    .filter_map(|known| {
                        known.object.as_deref().and_then(ProjectNamespace::from_hub_namespace)
                    })
                    .collect();
                for home in &homes {
                    self.enqueue_all(home, concerns);
                }
            }
            _ => {}
        }
    }

    fn synced(&self, plane: &Plane, _kind: Kind) {
        if !plane.synced() {
            return;
        }
        self.queue.mark_healthy(&plane.id);
        match &plane.id {
            PlaneId::Hub => {
                self.planes.projects().iter().for_each(|project| self.enqueue_concerned(project));
            }
            PlaneId::Project(_) if self.planes.hub().synced() => self.enqueue_concerned(plane),
            PlaneId::Project(_) | PlaneId::Management | PlaneId::Cell => {}
        }
    }

    fn left(&self, plane: &Plane) {
        self.queue.forget(&plane.id);
        self.uncopied.lock().retain(|key, _| key.plane != plane.id);
    }
}
