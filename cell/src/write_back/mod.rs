//! Write-back: a cell's Instances, copied to the hub (C7).
//!
//! [`snapshot`] is what the caches say of an Instance and its copy, [`plan`] decides (pure), the engine's
//! applier performs that. Digests are enough to see that nothing is to do, that only the status is to be
//! written, or that the copy is to be deleted; else the plan asks for the copy itself. A copy is created at
//! once, unless gates that open in a moment hold its Instance ([`crate::domain::status::debounce`]).
//!
//! A copy lives as long as its Instance: while a provider tears the Instance down, the copy shows that, and
//! with it the project ([`crate::domain::status::termination`]). It never shows the deletion by one of its
//! own, for that would take the projection away (P5). The Instance waits for nothing of the hub: once it is
//! gone, its copy is deleted as soon as the hub answers. An unbroken watch has shown the Instance's end, or a
//! live read of the cell proves it; deletions by the latter are rate-limited (I4).
//!
//! The labels of the hub namespace identify the project of an Instance, and nothing in the cell does. A copy
//! is written only for a WD that lives on the hub, and names it as its controller, so that the hub's own
//! garbage collector takes it with the WD. Only copies with this cell's mark are touched, those from before
//! there were marks, and those of a cell that is declared lost, where an Instance here has their name
//! ([`crate::identity`]).
//!
//! Where the cell is its own hub, an Instance is its own copy, and is left as it is.

pub mod plan;
mod reconcile;
pub mod refusal;
pub mod render;
mod report;
pub mod snapshot;
mod triggers;

use std::collections::BTreeMap;
use std::sync::Arc;

use fedhub_core::object::Key;
use fedhub_core::rate_limit::TokenBucket;
use fedhub_engine::Queue;
use fedhub_engine::object_states::ObjectStates;
use fedhub_planes::Planes;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::identity::Identity;
use refusal::WriteBackState;

/// Copies a cell's Instances to the hub.
pub struct WriteBack {
    cell: Arc<Planes>,
    hub: Arc<Planes>,
    identity: Arc<Identity>,
    queue: Arc<Queue>,
    states: ObjectStates<WriteBackState>,
    bucket: Mutex<TokenBucket>,
    /// Instances whose end an unbroken watch has shown, until the hub's watch shows that of their copies,
    /// each with the hash of its copy's source.
    seen_gone: Mutex<BTreeMap<Key, u64>>,
}

impl WriteBack {
    /// A write-back from the plane that `cell` is around to the one that `hub` is around, as the cell
    /// `identity`. It has to listen to both, and to be run by workers on `queue`. Of copies whose Instance
    /// was not seen to go, it deletes `deletes_per_minute` (I4).
    pub fn new(
        cell: Arc<Planes>,
        hub: Arc<Planes>,
        identity: Arc<Identity>,
        deletes_per_minute: u32,
        queue: Arc<Queue>,
    ) -> Arc<Self> {
        cell.metrics().writeback_enabled.with_label_values::<&str>(&[]).set(1);
        let bucket = Mutex::new(TokenBucket::new(deletes_per_minute, Instant::now()));
        let seen_gone = Mutex::default();
        Arc::new(Self { cell, hub, identity, queue, states: ObjectStates::default(), bucket, seen_gone })
    }

    /// The number of Instances of which anything is remembered: that they are not written back, or gone.
    pub fn remembered(&self) -> usize {
        self.states.len() + self.seen_gone.lock().len()
    }
}
