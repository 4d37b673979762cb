//! Every reason that this version knows, with its source, who has to act, and what to do.

/// Who can make a reason go away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Responsible {
    /// The user who wrote the workload.
    User,
    /// The operator of the platform: cells, hub, and the services of cells.
    Operator,
    /// Nobody: it passes by itself.
    Nobody,
}

/// The reason of `Ready` and of the conditions of a deployment: an Instance takes longer to go than it may (C12).
pub const DEADLINE_EXCEEDED: &str = "TerminationDeadlineExceeded";

/// A reason of the conditions of a deployment: its cell lets no Instance be made.
pub const INSTANCES_REFUSED: &str = "InstancesRefused";

/// The reason of `Progressing`: a rollout has come no further for longer than it may.
pub const PROGRESS_DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";

/// The reason of `TerminationOverdue` and of the conditions of a deployment: its cell lets an Instance not be deleted.
pub const DELETION_REFUSED: &str = "DeletionRefused";

/// A reason of the conditions of a deployment: fedhub in its cell cannot read what it needs there.
pub const CELL_MISCONFIGURED: &str = "CellMisconfigured";

/// The source of a reason, which decides the Event that reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A cell, or its services.
    Cell,
    /// The way to the cell: the condition `Federated` and its Events report it (F10).
    Federation,
}

/// A reason, and who has to act on it.
pub(super) struct Entry {
    pub reason: &'static str,
    pub source: Source,
    pub responsible: Responsible,
    /// What to do; empty for nobody.
    pub remedy: &'static str,
    /// Whether it is a stage on the way to what is wanted.
    pub waits: bool,
}

const fn entry(
    source: Source,
    responsible: Responsible,
    reason: &'static str,
    remedy: &'static str,
) -> Entry {
    Entry { reason, source, responsible, remedy, waits: false }
}

const fn user(reason: &'static str, remedy: &'static str) -> Entry {
    entry(Source::Cell, Responsible::User, reason, remedy)
}

const fn operator(reason: &'static str, remedy: &'static str) -> Entry {
    entry(Source::Cell, Responsible::Operator, reason, remedy)
}

const fn nobody(reason: &'static str) -> Entry {
    entry(Source::Cell, Responsible::Nobody, reason, "")
}

/// A stage on the way to what is wanted: one that lasts is held by something (see [`crate::conditions::awaited`]).
const fn wait(reason: &'static str) -> Entry {
    Entry { waits: true, ..nobody(reason) }
}

const fn federation(responsible: Responsible, reason: &'static str, remedy: &'static str) -> Entry {
    entry(Source::Federation, responsible, reason, remedy)
}

const MORE_QUOTA: &str = "ask for more quota, or use fewer or smaller instances";
const LOGS: &str = "look at the instance's logs for why it ends";
const QUOTA_SERVICE: &str = "look into the project's quota service";
const LOCATION: &str = "correct the cell's LocationBindings";

/// Every reason that this version knows.
pub(super) const TABLE: &[Entry] = &[
    user("ImageUnavailable", "check the image's name and tag, and the pull secrets"),
    user("InstanceCrashing", LOGS),
    user("Failed", LOGS),
    user("ConfigurationError", "correct the workload's template"),
    user("DeploymentNameTaken", "delete the WorkloadDeployment of that name, or rename the placement"),
    user("SourceNotFound", "create the ConfigMap or Secret, or take the reference to it out of the template"),
    user("SourceTooLarge", "make the ConfigMap or Secret smaller"),
    user("SourceUnsupported", "refer to another ConfigMap or Secret in the template"),
    user("NetworkNotFound", "create the network, or correct its name in the workload's template"),
    user("AddressFamilyNotCarried", "change ipFamilies in the workload's template, or use another network"),
    user("InvalidScaleSettings", "correct the scale settings of the workload"),
    user("QuotaExceeded", MORE_QUOTA),
    user("QuotaNoBudget", "ask for quota for the project"),
    user("QuotaNotGranted", MORE_QUOTA),
    user("PendingQuota", MORE_QUOTA),
    user("QuotaClaimTaken", "delete the ResourceClaim of that name in the project"),
    operator(
        "SourceNameTaken",
        "delete or rename the object of that name on the hub, which fedhub did not create",
    ),
    operator("SourceRefused", "see in fedhub's log what refuses the copy on the hub"),
    operator("CopyTerminating", "look into the controllers that hold the finalizers"),
    operator("SourceUnauthorized", "let the platform read the project's ConfigMaps and Secrets"),
    operator("NoMatchingLocation", LOCATION),
    operator("CityCodeMismatch", LOCATION),
    operator("LocationMismatch", LOCATION),
    operator("AmbiguousServingLocation", LOCATION),
    operator("NetworkFailedToCreate", "look into the cell's network service"),
    operator(
        "InstanceTypeUnavailable",
        "create or correct the InstanceType, or see why it is not in the cell",
    ),
    operator("QuotaBackendUnavailable", QUOTA_SERVICE),
    operator("QuotaMisconfigured", QUOTA_SERVICE),
    operator("QuotaProjectIDUnresolvable", "correct the labels of the instance's namespace in the cell"),
    operator("QuotaProjectNotFound", QUOTA_SERVICE),
    operator("QuotaNamespaceNotFound", QUOTA_SERVICE),
    operator("ValidationFailed", QUOTA_SERVICE),
    operator("CellNameTaken", "give each cluster a cell name of its own, or delete what the other one made"),
    operator(
        "DeploymentsRefused",
        "let fedhub write WorkloadDeployments in the project, see what refuses them",
    ),
    operator("InstanceNameTaken", "delete the instance of that name in the cell, which fedhub did not make"),
    operator(INSTANCES_REFUSED, "let fedhub create instances in the cell, see what refuses them"),
    operator(DELETION_REFUSED, "let fedhub delete instances in the cell, see what refuses it"),
    operator(CELL_MISCONFIGURED, "give fedhub in the cell the rights and CRDs that its flags ask for"),
    operator(DEADLINE_EXCEEDED, "look into the controllers that hold the finalizers"),
    operator("AutoscalerNameTaken", "delete or rename the HorizontalPodAutoscaler of that name in the cell"),
    operator(
        "AutoscalerRefused",
        "let fedhub write HorizontalPodAutoscalers in the cell, see what refuses them",
    ),
    operator("AmbiguousSelector", "remove the other autoscalers from the cell"),
    user(
        "NoMatchingLocations",
        "choose cities that are served, or ask the platform operator for a cell or a location there",
    ),
    user(PROGRESS_DEADLINE_EXCEEDED, "see what the workload's deployments say holds the rollout up"),
    nobody("NoAvailablePlacements"),
    nobody("NoAvailableDeployments"),
    wait("InstancesProvisioning"),
    wait("Provisioning"),
    wait("NetworkProvisioning"),
    wait("ReferencedDataNotReady"),
    wait("AwaitingPropagation"),
    wait("Resolving"),
    wait("SchedulingGatesPresent"),
    wait("Pending"),
    wait("PendingEvaluation"),
    wait("PendingProgramming"),
    wait("ProgrammingInProgress"),
    wait("Starting"),
    wait("Stopping"),
    nobody("ScalingDisabled"),
    nobody("Suspended"),
    nobody("Terminating"),
    federation(Responsible::User, "ObjectTooLarge", "make the WorkloadDeployment smaller"),
    federation(Responsible::User, "InvalidCityCode", "correct spec.cityCode"),
    federation(Responsible::User, "InvalidName", "use a shorter name"),
    federation(
        Responsible::User,
        "NoCellForCity",
        "choose a city that is served, or ask the platform operator for a cell in this one",
    ),
    federation(
        Responsible::Operator,
        "AmbiguousCity",
        "leave the city's label on one Cluster of the federation hub",
    ),
    federation(
        Responsible::Operator,
        "FederationConflict",
        "look into what stands on the federation hub in its place",
    ),
    federation(
        Responsible::User,
        "ServiceSuspended",
        "see the project's ServiceEntitlement for what suspended the service",
    ),
    federation(
        Responsible::User,
        "ServiceNotActive",
        "activate the service in the project, or delete the workload",
    ),
    federation(Responsible::Nobody, "Moving", ""),
    federation(Responsible::Operator, "CleanupHeld", "look into the federation hub"),
    federation(Responsible::Operator, "HubUnreachable", "look into the federation hub"),
    federation(Responsible::Operator, "CellUnreachable", "bring the cell back, or declare it lost"),
    federation(
        Responsible::Operator,
        "RefusedByCell",
        "look into what refuses it in the cell: an object of its name, admission or rights",
    ),
    federation(Responsible::User, "CellLost", "choose another city to run it again"),
    federation(Responsible::Operator, "Forbidden", "grant fedhub the permission"),
    federation(Responsible::Nobody, "Throttled", ""),
    federation(Responsible::Nobody, "AwaitingCell", ""),
];
