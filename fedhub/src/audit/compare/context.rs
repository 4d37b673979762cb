//! What follows from the world as a whole, and the findings in the making.

use std::collections::BTreeMap;

use fedhub_api::cells::declaring;
use fedhub_api::facts::DigestExt;
use fedhub_core::names::hub_namespace;
use fedhub_core::object::{Key, Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_federator::hub_namespace::{Candidate, HubNamespace, choose};
use fedhub_planes::history::Remembered;
use fedhub_planes::{Distrust, ProjectNamespace};
use fedhub_projector::unreachable::UnreachableCities;
use jiff::Timestamp;

use crate::audit::finding::{Discrepancy, Finding, settles};
use crate::audit::world::{Project, Stored, World};

/// A finding in the making.
pub struct Draft {
    pub discrepancy: Discrepancy,
    pub subject: Key,
    pub detail: String,
    pub since: Option<Timestamp>,
    pub rests_on: Vec<Key>,
}

/// The findings, each discrepancy of an object once.
pub struct Findings<'a> {
    world: &'a World,
    all: BTreeMap<(Discrepancy, Key), Finding>,
}

impl<'a> Findings<'a> {
    /// Creates an empty list of findings.
    pub fn from_world(world: &'a World) -> Self {
        Self { world, all: BTreeMap::new() }
    }

    /// All, by project plane, object and discrepancy.
    pub fn sorted(self) -> Vec<Finding> {
        let mut all: Vec<Finding> = self.all.into_values().collect();
        all.sort_by(|a, b| (&a.plane, &a.subject, a.discrepancy).cmp(&(&b.plane, &b.subject, b.discrepancy)));
        all
    }

    /// One more, unless the object has that discrepancy already.
    pub fn add(&mut self, plane: &str, draft: Draft) {
        let Draft { discrepancy, subject, detail, since, mut rests_on } = draft;
        rests_on.push(subject.clone());
        let settling = settles(since, self.world.now, self.world.grace);
        let paused = self.world.paused.pause(plane).is_some();
        self.all.entry((discrepancy, subject.clone())).or_insert_with(|| Finding {
            discrepancy,
            subject,
            plane: plane.to_owned(),
            detail,
            since,
            settling,
            paused,
            rests_on,
        });
    }
}

/// What follows from the world as a whole.
pub struct Context<'a> {
    pub world: &'a World,
    /// The hub namespaces that name a project namespace by their labels.
    pub hub_namespaces: BTreeMap<ProjectNamespace, Vec<&'a Stored>>,
    /// The hub's Clusters, with those of their declarations that count.
    pub clusters: Vec<ObjectRef>,
    /// The cities whose cells are all down.
    pub unreachable: UnreachableCities,
}

impl<'a> Context<'a> {
    /// Indexes what was read.
    pub fn from_world(world: &'a World) -> Self {
        let mut hub_namespaces = BTreeMap::<_, Vec<_>>::new();
        for namespace in world.hub.namespaces.iter() {
            if let Some(home) = ProjectNamespace::from_hub_namespace(&namespace.object) {
                hub_namespaces.entry(home).or_default().push(namespace);
            }
        }
        let history = world.hub.history.unwrap_or_default();
        let clusters = world.hub.clusters.iter();
        let clusters: Vec<_> = clusters
            .map(|cluster| declaring(&cluster.object, world.now, |at| history.believes(at)))
            .collect();
        let unreachable = UnreachableCities::default();
        unreachable.learn(&clusters);
        Self { world, hub_namespaces, clusters, unreachable }
    }

    /// Why absence on the hub proves nothing, as fedhub remembers it.
    pub fn distrust(&self) -> Option<Distrust> {
        self.world.hub.history.and_then(|it| it.restored_at).map(|_| Distrust::Restored)
    }

    /// What fedhub remembers of the hub.
    pub fn history(&self) -> Remembered {
        self.world.hub.history.unwrap_or_default()
    }

    /// The hub namespace that a WD of a project belongs into.
    pub fn hub_namespace_of(&self, home: &ProjectNamespace, project: &Project, wd: &Stored) -> HubNamespace {
        let named = project.namespaces.get(&home.namespace).cloned().flatten().map(|uid| hub_namespace(&uid));
        let candidate = |namespace: &&Stored| {
            let name = namespace.object.name();
            let hub = self.world.hub.deployments.get(name, wd.object.name());
            let holds = hub.and_then(|hub| hub.digest.deployment()).map(|facts| facts.counterpart_uid);
            let uid = namespace.object.uid().to_owned();
            Candidate { name: name.to_owned(), uid, holds: holds.filter(|uid| *uid != 0) }
        };
        let candidates: Vec<_> = self.hub_namespaces.get(home).into_iter().flatten().map(candidate).collect();
        choose(&wd.digest, named.as_deref(), &candidates)
    }
}

/// A key.
pub fn key(plane: PlaneId, kind: Kind, namespace: &str, name: &str) -> Key {
    Key { plane, kind, namespace: namespace.into(), name: name.into() }
}

/// The key of a stored object.
pub fn key_of(plane: PlaneId, kind: Kind, stored: &Stored) -> Key {
    key(plane, kind, stored.object.namespace(), stored.object.name())
}
