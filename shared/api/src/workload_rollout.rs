//! `WorkloadRollout`: in which order and by which gates the cities of a Workload get a new template
//! (specification, R1 to R10).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::condition_schema::conditions;
use super::workload::{MOST_CITIES, MOST_PLACEMENTS};

/// The most waves of a rollout.
pub const MOST_WAVES: usize = 31;
/// The most deployments of a Workload, and so of a rollout.
pub const MOST_DEPLOYMENTS: usize = MOST_PLACEMENTS * MOST_CITIES;
/// The most revisions of a Workload's template that are kept.
pub const MOST_REVISIONS: u32 = 20;
/// The most approvals of a rollout: before and after each wave.
pub const MOST_APPROVALS: usize = 2 * MOST_WAVES;
/// The longest name of a user that approvals keep, in characters.
pub const LONGEST_USER: usize = 256;

/// What a name that is a DNS label looks like.
const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// What the code of a city looks like: it is the value of a label.
const CITY_CODE: &str = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";
/// What a duration looks like: hours, minutes and seconds in whole numbers, each at most once. It bounds the
/// digits, and `minLength` refuses an empty one.
const DURATION: &str = "^([0-9]{1,4}h)?([0-9]{1,5}m)?([0-9]{1,7}s)?$";

/// A rollout as it is wanted.
#[derive(Clone, Debug, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::duplicated_attributes, reason = "the lint sees the columns as one attribute")]
#[kube(
    group = "compute.datumapis.com",
    version = "v1alpha",
    kind = "WorkloadRollout",
    namespaced,
    shortname = "wro",
    schema = "disabled",
    status = "WorkloadRolloutStatus",
    derive = "PartialEq",
    doc = "In which order and by which gates the cities of a Workload get a new template.",
    annotation("discovery.miloapis.com/parent-contexts", "Project"),
    printcolumn(name = "Strategy", type_ = "string", json_path = ".spec.strategy"),
    printcolumn(name = "Revision", type_ = "integer", json_path = ".status.targetRevision"),
    printcolumn(
        name = "Progressing",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Progressing\")].reason"
    ),
    printcolumn(
        name = "Stalled",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Stalled\")].reason"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct WorkloadRolloutSpec {
    /// Whether the rollout is given up: every deployment that can be reached ends in one revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort: Option<bool>,
    /// What follows when more cities of a wave fail than may. `Pause`: no other city starts until the user
    /// acts. `RollBack`: each city returns to its last good revision, by the same waves and gates.
    #[serde(default)]
    pub on_failure: RolloutFailurePolicy,
    /// Whether no other city starts. Those that have started go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// How long one city may take to become healthy on a new revision before it counts as failed, such as
    /// `10m`, `1h30m` or `90s`; at most 720h.
    #[serde(default = "ten_minutes")]
    #[schemars(length(min = 2, max = 19), regex(pattern = DURATION))]
    pub progress_deadline: String,
    /// How many revisions of the Workload's template are kept; two at least, which cities carry while it is
    /// under way.
    #[serde(default = "all_revisions")]
    #[schemars(range(min = 2, max = 20))]
    pub revision_history_limit: u32,
    /// `InOrder`: wave by wave, each gated by the health of those before it. `AllAtOnce`: all cities at once.
    /// `External`: another controller assigns revisions, and fedhub carries them out.
    #[serde(default)]
    pub strategy: RolloutStrategy,
    /// What happens to a city whose cell cannot be reached. `Skip`: it is left as it is and caught up later.
    /// `Hold`: the rollout waits for it.
    #[serde(default)]
    pub unreachable: RolloutUnreachablePolicy,
    /// Which deployments get the new revision together, in this order. Each deployment is in exactly one
    /// wave. Without any, there is one wave `all` with every deployment, one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 31), extend("x-kubernetes-validations" = [
        {
            "rule": "self.all(a, self.exists_one(b, b.name == a.name))",
            "message": "each wave has a name of its own",
        },
        {
            "rule": "self.filter(w, !has(w.cities) && !has(w.placements)).size() <= 1",
            "message": "at most one wave has neither cities nor placements: it takes all that is left",
        },
    ]))]
    pub waves: Option<Vec<RolloutWave>>,
    /// The workload, in the same namespace. Its name is that of the rollout.
    pub workload_ref: RolloutWorkloadReference,
}

fn ten_minutes() -> String {
    "10m".to_owned()
}

fn all_revisions() -> u32 {
    MOST_REVISIONS
}

fn one() -> u32 {
    1
}

/// A workload by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutWorkloadReference {
    /// The name of the workload.
    #[schemars(length(min = 1, max = 63), regex(pattern = DNS_LABEL))]
    pub name: String,
}

/// How cities get a new revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RolloutStrategy {
    /// Wave by wave.
    #[default]
    InOrder,
    /// All cities at once.
    AllAtOnce,
    /// As another controller assigns it.
    External,
}

/// What happens to a city whose cell cannot be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RolloutUnreachablePolicy {
    /// It is left as it is and caught up later.
    #[default]
    Skip,
    /// The rollout waits for it.
    Hold,
}

/// What follows when too many cities fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RolloutFailurePolicy {
    /// No other city starts.
    #[default]
    Pause,
    /// Each city returns to its last good revision.
    RollBack,
}

/// When a wave requires approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RolloutApproval {
    /// Never.
    #[default]
    None,
    /// Before its first city.
    Before,
    /// After its last city, before the next wave.
    After,
}

/// Deployments that get a new revision together: those in these cities, of these placements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutWave {
    /// When the wave requires approval: never (`None`), `Before` its first city, or `After` its last one.
    #[serde(default)]
    pub approval: RolloutApproval,
    /// The codes of its cities. Without any, those of its placements; a wave with neither takes every
    /// deployment that no other wave has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 5000), inner(length(min = 1, max = 63), regex(pattern = CITY_CODE)))]
    pub cities: Option<Vec<String>>,
    /// The most cities of the wave that are updated at once.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 5000))]
    pub max_concurrent: u32,
    /// How many cities of the wave may fail before the rollout stops.
    #[serde(default)]
    #[schemars(range(min = 0, max = 5000))]
    pub max_failures: u32,
    /// The name of the wave, unique in the rollout.
    #[schemars(length(min = 1, max = 63), regex(pattern = DNS_LABEL))]
    pub name: String,
    /// The names of placements of the workload: of the cities, only their deployments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 50), inner(length(min = 1, max = 63), regex(pattern = DNS_LABEL)))]
    pub placements: Option<Vec<String>>,
    /// How long each city has to stay healthy on the new revision before it counts as complete, such as `5m`;
    /// at most 720h. Without it, a city is complete once it is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 19), regex(pattern = DURATION))]
    pub soak: Option<String>,
}

/// A rollout as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadRolloutStatus {
    /// The approvals that were taken for this target. None is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 62))]
    pub approvals: Option<Vec<RolloutApproved>>,
    /// The approval that the rollout waits for; absent while it waits for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaiting: Option<RolloutAwaiting>,
    /// The deployments, in the order of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 5000))]
    pub cities: Option<Vec<RolloutCity>>,
    /// Conditions: `Progressing`, `Stalled` and `Complete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Option<Vec<Condition>>,
    /// Where the rollout goes: `Forward` to the target, `Back` to each city's last good revision, or to one
    /// revision everywhere by `Abort`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<RolloutDirection>,
    /// The `metadata.generation` that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The waves as they were when the rollout started. A change of the spec is of the next rollout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 31))]
    pub plan: Option<Vec<RolloutPlannedWave>>,
    /// The strategy that the plan was made by. A change of it makes a new plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<RolloutStrategy>,
    /// The number of the revision of the Workload's template that the rollout goes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub target_revision: Option<i64>,
}

/// Where a rollout goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RolloutDirection {
    /// To the target.
    #[default]
    Forward,
    /// Back to each city's last good revision.
    Back,
    /// To one revision everywhere.
    Abort,
}

/// The side of a wave that is approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RolloutGate {
    /// Its beginning.
    Before,
    /// Its end.
    After,
}

/// The approval that a rollout waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutAwaiting {
    /// The side of the wave that is to be approved: `Before` its first city, or `After` its last one.
    pub gate: RolloutGate,
    /// The name of the wave.
    #[schemars(length(max = 63))]
    pub wave: String,
}

/// How far a deployment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RolloutCityState {
    /// Its turn has not come.
    Waiting,
    /// It is not healthy on its revision yet.
    Updating,
    /// It is healthy, and has to stay so.
    Soaking,
    /// It is complete.
    Complete,
    /// It failed.
    Failed,
    /// Its cell cannot be reached.
    Skipped,
}

/// A wave as it was when the rollout started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutPlannedWave {
    /// When it requires approval.
    #[serde(default)]
    pub approval: RolloutApproval,
    /// The names of its deployments, in the order in which they start.
    #[schemars(length(max = 5000), inner(length(max = 253)))]
    pub deployments: Vec<String>,
    /// The most cities that are updated at once.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 5000))]
    pub max_concurrent: u32,
    /// How many cities may fail.
    #[serde(default)]
    #[schemars(range(min = 0, max = 5000))]
    pub max_failures: u32,
    /// The name of the wave.
    #[schemars(length(max = 63))]
    pub name: String,
    /// How long each city has to stay healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 19))]
    pub soak: Option<String>,
}

/// One deployment of a rollout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutCity {
    /// Why it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<RolloutCause>,
    /// The code of the city.
    #[schemars(length(max = 63))]
    pub city: String,
    /// The name of the WorkloadDeployment.
    #[schemars(length(max = 253))]
    pub deployment: String,
    /// The revision on which it was last complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub last_good: Option<i64>,
    /// The revision that it may carry now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub revision: Option<i64>,
    /// Since when it is in this state.
    #[schemars(extend("format" = "date-time"))]
    pub since: String,
    /// How far it is: `Waiting` for its turn, `Updating`, `Soaking` while it has to stay healthy, `Complete`,
    /// `Failed`, or `Skipped` while its cell cannot be reached.
    pub state: RolloutCityState,
    /// The name of its wave.
    #[schemars(length(max = 63))]
    pub wave: String,
}

/// Why a deployment is not complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutCause {
    /// Details for a human reader.
    #[schemars(length(max = 1024))]
    pub message: String,
    /// One word in CamelCase, for programs: the reason of the deployment's condition.
    #[schemars(length(min = 1, max = 256))]
    pub reason: String,
}

/// An approval that was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutApproved {
    /// When it was taken.
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    /// Who approved it.
    #[schemars(length(max = 256))]
    pub by: String,
    /// Which side of the wave.
    pub gate: RolloutGate,
    /// The name of the wave.
    #[schemars(length(max = 63))]
    pub wave: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    /// An attribute takes no name of a constant.
    #[test]
    fn bounds_are_those_of_the_constants() {
        let spec = schema::of::<WorkloadRolloutSpec>();
        let waves = &spec["properties"]["waves"];
        let wave = &waves["items"]["properties"];
        assert_eq!(waves["maxItems"], MOST_WAVES);
        assert_eq!(wave["cities"]["maxItems"], MOST_DEPLOYMENTS);
        assert_eq!(wave["placements"]["maxItems"], MOST_PLACEMENTS);
        for number in ["maxConcurrent", "maxFailures"] {
            assert_eq!(wave[number]["maximum"], MOST_DEPLOYMENTS, "{number}");
        }
        assert_eq!(spec["properties"]["revisionHistoryLimit"]["maximum"], MOST_REVISIONS);
        let status = &schema::of::<WorkloadRolloutStatus>()["properties"];
        assert_eq!(status["plan"]["maxItems"], MOST_WAVES);
        assert_eq!(status["plan"]["items"]["properties"]["deployments"]["maxItems"], MOST_DEPLOYMENTS);
        assert_eq!(status["cities"]["maxItems"], MOST_DEPLOYMENTS);
        assert_eq!(status["approvals"]["maxItems"], MOST_APPROVALS);
        assert_eq!(status["approvals"]["items"]["properties"]["by"]["maxLength"], LONGEST_USER);
    }

    #[test]
    fn a_rollout_needs_no_more_than_its_workload() {
        let spec: WorkloadRolloutSpec =
            serde_json::from_value(serde_json::json!({"workloadRef": {"name": "web"}})).unwrap();
        assert_eq!(spec.progress_deadline, "10m");
        assert_eq!((spec.strategy, spec.on_failure), (RolloutStrategy::InOrder, RolloutFailurePolicy::Pause));
        assert_eq!((spec.unreachable, spec.revision_history_limit), (RolloutUnreachablePolicy::Skip, 20));
        let wave: RolloutWave = serde_json::from_value(serde_json::json!({"name": "canary"})).unwrap();
        assert_eq!((wave.max_concurrent, wave.max_failures), (1, 0));
    }
}
