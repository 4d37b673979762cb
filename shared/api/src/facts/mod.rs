//! The facts that stores keep of an object that is in sync: those of a WD ([`deployment`]), of an Instance
//! ([`instance`]) and of a companion ([`referenced`]), by which both sides of the federation are compared
//! without the objects.
//!
//! The stores themselves ([`fedhub_cache`]) are generic over what is kept: the aliases here are theirs with
//! [`Facts`].

pub mod carried;
pub mod deployment;
pub mod instance;
mod mark;
pub mod placed;
pub mod referenced;
pub mod restarts;
pub mod workload;

pub use deployment::Deployment;
use fedhub_cache::ObjectFacts;
use fedhub_core::names::CITY_CODE;
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};
pub use instance::Instance;
pub use mark::ProjectedFrom;
pub use placed::{Placed, of_workload};
pub use referenced::Companion;
pub use workload::Workload;

use crate::conditions::is_true;

/// A store of objects with these facts.
pub type Store = fedhub_cache::Store<Facts>;
/// A digest with these facts.
pub type Digest = fedhub_cache::Digest<Facts>;
/// An object with these facts, as a store knows it.
pub type Known = fedhub_cache::Known<Facts>;
/// A change of an object with these facts.
pub type Change = fedhub_cache::Change<Facts>;
/// A borrowed view of an object with these facts.
pub type View<'a> = fedhub_cache::View<'a, Facts>;

/// Entries are the most numerous objects, and fit into the allocator's class of 160 bytes: the next one is
/// 192.
const _: () = assert!(Store::ENTRY_BYTES <= 160);

/// Whether there may be many objects of a kind, or large ones, or such as hold a tenant's data. There
/// are few of a `WorkloadRollout`: only a Workload whose user writes one has it, and the controller reads all
/// of it, its status too, in each pass over that Workload.
fn is_many(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Workload
            | Kind::WorkloadDeployment
            | Kind::Instance
            | Kind::ConfigMap
            | Kind::Secret
            | Kind::LocationBinding
            | Kind::Network
    )
}

/// The city of a `LocationBinding` that is Ready.
pub fn ready_city(binding: &Object) -> Option<&str> {
    let ready = ["Available", "Ready"].iter().any(|kind| is_true(binding.status(), kind));
    let city = binding.spec()["topology"][CITY_CODE].as_str()?;
    (ready && !binding.is_terminating()).then_some(city)
}

/// The facts that a kind adds to a digest.
#[derive(Clone, Debug, PartialEq)]
pub enum Facts {
    /// Nothing: objects of this kind are few there and kept whole.
    None,
    /// A `WorkloadDeployment`; in a box, for there are many more Instances, which need less room.
    Deployment(Box<Deployment>),
    /// An Instance.
    Instance(Instance),
    /// A Workload; in a box for the same reason.
    Workload(Box<Workload>),
    /// A companion on the hub.
    Companion(Box<Companion>),
    /// The city of a `LocationBinding` that is Ready.
    Location(Option<Box<str>>),
}

impl ObjectFacts for Facts {
    /// All but most of what tenants write and what may hold a tenant's data; and these too in a cell, where
    /// there are thousands at most and each step needs the objects, of which companions have no content.
    fn kept_whole(plane: &PlaneId, kind: Kind) -> bool {
        !is_many(kind) || *plane == PlaneId::Cell
    }

    fn new(plane: &PlaneId, kind: Kind, object: &Object) -> Self {
        match kind {
            kind if Self::kept_whole(plane, kind) => Self::None,
            Kind::WorkloadDeployment => Self::Deployment(Box::new(Deployment::new(plane, object))),
            Kind::Instance => Self::Instance(Instance::new(plane, object)),
            Kind::Workload => Self::Workload(Box::new(Workload::from_object(object))),
            Kind::ConfigMap | Kind::Secret if *plane == PlaneId::Hub => {
                Self::Companion(Box::new(Companion::from_object(object)))
            }
            Kind::LocationBinding => Self::Location(ready_city(object).map(Into::into)),
            Kind::Namespace
            | Kind::Cluster
            | Kind::ConfigMap
            | Kind::Secret
            | Kind::PropagationPolicy
            | Kind::ClusterPropagationPolicy
            | Kind::ResourceBinding
            | Kind::CustomResourceDefinition
            | Kind::WorkloadRollout
            | Kind::InstanceType
            | Kind::Network
            | Kind::NetworkBinding
            | Kind::NetworkContext
            | Kind::SubnetClaim
            | Kind::Subnet
            | Kind::ServiceEntitlement
            | Kind::HorizontalPodAutoscaler
            | Kind::ResourceClaim => Self::None,
        }
    }

    fn heap(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Deployment(facts) => size_of::<Deployment>() + facts.heap(),
            Self::Instance(facts) => facts.heap(),
            Self::Workload(facts) => size_of::<Workload>() + facts.heap(),
            Self::Companion(facts) => facts.heap(),
            Self::Location(city) => city.as_ref().map_or(0, |city| city.len()),
        }
    }

    /// A project's WD is found by the name of its Workload.
    fn index_value(&self) -> Option<u64> {
        let Self::Deployment(facts) = self else { return None };
        facts.placed.as_ref().map(|placed| of_workload(&placed.workload))
    }
}

/// The facts of a digest, by kind.
pub trait DigestExt {
    /// The facts of a WD.
    fn deployment(&self) -> Option<&Deployment>;

    /// The facts of an Instance.
    fn instance(&self) -> Option<&Instance>;

    /// The facts of a Workload.
    fn workload(&self) -> Option<&Workload>;

    /// The facts of a companion on the hub.
    fn companion(&self) -> Option<&Companion>;

    /// The city of a `LocationBinding` that is Ready.
    fn location(&self) -> Option<&str>;

    /// The city of a WD: of its spec on a project plane, of its label on the hub.
    fn city(&self) -> Option<&str> {
        self.deployment()?.city.as_deref()
    }
}

impl DigestExt for Digest {
    fn deployment(&self) -> Option<&Deployment> {
        if let Facts::Deployment(facts) = &self.facts { Some(facts) } else { None }
    }

    fn workload(&self) -> Option<&Workload> {
        if let Facts::Workload(facts) = &self.facts { Some(facts) } else { None }
    }

    fn instance(&self) -> Option<&Instance> {
        if let Facts::Instance(facts) = &self.facts { Some(facts) } else { None }
    }

    fn companion(&self) -> Option<&Companion> {
        if let Facts::Companion(facts) = &self.facts { Some(facts) } else { None }
    }

    fn location(&self) -> Option<&str> {
        if let Facts::Location(city) = &self.facts { city.as_deref() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use fedhub_cache::MemoryBudget;
    use fedhub_cache::digest::Version;
    use fedhub_core::names::PlaneName;
    use fedhub_core::object::{bare, set_field};
    use serde_json::json;

    use super::*;

    fn instance(name: &str, n: u64) -> Object {
        let mut o = bare(Kind::Instance, "ns", name);
        o.metadata.uid = Some(format!("0d0c6a3e-9f2b-4c55-8a1e-{n:012x}"));
        o.metadata.resource_version = Some((n + 1).to_string());
        o
    }

    #[test]
    fn what_is_kept_whole_depends_on_the_plane() {
        let project = PlaneId::Project(PlaneName::new("p").unwrap());
        for kind in Kind::ALL.iter().copied() {
            let many = is_many(kind);
            for (plane, whole) in [(&PlaneId::Hub, !many), (&project, !many), (&PlaneId::Cell, true)] {
                assert_eq!(Facts::kept_whole(plane, kind), whole, "{kind:?} on {plane}");
            }
        }
    }

    #[test]
    fn w7_a_location_counts_once_it_is_ready() {
        let binding = |status: &str, kind: &str| {
            let mut binding = bare(Kind::LocationBinding, "", "dfw");
            binding.data = json!({
                "spec": {"topology": {CITY_CODE: "DFW"}},
                "status": {"conditions": [{"type": kind, "status": status}]},
            });
            binding
        };
        assert_eq!(ready_city(&binding("True", "Available")), Some("DFW"));
        assert_eq!(ready_city(&binding("True", "Ready")), Some("DFW"));
        assert_eq!(ready_city(&binding("Unknown", "Available")), None);
        assert_eq!(ready_city(&binding("True", "Odd")), None);
        let mut leaving = binding("True", "Ready");
        leaving.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        assert_eq!(ready_city(&leaving), None);
        let mut nowhere = binding("True", "Ready");
        nowhere.data["spec"] = json!({});
        assert_eq!(ready_city(&nowhere), None);
    }

    #[test]
    fn in_a_cell_what_is_in_order_is_kept() {
        let a = instance("a", 0);
        let budget = MemoryBudget::from_bytes(0);
        let store = Store::new(PlaneId::Cell, Kind::Instance, budget);
        store.list_begins();
        store.listed(a.clone());
        store.list_ends();
        store.mark_synced("ns", "a", &Version::new("1"), 0);
        assert_eq!(store.object("ns", "a").as_deref(), Some(&a));
    }

    #[test]
    fn an_object_in_order_costs_at_most_400_bytes() {
        let store = Store::new(PlaneId::Hub, Kind::Instance, MemoryBudget::from_bytes(0));
        for n in 0..10_000u64 {
            let mut o = instance(&format!("a-rather-long-workload-name-dfw-{n}"), n);
            let conditions = vec![json!({"type": "Ready", "message": "long"}); 9];
            set_field(&mut o, "status", json!({ "conditions": conditions }));
            store.applied(o);
        }
        let each = store.bytes() / store.len();
        assert!(each <= 400, "{each}");
    }
}
