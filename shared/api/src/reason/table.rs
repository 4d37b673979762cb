//! Every reason that this version knows: its meaning, source, who has to act, and what to do.

use super::about::InstancePhase::{Failed, Pending, Starting, Stopped, Stopping, Suspended, Unknown};
use super::about::{About, Responsible, Source};

const fn user(remedy: &'static str) -> About {
    About::new(Source::Cell, Responsible::User, remedy)
}

const fn operator(remedy: &'static str) -> About {
    About::new(Source::Cell, Responsible::Operator, remedy)
}

const fn nobody() -> About {
    About::new(Source::Cell, Responsible::Nobody, "")
}

/// A stage on the way to what is wanted: one that lasts is held by something (see
/// [`crate::conditions::awaited`]).
const fn stage() -> About {
    About { is_stage: true, ..nobody() }
}

/// A reason of a Workload as a whole.
const fn workload(responsible: Responsible, remedy: &'static str) -> About {
    About::new(Source::Workload, responsible, remedy)
}

/// A reason that keeps a deployment from being federated (I10, I11).
const fn refusal(responsible: Responsible, remedy: &'static str) -> About {
    About::new(Source::Refusal, responsible, remedy)
}

const fn federation(responsible: Responsible, remedy: &'static str) -> About {
    About::new(Source::Federation, responsible, remedy)
}

/// A condition that is as it should be.
const fn met() -> About {
    About::new(Source::Met, Responsible::Nobody, "")
}

/// An Event on such an object that tells of progress.
const fn event(on: &'static str) -> About {
    About::new(Source::Event(on), Responsible::Nobody, "")
}

/// An Event on such an object that the platform operator has to see to.
const fn warning(on: &'static str, remedy: &'static str) -> About {
    About::new(Source::Event(on), Responsible::Operator, remedy)
}

const MORE_QUOTA: &str = "ask for more quota, or use fewer or smaller instances";
const LOGS: &str = "look at the instance's logs for why it ends";
const PROGRAM_ENDS: &str = "find out why the program in the container ends";
const ANOTHER_CITY: &str = "choose another city, or ask the platform operator to serve this one";
const QUOTA_SERVICE: &str = "look into the project's quota service";
const LOCATION: &str = "correct the cell's LocationBindings";
const FINALIZERS: &str = "look into the controllers that hold the finalizers";
const HUB: &str = "look into the federation hub";
const IDENTITY: &str =
    "see which cluster answers, and correct the plane's kubeconfig or its entry in the identities";
const CATALOGUE: &str = "see the InstanceTypes of the catalogue and of the federation hub";

/// Makes [`Reason`] and what is known of each, from a line for each.
macro_rules! reasons {
    ($(#[doc = $meaning:literal] $reason:ident: $about:expr;)+) => {
        /// Why a condition stands as it does, or why an Event was published (C9). The name is the text in the
        /// API: programs compare it, so no name changes.
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
    ImageUnavailable: user("check the image's name and tag, and the pull secrets")
        .in_cell(5).instance(Failed("image unavailable"));
    /// A container starts and exits again.
    InstanceCrashing: user(LOGS).in_cell(5).instance(Failed("crashing")).for_users(PROGRAM_ENDS);
    /// An instance has ended and is not started again.
    Failed: user(LOGS).instance(Failed("crashing")).for_users(PROGRAM_ENDS);
    /// The template or the spec cannot be used.
    ConfigurationError: user("correct the workload's template")
        .in_cell(5).of_workload().instance(Failed("configuration error"));
    /// A WorkloadDeployment that is not of this Workload has the name of one that is wanted.
    DeploymentNameTaken: workload(
        Responsible::User, "delete the WorkloadDeployment of that name, or rename the placement"
    ).for_users("rename the placement");
    /// A ConfigMap or Secret that the template refers to does not exist.
    SourceNotFound: user("create the ConfigMap or Secret, or take the reference to it out of the template")
        .in_cell(5);
    /// A ConfigMap or Secret that the template refers to is too large for a copy.
    SourceTooLarge: user("make the ConfigMap or Secret smaller").in_cell(5);
    /// No cell can have a copy of a ConfigMap or Secret that the template refers to.
    SourceUnsupported: user("refer to another ConfigMap or Secret in the template").in_cell(5);
    /// A network that the template names does not exist.
    NetworkNotFound: user("create the network, or correct its name in the workload's template").weight(6);
    /// A network does not carry an address family that the template asks for.
    AddressFamilyNotCarried: user("change ipFamilies in the workload's template, or use another network")
        .in_cell(6);
    /// The scale settings cannot be used.
    InvalidScaleSettings: user("correct the scale settings of the workload").in_cell(5);
    /// The provider cannot run a server as the instance asks for it.
    ServerRefused: user("correct what the message names in the workload's template")
        .in_cell(5).instance(Failed("server refused"));
    /// The provider reports that the server of an instance failed.
    ServerFailed: user("see what the message says of the server; delete the instance to have another one")
        .in_cell(5).instance(Failed("server failed"));
    /// The project's quota is used up.
    QuotaExceeded: user(MORE_QUOTA).of_quota().instance(Pending("quota exceeded"));
    /// The project has no quota for what is asked for.
    QuotaNoBudget: user("ask for quota for the project").of_quota().instance(Pending("no quota"));
    /// Instances of a WorkloadDeployment wait for quota.
    QuotaNotGranted: user(MORE_QUOTA).weight(3).of_quota();
    /// The instance waits for quota.
    PendingQuota: user(MORE_QUOTA).weight(3).instance(Pending("quota exceeded"));
    /// The ResourceClaim of an instance's name was not made by its cell.
    QuotaClaimTaken: user("delete the ResourceClaim of that name in the project").of_quota();
    /// An object on the hub that fedhub did not create has the name of a copy.
    SourceNameTaken: operator(
        "delete or rename the object of that name on the hub, which fedhub did not create"
    ).in_cell(5);
    /// The hub rejects the copy of a ConfigMap or Secret.
    SourceRefused: operator("see in fedhub's log what refuses the copy on the hub").in_cell(5);
    /// The former copy of a ConfigMap or Secret is still being deleted on the hub.
    CopyTerminating: operator(FINALIZERS);
    /// fedhub may not read ConfigMaps and Secrets of the project.
    SourceUnauthorized: operator("let the platform read the project's ConfigMaps and Secrets").in_cell(5);
    /// No LocationBinding of the cell is in its city.
    NoMatchingLocation: operator(LOCATION).in_cell(2);
    /// The cell's LocationBinding is in another city than the cell.
    CityCodeMismatch: operator(LOCATION).in_cell(8);
    /// The instance and the cell are in different locations.
    LocationMismatch: operator(LOCATION).in_cell(8);
    /// More than one LocationBinding of the cell is in its city.
    AmbiguousServingLocation: operator(LOCATION).in_cell(8);
    /// The cell's network service failed.
    NetworkFailedToCreate: operator("look into the cell's network service")
        .in_cell(7).instance(Pending("network provisioning"));
    /// The cell does not have the InstanceType, or cannot read its size.
    InstanceTypeUnavailable: operator(
        "create or correct the InstanceType, or see why it is not in the cell"
    );
    /// The quota service does not answer.
    QuotaBackendUnavailable: operator(QUOTA_SERVICE).of_quota();
    /// The quota service rejects claims of this kind.
    QuotaMisconfigured: operator(QUOTA_SERVICE).of_quota();
    /// The project of an instance cannot be told from its namespace in the cell.
    QuotaProjectIDUnresolvable: operator("correct the labels of the instance's namespace in the cell")
        .of_quota();
    /// The quota service does not know the project.
    QuotaProjectNotFound: operator(QUOTA_SERVICE).of_quota();
    /// The namespace of the claim does not exist in the project.
    QuotaNamespaceNotFound: operator(QUOTA_SERVICE).of_quota();
    /// The quota service cannot evaluate the claim.
    ValidationFailed: operator(QUOTA_SERVICE).instance(Pending("quota validation failed"));
    /// Two clusters run under one cell name.
    CellNameTaken: operator("give each cluster a cell name of its own, or delete what the other one made");
    /// The project plane rejects WorkloadDeployments.
    DeploymentsRefused: workload(Responsible::Operator,
        "let fedhub write WorkloadDeployments in the project, see what refuses them"
    );
    /// Servers at the provider that may be of the instance, and are not for certain.
    AmbiguousServer: operator("see which server is the instance's, and delete the others or their tags")
        .in_cell(5).instance(Failed("ambiguous server"));
    /// The provider rejects fedhub's credentials or rights.
    ProviderDenied: operator("correct fedhub's credentials at the provider, or grant it the rights")
        .in_cell(5);
    /// The configuration of the provider lacks what the instance asks for.
    ProviderMisconfigured: operator("correct the configuration of the cell's provider").in_cell(5);
    /// The quota at the provider is used up.
    ProviderQuotaExceeded: operator("raise the quota at the provider, or free some of it")
        .in_cell(3).instance(Pending("quota exceeded"));
    /// An instance that fedhub did not create has the name in the cell.
    InstanceNameTaken: operator("delete the instance of that name in the cell, which fedhub did not make")
        .in_cell(5);
    /// The cell rejects new instances.
    InstancesRefused: operator("let fedhub create instances in the cell, see what refuses them").in_cell(5);
    /// The cell rejects the deletion of an instance.
    DeletionRefused: operator("let fedhub delete instances in the cell, see what refuses it").in_cell(5);
    /// fedhub lacks a right or a CRD in the cell.
    CellMisconfigured: operator("give fedhub in the cell the rights and CRDs that its flags ask for");
    /// An instance takes longer to terminate than it may (C12).
    TerminationDeadlineExceeded: operator(FINALIZERS).in_cell(5);
    /// A HorizontalPodAutoscaler that fedhub did not create has the name in the cell.
    AutoscalerNameTaken: operator("delete or rename the HorizontalPodAutoscaler of that name in the cell");
    /// The cell rejects the HorizontalPodAutoscaler.
    AutoscalerRefused: operator(
        "let fedhub write HorizontalPodAutoscalers in the cell, see what refuses them"
    );
    /// Several autoscalers select the same instances.
    AmbiguousSelector: operator("remove the other autoscalers from the cell");
    /// Nothing can be placed in some of the cities.
    NoMatchingLocations: workload(Responsible::User,
        "choose cities that are served, or ask the platform operator for a cell or a location there"
    ).in_workload(6).for_users(ANOTHER_CITY);
    /// A rollout has made no progress for longer than it may.
    ProgressDeadlineExceeded: workload(
        Responsible::User, "see what the workload's deployments say holds the rollout up"
    ).for_users("see what its cities say, and look at its events");
    /// A cell does not serve the runtime class that the template asks for.
    RuntimeClassNotServed: user("choose a runtime class that the cities serve").in_workload(7);
    /// No placement is available, and none says why.
    NoAvailablePlacements: workload(Responsible::Nobody, "");
    /// No WorkloadDeployment of a placement is available, and none says why.
    NoAvailableDeployments: workload(Responsible::Nobody, "");
    /// A change would destroy what instances have stored, and nobody has consented to that.
    DisruptionDenied: user("set disruption: Allow in the workload's template, or restore the earlier template")
        .in_cell(5);
    /// Instances are being created or replaced.
    InstancesProvisioning: stage().weight(1);
    /// The provider creates the instance.
    Provisioning: stage().in_cell(1).instance(Starting);
    /// The provider makes the root disk of the instance anew.
    Rebuilding: stage().in_cell(1).instance(Starting);
    /// A network is being created.
    NetworkProvisioning: stage().weight(2).instance(Pending("network provisioning"));
    /// Referenced data has not arrived yet.
    ReferencedDataNotReady: stage().weight(4).instance(Pending("configuration data"));
    /// Referenced data is on its way to the cell.
    AwaitingPropagation: stage().weight(4).instance(Pending("configuration data"));
    /// References are being resolved.
    Resolving: stage().weight(4).instance(Pending("configuration data"));
    /// Scheduling gates of the instance are not removed yet.
    SchedulingGatesPresent: stage().instance(Pending("scheduling gates"));
    /// Nothing has been reported yet.
    Pending: stage().instance(Pending(""));
    /// The quota service has not answered yet.
    PendingEvaluation: stage().instance(Pending("quota evaluation"));
    /// The provider has not taken up the instance yet.
    PendingProgramming: stage().instance(Starting);
    /// The provider is setting the instance up.
    ProgrammingInProgress: stage().instance(Starting);
    /// The instance starts.
    Starting: stage().instance(Starting);
    /// The instance stops.
    Stopping: stage().instance(Stopping);
    /// The instance does not run because its user stopped it.
    Stopped: user("start the instance, when it is to run again").wanted().weight(2).instance(Stopped);
    /// The provider cannot be reached, or does not answer.
    ProviderUnavailable: stage().in_cell(1).instance(Starting);
    /// The provider does not say what the server of an instance does.
    ProviderUnknown: stage().instance(Unknown("server state unknown"));
    /// The server of an instance is being deleted.
    ServerDeleting: stage().instance(Stopping);
    /// The autoscaler is off while no replicas are wanted.
    ScalingDisabled: nobody();
    /// Instances are kept and do not run.
    Suspended: nobody().instance(Suspended);
    /// The object is being deleted.
    Terminating: nobody();
    /// The object is larger than what is read of a plane or written to the hub.
    ObjectTooLarge: refusal(Responsible::User, "make the WorkloadDeployment smaller")
        .of_workload().for_users("make the workload smaller");
    /// The city code is not a valid label value.
    InvalidCityCode: refusal(Responsible::User, "correct spec.cityCode")
        .of_workload().for_users("correct the code of the city");
    /// The name is too long for the objects that Karmada derives from it.
    InvalidName: refusal(Responsible::User, "use a shorter name");
    /// No Cluster of the hub has the city's label.
    NoCellForCity: refusal(
        Responsible::User,
        "choose a city that is served, or ask the platform operator for a cell in this one"
    ).for_users(ANOTHER_CITY);
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
    ).instance(Suspended).for_users("see what the command access says of the project");
    /// The service is not active in the project.
    ServiceNotActive: refusal(
        Responsible::User,
        "activate the service in the project, or delete the workload"
    ).in_workload(8).of_workload();
    /// It moves to the cell of another city.
    Moving: refusal(Responsible::Nobody, "");
    /// The cleanup of a deleted WorkloadDeployment cannot be proven done.
    CleanupHeld: refusal(Responsible::Operator, HUB);
    /// Requests to the hub are not answered, or with a server error.
    HubUnreachable: federation(Responsible::Operator, HUB);
    /// Karmada cannot reach the cell.
    CellUnreachable: refusal(Responsible::Operator, "bring the cell back, or declare it lost")
        .instance(Unknown("city unreachable"));
    /// The cell does not take the WorkloadDeployment.
    RefusedByCell: refusal(
        Responsible::Operator,
        "look into what refuses it in the cell: an object of its name, admission or rights"
    );
    /// An operator declared the cell lost.
    CellLost: federation(Responsible::User, "choose another city to run it again")
        .instance(Failed("city lost"));
    /// fedhub lacks a permission.
    Forbidden: federation(Responsible::Operator, "grant fedhub the permission");
    /// The hub limits fedhub's requests.
    Throttled: federation(Responsible::Nobody, "");
    /// The cell has not observed the newest generation yet.
    AwaitingCell: federation(Responsible::Nobody, "");
    /// The cell has observed the newest generation.
    Applied: federation(Responsible::Nobody, "");
    /// The template's instance type is deprecated.
    InstanceTypeDeprecated: workload(Responsible::User, "use the instance type that replaces it");
    /// The template's instance type is disabled: no new template can have it.
    InstanceTypeDisabled: workload(Responsible::User, "use the instance type that replaces it");
    /// Every instance is on the newest template.
    RolloutComplete: workload(Responsible::Nobody, "");
    /// The rollout of the Workload is paused.
    RolloutPaused: workload(Responsible::Nobody, "");
    /// A wave of the rollout requires approval.
    RolloutAwaitingApproval: workload(
        Responsible::User, "approve the wave by datumctl compute rollout approve, or abort the rollout"
    );
    /// More cities of a wave failed than may, and no other city starts.
    CityFailed: workload(
        Responsible::User, "correct the template, or abort the rollout: other cities are left as they are"
    );
    /// The WorkloadRollout asks for what cannot be done.
    InvalidRollout: workload(Responsible::User, "correct the WorkloadRollout");
    /// Cities failed, and each returned to its last good revision.
    RolloutRolledBack: workload(Responsible::User, "correct the template, and roll it out anew");
    /// The rollout was aborted.
    RolloutAborted: workload(Responsible::Nobody, "");
    /// The Workload has no WorkloadDeployments.
    NoDeployments: workload(Responsible::Nobody, "");
    /// The newest template is not on every instance yet.
    RolloutInProgress: met();
    /// A wave of the rollout is on its way.
    WaveInProgress: met();
    /// At least one placement of the Workload is available.
    AvailablePlacementFound: met();
    /// At least one WorkloadDeployment of the placement is available.
    AvailableDeploymentFound: met();
    /// At least one instance of the WorkloadDeployment is ready.
    StableInstanceFound: met();
    /// As many instances of the WorkloadDeployment are ready as are wanted.
    ReplicasAvailable: met();
    /// The instance runs and is reachable.
    Available: met();
    /// All referenced data is there.
    Ready: met();
    /// Instances wait for no referenced data in this cell.
    ReferencedDataDisabled: met();
    /// The quota is granted.
    QuotaAvailable: met();
    /// Quota is not enforced in this cell.
    QuotaDisabled: met();
    /// The WorkloadDeployment has come to the hub.
    Federated: event("WorkloadDeployment");
    /// The condition `Federated` became False, or False for another reason.
    FederationFailed: warning("WorkloadDeployment", "see the condition Federated");
    /// The condition `Federated` is no longer False.
    FederationRecovered: event("WorkloadDeployment");
    /// The WorkloadDeployment runs in its new city.
    Moved: event("WorkloadDeployment");
    /// The cell of a deleted WorkloadDeployment was out of reach for too long.
    DeletedWithoutCell: warning("WorkloadDeployment", "bring the cell back, which then deletes what it has");
    /// The ConfigMap that records a template cannot be written.
    RevisionNotRecorded: About::new(
        Source::Event("Workload"), Responsible::User, "let the platform write the ConfigMap that it names, or delete it"
    );
    /// What was suspended is resumed.
    Resumed: event("Instance or WorkloadDeployment");
    /// The hub rejects the copy of an instance.
    NotWrittenBack: warning("Instance of the cell", "see what refuses the copy on the federation hub");
    /// fedhub cannot read the object, and leaves it as it is.
    Undecodable: warning("object itself, or Lease of fedhub", "correct the object, or see what wrote it");
    /// A project plane cannot be used.
    PlaneRefused: warning("Secret or Project", "correct the plane's kubeconfig");
    /// Another cluster answers than the one that fedhub remembers for the plane.
    AnotherIdentity: warning("Secret or Project", IDENTITY);
    /// The cluster of the plane has another name already.
    IdentityTaken: warning("Secret or Project", IDENTITY);
    /// The plane identifies itself by no valid UID.
    InvalidUid: warning("Secret or Project", IDENTITY);
    /// The declaration that a cell is lost does not count.
    LostCellRefused: warning("Lease of fedhub", "correct the declaration, or make it again");
    /// An instance cannot be shown in its project.
    Quarantined: warning("Lease of fedhub", "see what the Event says of the instance");
    /// An InstanceType on the hub that is no copy has the name of one of the catalogue.
    InstanceTypeNameTaken: warning("Lease of fedhub", CATALOGUE);
    /// A copy of an InstanceType stays although its source does not show it.
    InstanceTypeKept: warning("Lease of fedhub", CATALOGUE);
    /// The source of the catalogue has a copy itself.
    InstanceTypeSourceIsCell: warning("Lease of fedhub", CATALOGUE);
}
