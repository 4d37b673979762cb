//! Objects as they travel: metadata typed, everything else the JSON that the plane sent (I1).
//!
//! Decides I1.

use std::sync::{Arc, LazyLock};

use kube::core::{ApiResource, DynamicObject, GroupVersionKind, ObjectMeta, TypeMeta};
use serde::Deserialize;
use serde_json::Value;

use crate::names::PlaneName;

/// Any object of any plane, with nothing dropped that this version does not know (I1).
pub type Object = DynamicObject;

/// Whether the objects of a kind live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Cluster,
    Namespaced,
}

/// Makes [`Kind`] and all that follows from a kind alone, so that nothing can be said of one kind and
/// forgotten of another.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $group:literal, $version:literal, $plural:literal, $scope:ident;)+) => {
        /// The kinds that fedhub watches.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$doc])* $kind,)+
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            /// Group, version, kind and plural, as the client needs them.
            pub fn resource(self) -> &'static ApiResource {
                match self {
                    $(Self::$kind => {
                        static RESOURCE: LazyLock<ApiResource> = LazyLock::new(|| {
                            let kind = GroupVersionKind::gvk($group, $version, stringify!($kind));
                            ApiResource::from_gvk_with_plural(&kind, $plural)
                        });
                        &RESOURCE
                    })+
                }
            }

            fn scope(self) -> Scope {
                match self {
                    $(Self::$kind => Scope::$scope,)+
                }
            }
        }
    };
}

kinds! {
    /// `v1` Namespace.
    Namespace: "", "v1", "namespaces", Cluster;
    /// A companion of what a template refers to; known only by its existence.
    ConfigMap: "", "v1", "configmaps", Namespaced;
    /// A companion of what a template refers to; known only by its existence.
    Secret: "", "v1", "secrets", Namespaced;
    /// A CRD; read, not watched.
    CustomResourceDefinition: "apiextensions.k8s.io", "v1", "customresourcedefinitions", Cluster;
    /// Karmada's Cluster.
    Cluster: "cluster.karmada.io", "v1alpha1", "clusters", Cluster;
    /// Karmada's PropagationPolicy.
    PropagationPolicy: "policy.karmada.io", "v1alpha1", "propagationpolicies", Namespaced;
    /// Karmada's `ClusterPropagationPolicy`, which selects objects without a namespace.
    ClusterPropagationPolicy: "policy.karmada.io", "v1alpha1", "clusterpropagationpolicies", Cluster;
    /// Karmada's `ResourceBinding`; read, not watched.
    ResourceBinding: "work.karmada.io", "v1alpha2", "resourcebindings", Namespaced;
    /// Workload: what users write.
    Workload: "compute.datumapis.com", "v1alpha", "workloads", Namespaced;
    /// `WorkloadRollout`: in which order the cities of a Workload get a new template.
    WorkloadRollout: "compute.datumapis.com", "v1alpha", "workloadrollouts", Namespaced;
    /// A type of instances: how much CPU and memory each has.
    InstanceType: "compute.datumapis.com", "v1alpha", "instancetypes", Cluster;
    /// WorkloadDeployment.
    WorkloadDeployment: "compute.datumapis.com", "v1alpha", "workloaddeployments", Namespaced;
    /// Instance.
    Instance: "compute.datumapis.com", "v1alpha", "instances", Namespaced;
    /// A project's network; of it only that it is there is known.
    Network: "networking.datumapis.com", "v1alpha", "networks", Namespaced;
    /// A deployment's wish for a network in a cell.
    NetworkBinding: "networking.datumapis.com", "v1alpha", "networkbindings", Namespaced;
    /// A network in one location.
    NetworkContext: "networking.datumapis.com", "v1alpha", "networkcontexts", Namespaced;
    /// A wish for a subnet of such a network.
    SubnetClaim: "networking.datumapis.com", "v1alpha", "subnetclaims", Namespaced;
    /// A subnet of such a network.
    Subnet: "networking.datumapis.com", "v1alpha", "subnets", Namespaced;
    /// The location that a cell serves.
    LocationBinding: "networking.datumapis.com", "v1alpha", "locationbindings", Cluster;
    /// The permission of a project to use a service of its Milo.
    ServiceEntitlement: "services.miloapis.com", "v1alpha1", "serviceentitlements", Cluster;
    /// Scales a deployment in a cell by the resource usage of its Instances.
    HorizontalPodAutoscaler: "autoscaling", "v2", "horizontalpodautoscalers", Namespaced;
    /// A project's wish for quota.
    ResourceClaim: "quota.miloapis.com", "v1alpha1", "resourceclaims", Namespaced;
}

impl Kind {
    /// Whether objects of this kind live in namespaces.
    pub fn namespaced(self) -> bool {
        self.scope() == Scope::Namespaced
    }
}

/// Identifies a plane.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlaneId {
    /// The cluster that the hub process runs in.
    Management,
    /// The Karmada API server.
    Hub,
    /// The API server of the cell that the cell process runs in.
    Cell,
    /// A tenant's API server.
    Project(PlaneName),
}

impl PlaneId {
    /// The metric label `plane_kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Management => "management",
            Self::Hub => "hub",
            Self::Cell => "cell",
            Self::Project(_) => "project",
        }
    }
}

impl std::fmt::Display for PlaneId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Management => f.write_str("management"),
            Self::Hub => f.write_str("hub"),
            Self::Cell => f.write_str("cell"),
            Self::Project(name) => write!(f, "project {name}"),
        }
    }
}

/// Identifies an object of a plane.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The plane that the object is on.
    pub plane: PlaneId,
    /// The kind of the object.
    pub kind: Kind,
    /// Its namespace, empty for cluster-scoped kinds.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{} on {}", self.kind.resource().kind, self.namespace, self.name, self.plane)
    }
}

/// An object is larger than what is read of a plane (section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its size of {size} bytes is over the limit of {limit} bytes")]
pub struct TooLarge {
    /// Bytes of its text, its status and `managedFields` aside, or a part of what it would take in memory.
    pub size: usize,
    /// How many it may be.
    pub limit: usize,
}

/// An object that cannot be read: its metadata as far as that is readable, and the error.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the object cannot be read: {error}")]
pub struct Unreadable {
    /// Its namespace, name, UID and resourceVersion, where those can be read.
    pub metadata: ObjectMeta,
    /// What is wrong with the object.
    pub error: String,
}

/// The field that says so beside the metadata and status of an object of which nothing else was read.
/// Servers' objects have no such field.
const TOO_LARGE: &str = "federation.datumapis.com/too-large";

/// Marks an object as not read in full; without `too_large`, as read in full, whatever a server claims.
pub fn set_too_large(object: &mut Object, too_large: Option<TooLarge>) {
    let value = too_large.map_or(Value::Null, |TooLarge { size, limit }| serde_json::json!([size, limit]));
    if object.data.get(TOO_LARGE).is_some() || too_large.is_some() {
        set_field(object, TOO_LARGE, value);
    }
}

/// The fields of an [`Object`] that controllers read, borrowed: `kube::ResourceExt` clones them.
pub trait ObjectView {
    /// Namespace, empty where there is none.
    fn namespace(&self) -> &str;
    /// Name.
    fn name(&self) -> &str;
    /// UID, empty for an object that no server has seen.
    fn uid(&self) -> &str;
    /// `metadata.resourceVersion`, empty for an object that no server has seen.
    fn version(&self) -> &str;
    /// Whether deletion was asked for.
    fn is_terminating(&self) -> bool;
    /// A label's value.
    fn label(&self, key: &str) -> Option<&str>;
    /// An annotation's value.
    fn annotation(&self, key: &str) -> Option<&str>;
    /// Whether a finalizer is set.
    fn has_finalizer(&self, name: &str) -> bool;
    /// `spec`, null where there is none.
    fn spec(&self) -> &Value;
    /// `status`, null where there is none.
    fn status(&self) -> &Value;
    /// Why nothing but its metadata and status was read.
    fn too_large(&self) -> Option<TooLarge>;
}

impl ObjectView for Object {
    fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    fn version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or_default()
    }

    fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(key).map(String::as_str)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    fn has_finalizer(&self, name: &str) -> bool {
        self.metadata.finalizers.iter().flatten().any(|f| f == name)
    }

    fn spec(&self) -> &Value {
        self.data.get("spec").unwrap_or(&Value::Null)
    }

    fn status(&self) -> &Value {
        self.data.get("status").unwrap_or(&Value::Null)
    }

    fn too_large(&self) -> Option<TooLarge> {
        let of = self.data.get(TOO_LARGE)?;
        let number = |at: usize| of[at].as_u64().and_then(|n| usize::try_from(n).ok());
        Some(TooLarge { size: number(0)?, limit: number(1)? })
    }
}

/// A new object of `kind`, with nothing but its name.
pub fn bare(kind: Kind, namespace: &str, name: &str) -> Object {
    let mut object = Object::new(name, kind.resource());
    object.metadata.namespace = kind.namespaced().then(|| namespace.to_owned());
    object.data = Value::Object(serde_json::Map::new());
    object
}

/// Reads an object from its JSON text.
pub fn from_json(text: &[u8]) -> serde_json::Result<Object> {
    serde_json::from_slice(text).and_then(|value| from_value(value).map_err(|(error, _)| error))
}

/// Creates an object from its JSON. On error the JSON is returned: the metadata cannot be read.
pub fn from_value(mut value: Value) -> Result<Object, (serde_json::Error, Value)> {
    // By its parts and not as a whole, which would copy spec and status.
    let types = TypeMeta::deserialize(&value);
    let metadata = ObjectMeta::deserialize(&value["metadata"]);
    let metadata = match metadata {
        Ok(metadata) => metadata,
        Err(error) => return Err((error, value)),
    };
    if let Some(fields) = value.as_object_mut() {
        for read in ["apiVersion", "kind", "metadata"] {
            fields.remove(read);
        }
    }
    Ok(Object { types: types.ok(), metadata, data: value })
}

/// Sets `data.<field>`, or removes it where `value` is null.
pub fn set_field(object: &mut Object, field: &str, value: Value) {
    if !object.data.is_object() {
        object.data = Value::Object(serde_json::Map::new());
    }
    if let Some(map) = object.data.as_object_mut() {
        if value.is_null() {
            map.remove(field);
        } else {
            map.insert(field.to_owned(), value);
        }
    }
}

/// A shared object.
pub type ObjectRef = Arc<Object>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_resource_of_its_own() {
        let mut names: Vec<_> =
            Kind::ALL.iter().map(|k| (&k.resource().group, &k.resource().plural)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), Kind::ALL.len());
        for (kind, api_version, plural, namespaced) in [
            (Kind::Namespace, "v1", "namespaces", false),
            (Kind::Instance, "compute.datumapis.com/v1alpha", "instances", true),
            (Kind::LocationBinding, "networking.datumapis.com/v1alpha", "locationbindings", false),
            (Kind::Network, "networking.datumapis.com/v1alpha", "networks", true),
            (Kind::ResourceClaim, "quota.miloapis.com/v1alpha1", "resourceclaims", true),
        ] {
            let resource = kind.resource();
            assert_eq!((resource.api_version.as_str(), resource.plural.as_str()), (api_version, plural));
            assert_eq!((resource.kind.clone(), kind.namespaced()), (format!("{kind:?}"), namespaced));
        }
    }
}
