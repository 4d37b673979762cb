//! The controller of a cell's Instances: their status, their Events, the gates `Quota` and `ReferencedData`,
//! and quota claims.
//!
//! A reconcile asks for the Instance's quota, writes the whole status at once, takes off the gates that this
//! status satisfies, and publishes an Event on a transition. [`plan()`] is the pure part. Short stages of an
//! Instance that is coming up are debounced ([`crate::domain::status::debounce`]). For a terminating one,
//! only `Ready` is written ([`crate::domain::status::termination`]). Earlier versions and the Go manager put
//! a finalizer on Instances, which waited for the deletion of their copies on the hub: it is taken off
//! wherever it stands.
//!
//! # Quota
//!
//! With [`Quota`] each Instance has one `ResourceClaim` in its project's plane. Its requests never change,
//! and it is deleted only when a live read of the cell proves its Instance gone (C8): a cell that cannot be
//! reached keeps every claim. Only while the Instance's gate stands, a claim that is denied, or that requests
//! something else than the Instance needs, is deleted before and made anew, less often the longer it lasts
//! (C6). Claims need no finalizer for that: those of this cell are watched by their label, also after a
//! restart. A claim's name has the UID of the cell, and its mark that of the Instance: no other cell's is
//! ever in the way, and a cell under another name finds its own (C10).
//!
//! Switched off, quota blocks no Instance and its claims are deleted, where the credential for that is still
//! there; switched on again, running Instances claim again. A credential that fails refuses no Instance that
//! has passed its gate. A project plane that cannot be reached takes no grant back; an Instance without one
//! reports `QuotaBackendUnavailable` and is requeued when the plane is in sync.
//!
//! **For operators**: discovery `milo` disengages a project at once when it turns not Ready or is deleted,
//! for only claims are watched here. Until it is back, Instances of that project get no new quota, and claims
//! of Instances that have gone meanwhile stay; both are made up for when its plane is in sync again.

mod apply;
mod claims;
mod plan;
mod quota;
mod reconcile;
mod snapshot;
mod triggers;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fedhub_engine::Queue;
use fedhub_planes::Planes;
use tokio::time::Instant;

pub use plan::{InstancePlan, plan};

use crate::identity::Identity;
use crate::network_index::NetworkIndex;

/// The clients and settings of quota.
pub struct Quota {
    /// The registry whose project planes show the claims of this cell.
    pub projects: Arc<Planes>,
    /// The identity of this cell: its claims are watched by its name, and recognised by its UID (C10).
    pub identity: Arc<Identity>,
    /// Whether Instances need quota. Where they do not, the claims of this cell are given back (C6).
    pub enabled: bool,
}

/// Keeps the status of the cell's Instances, and their claims. Listens to the registry around the cell and,
/// with quota, to [`Quota::projects`].
pub struct InstanceController {
    cell: Arc<Planes>,
    queue: Arc<Queue>,
    quota: Option<Quota>,
    termination_deadline: Duration,
    began: Instant,
    networks: NetworkIndex,
    /// Whether it has been logged that claims stay behind.
    warned_of_claims: AtomicBool,
}

impl InstanceController {
    /// A controller of the Instances of `cell`, fed through `queue`; without `quota` none is asked for. An
    /// Instance that takes longer to go than `termination_deadline` is named (C12).
    pub fn new(
        cell: Arc<Planes>,
        queue: Arc<Queue>,
        quota: Option<Quota>,
        termination_deadline: Duration,
    ) -> Arc<Self> {
        let began = Instant::now();
        Arc::new(Self {
            cell,
            queue,
            quota,
            termination_deadline,
            began,
            networks: NetworkIndex::default(),
            warned_of_claims: AtomicBool::new(false),
        })
    }
}
