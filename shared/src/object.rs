//! Objects as they travel: metadata typed, everything else the JSON that the plane sent (I1).

use std::sync::{Arc, LazyLock};

use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;

use crate::names::PlaneName;

/// Any object of any plane, with nothing dropped that this version does not know (I1).
pub type Object = DynamicObject;

/// The kinds that fedhub watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `v1` Namespace.
    Namespace,
    /// Karmada's `cluster.karmada.io/v1alpha1` Cluster.
    Cluster,
    /// Karmada's `policy.karmada.io/v1alpha1` PropagationPolicy.
    PropagationPolicy,
    /// `compute.datumapis.com/v1alpha` WorkloadDeployment.
    WorkloadDeployment,
    /// `compute.datumapis.com/v1alpha` Instance.
    Instance,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Namespace, Self::Cluster, Self::PropagationPolicy, Self::WorkloadDeployment, Self::Instance];

    /// Group, version, kind and plural, as the client needs them.
    pub fn resource(self) -> &'static ApiResource {
        static RESOURCES: LazyLock<[ApiResource; 5]> = LazyLock::new(|| {
            let of = |group: &str, version: &str, kind: &str, plural: &str| {
                ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
            };
            [
                of("", "v1", "Namespace", "namespaces"),
                of("cluster.karmada.io", "v1alpha1", "Cluster", "clusters"),
                of("policy.karmada.io", "v1alpha1", "PropagationPolicy", "propagationpolicies"),
                of("compute.datumapis.com", "v1alpha", "WorkloadDeployment", "workloaddeployments"),
                of("compute.datumapis.com", "v1alpha", "Instance", "instances"),
            ]
        });
        &RESOURCES[self as usize]
    }

    /// Whether objects of this kind are so few that they are kept whole, in order or not.
    pub fn kept_whole(self) -> bool {
        !matches!(self, Self::WorkloadDeployment | Self::Instance)
    }

    /// Whether objects of this kind live in namespaces.
    pub fn namespaced(self) -> bool {
        !matches!(self, Self::Namespace | Self::Cluster)
    }
}

/// Which plane something is on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlaneId {
    /// The cluster that the hub process runs in.
    Management,
    /// The Karmada API server.
    Hub,
    /// A tenant's API server.
    Project(PlaneName),
}

impl PlaneId {
    /// The metric label `plane_kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Management => "management",
            Self::Hub => "hub",
            Self::Project(_) => "project",
        }
    }
}

impl std::fmt::Display for PlaneId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Management => f.write_str("management"),
            Self::Hub => f.write_str("hub"),
            Self::Project(name) => write!(f, "project {name}"),
        }
    }
}

/// One object of one plane.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Where it is.
    pub plane: PlaneId,
    /// What it is.
    pub kind: Kind,
    /// Its namespace, empty for cluster-scoped kinds.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{} on {}", self.kind.resource().kind, self.namespace, self.name, self.plane)
    }
}

/// What controllers ask of an [`Object`].
pub trait ObjectView {
    /// Namespace, empty where there is none.
    fn space(&self) -> &str;
    /// Name.
    fn called(&self) -> &str;
    /// UID, empty for an object that no server has seen.
    fn uid(&self) -> &str;
    /// `metadata.resourceVersion`, empty for an object that no server has seen.
    fn version(&self) -> &str;
    /// Whether deletion was asked for.
    fn deleting(&self) -> bool;
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
}

impl ObjectView for Object {
    fn space(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    fn called(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    fn version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or_default()
    }

    fn deleting(&self) -> bool {
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
}

/// A new object of `kind`, with nothing but its name.
pub fn bare(kind: Kind, namespace: &str, name: &str) -> Object {
    let mut object = Object::new(name, kind.resource());
    object.metadata.namespace = kind.namespaced().then(|| namespace.to_owned());
    object.data = Value::Object(serde_json::Map::new());
    object
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
pub type Shared = Arc<Object>;
