//! What kinds a server serves, and the presets for the planes of this project.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::schema::Schema;

/// Changes an object as it comes in, as a schema's defaulting and pruning do. It runs inside the write, under
/// the server's lock: it must not use the server itself.
pub type Hook = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// A resource: its names, and the rules that differ between resources.
#[derive(Clone)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The one version served.
    pub version: String,
    /// The kind, such as `Instance`.
    pub kind: String,
    /// The name in paths, such as `instances`.
    pub plural: String,
    pub(crate) namespaced: bool,
    pub(crate) status: bool,
    pub(crate) custom: bool,
    pub(crate) unconditional_update: bool,
    pub(crate) create_on_update: bool,
    pub(crate) defaulting: Option<Hook>,
    pub(crate) pruning: Option<Hook>,
    pub(crate) immutable: Vec<String>,
    pub(crate) schema: Option<Arc<Schema>>,
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.qualified(), self.api_version())
    }
}

impl Resource {
    /// A namespaced custom resource, as a CRD makes it: `generation` is kept, a replace needs a
    /// resourceVersion.
    pub fn custom(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            plural: plural.into(),
            namespaced: true,
            status: false,
            custom: true,
            unconditional_update: false,
            create_on_update: false,
            defaulting: None,
            pruning: None,
            immutable: Vec::new(),
            schema: Schema::find(&format!("{plural}.{group}"), version),
        }
    }

    /// A namespaced resource of the server's own: no `generation`, a replace without a resourceVersion is
    /// taken.
    pub fn builtin(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self { custom: false, unconditional_update: true, ..Self::custom(group, version, kind, plural) }
    }

    /// Not in a namespace.
    #[must_use]
    pub fn cluster_scoped(mut self) -> Self {
        self.namespaced = false;
        self
    }

    /// Adds a `/status` subresource: the status is then written there only.
    #[must_use]
    pub fn with_status(mut self) -> Self {
        self.status = true;
        self
    }

    /// Called on every object that is to be stored, after pruning.
    #[must_use]
    pub fn defaulting(mut self, hook: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        self.defaulting = Some(Arc::new(hook));
        self
    }

    /// Called on every object that is to be stored, before defaulting.
    #[must_use]
    pub fn pruning(mut self, hook: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        self.pruning = Some(Arc::new(hook));
        self
    }

    /// JSON pointers (`/spec/cityCode`) whose value a client cannot change: 422.
    #[must_use]
    pub fn immutable(mut self, pointers: &[&str]) -> Self {
        self.immutable.extend(pointers.iter().map(ToString::to_string));
        self
    }

    fn put_creates(mut self, unconditional: bool) -> Self {
        self.create_on_update = true;
        self.unconditional_update = unconditional;
        self
    }

    /// `plural.group`, or the plural alone in the core group.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// `Kind.group`, as validation errors name it.
    pub(crate) fn qualified_kind(&self) -> String {
        if self.group.is_empty() { self.kind.clone() } else { format!("{}.{}", self.kind, self.group) }
    }

    /// `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    pub(crate) fn is_namespace(&self) -> bool {
        self.group.is_empty() && self.kind == "Namespace"
    }

    /// Whether a test means this one by `name`: the kind, the plural, or `plural.group`.
    pub(crate) fn answers_to(&self, name: &str) -> bool {
        self.kind == name || self.plural == name || self.qualified() == name
    }
}

/// A Secret's write-only `stringData` moves into `data`, and its type is `Opaque` unless said.
fn secret_defaults(secret: &mut Value) {
    let Some(object) = secret.as_object_mut() else { return };
    if let Some(Value::Object(plain)) = object.remove("stringData") {
        let data = object.entry("data").or_insert_with(|| json!({}));
        if let Some(data) = data.as_object_mut() {
            for (key, value) in plain {
                let bytes = value.as_str().unwrap_or_default().as_bytes().to_vec();
                data.insert(key, serde_json::to_value(ByteString(bytes)).unwrap_or_default());
            }
        }
    }
    object.entry("type").or_insert_with(|| json!("Opaque"));
}

/// Returns the resources that every plane serves.
pub fn base() -> Vec<Resource> {
    vec![
        Resource::builtin("", "v1", "Namespace", "namespaces").cluster_scoped().with_status(),
        Resource::builtin("", "v1", "Secret", "secrets").defaulting(secret_defaults).immutable(&["/type"]),
        Resource::builtin("", "v1", "Event", "events").put_creates(true),
        Resource::builtin("", "v1", "ConfigMap", "configmaps"),
        Resource::builtin("coordination.k8s.io", "v1", "Lease", "leases").put_creates(false),
        Resource::builtin("events.k8s.io", "v1", "Event", "events").put_creates(true),
    ]
}

/// A project plane: [`base`], and the compute resources.
pub fn project_plane() -> Vec<Resource> {
    let group = "compute.datumapis.com";
    let mut resources = base();
    resources
        .push(Resource::custom(group, "v1alpha", "WorkloadDeployment", "workloaddeployments").with_status());
    resources.push(Resource::custom(group, "v1alpha", "Instance", "instances").with_status());
    resources
}

/// Types of instances: of the hub, of cells, and of where a catalogue is.
pub fn instance_types() -> Resource {
    Resource::custom("compute.datumapis.com", "v1alpha", "InstanceType", "instancetypes")
        .cluster_scoped()
        .with_status()
}

/// The hub: a [`project_plane`], and Karmada's policies, bindings and clusters.
pub fn hub() -> Vec<Resource> {
    let mut resources = project_plane();
    resources.push(Resource::custom(
        "policy.karmada.io",
        "v1alpha1",
        "PropagationPolicy",
        "propagationpolicies",
    ));
    let of_cluster = ("ClusterPropagationPolicy", "clusterpropagationpolicies");
    resources
        .push(Resource::custom("policy.karmada.io", "v1alpha1", of_cluster.0, of_cluster.1).cluster_scoped());
    resources.push(instance_types());
    let binding = Resource::custom("work.karmada.io", "v1alpha2", "ResourceBinding", "resourcebindings");
    resources.push(binding.with_status());
    resources.push(
        Resource::custom("cluster.karmada.io", "v1alpha1", "Cluster", "clusters")
            .cluster_scoped()
            .with_status(),
    );
    resources
}

/// A cell: a [`project_plane`], autoscalers, and the network service's resources.
pub fn cell() -> Vec<Resource> {
    let group = "networking.datumapis.com";
    let mut resources = project_plane();
    let autoscaler = ("HorizontalPodAutoscaler", "horizontalpodautoscalers");
    resources.push(Resource::builtin("autoscaling", "v2", autoscaler.0, autoscaler.1).with_status());
    resources.push(Resource::custom(group, "v1alpha", "NetworkBinding", "networkbindings").with_status());
    resources.push(Resource::custom(group, "v1alpha", "NetworkContext", "networkcontexts").with_status());
    resources.push(Resource::custom(group, "v1alpha", "SubnetClaim", "subnetclaims").with_status());
    resources.push(Resource::custom(group, "v1alpha", "Subnet", "subnets").with_status());
    let location = Resource::custom(group, "v1alpha", "LocationBinding", "locationbindings");
    resources.push(location.cluster_scoped().with_status());
    resources.push(instance_types());
    resources
}

/// The quota service's claims, which a cell makes in project planes.
pub fn resource_claim() -> Resource {
    Resource::custom("quota.miloapis.com", "v1alpha1", "ResourceClaim", "resourceclaims").with_status()
}

/// CRDs, as objects.
pub fn definitions() -> Resource {
    Resource::builtin("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
        .cluster_scoped()
}

/// Returns the resource that entitles a project of a Milo to a service.
pub fn service_entitlement() -> Resource {
    Resource::custom("services.miloapis.com", "v1alpha1", "ServiceEntitlement", "serviceentitlements")
        .cluster_scoped()
        .with_status()
}

/// The namespace that fedhub's own account is in, by its manifests.
pub const FEDHUB_NAMESPACE: &str = "fedhub-system";

/// Milo's Projects, which discovery `milo` reads.
pub fn project() -> Resource {
    Resource::custom("resourcemanager.miloapis.com", "v1alpha1", "Project", "projects")
        .cluster_scoped()
        .with_status()
}

/// The resource by which Karmada reads another resource: fedhub looks for one on the hub.
pub fn interpreter() -> Resource {
    let kind = "ResourceInterpreterCustomization";
    let plural = "resourceinterpretercustomizations";
    Resource::custom("config.karmada.io", "v1alpha1", kind, plural).cluster_scoped()
}
