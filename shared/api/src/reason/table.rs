//! Every reason that this version knows: its meaning, source, who has to act, and what to do.

use super::about::{About, Responsible, Source};

const fn about(source: Source, responsible: Responsible, remedy: &'static str) -> About {
    About { source, responsible, remedy, is_stage: false }
}

const fn user(remedy: &'static str) -> About {
    about(Source::Cell, Responsible::User, remedy)
}

const fn operator(remedy: &'static str) -> About {
    about(Source::Cell, Responsible::Operator, remedy)
}

const fn nobody() -> About {
    about(Source::Cell, Responsible::Nobody, "")
}

/// A stage on the way to what is wanted: one that lasts is held by something (see [`crate::conditions::awaited`]).
const fn stage() -> About {
    About { is_stage: true, ..nobody() }
}

/// A reason that keeps a deployment from being federated (I10, I11).
const fn refusal(responsible: Responsible, remedy: &'static str) -> About {
    about(Source::Refusal, responsible, remedy)
}

const fn federation(responsible: Responsible, remedy: &'static str) -> About {
    about(Source::Federation, responsible, remedy)
}

const MORE_QUOTA: &str = "ask for more quota, or use fewer or smaller instances";
const LOGS: &str = "look at the instance's logs for why it ends";
const QUOTA_SERVICE: &str = "look into the project's quota service";
const LOCATION: &str = "correct the cell's LocationBindings";
const FINALIZERS: &str = "look into the controllers that hold the finalizers";
const HUB: &str = "look into the federation hub";

/// Makes [`Reason`] and what is known of each, from a line for each.
macro_rules! reasons {
    ($(#[doc = $meaning:literal] $reason:ident: $about:expr;)+) => {
        /// Why a condition stands as it does, or why an Event was published (C9). The name is the text in the API: programs
        /// compare it, so no name changes.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash,
            serde::Serialize, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
        )]
        #[allow(clippy::doc_markdown, reason = "the meanings are printed as they are")]
        pub enum Reason {
            $(#[doc = $meaning] $reason,)+
        }

        impl Reason {
            pub(super) const fn about(self) -> About {
                match self {
                    $(Self::$reason => $about,)+
                }
            }

            /// What it means, in one line.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$reason => $meaning,)+
                }
            }
        }
    };
}

reasons! {
    /// An image cannot be pulled.
    ImageUnavailable: user("check the image's name and tag, and the pull secrets");
    /// A container starts and exits again.
    InstanceCrashing: user(LOGS);
    /// An instance has ended and is not started again.
    Failed: user(LOGS);
    /// The template or the spec cannot be used.
    ConfigurationError: user("correct the workload's template");
    /// A WorkloadDeployment that is not of this Workload has the name of one that is wanted.
    DeploymentNameTaken: user("delete the WorkloadDeployment of that name, or rename the placement");
    /// A ConfigMap or Secret that the template refers to does not exist.
    SourceNotFound: user("create the ConfigMap or Secret, or take the reference to it out of the template");
    /// A ConfigMap or Secret that the template refers to is too large for a copy.
    SourceTooLarge: user("make the ConfigMap or Secret smaller");
    /// No cell can have a copy of a ConfigMap or Secret that the template refers to.
    SourceUnsupported: user("refer to another ConfigMap or Secret in the template");
    /// A network that the template names does not exist.
    NetworkNotFound: user("create the network, or correct its name in the workload's template");
    /// A network does not carry an address family that the template asks for.
    AddressFamilyNotCarried: user("change ipFamilies in the workload's template, or use another network");
    /// The scale settings cannot be used.
    InvalidScaleSettings: user("correct the scale settings of the workload");
    /// The project's quota is used up.
    QuotaExceeded: user(MORE_QUOTA);
    /// The project has no quota for what is asked for.
    QuotaNoBudget: user("ask for quota for the project");
    /// Instances of a WorkloadDeployment wait for quota.
    QuotaNotGranted: user(MORE_QUOTA);
    /// The instance waits for quota.
    PendingQuota: user(MORE_QUOTA);
    /// The ResourceClaim of an instance's name was not made by its cell.
    QuotaClaimTaken: user("delete the ResourceClaim of that name in the project");
    /// An object on the hub that fedhub did not create has the name of a copy.
    SourceNameTaken: operator(
        "delete or rename the object of that name on the hub, which fedhub did not create"
    );
    /// The hub rejects the copy of a ConfigMap or Secret.
    SourceRefused: operator("see in fedhub's log what refuses the copy on the hub");
    /// The former copy of a ConfigMap or Secret is still being deleted on the hub.
    CopyTerminating: operator(FINALIZERS);
    /// fedhub may not read ConfigMaps and Secrets of the project.
    SourceUnauthorized: operator("let the platform read the project's ConfigMaps and Secrets");
    /// No LocationBinding of the cell is in its city.
    NoMatchingLocation: operator(LOCATION);
    /// The cell's LocationBinding is in another city than the cell.
    CityCodeMismatch: operator(LOCATION);
    /// The instance and the cell are in different locations.
    LocationMismatch: operator(LOCATION);
    /// More than one LocationBinding of the cell is in its city.
    AmbiguousServingLocation: operator(LOCATION);
    /// The cell's network service failed.
    NetworkFailedToCreate: operator("look into the cell's network service");
    /// The cell does not have the InstanceType, or cannot read its size.
    InstanceTypeUnavailable: operator(
        "create or correct the InstanceType, or see why it is not in the cell"
    );
    /// The quota service does not answer.
    QuotaBackendUnavailable: operator(QUOTA_SERVICE);
    /// The quota service rejects claims of this kind.
    QuotaMisconfigured: operator(QUOTA_SERVICE);
    /// The project of an instance cannot be told from its namespace in the cell.
    QuotaProjectIDUnresolvable: operator("correct the labels of the instance's namespace in the cell");
    /// The quota service does not know the project.
    QuotaProjectNotFound: operator(QUOTA_SERVICE);
    /// The namespace of the claim does not exist in the project.
    QuotaNamespaceNotFound: operator(QUOTA_SERVICE);
    /// The quota service cannot evaluate the claim.
    ValidationFailed: operator(QUOTA_SERVICE);
    /// Two clusters run under one cell name.
    CellNameTaken: operator("give each cluster a cell name of its own, or delete what the other one made");
    /// The project plane rejects WorkloadDeployments.
    DeploymentsRefused: operator(
        "let fedhub write WorkloadDeployments in the project, see what refuses them"
    );
    /// An instance that fedhub did not create has the name in the cell.
    InstanceNameTaken: operator("delete the instance of that name in the cell, which fedhub did not make");
    /// The cell rejects new instances.
    InstancesRefused: operator("let fedhub create instances in the cell, see what refuses them");
    /// The cell rejects the deletion of an instance.
    DeletionRefused: operator("let fedhub delete instances in the cell, see what refuses it");
    /// fedhub lacks a right or a CRD in the cell.
    CellMisconfigured: operator("give fedhub in the cell the rights and CRDs that its flags ask for");
    /// An instance takes longer to terminate than it may (C12).
    TerminationDeadlineExceeded: operator(FINALIZERS);
    /// A HorizontalPodAutoscaler that fedhub did not create has the name in the cell.
    AutoscalerNameTaken: operator("delete or rename the HorizontalPodAutoscaler of that name in the cell");
    /// The cell rejects the HorizontalPodAutoscaler.
    AutoscalerRefused: operator(
        "let fedhub write HorizontalPodAutoscalers in the cell, see what refuses them"
    );
    /// Several autoscalers select the same instances.
    AmbiguousSelector: operator("remove the other autoscalers from the cell");
    /// Nothing can be placed in some of the cities.
    NoMatchingLocations: user(
        "choose cities that are served, or ask the platform operator for a cell or a location there"
    );
    /// A rollout has made no progress for longer than it may.
    ProgressDeadlineExceeded: user("see what the workload's deployments say holds the rollout up");
    /// A cell does not serve the runtime class that the template asks for.
    RuntimeClassNotServed: user("choose a runtime class that the cities serve");
    /// No placement is available, and none says why.
    NoAvailablePlacements: nobody();
    /// No WorkloadDeployment of a placement is available, and none says why.
    NoAvailableDeployments: nobody();
    /// Instances are being created or replaced.
    InstancesProvisioning: stage();
    /// The provider creates the instance.
    Provisioning: stage();
    /// A network is being created.
    NetworkProvisioning: stage();
    /// Referenced data has not arrived yet.
    ReferencedDataNotReady: stage();
    /// Referenced data is on its way to the cell.
    AwaitingPropagation: stage();
    /// References are being resolved.
    Resolving: stage();
    /// Scheduling gates of the instance are not removed yet.
    SchedulingGatesPresent: stage();
    /// Nothing has been reported yet.
    Pending: stage();
    /// The quota service has not answered yet.
    PendingEvaluation: stage();
    /// The provider has not taken up the instance yet.
    PendingProgramming: stage();
    /// The provider is setting the instance up.
    ProgrammingInProgress: stage();
    /// The instance starts.
    Starting: stage();
    /// The instance stops.
    Stopping: stage();
    /// The autoscaler is off while no replicas are wanted.
    ScalingDisabled: nobody();
    /// Instances are kept and do not run.
    Suspended: nobody();
    /// The object is being deleted.
    Terminating: nobody();
    /// The object is larger than what is read of a plane or written to the hub.
    ObjectTooLarge: refusal(Responsible::User, "make the WorkloadDeployment smaller");
    /// The city code is not a valid label value.
    InvalidCityCode: refusal(Responsible::User, "correct spec.cityCode");
    /// The name is too long for the objects that Karmada derives from it.
    InvalidName: refusal(Responsible::User, "use a shorter name");
    /// No Cluster of the hub has the city's label.
    NoCellForCity: refusal(
        Responsible::User,
        "choose a city that is served, or ask the platform operator for a cell in this one"
    );
    /// More than one Cluster of the hub has the city's label.
    AmbiguousCity: refusal(
        Responsible::Operator,
        "leave the city's label on one Cluster of the federation hub"
    );
    /// An object of another origin stands on the hub in its place.
    FederationConflict: refusal(
        Responsible::Operator,
        "look into what stands on the federation hub in its place"
    );
    /// The service is suspended in the project.
    ServiceSuspended: refusal(
        Responsible::User,
        "see the project's ServiceEntitlement for what suspended the service"
    );
    /// The service is not active in the project.
    ServiceNotActive: refusal(
        Responsible::User,
        "activate the service in the project, or delete the workload"
    );
    /// It moves to the cell of another city.
    Moving: refusal(Responsible::Nobody, "");
    /// The cleanup of a deleted WorkloadDeployment cannot be proven done.
    CleanupHeld: refusal(Responsible::Operator, HUB);
    /// Requests to the hub are not answered, or with a server error.
    HubUnreachable: federation(Responsible::Operator, HUB);
    /// Karmada cannot reach the cell.
    CellUnreachable: refusal(Responsible::Operator, "bring the cell back, or declare it lost");
    /// The cell does not take the WorkloadDeployment.
    RefusedByCell: refusal(
        Responsible::Operator,
        "look into what refuses it in the cell: an object of its name, admission or rights"
    );
    /// An operator declared the cell lost.
    CellLost: federation(Responsible::User, "choose another city to run it again");
    /// fedhub lacks a permission.
    Forbidden: federation(Responsible::Operator, "grant fedhub the permission");
    /// The hub limits fedhub's requests.
    Throttled: federation(Responsible::Nobody, "");
    /// The cell has not observed the newest generation yet.
    AwaitingCell: federation(Responsible::Nobody, "");
    /// The cell has observed the newest generation.
    Applied: federation(Responsible::Nobody, "");
}
