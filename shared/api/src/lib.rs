//! The API group `compute.datumapis.com/v1alpha`: Workload, WorkloadDeployment and Instance.
//!
//! The types serve two purposes: the schemas of the CRDs are derived from them ([`crds`]), and code that
//! builds or looks at an object may use them for convenience. They are *not* the way an object travels: the
//! controllers carry objects as untyped JSON, because a typed object loses every field that this version does
//! not name.
//!
//! Beside them is what objects of these kinds say, read from their JSON: [`conditions`], whose job it is to
//! act on them ([`reason`]), which Events they are worth ([`transitions`]), and which cell something is of
//! ([`cells`]). [`entitlement`] is what a Milo says of the service in a project. [`hub_metadata`] is the
//! table of the labels and annotations that the federator owns on a hub WD. [`instance_power`] is what
//! users ask of single Instances. [`references`] is what a spec refers to, [`disruption`] what a change of it
//! destroys, [`instance_types`] are the types of instances that there are. [`facts`] is what the stores keep
//! of a WD and of an Instance, and names the stores that keep it.
//!
//! The doc comment of a type or field is its description in the schema. `Workload::crd()` and its like have
//! no schema; the whole CRDs come from [`crds::all`].

pub mod cells;
mod condition_schema;
pub mod conditions;
mod container;
pub mod crds;
pub mod deployment;
pub mod disruption;
pub mod entitlement;
mod env;
pub mod external;
pub mod facts;
pub mod hub_metadata;
mod instance;
pub mod instance_power;
mod instance_provider;
mod instance_status;
mod instance_type;
pub mod instance_types;
mod location;
mod metadata;
mod network;
pub mod reason;
pub mod references;
pub mod rollout_turns;
mod scalar;
mod scale;
mod schema;
pub mod transitions;
mod volume;
mod workload;
mod workload_rollout;

pub use container::{
    Capabilities, Container, ContainerResources, LocalSecretReference, NamedPort, SandboxRuntime,
    SeccompProfile, SeccompProfileType, SecurityContext, VirtualMachineRuntime, VolumeAttachment,
};
pub use deployment::{
    NetworkAttachment, WorkloadDeployment, WorkloadDeploymentSpec, WorkloadDeploymentStatus,
    WorkloadReference,
};
pub use env::{
    ConfigMapKeySelector, EnvFromSource, EnvVar, EnvVarSource, FileKeySelector, ObjectFieldSelector,
    ObjectReference, ResourceFieldSelector, SecretKeySelector,
};
pub use instance::{
    Instance, InstanceController, InstanceRuntime, InstanceSpec, InstanceTemplateSpec, RuntimeResources,
    SchedulingGate,
};
pub use instance_provider::{Disruption, InstanceProviderStatus};
pub use instance_status::{
    InstanceControllerStatus, InstanceNetworkContext, InstanceStatus, InterfaceAddress,
    InterfaceAddressAssignments, InterfaceExternalAddress, NetworkInterfaceReference, NetworkInterfaceStatus,
};
pub use instance_type::{
    InstanceType, InstanceTypeLifecycle, InstanceTypePhase, InstanceTypeResources, InstanceTypeSpec,
    InstanceTypeStatus,
};
pub use location::LocationReference;
pub use metadata::TemplateMetadata;
pub use network::{
    AddressRequest, IngressRule, IpBlock, IpFamily, NetworkInterface, NetworkPolicy, NetworkPolicyPeer,
    NetworkPolicyPort, NetworkReference, ReclaimPolicy,
};
pub use scalar::{IntOrPercent, IntOrString, PERCENT_PATTERN, Quantity};
pub use scale::{MOST_REPLICAS, Metric, MetricTarget, ResourceMetric, RollingUpdate, ScaleSettings};
pub use volume::{
    ConfigMapVolume, Disk, DiskFilesystem, DiskImage, DiskPopulator, DiskResources, DiskSpec, DiskTemplate,
    FilesystemType, KeyToPath, SecretVolume, Volume,
};
pub use workload::{
    MOST_CITIES, MOST_PLACEMENTS, Workload, WorkloadPlacement, WorkloadPlacementStatus, WorkloadSpec,
    WorkloadStatus,
};
pub use workload_rollout::{
    LONGEST_USER, MOST_APPROVALS, MOST_DEPLOYMENTS, MOST_REVISIONS, MOST_WAVES, RolloutApproval,
    RolloutApproved, RolloutAwaiting, RolloutCause, RolloutCity, RolloutCityState, RolloutDirection,
    RolloutFailurePolicy, RolloutGate, RolloutPlannedWave, RolloutStrategy, RolloutUnreachablePolicy,
    RolloutWave, RolloutWorkloadReference, WorkloadRollout, WorkloadRolloutSpec, WorkloadRolloutStatus,
};

/// The API group of all kinds of [`crds::all`].
pub const GROUP: &str = "compute.datumapis.com";
/// The one version of the group, served and stored.
pub const VERSION: &str = "v1alpha";
