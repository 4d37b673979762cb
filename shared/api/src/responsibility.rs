//! Who has to act on what blocks an Instance or a `WorkloadDeployment` (C9): the one table of reasons.
//!
//! Every message of a condition that is not True ends with it, on every plane: the user's (image, quota, template), the
//! platform operator's (location, network service), or no one's (moving).
//!
//! Decides C9.

use std::borrow::Cow;
use std::num::NonZeroU8;

use fedhub_core::message::MESSAGE_MAX;

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

/// The source of a reason, which decides the Event that reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// A cell, or its services.
    Cell,
    /// The way to the cell: the condition `Federated` and its Events report it (F10).
    Federation,
}

struct Entry {
    reason: &'static str,
    source: Source,
    responsible: Responsible,
    /// What to do; empty for nobody.
    remedy: &'static str,
}

const fn entry(
    source: Source,
    responsible: Responsible,
    reason: &'static str,
    remedy: &'static str,
) -> Entry {
    Entry { reason, source, responsible, remedy }
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

/// The reason of `Ready` and of the conditions of a deployment: an Instance takes longer to go than it may (C12).
pub const DEADLINE_EXCEEDED: &str = "TerminationDeadlineExceeded";

/// A reason of the conditions of a deployment: its cell lets no Instance be made.
pub const INSTANCES_REFUSED: &str = "InstancesRefused";

const MORE_QUOTA: &str = "ask for more quota, or use fewer or smaller instances";
const LOGS: &str = "look at the instance's logs for why it ends";
const QUOTA_SERVICE: &str = "look into the project's quota service";
const LOCATION: &str = "correct the cell's LocationBindings";

/// Every reason that this version knows.
const TABLE: &[Entry] = &[
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
    user("ProgressDeadlineExceeded", "see what the workload's deployments say holds the rollout up"),
    nobody("NoAvailablePlacements"),
    nobody("NoAvailableDeployments"),
    nobody("InstancesProvisioning"),
    nobody("Provisioning"),
    nobody("NetworkProvisioning"),
    nobody("ReferencedDataNotReady"),
    nobody("AwaitingPropagation"),
    nobody("Resolving"),
    nobody("SchedulingGatesPresent"),
    nobody("Pending"),
    nobody("PendingEvaluation"),
    nobody("PendingProgramming"),
    nobody("ProgrammingInProgress"),
    nobody("Starting"),
    nobody("Stopping"),
    nobody("ScalingDisabled"),
    nobody("Suspended"),
    nobody("Terminating"),
    entry(Source::Federation, Responsible::User, "ObjectTooLarge", "make the WorkloadDeployment smaller"),
    entry(Source::Federation, Responsible::User, "InvalidCityCode", "correct spec.cityCode"),
    entry(Source::Federation, Responsible::User, "InvalidName", "use a shorter name"),
    entry(
        Source::Federation,
        Responsible::User,
        "NoCellForCity",
        "choose a city that is served, or ask the platform operator for a cell in this one",
    ),
    entry(
        Source::Federation,
        Responsible::Operator,
        "AmbiguousCity",
        "leave the city's label on one Cluster of the federation hub",
    ),
    entry(
        Source::Federation,
        Responsible::Operator,
        "FederationConflict",
        "look into what stands on the federation hub in its place",
    ),
    entry(
        Source::Federation,
        Responsible::User,
        "ServiceSuspended",
        "see the project's ServiceEntitlement for what suspended the service",
    ),
    entry(
        Source::Federation,
        Responsible::User,
        "ServiceNotActive",
        "activate the service in the project, or delete the workload",
    ),
    entry(Source::Federation, Responsible::Nobody, "Moving", ""),
    entry(Source::Federation, Responsible::Operator, "CleanupHeld", "look into the federation hub"),
    entry(Source::Federation, Responsible::Operator, "HubUnreachable", "look into the federation hub"),
    entry(
        Source::Federation,
        Responsible::Operator,
        "CellUnreachable",
        "bring the cell back, or declare it lost",
    ),
    entry(Source::Federation, Responsible::User, "CellLost", "choose another city to run it again"),
    entry(Source::Federation, Responsible::Operator, "Forbidden", "grant fedhub the permission"),
    entry(Source::Federation, Responsible::Nobody, "Throttled", ""),
    entry(Source::Federation, Responsible::Nobody, "AwaitingCell", ""),
];

/// The ending for a reason that this version does not know, such as a provider's own.
const UNKNOWN: &str = "Action required by the platform operator if this lasts";
const NOBODY: &str = "No action required";

fn find(reason: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.reason == reason)
}

impl Entry {
    fn ending(&self) -> Cow<'static, str> {
        match self.responsible {
            Responsible::Nobody => Cow::Borrowed(NOBODY),
            Responsible::User => Cow::Owned(format!("Action required by the user: {}", self.remedy)),
            Responsible::Operator => {
                Cow::Owned(format!("Action required by the platform operator: {}", self.remedy))
            }
        }
    }
}

/// Every reason that this version knows.
pub fn reasons() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|entry| entry.reason)
}

/// Who can make that reason go away; `None` for one that this version does not know.
pub fn responsible(reason: &str) -> Option<Responsible> {
    find(reason).map(|entry| entry.responsible)
}

/// What to do to make that reason go away; empty where it passes by itself or is one that this version does not know.
pub fn remedy(reason: &str) -> &'static str {
    find(reason).map_or("", |entry| entry.remedy)
}

/// Whether a reason does not go away by waiting alone: its user or the platform operator has to act.
pub fn needs_action(reason: &str) -> bool {
    responsible(reason).is_some_and(|responsible| responsible != Responsible::Nobody)
}

/// Whether the condition `Federated` of a deployment reports that reason (F10).
pub fn is_reported_by_federation(reason: &str) -> bool {
    find(reason).is_some_and(|entry| entry.source == Source::Federation)
}

/// The message of a condition with that reason, with who has to act at its end; unchanged where it ends so already. A
/// long message is cut, and its end is not.
pub fn attributed<'a>(reason: &str, message: &'a str) -> Cow<'a, str> {
    let said = TABLE.iter().map(Entry::ending).chain([Cow::Borrowed(UNKNOWN)]);
    let said = said.filter(|ending| message.ends_with(&**ending)).max_by_key(|ending| ending.len());
    if said.is_some() && message.len() <= MESSAGE_MAX {
        return Cow::Borrowed(message);
    }
    let ending = said.unwrap_or_else(|| find(reason).map_or(Cow::Borrowed(UNKNOWN), Entry::ending));
    let body = message.strip_suffix(&*ending).unwrap_or(message).trim_end_matches(['.', ' ']);
    if body.is_empty() {
        return ending;
    }
    let room = MESSAGE_MAX - ending.len() - ". ".len();
    let body = &body[..body.floor_char_boundary(room)];
    Cow::Owned(format!("{body}. {ending}"))
}

/// The message of a condition in its parts: what is wrong, who has to act, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribution<'a> {
    /// What is wrong, without the ending.
    pub what: &'a str,
    /// Who has to act; `None` for a reason that this version does not know.
    pub responsible: Option<Responsible>,
    /// What to do; empty where that is nothing, or not known.
    pub remedy: &'static str,
}

/// Takes a message apart that [`attributed`] may have put together. What the message itself ends with counts more than
/// `reason`: a deployment reports what its Instances say under a reason of its own.
pub fn separated<'a>(reason: &str, message: &'a str) -> Attribution<'a> {
    let bare = |ending: &str| message.strip_suffix(ending).map(|it| it.trim_end_matches(['.', ' ']));
    let said = TABLE.iter().filter(|entry| message.ends_with(&*entry.ending()));
    let said = said.max_by_key(|entry| entry.ending().len());
    if let Some(what) = bare(UNKNOWN) {
        return Attribution { what, responsible: None, remedy: "" };
    }
    let (entry, what) = match said {
        Some(entry) => (Some(entry), bare(&entry.ending()).unwrap_or(message)),
        None => (find(reason), message.trim_end_matches(['.', ' '])),
    };
    Attribution {
        what,
        responsible: entry.map(|entry| entry.responsible),
        remedy: entry.map_or("", |entry| entry.remedy),
    }
}

/// A reason of a cell that needs action, in one byte: enough to notice when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause(NonZeroU8);

impl Cause {
    /// The cause of that reason; `None` where it needs no action, or the condition `Federated` reports it.
    pub fn of(reason: &str) -> Option<Self> {
        let at = TABLE.iter().position(|entry| entry.reason == reason)?;
        let told_here = TABLE[at].source == Source::Cell && needs_action(reason);
        told_here.then(|| u8::try_from(at + 1).ok().and_then(NonZeroU8::new).map(Self)).flatten()
    }

    /// The reason.
    pub fn reason(self) -> &'static str {
        TABLE.get(usize::from(self.0.get()) - 1).map_or("", |entry| entry.reason)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn c9_every_reason_says_whose_job_it_is() {
        for (reason, expected) in [
            ("ImageUnavailable", Responsible::User),
            ("QuotaExceeded", Responsible::User),
            ("QuotaNoBudget", Responsible::User),
            ("ConfigurationError", Responsible::User),
            ("InvalidCityCode", Responsible::User),
            ("NoMatchingLocation", Responsible::Operator),
            ("CityCodeMismatch", Responsible::Operator),
            ("NetworkFailedToCreate", Responsible::Operator),
            ("QuotaMisconfigured", Responsible::Operator),
            ("InstanceNameTaken", Responsible::Operator),
            (INSTANCES_REFUSED, Responsible::Operator),
            (DEADLINE_EXCEEDED, Responsible::Operator),
            ("Moving", Responsible::Nobody),
            ("InstancesProvisioning", Responsible::Nobody),
        ] {
            assert_eq!(responsible(reason), Some(expected), "{reason}");
        }
        for entry in TABLE {
            assert_eq!(entry.remedy.is_empty(), entry.responsible == Responsible::Nobody, "{}", entry.reason);
            assert_eq!(TABLE.iter().filter(|other| other.reason == entry.reason).count(), 1);
        }
        assert_eq!(responsible("Odd"), None);
        assert!(attributed("Odd", "words").ends_with("operator if this lasts"));
    }

    #[test]
    fn c9_it_is_said_once_behind_what_is_wrong() {
        let once = attributed("ImageUnavailable", "no such image.").into_owned();
        assert_eq!(
            once,
            "no such image. Action required by the user: check the image's name and tag, and the pull secrets"
        );
        assert_eq!(attributed("ImageUnavailable", &once), once);
        // What an Instance says is lifted to its deployment under another name.
        let lifted = format!("0/1 replicas available. Instance \"web-0\": {once}");
        assert_eq!(attributed("InstancesProvisioning", &lifted), lifted);
        assert_eq!(attributed("Moving", ""), "No action required");
    }

    #[test]
    fn c9_a_message_is_taken_apart_again() {
        for entry in TABLE {
            let (what, whole) = ("no such image", attributed(entry.reason, "no such image."));
            let apart = Attribution { what, responsible: Some(entry.responsible), remedy: entry.remedy };
            assert_eq!(separated(entry.reason, &whole), apart, "{}", entry.reason);
            assert_eq!(separated(entry.reason, what), apart, "{}", entry.reason);
        }
        let odd = attributed("Odd", "words");
        assert_eq!(separated("Odd", &odd), Attribution { what: "words", responsible: None, remedy: "" });
        let lifted = attributed("ImageUnavailable", "0/1 replicas available. No such image");
        let apart = separated("InstancesProvisioning", &lifted);
        assert_eq!(
            (apart.what, apart.responsible),
            ("0/1 replicas available. No such image", Some(Responsible::User))
        );
    }

    #[test]
    fn u3_a_cause_is_a_reason_of_the_cell_that_somebody_has_to_act_on() {
        for reason in ["ImageUnavailable", "QuotaNoBudget", "NetworkFailedToCreate", DEADLINE_EXCEEDED] {
            assert_eq!(Cause::of(reason).map(Cause::reason), Some(reason));
        }
        for reason in ["", "Odd", "Suspended", "Moving", "HubUnreachable", "InvalidCityCode", "Available"] {
            assert_eq!(Cause::of(reason), None, "{reason}");
        }
    }

    proptest! {
        #[test]
        fn c9_no_message_is_too_long_and_none_loses_whose_job_it_is(
            at in 0..TABLE.len(),
            text in "[a-zü. ]{0,1500}",
            around in "[a-z ]{0,300}",
        ) {
            let Entry { reason, .. } = TABLE[at];
            let ending = TABLE[at].ending();
            let once = attributed(reason, &text).into_owned();
            prop_assert!(once.len() <= MESSAGE_MAX && once.ends_with(&*ending));
            prop_assert_eq!(&*attributed(reason, &once), &once);
            let lifted = format!("{around}: {once}");
            let lifted = attributed("InstancesProvisioning", &lifted);
            prop_assert!(lifted.len() <= MESSAGE_MAX && lifted.ends_with(&*ending), "{}", lifted);
        }
    }
}
