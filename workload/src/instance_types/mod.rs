//! The catalogue of instance types: from its source to the hub, and by one policy to all cells
//! (specification, W8).
//!
//! The source is an API server with `InstanceType`s, which operators write. Each of them has a *copy* on the
//! hub, with the label `instance-type-catalog`, and the `ClusterPropagationPolicy` `instance-types` brings
//! what has that label to every cell, whatever project it is of.
//!
//! # The way through
//!
//! 1. `triggers` maps an event to the one key of the whole catalogue.
//! 2. [`snapshot`] is what the caches say of the source, the copies and the policy.
//! 3. [`plan`] decides, as a pure function: what is written, and what has to be read of the source before
//!    anything is deleted.
//! 4. [`render`] renders copies and the policy.
//! 5. `reconcile` applies the plan, and remembers the results of the pass's reads.
//!
//! # When a copy is deleted
//!
//! A source that is absent is not one that is empty. A copy goes only where the source's CRD is there, is not
//! being deleted, and is the one that the source had when the copy was written; where the source answers that
//! it has no such type; and as fast as inferred deletions may go (I4). The API server of a CRD that is being
//! deleted reports the deletion of every object of it first, as if somebody had deleted them.
//!
//! Decides W8.

pub mod plan;
mod reconcile;
pub mod render;
pub mod snapshot;
mod triggers;

use std::collections::BTreeSet;
use std::sync::Arc;

use fedhub_core::object::{Key, Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_core::rate_limit::TokenBucket;
use fedhub_engine::Queue;
use fedhub_planes::events::ObjectReference;
use fedhub_planes::{Planes, Watched};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::admission::TypeCatalog;
use plan::Complaint;

/// The name of the controller: its queue, its metric label.
pub const NAME: &str = "instance_types";

/// Brings the catalogue to the hub.
pub struct InstanceTypes {
    planes: Arc<Planes>,
    source: Arc<Planes>,
    queue: Arc<Queue>,
    deletes: Mutex<TokenBucket>,
    /// The complaints that operators were told of and that still hold.
    told: Mutex<BTreeSet<Complaint>>,
}

impl InstanceTypes {
    /// A controller over `planes`, the registry around the hub, and `source`, that around where the catalogue
    /// is; fed through `queue`. It deletes at most so many copies in a minute.
    pub fn new(
        planes: Arc<Planes>,
        source: Arc<Planes>,
        queue: Arc<Queue>,
        deletes_per_minute: u32,
    ) -> Arc<Self> {
        let deletes = Mutex::new(TokenBucket::new(deletes_per_minute, Instant::now()));
        Arc::new(Self { planes, source, queue, deletes, told: Mutex::default() })
    }

    /// Tells operators what is theirs to see to, once for as long as it holds.
    fn tell(&self, complaints: BTreeSet<Complaint>) {
        let mut told = self.told.lock();
        for complaint in complaints.difference(&told) {
            if let Some(label) = complaint.withheld() {
                self.planes.metrics().deletes_withheld.with_label_values(&[label]).inc();
            }
            let name = complaint.name();
            let reason = complaint.reason();
            let message = complaint.message();
            tracing::warn!(name, %reason, message, "instance types need an operator");
            if let Some(operators) = self.planes.operators() {
                let resource = Kind::InstanceType.resource();
                let related = ObjectReference {
                    api_version: Some(resource.api_version.clone()),
                    kind: Some(resource.kind.clone()),
                    name: Some(name.to_owned()),
                    ..ObjectReference::default()
                };
                operators.warn(reason, Some(related), message);
            }
        }
        *told = complaints;
    }
}

/// Returns the kinds to watch where the catalogue is. A server that does not serve the kind is out of sync:
/// it is not one without types.
pub fn watched_at_source() -> Vec<Watched> {
    vec![Watched::all(Kind::InstanceType)]
}

/// Returns the kinds to watch on the hub for the catalogue. A role of an older version does not let it be
/// read: then everything that needs no catalogue goes on.
pub fn watched_on_hub() -> Vec<Watched> {
    [Kind::InstanceType, Kind::ClusterPropagationPolicy].map(|kind| Watched::all(kind).if_served()).into()
}

/// The one key of the whole catalogue.
fn key() -> Key {
    let plane = PlaneId::Hub;
    let kind = Kind::InstanceType;
    Key { plane, kind, namespace: Box::default(), name: "catalog".into() }
}

/// The catalogue as its source has it, for those who judge by it.
#[derive(Clone)]
pub struct Catalog(Arc<Planes>);

impl Catalog {
    /// Creates the catalogue of the registry around the source.
    pub fn new(source: Arc<Planes>) -> Self {
        Self(source)
    }

    /// Whether the source was ever in sync: what is not known then is not there.
    pub fn is_known(&self) -> bool {
        self.0.anchor().store(Kind::InstanceType).synced()
    }

    /// The type of that name.
    pub fn get(&self, name: &str) -> Option<ObjectRef> {
        self.0.anchor().store(Kind::InstanceType).object("", name)
    }
}

impl TypeCatalog for Catalog {
    fn get(&self, name: &str) -> Option<ObjectRef> {
        self.get(name)
    }

    fn all(&self) -> Vec<ObjectRef> {
        let mut all = self.0.anchor().store(Kind::InstanceType).objects(None);
        all.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        all
    }
}
