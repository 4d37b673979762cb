//! The content of the page, as plain values: filled by `collect`, printed by `view`, and made up by tests.

use std::time::Duration;

use fedhub_api::RolloutCityState;
use jiff::Timestamp;

use super::figures::Count;
use super::samples::Trend;
use crate::explain;

/// The head of every page.
#[derive(Clone, Debug)]
pub struct Head {
    /// The version of the program.
    pub version: &'static str,
    /// The roles of the process, and whether it leads in each.
    pub roles: Vec<(&'static str, bool)>,
    /// Why the process is not ready, a line for each cause.
    pub not_ready: Vec<String>,
    /// When this was read.
    pub now: Timestamp,
}

impl Head {
    /// Whether another process does the work of a role.
    pub fn is_standby(&self) -> bool {
        self.roles.iter().any(|(_, leads)| !leads)
    }
}

/// The state of a plane; the ones that need somebody first.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    strum::IntoStaticStr,
    strum::EnumString,
    strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum PlaneState {
    /// A watch fails.
    Unreachable,
    /// The plane cannot be engaged at all: its kubeconfig or its name cannot be used.
    Refused,
    /// The first lists are not complete.
    Engaging,
    /// An operator paused the plane, whether it answers or not: nothing is written there, nor for it on the
    /// hub.
    Paused,
    /// The project is suspended: the plane is read, not written.
    Suspended,
    /// The plane is in sync.
    Engaged,
}

impl PlaneState {
    /// The stable name.
    pub fn id(self) -> &'static str {
        self.into()
    }
}

/// How much a plane needs somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attention {
    /// The plane cannot be worked on.
    Failing,
    /// The plane has been behind for longer than the federator's deadline.
    Stuck,
    /// The plane has been behind for longer than is usual.
    Slow,
    /// Nothing.
    None,
}

/// A plane, as lists show it.
#[derive(Clone, Debug)]
pub struct PlaneRow {
    /// Its name; not a valid one where that is why it is refused.
    pub name: String,
    /// The role that it belongs to.
    pub role: &'static str,
    /// Its state.
    pub state: PlaneState,
    /// How long it has been in it, where that is known.
    pub since: Option<Duration>,
    /// The age of its oldest change that is not in sync.
    pub oldest: Option<Duration>,
    /// Keys in the queues.
    pub keys: usize,
    /// Objects in the stores.
    pub objects: usize,
    /// Whether a circuit breaker holds its keys back.
    pub circuit_open: bool,
    /// Why it is in that state.
    pub error: Option<String>,
}

impl PlaneRow {
    /// How much it needs somebody. The times are the federator's deadlines, as `fedhub explain` has them.
    pub fn attention(&self) -> Attention {
        let limits = explain::Hop::ProjectWd.limits();
        let behind = match self.state {
            PlaneState::Engaging => self.oldest.max(self.since),
            PlaneState::Unreachable | PlaneState::Refused => return Attention::Failing,
            // Its objects wait because somebody wants that.
            PlaneState::Paused => return Attention::None,
            PlaneState::Suspended | PlaneState::Engaged => self.oldest,
        };
        match behind {
            _ if self.circuit_open => Attention::Failing,
            Some(behind) if behind > limits.deadline => Attention::Stuck,
            Some(behind) if behind > limits.usual => Attention::Slow,
            _ => Attention::None,
        }
    }
}

/// The plane that a registry is around: the hub or the cell.
#[derive(Clone, Debug)]
pub struct Anchor {
    /// The name of the anchor.
    pub name: String,
    /// The role that it belongs to.
    pub role: &'static str,
    /// Its state.
    pub state: PlaneState,
    /// How long it has been in it.
    pub since: Duration,
    /// Objects in the stores.
    pub objects: usize,
    /// Why it is in that state.
    pub error: Option<String>,
}

/// The lag of one hop.
#[derive(Clone, Debug)]
pub struct HopLag {
    /// The label `hop` of `fedhub_propagation_seconds`.
    pub hop: &'static str,
    /// Seconds that 95 in 100 changes took at most, by interval; none where nothing moved.
    pub trend: Trend,
    /// Changes that arrived in the last minute.
    pub per_minute: u64,
}

/// A controller and its queue.
#[derive(Clone, Debug)]
pub struct Controller {
    /// The metric label.
    pub name: &'static str,
    /// Seconds that the oldest change waits, by interval.
    pub trend: Trend,
    /// The age of the oldest change that is not in sync.
    pub oldest: Option<Duration>,
    /// Keys that are ready.
    pub depth: usize,
}

/// A plane whose keys a circuit breaker holds back.
#[derive(Clone, Debug)]
pub struct OpenCircuit {
    /// The controller.
    pub controller: &'static str,
    /// The plane, as logs name it.
    pub plane: String,
    /// Whether a probe is under way.
    pub half_open: bool,
}

/// A cell of a city.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The name of its Cluster.
    pub name: String,
    /// Whether Karmada reaches it; none where the hub says nothing of it yet.
    pub reachable: Option<bool>,
    /// Why the cell is down, in the hub's words.
    pub down: Option<String>,
}

/// How long 50 and 95 in 100 changes took at most, in seconds since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Convergence {
    /// The median from end to end.
    pub median: Option<f64>,
    /// The 95th percentile from end to end.
    pub p95: Option<f64>,
    /// The share of Karmada and the cell in it.
    pub karmada_p95: Option<f64>,
}

/// A city.
#[derive(Clone, Debug)]
pub struct City {
    /// Its code.
    pub code: String,
    /// The `PropagationPolicies` for it: how many hub namespaces use it.
    pub policies: usize,
    /// The cells that carry its code.
    pub cells: Vec<Cell>,
    /// How long changes take.
    pub convergence: Convergence,
}

/// The state of a rollout that is not complete; those that do not go on by themselves first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum RolloutState {
    /// A city failed, and no other one starts.
    Stalled,
    /// It has made no progress for longer than it may.
    Overdue,
    /// Cities failed, and each has its last good revision again.
    RolledBack,
    /// It is paused.
    Paused,
    /// It goes on, or waits for an approval.
    InProgress,
}

impl RolloutState {
    /// The stable name.
    pub fn id(self) -> &'static str {
        self.into()
    }
}

/// The rollout of a Workload.
#[derive(Clone, Debug)]
pub struct RolloutRow {
    /// Its state.
    pub state: RolloutState,
    /// The plane of its Workload.
    pub plane: String,
    /// The namespace of its Workload.
    pub namespace: String,
    /// The name of its Workload.
    pub workload: String,
    /// The wave that decides how it goes on, where a WorkloadRollout names waves.
    pub wave: Option<String>,
    /// How many cities are in each state that any is in; none where no city waits for another.
    pub cities: Vec<(RolloutCityState, usize)>,
    /// Since when the city that decides is in its state, as far as a WorkloadRollout tells.
    pub since: Option<Timestamp>,
    /// The WD of that city.
    pub deployment: Option<String>,
    /// Why it failed, or what is waited for.
    pub remark: Option<String>,
}

/// The rollouts that are not complete.
#[derive(Clone, Debug, Default)]
pub struct Rollouts {
    /// Some of them, those that do not go on first.
    pub rows: Vec<RolloutRow>,
    /// How many there are in each state that any is in.
    pub counts: Vec<(RolloutState, usize)>,
}

/// The writes that are withheld, because they would not be safe.
#[derive(Clone, Debug, Default)]
pub struct Withheld {
    /// Instances that no retry can project or write back.
    pub quarantined: Vec<Count>,
    /// Objects whose cleanup cannot be proven done.
    pub finalizers: Vec<Count>,
    /// Deletions that were not done, since the process started.
    pub deletes: Vec<Count>,
    /// Projects whose entitlement is missing, and was not seen to be deleted.
    pub entitlements: u64,
    /// WDs on the hub whose project WD is gone (F11).
    pub orphans: u64,
    /// Whether the hub is considered restored from a backup.
    pub hub_restored: bool,
}

/// All that the process knows of the fleet at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// What there is to know of the process itself.
    pub head: Head,
    /// The hub, the cell.
    pub anchors: Vec<Anchor>,
    /// Project planes; those that need attention first.
    pub planes: Vec<PlaneRow>,
    /// Lag by hop.
    pub hops: Vec<HopLag>,
    /// Queues.
    pub controllers: Vec<Controller>,
    /// Circuit breakers that are not closed.
    pub circuits: Vec<OpenCircuit>,
    /// Cities and their cells.
    pub cities: Vec<City>,
    /// Rollouts that are not complete.
    pub rollouts: Rollouts,
    /// The writes that are withheld.
    pub withheld: Withheld,
    /// The time that trends cover.
    pub covered: Duration,
}

/// The objects of one kind on a plane.
#[derive(Clone, Debug)]
pub struct KindCount {
    /// The plural of the kind.
    pub kind: String,
    /// How many there are.
    pub objects: usize,
    /// Whether the list is complete.
    pub synced: bool,
}

/// The work of a controller for a plane.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The controller.
    pub controller: &'static str,
    /// Keys in its queue.
    pub keys: usize,
    /// Reconciles that run.
    pub running: usize,
    /// The age of the oldest change that is not in sync.
    pub oldest: Option<Duration>,
    /// Which keys the circuit breaker lets through.
    pub circuit: &'static str,
}

/// The last failure of a plane.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The plural of the kind that was watched.
    pub kind: String,
    /// The error.
    pub error: String,
    /// How long ago it happened last.
    pub ago: Duration,
}

/// A plane in full.
#[derive(Clone, Debug)]
pub struct PlaneDetail {
    /// As lists show it.
    pub row: PlaneRow,
    /// The kinds that are watched there.
    pub kinds: Vec<KindCount>,
    /// Bytes that digests and names take, about.
    pub bytes: usize,
    /// The last failure, even when the plane works again.
    pub last_failure: Option<Failure>,
    /// The queues that have keys for it.
    pub lanes: Vec<Lane>,
    /// WDs by namespace and name; the first of them.
    pub deployments: Vec<(String, String)>,
    /// How many WDs there are.
    pub deployments_total: usize,
}

/// The query on the page of an object, as it was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectQuery {
    /// `wd` or `instance`.
    pub kind: String,
    /// The plane.
    pub plane: String,
    /// The namespace in the project.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectQuery {
    /// Whether anything but a plane was given: a link from a plane's page brings that.
    pub fn is_asked(&self) -> bool {
        !self.namespace.is_empty() || !self.name.is_empty()
    }
}

/// The answer to a query for an object.
#[derive(Clone, Debug)]
pub enum ObjectAnswer {
    /// Nothing was asked.
    Nothing,
    /// The question makes no sense.
    Invalid(String),
    /// This process cannot answer it.
    Unavailable(String),
    /// The caller has asked for one already, or as many others as are answered at a time.
    Busy,
    /// The explanation took too long.
    TimedOut(Duration),
    /// The chain.
    Explained(Box<Explained>),
}

/// A chain, explained.
#[derive(Clone, Debug)]
pub struct Explained {
    /// How bad it is.
    pub state: explain::State,
    /// The diagnosis in lines, as `fedhub explain` prints it.
    pub verdict: Vec<(&'static str, String)>,
    /// The hops, and whether each is the first that is behind.
    pub hops: Vec<(explain::Row, bool)>,
    /// When it was read.
    pub now: Timestamp,
    /// How long that took.
    pub took: Duration,
}
