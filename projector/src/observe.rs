//! What a pass over one hub Instance knows before it decides.

use std::time::Duration;

use fedhub_api::cells::CellDown;
use fedhub_cache::ServerNormalization;
use fedhub_cache::digest::Digest;
use fedhub_core::object::ObjectRef;
use fedhub_planes::Distrust;
pub use fedhub_planes::ProjectNamespace;
use jiff::Timestamp;

/// Everything that [`crate::plan::plan`] decides by.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Where the projection belongs.
    pub home: ProjectNamespace,
    /// The hub namespace.
    pub hub_namespace: ObjectRef,
    /// The hub Instance, if the hub has it.
    pub instance: Option<ObjectRef>,
    /// The WD that it names, on the hub.
    pub hub_deployment: Option<Digest>,
    /// That WD in the project plane; where the store has none, a live read confirmed it (P2).
    pub owner: Option<Digest>,
    /// The Instance of that name in the project namespace.
    pub projection: Option<ObjectRef>,
    /// The UID of the hub Instance of this name that was seen deleted on a watch without a gap, if one was (I4).
    pub seen_deleted: Option<String>,
    /// Why what the hub lacks may never have been deleted, if there is reason to think so (I4).
    pub distrust: Option<Distrust>,
    /// What live reads said, where the plan asked for them.
    pub live: Option<Live>,
    /// The Instance's cell, where it is down (C11).
    pub down: Option<CellDown>,
    /// What the project plane made of the last spec that was sent.
    pub spec_normalization: Option<ServerNormalization>,
    /// What the project plane made of the last status that was sent.
    pub status_normalization: Option<ServerNormalization>,
    /// How long a hub Instance may be without its WD before that is held to be final (P7).
    pub grace: Duration,
    /// The time now.
    pub now: Timestamp,
}

/// The hub as live reads show it, past every store (I4).
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// The hub namespace.
    pub namespace: Option<ObjectRef>,
    /// The hub Instance.
    pub instance: Option<ObjectRef>,
    /// The hub WD that the projection names.
    pub deployment: Option<ObjectRef>,
}
