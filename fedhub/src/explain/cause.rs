//! The closed list of causes that `fedhub explain` names, with who has to act and what to do.
//!
//! Who acts on a reason of a condition is decided in one place, `fedhub_api::reason`: a cause that stands for
//! a reason takes it from there.

use fedhub_api::reason::{Reason, Responsible};

use super::hop::Hop;
use crate::operator::read::Failure;

/// Who has to act on a cause, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// As for this reason of a condition.
    As(Reason),
    /// The platform operator.
    Operator(&'static str),
    /// The user who wrote the workload.
    User(&'static str),
    /// Nobody: it passes by itself, or there is nothing to do.
    Nobody,
}
use Action::{As, Nobody, Operator, User};

/// What is known of a cause before anything is read.
#[derive(Clone, Copy, Debug)]
struct About {
    hop: Hop,
    meaning: &'static str,
    action: Action,
    /// Empty where the reasons alone decide.
    decided_by: &'static str,
    reasons: &'static [Reason],
}

/// Makes [`Cause`], all that follows from a cause alone, and the cause of each reason: those in brackets
/// behind its name.
macro_rules! causes {
    (
        $($cause:ident $([$($reason:ident),+ $(,)?])?: $hop:ident, $meaning:literal, $action:expr, $decided_by:literal;)+
    ) => {
        /// Why a WD or an Instance is as it is. The name in kebab-case is stable: programs compare it.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray,
        )]
        #[strum(serialize_all = "kebab-case")]
        #[allow(clippy::doc_markdown, reason = "the meanings are printed as they are")]
        pub enum Cause {
            $(#[doc = $meaning] $cause,)+
        }

        impl Cause {
            fn about(self) -> About {
                match self {
                    $(Self::$cause => About {
                        hop: Hop::$hop, meaning: $meaning, action: $action, decided_by: $decided_by,
                        reasons: &[$($(Reason::$reason),+)?],
                    },)+
                }
            }

            /// Whole, so that a new reason does not compile without a cause, nor with two.
            #[deny(unreachable_patterns)]
            fn of_known(reason: Reason) -> Self {
                match reason {
                    $($($(Reason::$reason)|+ => Self::$cause,)?)+
                }
            }
        }
    };
}

causes! {
    InSync: Projections, "every hop has the newest generation, and every Instance is ready and shown in the project",
        Nobody, "nothing on the chain is behind";
    ManagementUnreachable: ProjectWd, "the server where project planes are found cannot be read: the management plane, or that with the Projects",
        Operator("correct --management-kubeconfig or --discovery-kubeconfig, or name the plane's own with --project-kubeconfig"),
        "the request for the plane's Secret or Project fails";
    PlaneNotKnown: ProjectWd, "discovery finds no project plane of that name",
        Operator("create the plane's Secret or Project, or correct --plane and --discovery"),
        "no labelled Secret is named so, by its annotation or its own name; no Project has the name";
    PlaneSecretInvalid [PlaneRefused]: ProjectWd, "the project-plane Secret holds no kubeconfig that fedhub may use",
        Operator("correct the kubeconfig in the Secret"), "what the Secret holds";
    PlaneUnreachable: ProjectWd, "the project plane does not answer",
        Operator("bring the plane's API server back, or correct the address in its Secret"),
        "the request for the WD gets no answer, or a 5xx";
    PlaneCredentialsRefused: ProjectWd, "the project plane does not accept the credentials",
        Operator("renew the credentials in the plane's Secret"), "the request for the WD is answered 401";
    PlaneForbidden: ProjectWd, "the credentials lack the right to read WDs in the project plane",
        Operator("apply deploy/components/project-plane in the plane"), "the request for the WD is answered 403";
    PlaneTooLarge: ProjectWd, "the project plane sends more than fedhub takes of one plane, or its lists do not end",
        Operator("see the plane's API server; where the project is that large, raise --max-objects of fedhub run"),
        "a list over its limit of objects, pages or memory, or an answer over its size";
    PlaneCrdMissing: ProjectWd, "the project plane does not serve WorkloadDeployments",
        Operator("apply the output of fedhub crds in the plane"), "the request for the WD is answered 404 for its kind";
    PlaneIdentityRefused [AnotherIdentity, IdentityTaken, InvalidUid]: ProjectWd, "another cluster answers than the one that fedhub remembers for this plane",
        Operator("correct the kubeconfig, or remove the plane's entry from the ConfigMap of identities"), "the UID of the plane's kube-system against the ConfigMaps fedhub-plane-identities-*";
    PlanePaused: ProjectWd, "an operator paused the plane: fedhub writes nothing for it, neither there nor on the hub",
        Operator("run fedhub resume, once what it was paused for is done"), "the ConfigMap fedhub-paused on the management plane";
    HubUnreachable [HubUnreachable]: HubWd, "the federation hub does not answer",
        As(Reason::HubUnreachable), "the requests to the hub get no answer, or a 5xx; or Federated=False, HubUnreachable";
    HubForbidden: HubWd, "the hub does not accept the credentials, or they lack a right that explain needs",
        Operator("give --hub-kubeconfig the rights of deploy/components/hub"), "a request to the hub is answered 401 or 403";
    HubCrdMissing: HubWd, "the hub does not serve a kind that federation needs",
        Operator("apply the output of fedhub crds on the hub, and check that Karmada is installed"),
        "a request to the hub is answered 404 for its kind";
    WdNotFound: ProjectWd, "the project plane has no such WorkloadDeployment",
        User("correct the name, the namespace or the plane"), "the request for the WD is answered 404";
    InstanceNotFound: Instances, "neither the project plane, the hub nor the cell has an Instance of that name",
        User("correct the name, or raise the replicas of its WD"), "the lists of the WD's Instances";
    OrphanedOnHub: HubWd, "the WD is gone from the project, and what it had on the hub is still there",
        Operator("once sure, run fedhub audit --reclaim"),
        "the hub has a WD of that name whose project WD does not exist";
    DeletionAwaitsCell [DeletedWithoutCell]: CellWd, "the WD is deleted in the project and on the hub, and the cell is still removing it",
        Operator("look into the cell: its finalizers name what it waits for"), "the cell has the WD with a deletionTimestamp, or a lost hub waits for its report";
    FedhubNotRunning: ProjectWd, "no fedhub process of the management role leads",
        Operator("start fedhub, and see its log for why it does not lead"),
        "the Lease is absent, released or expired, and a hop of fedhub's is behind";
    FederatorBehind [FederationFailed]: HubWd, "the federator has not carried the newest state over yet",
        Operator("see fedhub's log and fedhub_oldest_unsynced_plane_seconds for this plane"), "mark, hub namespace, hub WD or project status is behind while a fedhub process leads";
    InvalidCityCode [InvalidCityCode]: ProjectWd, "spec.cityCode is not a valid city code",
        As(Reason::InvalidCityCode), "the rule for city codes";
    InvalidName [InvalidName]: ProjectWd, "the name of the WD has more than 63 characters",
        As(Reason::InvalidName), "the length of the name";
    ObjectTooLarge [ObjectTooLarge]: ProjectWd, "the WD has more than 1 MiB",
        As(Reason::ObjectTooLarge), "Available=False, ObjectTooLarge";
    NoCellForCity [NoCellForCity]: Policy, "no cell serves the WD's city",
        As(Reason::NoCellForCity), "no Cluster of the hub carries the city's label";
    AmbiguousCity [AmbiguousCity]: Policy, "more than one cell serves the WD's city",
        As(Reason::AmbiguousCity), "the labels of the hub's Clusters";
    HubIdentityRefused [FederationConflict]: HubNamespace, "the hub holds an object of another origin in this WD's place",
        As(Reason::FederationConflict), "labels of the hub namespace, origin mark of the hub WD, or FederationConflict";
    HubThrottled [Throttled]: HubWd, "the hub is overloaded and refuses fedhub's requests for now",
        As(Reason::Throttled), "Federated=False, Throttled";
    FedhubForbidden [Forbidden]: HubWd, "fedhub lacks a right on the hub or in the project plane",
        As(Reason::Forbidden), "Federated=False, Forbidden";
    HubRefusesContent: HubWd, "the hub refuses the content of the WD",
        User("correct the WD as the message says"), "Federated=False, Pending";
    NamespaceTerminating: ProjectWd, "the project namespace is being deleted",
        User("use another namespace, or wait until this one is gone and create it again"),
        "the deletionTimestamp of the namespace";
    NamespaceGone: ProjectWd, "the project namespace was removed before its WDs",
        User("create the namespace again so that its WDs can be changed and deleted"),
        "the request for the namespace is answered 404";
    NamespaceRecreated: HubNamespace, "the WD names another hub namespace than its project namespace's: that was created again, or the annotation was edited",
        Operator("see that fedhub runs: it puts the annotation right and federates the WD"),
        "the WD's annotation federation-namespace against the UID of its namespace, where the hub WD is not its own";
    HubStateLost: HubNamespace, "the hub lost the state of this WD, or is another one",
        Operator("see that fedhub runs: it fills the hub again; a deletion waits for the cell's report"),
        "the hub namespace is missing, or not the one whose UID the WD records";
    ProjectSuspended: HubWd, "the project is suspended: its planes are read and not written",
        Operator("resume the project"), "the hub WD carries suspended=true, the project WD does not";
    ServiceSuspended [ServiceSuspended]: HubWd, "the service is suspended in the project: what runs there is suspended",
        As(Reason::ServiceSuspended), "Available=False, ServiceSuspended, or the project's ServiceEntitlement";
    ServiceNotActive [ServiceNotActive]: ProjectWd, "the service is not active in the project: fedhub removed what ran of the WD",
        As(Reason::ServiceNotActive), "Available=False, ServiceNotActive, and no finalizer of fedhub's";
    WdSuspended [Suspended]: Instances, "the WD is suspended by its own annotation: its Instances are kept and do not run",
        User("remove the annotation compute.datumapis.com/suspended"), "the annotation, or the reason Suspended";
    PolicyMissing: Policy, "the PropagationPolicy of the WD's city is missing from the hub namespace",
        Operator("see that fedhub runs: it creates the policy before the WD"), "the policies of the hub namespace";
    PolicyNotMatched: Binding, "no PropagationPolicy has claimed the hub WD: Karmada has made no ResourceBinding",
        Operator("see Karmada's controller manager, and that the policy's selector matches the WD's labels"),
        "no ResourceBinding, and no claim on the hub WD";
    KarmadaNotScheduled: Binding, "Karmada's scheduler found no cluster for the hub WD",
        Operator("see the ResourceBinding's condition Scheduled: taints, affinity, or API enablement"),
        "the ResourceBinding's condition Scheduled is False";
    KarmadaSlow: Work, "Karmada has not carried the WD to the cell yet",
        Operator("see Karmada's controller manager and the agent of this cell"),
        "ResourceBinding, Work or the WD in the cell is behind the hub WD";
    ApplyFailed [RefusedByCell]: Work, "the cell's API server refused the WD, or Karmada failed to apply it",
        Operator("correct what Karmada's message names: CRDs, rights or admission in the cell"), "applied=false with a message in the ResourceBinding, or the Work's condition Applied";
    Moving [Moving]: Work, "the WD moves to the cell of another city",
        As(Reason::Moving), "the annotation moving, or the ResourceBinding names another cell";
    CellNotReady [CellUnreachable]: CellWd, "Karmada cannot reach the cell",
        As(Reason::CellUnreachable), "the Cluster's condition Ready";
    CellLost [CellLost, LostCellRefused]: CellWd, "an operator declared the cell lost",
        As(Reason::CellLost), "the annotation lost of the Cluster";
    CellControllerBehind [AwaitingCell]: CellWd, "the cell has not taken the newest generation yet",
        Operator("see the log of fedhub in the cell: it may not run, or not lead"), "observedGeneration in the cell, or in what the hub has of it";
    KarmadaStatusSlow: HubWd, "the cell has reported, and Karmada has not carried the report to the hub yet",
        Operator("see Karmada's controller manager, and that fedhub's interpreter is installed on the hub"),
        "the cell's status against the hub's";
    InstanceStopped [Stopped]: Instances, "a user stopped an Instance: it is kept and does not run",
        As(Reason::Stopped), "";
    QuotaDenied [QuotaExceeded, QuotaNoBudget, QuotaNotGranted]: Instances, "quota is denied",
        As(Reason::QuotaExceeded), "";
    QuotaPending [PendingQuota, PendingEvaluation]: Instances, "quota is asked for and not granted yet",
        As(Reason::PendingQuota), "";
    QuotaServiceFailed [
        QuotaBackendUnavailable, QuotaMisconfigured, QuotaProjectIDUnresolvable, QuotaProjectNotFound,
        QuotaNamespaceNotFound, ValidationFailed,
    ]: Instances, "the project's quota service does not work",
        As(Reason::QuotaBackendUnavailable), "";
    QuotaClaimTaken [QuotaClaimTaken]: Instances, "the ResourceClaim of an Instance's name in the project was not made by its cell",
        As(Reason::QuotaClaimTaken), "";
    InstanceTypeUnavailable [InstanceTypeUnavailable]: Instances, "the cell does not have the InstanceType, or cannot read its size",
        As(Reason::InstanceTypeUnavailable), "";
    NetworkNotReady [NetworkProvisioning]: Instances, "a network is on its way",
        As(Reason::NetworkProvisioning), "";
    NetworkFailed [NetworkFailedToCreate]: Instances, "the cell's network service failed",
        As(Reason::NetworkFailedToCreate), "";
    NetworkInvalid [NetworkNotFound, AddressFamilyNotCarried]: Instances, "the template names a network that is not there or does not fit",
        As(Reason::NetworkNotFound), "";
    LocationMisconfigured [NoMatchingLocation, CityCodeMismatch, LocationMismatch, AmbiguousServingLocation]: Instances, "the cell's LocationBindings do not fit its city",
        As(Reason::NoMatchingLocation), "";
    ImageUnavailable [ImageUnavailable]: Instances, "an image cannot be pulled",
        As(Reason::ImageUnavailable), "";
    InstanceCrashing [InstanceCrashing, Failed]: Instances, "an Instance starts and ends again",
        As(Reason::InstanceCrashing), "";
    ServerRefused [ServerRefused]: Instances, "the provider cannot run a server as the template asks for it",
        As(Reason::ServerRefused), "";
    ServerFailed [ServerFailed]: Instances, "the provider reports that an Instance's server failed",
        As(Reason::ServerFailed), "";
    ServerAmbiguous [AmbiguousServer]: Instances, "servers at the provider may be an Instance's, and are not for certain",
        As(Reason::AmbiguousServer), "";
    ProviderFault [ProviderDenied, ProviderMisconfigured, ProviderQuotaExceeded]: Instances, "the provider refuses fedhub, or its configuration or quota does not do",
        Operator("see what the message says of the provider: its credentials, configuration or quota"), "";
    TemplateInvalid [ConfigurationError, InvalidScaleSettings, RuntimeClassNotServed]: Instances, "the template or the scale settings cannot be used",
        As(Reason::ConfigurationError), "";
    DisruptionDenied [DisruptionDenied]: Instances, "the new template would destroy what Instances have stored, and does not allow that",
        As(Reason::DisruptionDenied), "";
    ReferencedDataMissing [SourceNotFound, SourceTooLarge, SourceUnsupported]: Instances, "a ConfigMap or Secret that the template refers to is missing, or cannot be copied",
        As(Reason::SourceNotFound), "";
    ReferencedDataForbidden [SourceUnauthorized, SourceNameTaken, SourceRefused, CopyTerminating]: Instances, "the platform may not read the project's ConfigMaps and Secrets, or not write their copies",
        As(Reason::SourceUnauthorized), "";
    ReferencedDataPending [ReferencedDataNotReady, AwaitingPropagation, Resolving]: Instances, "referenced data is on its way to the cell",
        As(Reason::ReferencedDataNotReady), "";
    InstancesRefused [InstancesRefused, InstanceNameTaken]: Instances, "the cell lets fedhub create no Instance",
        As(Reason::InstancesRefused), "";
    CellNameTaken [CellNameTaken]: Copies, "two clusters run under one cell name",
        As(Reason::CellNameTaken), "";
    AutoscalerFault [AutoscalerNameTaken, AutoscalerRefused, AmbiguousSelector]: Instances, "fedhub cannot use the HorizontalPodAutoscaler in the cell",
        As(Reason::AutoscalerRefused), "";
    TerminationOverdue [TerminationDeadlineExceeded]: Instances, "an Instance takes longer to terminate than it may",
        As(Reason::TerminationDeadlineExceeded), "TerminationOverdue, or the Instance's deletionTimestamp";
    DeletionRefused [DeletionRefused]: Instances, "the cell refuses that fedhub deletes an Instance",
        As(Reason::DeletionRefused), "the reason DeletionRefused of TerminationOverdue";
    CellMisconfigured [CellMisconfigured]: CellWd, "fedhub in the cell lacks a right or a CRD that its flags ask for",
        As(Reason::CellMisconfigured), "";
    InstancesChanging [
        InstancesProvisioning, Provisioning, Rebuilding, SchedulingGatesPresent, Pending, PendingProgramming,
        ProgrammingInProgress, ProviderUnavailable, ProviderUnknown, ServerDeleting, Starting, Stopping,
        ScalingDisabled, Terminating, Applied,
    ]: Instances, "Instances start, end or are replaced, one after the other",
        Operator("see the cell's provider of Instances where this lasts"), "";
    CellReported [
        DeploymentNameTaken, DeploymentsRefused, NoMatchingLocations, NoAvailablePlacements,
        NoAvailableDeployments, ProgressDeadlineExceeded, InstanceTypeDeprecated, InstanceTypeDisabled,
        RolloutComplete, NoDeployments, RolloutInProgress, AvailablePlacementFound,
        AvailableDeploymentFound, StableInstanceFound, ReplicasAvailable, Available, Ready,
        ReferencedDataDisabled, QuotaAvailable, QuotaDisabled, Federated, FederationRecovered, Moved,
        RevisionNotRecorded, Resumed, Undecodable, InstanceTypeNameTaken, InstanceTypeKept,
        InstanceTypeSourceIsCell,
    ]: Instances, "the cell reports a reason that this version does not know, such as a provider's own",
        Operator("see the message, and the provider of Instances in the cell"), "a reason that no other cause has";
    AwaitingTurn [WaveInProgress]: ProjectWd, "the WD keeps its revision until it is its turn in the rollout of its Workload",
        Nobody, "the WD's revision against its Workload's, and the plan of the rollout";
    RolloutBehind: ProjectWd, "the Workload controller has not given the WD the revision that the rollout lets it have",
        Operator("see fedhub's log and fedhub_oldest_unsynced_plane_seconds for this plane"),
        "the WD's revision against the plan of the rollout";
    AwaitingApproval [RolloutAwaitingApproval]: ProjectWd, "the rollout of the Workload waits until a wave is approved",
        As(Reason::RolloutAwaitingApproval), "the plan of the rollout";
    RolloutPaused [RolloutPaused]: ProjectWd, "the rollout of the Workload is paused, and the WD keeps its revision",
        User("resume the rollout by datumctl compute rollout resume"), "the annotation rollout-paused of the Workload, or spec.paused of its WorkloadRollout";
    RolloutStalled [CityFailed]: ProjectWd, "a city failed in the rollout of the Workload, and no other one starts",
        As(Reason::CityFailed), "the plan of the rollout";
    RolloutRolledBack [RolloutRolledBack]: ProjectWd, "a city failed in the rollout of the Workload, and each returned to its last good revision",
        As(Reason::RolloutRolledBack), "the plan of the rollout";
    RolloutAborted [RolloutAborted]: ProjectWd, "the rollout of the Workload was aborted, and the WD stays on an earlier revision",
        User("correct the template, and set spec.abort of the WorkloadRollout to false"), "spec.abort of the WorkloadRollout";
    RolloutInvalid [InvalidRollout]: ProjectWd, "the WorkloadRollout cannot be followed, and no WD changes its revision",
        As(Reason::InvalidRollout), "the plan of the rollout";
    CopyMissing [NotWrittenBack]: Copies, "an Instance of the cell has no copy on the hub: the cell cannot write back",
        Operator("see the log of fedhub in the cell, and its credentials for the hub"), "Instances in the cell, or status.replicas, against the copies on the hub";
    ProjectionMissing: Projections, "the projector has not shown an Instance in the project yet",
        Operator("see fedhub's log and fedhub_oldest_unsynced_plane_seconds for this plane"),
        "copies on the hub against Instances in the project, while a fedhub process leads";
    ProjectionQuarantined [Quarantined]: Projections, "an Instance cannot be shown in the project, and no retry changes that",
        Operator("see Quarantined Instances in docs/operations.md: another Instance has the name, or labels contradict"), "an Instance of that name without fedhub's mark, or labels that contradict the hub namespace";
    ProjectorBehind: Projections, "an Instance in the project shows an earlier state than its copy on the hub",
        Operator("see fedhub's log and fedhub_oldest_unsynced_plane_seconds for this plane"),
        "Ready of projection and copy, or a projection without a copy";
    HubRestored: Projections, "the hub was restored from a backup: no deletion is inferred until its cells have written back",
        Operator("run fedhub hub status; accept the restore once its cells are known to be complete"),
        "the ConfigMap fedhub-hub-history, where a deletion waits";
    CleanupHubUnreachable: HubWd, "the deleted WD keeps its finalizer: fedhub cannot reach the hub to clean up",
        As(Reason::CleanupHeld), "CleanupHeld or HubUnreachable on a WD with a deletionTimestamp";
    CleanupConflict [CleanupHeld]: HubWd, "the deleted WD keeps its finalizer: the hub WD of its name may belong to another",
        As(Reason::CleanupHeld), "the origin mark of the hub WD against the deleted WD's UID";
    CleanupRefused: ProjectWd, "the deleted WD keeps its finalizer: the hub or the project plane refuses a request of fedhub",
        Operator("allow the request that the message of CleanupHeld names: rights, or admission of that plane"),
        "CleanupHeld whose message has the answer of the plane that refused";
    ForeignFinalizer: ProjectWd, "the deleted WD is clean on the hub; a finalizer of another controller holds it",
        Operator("look into the controller that owns the finalizer"), "the WD's finalizers";
}

impl Cause {
    /// The stable name.
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// What it means, in one line.
    pub fn meaning(self) -> &'static str {
        self.about().meaning
    }

    /// What it is decided by.
    pub fn decided_by(self) -> String {
        let About { decided_by, reasons, .. } = self.about();
        match (decided_by, reasons) {
            ("", [reason]) => format!("the reason {reason}"),
            ("", [others @ .., last]) => {
                let others: Vec<_> = others.iter().map(|reason| reason.as_str()).collect();
                format!("the reason {} or {last}", others.join(", "))
            }
            (text, _) => text.to_owned(),
        }
    }

    /// Where it is found, unless a diagnosis names another hop.
    pub fn hop(self) -> Hop {
        self.about().hop
    }

    /// Who has to act.
    pub fn responsible(self) -> Responsible {
        match self.about().action {
            As(reason) => reason.responsible(),
            Operator(_) => Responsible::Operator,
            User(_) => Responsible::User,
            Nobody => Responsible::Nobody,
        }
    }

    /// What to do; empty where nobody has to act.
    pub fn remedy(self) -> &'static str {
        match self.about().action {
            As(reason) => reason.remedy(),
            Operator(remedy) | User(remedy) => remedy,
            Nobody => "",
        }
    }

    /// Whether it is what a WD waits for in the rollout of its Workload.
    pub fn is_of_rollout(self) -> bool {
        matches!(
            self,
            Self::AwaitingTurn
                | Self::AwaitingApproval
                | Self::RolloutPaused
                | Self::RolloutStalled
                | Self::RolloutRolledBack
                | Self::RolloutAborted
                | Self::RolloutInvalid
        )
    }

    /// The cause that an error of reading a project plane stands for.
    pub fn of_plane(failure: Failure) -> Self {
        match failure {
            Failure::Unreachable => Self::PlaneUnreachable,
            Failure::Unauthorized => Self::PlaneCredentialsRefused,
            Failure::Forbidden => Self::PlaneForbidden,
            Failure::NotServed => Self::PlaneCrdMissing,
            Failure::TooLarge => Self::PlaneTooLarge,
            Failure::Invalid => Self::PlaneSecretInvalid,
        }
    }

    /// The cause that a reason stands for; `None` is one that this version does not know.
    pub fn of_reason(reason: Option<Reason>) -> Self {
        reason.map_or(Self::CellReported, Self::of_known)
    }
}
