//! Which hub namespaces stand for which project namespace: an index, so that an event of one project does not
//! look through all of the hub.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_api::facts::Change;
use fedhub_core::names::{PlaneName, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, decode_plane};
use fedhub_core::object::{Object, ObjectView};
use parking_lot::Mutex;

/// The project namespace that the objects of a hub namespace belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectNamespace {
    /// The project plane.
    pub plane: PlaneName,
    /// The namespace in it.
    pub namespace: String,
}

impl ProjectNamespace {
    /// Reads the labels of a hub namespace; only the federator writes those (I6).
    pub fn from_hub_namespace(hub_namespace: &Object) -> Option<Self> {
        let plane = decode_plane(hub_namespace.label(UPSTREAM_CLUSTER)?)?;
        let namespace = hub_namespace.label(UPSTREAM_NAMESPACE).filter(|n| !n.is_empty())?.to_owned();
        Some(Self { plane, namespace })
    }
}

#[derive(Default)]
struct Inner {
    by_name: BTreeMap<String, ProjectNamespace>,
    by_home: BTreeMap<ProjectNamespace, BTreeSet<String>>,
}

/// The index. One hub namespace for each project namespace, but for one that was recreated under its name.
#[derive(Default)]
pub struct TenantIndex(Mutex<Inner>);

impl TenantIndex {
    /// A hub namespace was seen to change.
    pub fn changed(&self, change: &Change) {
        let home = match change {
            Change::Applied { new, .. } => {
                new.object.as_deref().and_then(ProjectNamespace::from_hub_namespace)
            }
            Change::Deleted { .. } => None,
        };
        let name: &str = &change.known().name;
        let mut inner = self.0.lock();
        let before = match home.clone() {
            Some(home) => inner.by_name.insert(name.to_owned(), home),
            None => inner.by_name.remove(name),
        };
        if before == home {
            return;
        }
        if let Some(before) = before
            && let Some(names) = inner.by_home.get_mut(&before)
        {
            names.remove(name);
            if names.is_empty() {
                inner.by_home.remove(&before);
            }
        }
        if let Some(home) = home {
            inner.by_home.entry(home).or_default().insert(name.to_owned());
        }
    }

    /// Returns all project planes that hub namespaces name, each with its hub namespaces.
    pub fn planes(&self) -> BTreeMap<PlaneName, Vec<String>> {
        let inner = self.0.lock();
        let mut planes = BTreeMap::<_, Vec<_>>::new();
        for (home, names) in &inner.by_home {
            planes.entry(home.plane.clone()).or_default().extend(names.iter().cloned());
        }
        planes
    }

    /// The hub namespaces of all namespaces of a project plane.
    pub fn of_plane(&self, plane: &PlaneName) -> Vec<String> {
        let inner = self.0.lock();
        let first = ProjectNamespace { plane: plane.clone(), namespace: String::new() };
        let theirs = inner.by_home.range(first..).take_while(|(home, _)| home.plane == *plane);
        theirs.flat_map(|(_, names)| names.iter().cloned()).collect()
    }

    /// The hub namespaces of a project namespace, by name.
    pub fn of(&self, home: &ProjectNamespace) -> Vec<String> {
        let inner = self.0.lock();
        inner.by_home.get(home).into_iter().flatten().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fedhub_api::facts::Digest;
    use fedhub_api::facts::Known;
    use fedhub_core::names::{PlaneName, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, encode_plane};
    use fedhub_core::object::{Kind, PlaneId, bare};

    use super::*;

    fn home(plane: &str, namespace: &str) -> ProjectNamespace {
        ProjectNamespace { plane: PlaneName::new(plane).unwrap(), namespace: namespace.to_owned() }
    }

    fn namespace(name: &str, of: Option<&ProjectNamespace>) -> Known {
        let mut namespace = bare(Kind::Namespace, "", name);
        namespace.metadata.labels = of.map(|h| {
            let plane = (UPSTREAM_CLUSTER.to_owned(), encode_plane(&h.plane));
            [plane, (UPSTREAM_NAMESPACE.to_owned(), h.namespace.clone())].into()
        });
        let digest = Digest::new(&PlaneId::Hub, Kind::Namespace, &namespace);
        Known { namespace: "".into(), name: name.into(), digest, object: Some(Arc::new(namespace)) }
    }

    #[test]
    fn i6_a_namespace_is_found_by_what_its_labels_say_now() {
        let a = home("a", "default");
        let b = home("b", "default");
        let homes = TenantIndex::default();
        let applied = |name, of| homes.changed(&Change::Applied { old: None, new: namespace(name, of) });
        applied("ns-1", Some(&a));
        applied("ns-2", Some(&a));
        applied("ns-3", Some(&b));
        applied("kube-system", None);
        assert_eq!(
            (homes.of(&a), homes.of(&b)),
            (vec!["ns-1".to_owned(), "ns-2".to_owned()], vec!["ns-3".to_owned()])
        );
        assert_eq!(homes.of_plane(&a.plane), ["ns-1", "ns-2"]);
        let all = homes.planes().into_iter().collect::<Vec<_>>();
        let [of_a, of_b] =
            [&["ns-1", "ns-2"][..], &["ns-3"]].map(|names| names.iter().map(|n| (*n).to_owned()).collect());
        assert_eq!(all, [(a.plane.clone(), of_a), (b.plane.clone(), of_b)]);
        applied("ns-1", Some(&b));
        applied("ns-2", None);
        assert!(homes.of_plane(&a.plane).is_empty());
        assert_eq!((homes.of(&a), homes.of(&b)), (vec![], vec!["ns-1".to_owned(), "ns-3".to_owned()]));
        homes.changed(&Change::Deleted { last: namespace("ns-1", Some(&b)), inferred: false });
        assert_eq!(homes.of(&b), ["ns-3"]);
    }
}
