//! Settings of a registry.

use std::sync::Arc;
use std::time::Duration;

use fedhub_cache::MemoryBudget;
use fedhub_core::fence::Fence;
use fedhub_core::object::{Kind, PlaneId};

use crate::registry::events::OperatorEvents;
use crate::registry::identity::Identities;
use crate::registry::pauses::Pauses;
use crate::registry::watched::{self, Watched};

/// The kinds that the hub role watches on the hub.
pub const HUB_KINDS: [Kind; 5] =
    [Kind::Namespace, Kind::Cluster, Kind::PropagationPolicy, Kind::WorkloadDeployment, Kind::Instance];
/// The kinds of referenced data (W5): companions on the hub, and on a project plane what they are copied
/// from.
pub const DATA_KINDS: [Kind; 2] = [Kind::ConfigMap, Kind::Secret];
/// The kinds that it watches on a project plane.
pub const PROJECT_KINDS: [Kind; 2] = [Kind::WorkloadDeployment, Kind::Instance];

/// Settings of a registry.
pub struct Settings {
    /// Makes every jitter reproducible.
    pub seed: u64,
    /// The plane that the registry is around: the hub or the cell.
    pub anchor: PlaneId,
    /// The kinds that are watched on the anchor; each once.
    pub anchor_kinds: Vec<Watched>,
    /// The kinds that are watched on each project plane; each once. Those on demand are watched while a
    /// controller requests them.
    pub project_kinds: Vec<Watched>,
    /// How many lists of project planes are under way at once: thousands of planes that are found in one
    /// instant, or lost and found with their server, must not all be listed in it.
    pub max_concurrent_lists: usize,
    /// How many objects of a kind a project plane may have (I8).
    pub max_objects: usize,
    /// Every write to any plane has to pass it.
    pub fence: Fence,
    /// The remembered identities of project planes; without them, planes are trusted without being
    /// identified.
    pub identities: Option<Arc<Identities>>,
    /// The planes that operators paused.
    pub pauses: Arc<Pauses>,
    /// How long a project's service has to be withdrawn before what ran of it is removed (W9).
    pub teardown_delay: Duration,
    /// How many services are withdrawn in a minute, of all projects (I4).
    pub withdrawals_per_minute: u32,
    /// Publishes Events for operators.
    pub operators: Option<OperatorEvents>,
    /// The memory that objects of all planes share; registries of one process share it.
    pub budget: MemoryBudget,
}

/// The settings of the hub role.
impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 0,
            anchor: PlaneId::Hub,
            anchor_kinds: watched::all(&HUB_KINDS),
            project_kinds: watched::all(&PROJECT_KINDS),
            max_concurrent_lists: 16,
            max_objects: 50_000,
            fence: Fence::open(),
            identities: None,
            pauses: Pauses::never(),
            teardown_delay: Duration::from_mins(1),
            withdrawals_per_minute: 20,
            operators: None,
            budget: MemoryBudget::from_bytes(64 << 20),
        }
    }
}
