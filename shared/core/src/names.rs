//! The wire contract: labels, annotations, finalizers and the names built from them (specification, section
//! 3).

mod derived;
mod plane_name;
mod syntax;

pub use derived::{
    binding_name, deployment_name, hub_namespace, is_hub_namespace, policy_name, project_namespace_uid,
    revision_history,
};
pub use plane_name::{InvalidPlaneName, PlaneName, decode_plane, encode_plane};
pub use syntax::{
    DNS_LABEL_RULE, INSTANCE_TYPE_NAME_RULE, LABEL_VALUE_RULE, OBJECT_NAME_RULE, REFERENCE_RULE, UID_RULE,
    is_dns_label, is_label_value, is_object_name, is_path_segment, is_referenceable, is_uid,
    travelling_name_max,
};

/// Label of a hub Namespace and of hub Instances: which project plane it belongs to, see [`encode_plane`].
pub const UPSTREAM_CLUSTER: &str = "meta.datumapis.com/upstream-cluster-name";
/// Label of hub objects: the namespace in the project plane.
pub const UPSTREAM_NAMESPACE: &str = "meta.datumapis.com/upstream-namespace";
/// Label of hub WDs, `PropagationPolicies` and Karmada Clusters: the city code as written.
pub const CITY_CODE: &str = "topology.datum.net/city-code";
/// Label by which Karmada refuses a careless delete of a hub object, and its value.
pub const DELETION_PROTECTED: (&str, &str) = ("resourcetemplate.karmada.io/deletion-protected", "Always");

/// Finalizer of the federator on a project WD.
pub const FEDERATOR_FINALIZER: &str = "compute.datumapis.com/federator";
/// Annotation of a project WD: the name of its hub namespace.
pub const FEDERATION_NAMESPACE: &str = "compute.datumapis.com/federation-namespace";
/// Annotation of a project WD: the UID of its hub namespace, by which a hub that lost its state is
/// recognised.
pub const HUB_NAMESPACE_UID: &str = "federation.datumapis.com/hub-namespace-uid";
/// Origin mark of a hub WD: `<plane>/<namespace>/<name>` of the project WD.
pub const SOURCE: &str = "federation.datumapis.com/source";
/// Origin mark of a hub WD: UID of the project WD.
pub const SOURCE_UID: &str = "federation.datumapis.com/source-uid";
/// Origin mark of a hub WD: generation of the project WD.
pub const SOURCE_GENERATION: &str = "federation.datumapis.com/source-generation";
/// Annotation of a hub WD, with the value `true`: the hub lost the one before it, and no cell has reported
/// since (F9).
pub const HUB_LOST: &str = "federation.datumapis.com/hub-lost";
/// Annotation of a hub WD that changes its city: the city it leaves and since when, `<city code>/<RFC 3339>`;
/// there until the cell of the new city has reported on it.
pub const MOVING: &str = "federation.datumapis.com/moving";
/// Annotation of a hub WD that Karmada has not applied, or of which it passes on an older status: when it was
/// to apply it again; there until its cell has reported on it (F8).
pub const RESYNC: &str = "federation.datumapis.com/resync";
/// Annotation of a hub WD whose project WD is being deleted: since when its cells are to tear it down, before
/// it is deleted itself (F9).
pub const RECALLED: &str = "federation.datumapis.com/recalled";
/// Karmada's label of an object that none of its policies propagates, with the value that fedhub gives it on
/// a hub WD that is recalled: without it Karmada would bind the WD to its cell again.
pub const PROPAGATED_BY: (&str, &str) = ("resourcetemplate.karmada.io/claimed-by", "fedhub");
/// Annotation of a PropagationPolicy: when it was touched last, so that Karmada releases what it no longer
/// selects.
pub const TOUCHED: &str = "federation.datumapis.com/touched";
/// Karmada's annotation of an object: the name of the PropagationPolicy that claims it.
pub const CLAIMED_BY: &str = "propagationpolicy.karmada.io/name";
/// Annotations mirrored from the project WD to the hub WD, their absence too (F4).
pub const MIRRORED_ANNOTATIONS: [&str; 4] =
    [SUSPENDED, INSTANCE_POWER, EXPECTED_REFERENCED_DATA, REFERENCED_DATA_ERROR];
/// Annotation of a WD: `true` or `false`; its absence means `false`.
pub const SUSPENDED: &str = "compute.datumapis.com/suspended";
/// Annotation of a WD: what is asked of the power of its Instances, as JSON by their names, such as
/// `{"web-us-dfw-0": {"state": "Stopped"}, "web-us-dfw-1": {"restartedAt": "2027-01-31T10:00:00Z"}}`; `state`
/// is `Running` where it is absent (V9).
pub const INSTANCE_POWER: &str = "compute.datumapis.com/instance-power";
/// Label of a companion, with the value `true`: a `ConfigMap` or Secret that a template refers to.
pub const REFERENCED_DATA: &str = "compute.datumapis.com/referenced-data";
/// Annotation of a WD: the referenced data that a cell awaits, with the generation of the project WD that it
/// was computed for: `{"generation": 3, "expected": ["ConfigMap/app", "Secret/db"]}`, or from an older writer
/// the array alone (W5).
pub const EXPECTED_REFERENCED_DATA: &str = "compute.datumapis.com/expected-referenced-data";
/// Annotation of a WD: why referenced data does not come, as JSON with `reason` and `message`.
pub const REFERENCED_DATA_ERROR: &str = "compute.datumapis.com/referenced-data-error";

/// Finalizer of an Instance whose server fedhub runs at a provider: the server and its quota have to
/// go first (V4).
pub const PROVIDER_FINALIZER: &str = "compute.datumapis.com/provider";
/// Finalizer of the project's side of referenced data on a project WD: its companions on the hub have to go
/// first (W5).
pub const REFERENCED_DATA_FINALIZER: &str = "compute.datumapis.com/referenced-data-controller";
/// Annotation of a companion: the WDs that refer to it, as a JSON array of `<project namespace>/<WD>`, sorted
/// (W5).
pub const REFERENCED_BY: &str = "compute.datumapis.com/referenced-by";
/// Annotation of a companion: what it is the copy of, `<UID>/<resourceVersion>/<bytes>` of the project's
/// object.
pub const COPIED_FROM: &str = "federation.datumapis.com/copied-from";

/// Label of a hub `InstanceType`, and its value: fedhub's copy of one of the catalogue's source (W8).
pub const CATALOG: (&str, &str) = ("compute.datumapis.com/instance-type-catalog", "true");
/// Annotation of such a copy: UID of the CRD that the catalogue's source had, by which a source that was made
/// anew is recognised (W8).
pub const CATALOG_UID: &str = "federation.datumapis.com/catalog-uid";
/// The `ClusterPropagationPolicy` that brings the copies to all cells (W8).
pub const CATALOG_POLICY: &str = "instance-types";

/// Label of WDs and Instances: UID of their Workload on the project plane.
pub const WORKLOAD_UID: &str = "compute.datumapis.com/workload-uid";
/// Label of Instances: name of their Workload.
pub const WORKLOAD_NAME: &str = "compute.datumapis.com/workload-name";
/// Label of Instances: name of the Workload's placement that they belong to.
pub const PLACEMENT_NAME: &str = "compute.datumapis.com/placement-name";
/// Label of Instances: city code of their WD. Hub WDs have [`CITY_CODE`] for it.
pub const INSTANCE_CITY: &str = "compute.datumapis.com/city-code";
/// Label of Instances: their ordinal, in decimal.
pub const INSTANCE_INDEX: &str = "compute.datumapis.com/instance-index";
/// Label of Instances: UID of the WD on the plane where the Instance stands.
pub const WORKLOAD_DEPLOYMENT_UID: &str = "compute.datumapis.com/workload-deployment-uid";
/// Label of Instances: name of their WD, the same on every plane.
pub const WORKLOAD_DEPLOYMENT_NAME: &str = "compute.datumapis.com/workload-deployment-name";
/// Labels of a hub Instance that a projection carries: an allow-list (P3).
pub const INSTANCE_LABELS: [&str; 9] = [
    UPSTREAM_CLUSTER,
    UPSTREAM_NAMESPACE,
    WORKLOAD_UID,
    WORKLOAD_DEPLOYMENT_UID,
    WORKLOAD_DEPLOYMENT_NAME,
    WORKLOAD_NAME,
    PLACEMENT_NAME,
    INSTANCE_CITY,
    INSTANCE_INDEX,
];
/// Labels that tie an Instance to its WD and Workload: all have to be there, and not empty, before it is
/// written back to the hub.
pub const LINKING_LABELS: [&str; 7] = [
    WORKLOAD_UID,
    WORKLOAD_DEPLOYMENT_UID,
    WORKLOAD_DEPLOYMENT_NAME,
    WORKLOAD_NAME,
    PLACEMENT_NAME,
    INSTANCE_CITY,
    INSTANCE_INDEX,
];
/// Whether a label identifies an Instance, or is managed by fedhub: templates cannot set it.
pub fn is_reserved_label(label: &str) -> bool {
    [UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, SERVICE_NAME.0].contains(&label) || LINKING_LABELS.contains(&label)
}
/// Label of WDs and Instances: the service that they belong to, and its value.
pub const SERVICE_NAME: (&str, &str) = ("services.miloapis.com/service-name", "compute.datumapis.com");
/// The names that a Milo's catalogue may have the `Service` by: that of `deploy/components/milo-service`, and
/// the usual one.
pub const SERVICE_OBJECTS: [&str; 2] = ["compute-datumapis-com", "compute"];
/// Annotation of a hub Instance and of a `ResourceClaim`: which cell's Instance it stands for:
/// `<cell name>/<UID of the cell>/<UID of its Instance>`; a cell touches only its own (C10).
pub const CELL_SOURCE: &str = "federation.datumapis.com/cell-source";
/// Annotation of a Karmada Cluster, set by an operator: since when its cell is lost, as an RFC 3339 time
/// (C11).
pub const LOST: &str = "federation.datumapis.com/lost";
/// Prefix of the annotation of a Karmada Cluster that declares another cluster lost, one that no Cluster
/// stands for; the UID of its namespace `kube-system` follows. The value is that of [`LOST`].
pub const LOST_CLUSTER: &str = "lost.federation.datumapis.com/";

/// The annotation that declares the cluster lost whose `kube-system` has that UID.
pub fn lost_cluster(uid: &str) -> String {
    format!("{LOST_CLUSTER}{uid}")
}

/// Finalizer of the workload controller on a Workload, and of the deployment controller on a cell's WD.
pub const WORKLOAD_FINALIZER: &str = "compute.datumapis.com/workload-controller";
/// Finalizer that earlier versions and the Go manager put on a cell's Instance, so that its copy on the hub
/// went first. It is taken off.
pub const INSTANCE_FINALIZER: &str = "compute.datumapis.com/instance-controller";

/// Label of a `ResourceClaim`: the name of the cell that made it.
pub const SOURCE_CLUSTER: &str = "compute.datumapis.com/source-cluster";
/// Label of a `ResourceClaim`: the namespace of its Instance in the cell.
pub const INSTANCE_NAMESPACE: &str = "compute.datumapis.com/instance-namespace";
/// Label of a `NetworkBinding`: the network's name.
pub const NETWORK: &str = "networking.datumapis.com/network";
/// Label of a `NetworkBinding`: the location's name.
pub const LOCATION: &str = "networking.datumapis.com/location";

/// Annotation of a Workload: the number of the newest revision in its history (W10).
pub const CURRENT_REVISION: &str = "compute.datumapis.com/current-revision";
/// Annotation of a Workload: `<revision>/<hash of the template>` of the template that was recorded last
/// (W10).
pub const RECORDED_TEMPLATE: &str = "federation.datumapis.com/recorded-template";
/// Annotation of a template, an RFC 3339 time: a new one replaces the instances one by one. One of a project
/// WD's own stands until its Workload asks for another one, so that one city can be restarted alone.
pub const RESTARTED_AT: &str = "compute.datumapis.com/restartedAt";
/// Annotation of an Instance in its cell: the hash that its template had before it got another one for the
/// same content. A provider may have observed the Instance under that one, and see no reason to do so again.
pub const FORMER_TEMPLATE_HASH: &str = "federation.datumapis.com/former-template-hash";
/// Annotation of a WD: `true` while it is [`SUSPENDED`] because its Workload is.
pub const WORKLOAD_SUSPENDED: &str = "compute.datumapis.com/workload-suspended";
/// Annotation of a Workload: the names of its WDs that were suspended by themselves, sorted, with a comma
/// between two. What is deleted by hand comes back as suspended.
pub const SUSPENDED_DEPLOYMENTS: &str = "compute.datumapis.com/suspended-deployments";
/// Annotation of a WD: the restart of its Workload that it was given last, as the Workload's template says
/// it.
pub const WORKLOAD_RESTARTED_AT: &str = "compute.datumapis.com/workload-restarted-at";
/// Annotation of a Workload, a user's: while it is there and not `false`, no WD gets another template, and
/// none is created.
pub const ROLLOUT_PAUSED: &str = "compute.datumapis.com/rollout-paused";
/// Annotation of a Workload, a user's: `all-at-once` or `in-order`, the way in which its cities get a new
/// template (R1). Any other value counts as none.
pub const ROLLOUT: &str = "compute.datumapis.com/rollout";
/// Annotation of a WD: the revision of its Workload that it carries, `<revision>/<hash of its template>`, by
/// which an edit by hand is noticed (R2).
pub const DEPLOYMENT_REVISION: &str = "compute.datumapis.com/revision";
/// Annotation of a WD, another controller's where a WorkloadRollout has the strategy `External`: the number
/// of the revision that the WD is to carry (R9).
pub const ASSIGNED_REVISION: &str = "compute.datumapis.com/assigned-revision";

/// Annotation of a WorkloadRollout, a user's: the waves that are approved, as a JSON array such as
/// `[{"wave": "canary", "gate": "After", "by": "eve", "revision": 7}]`. Admission writes `by` and `revision`.
pub const APPROVED: &str = "compute.datumapis.com/approved";

/// Annotation of a projection: `<hub namespace>/<its UID>/<UID of the hub Instance>`.
pub const PROJECTED_FROM: &str = "federation.datumapis.com/projected-from";

/// Label of the Secrets that discovery `kubeconfigs` reads, and its value.
pub const PLANE_SECRET: (&str, &str) = ("federation.datumapis.com/plane", "project");
/// Annotation of such a Secret: the plane's name, in place of the Secret's.
pub const PLANE_NAME: &str = "federation.datumapis.com/plane-name";

/// Label of the `ConfigMap`s that remember the identities of planes, and its value.
pub const IDENTITIES: (&str, &str) = ("federation.datumapis.com/remembers", "plane-identities");

/// Field manager of the federator's writes.
pub const FEDERATOR_MANAGER: &str = "fedhub-federator";
/// Field manager of the projector's writes.
pub const PROJECTOR_MANAGER: &str = "fedhub-projector";
/// Field manager of the writes of the workload side.
pub const WORKLOAD_MANAGER: &str = "fedhub-workload";
/// Field manager of the writes for referenced data, on the hub and in project planes.
pub const REFERENCED_DATA_MANAGER: &str = "fedhub-referenced-data";
/// Field manager of the writes for instance types, on the hub.
pub const INSTANCE_TYPES_MANAGER: &str = "fedhub-instance-types";
/// Field manager of the writes for providers, in the cell.
pub const PROVIDER_MANAGER: &str = "fedhub-provider";
/// Field manager of the writes of the cell's controllers, in the cell, on the hub and in project planes.
pub const CELL_MANAGER: &str = "fedhub-cell";

#[cfg(test)]
mod tests;
