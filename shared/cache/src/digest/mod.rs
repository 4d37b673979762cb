//! What is kept of an object that is in order: enough to see that it still is, and to notice when it is not.
//!
//! A digest is made once, when a watch or a list brings the object. Comparing an object with its counterpart on
//! another plane is then comparing hashes; the object itself is kept only while something about it waits to be done
//! (see [`crate::Store`]).

pub mod deployment;
mod ids;
pub mod instance;
mod mark;
mod owners;

pub use deployment::Deployment;
use fedhub_core::hash::KeyedHasher;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, PlaneId, bare};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub use ids::{Uid, Version};
pub use instance::Instance;
pub use mark::Mark;

use crate::budget;
use owners::owners;

/// What is kept of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest {
    /// Its UID.
    pub uid: Uid,
    /// Its resourceVersion.
    pub version: Version,
    /// Whether deletion was asked for.
    pub terminating: bool,
    /// What it takes in memory, in kilobytes: see [`budget::weight`].
    pub weight: u16,
    /// Hash of everything but the resourceVersion: where a plane's schema changes, the same version shows fields that
    /// it did not show before (I1).
    pub content: u64,
    /// What its kind adds.
    pub facts: Facts,
}

/// What a kind adds.
#[derive(Clone, Debug, PartialEq)]
pub enum Facts {
    /// Nothing: objects of this kind are few there and kept whole.
    None,
    /// A `WorkloadDeployment`; in a box, for there are many more Instances, which need less room.
    Deployment(Box<Deployment>),
    /// An Instance.
    Instance(Instance),
}

impl Digest {
    /// Of an object of `kind` on `plane`: what matters of it depends on both.
    pub fn of(plane: &PlaneId, kind: Kind, object: &Object) -> Self {
        Self {
            uid: Uid::new(object.uid()),
            version: Version::new(object.version()),
            terminating: object.is_terminating(),
            weight: u16::try_from(budget::weight(object) >> 10).unwrap_or(u16::MAX),
            content: content(object),
            facts: match kind {
                kind if kind.kept_whole(plane) => Facts::None,
                Kind::WorkloadDeployment => Facts::Deployment(Box::new(Deployment::of(plane, object))),
                Kind::Instance => Facts::Instance(Instance::of(plane, object)),
                Kind::Namespace
                | Kind::Cluster
                | Kind::ConfigMap
                | Kind::Secret
                | Kind::PropagationPolicy
                | Kind::ResourceBinding
                | Kind::CustomResourceDefinition
                | Kind::NetworkBinding
                | Kind::NetworkContext
                | Kind::SubnetClaim
                | Kind::Subnet
                | Kind::LocationBinding
                | Kind::HorizontalPodAutoscaler
                | Kind::ResourceClaim => Facts::None,
            },
        }
    }

    /// As much of the object as this tells: enough to name it in a request, with its preconditions.
    pub fn stub(&self, kind: Kind, namespace: &str, name: &str) -> ObjectRef {
        let mut stub = bare(kind, namespace, name);
        stub.metadata.uid = Some(self.uid.to_string());
        stub.metadata.resource_version = Some(self.version.to_string());
        stub.into()
    }

    /// The facts of a WD.
    pub fn deployment(&self) -> Option<&Deployment> {
        if let Facts::Deployment(facts) = &self.facts { Some(facts) } else { None }
    }

    /// The city of a WD: of its spec on a project plane, of its label on the hub.
    pub fn city(&self) -> Option<&str> {
        self.deployment()?.city.as_deref()
    }

    /// The facts of an Instance.
    pub fn instance(&self) -> Option<&Instance> {
        if let Facts::Instance(facts) = &self.facts { Some(facts) } else { None }
    }

    /// Bytes that the object takes in memory, about.
    pub fn object_bytes(&self) -> usize {
        usize::from(self.weight) << 10
    }

    /// Bytes that it takes beside its own size.
    pub(crate) fn heap(&self) -> usize {
        let text = match &self.facts {
            Facts::None => 0,
            Facts::Deployment(facts) => size_of::<Deployment>() + facts.heap(),
            Facts::Instance(facts) => facts.heap(),
        };
        let other = |uid: &Uid| if let Uid::Other(text) = uid { text.len() } else { 0 };
        text + other(&self.uid)
    }
}

fn content(object: &Object) -> u64 {
    let ObjectMeta {
        labels,
        annotations,
        finalizers,
        owner_references,
        generation,
        deletion_timestamp,
        deletion_grace_period_seconds,
        uid,
        // Never changed by a server, or no news to anybody.
        creation_timestamp: _,
        generate_name: _,
        managed_fields: _,
        name: _,
        namespace: _,
        resource_version: _,
        self_link: _,
    } = &object.metadata;
    let mut sum = KeyedHasher::default().maybe(uid.as_deref());
    for pairs in [labels, annotations] {
        for (key, value) in pairs.iter().flatten() {
            sum = sum.text(key).text(value);
        }
        sum = sum.number(0);
    }
    for finalizer in finalizers.iter().flatten() {
        sum = sum.text(finalizer);
    }
    let time = deletion_timestamp.as_ref().map(|t| t.0.to_string());
    sum = owners(sum.number(0), owner_references.iter().flatten())
        .maybe(generation.map(|g| g.to_string()).as_deref())
        .maybe(time.as_deref())
        .maybe(deletion_grace_period_seconds.map(|s| s.to_string()).as_deref());
    sum.json(&object.data).end()
}
