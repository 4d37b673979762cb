//! Which WD an object on the hub belongs to (I6), by the marks that only the federator writes.
//!
//! Decides I6.

use fedhub_api::facts::deployment::mark_hash;

use crate::snapshot::{Snapshot, Wd};

/// Whether a hub WD's origin mark names this plane, namespace, name and UID (I6). One of the two annotations
/// may have been taken off by hand, or the whole mark where the hub namespace itself names this project
/// namespace.
pub fn is_ours(seen: &Snapshot, hub: &Wd) -> bool {
    let (source, uid) = mark(seen);
    match (hub.counterpart, hub.counterpart_uid) {
        (0, 0) => seen.hub_namespace.as_ref().is_some_and(|n| seen.namespace_names_us(n)),
        (from, of) => (from == 0 || from == source) && (of == 0 || of == uid),
    }
}

/// Whether a hub WD's origin mark names another WD, in nothing this one (I6). Of a mark that is missing or
/// half right neither this nor [`is_ours`] holds.
pub fn is_anothers(seen: &Snapshot, hub: &Wd) -> bool {
    let (source, uid) = mark(seen);
    hub.counterpart != 0 && hub.counterpart != source && hub.counterpart_uid != uid
}

/// The origin mark of this WD, as digests keep it.
fn mark(seen: &Snapshot) -> (u64, u64) {
    (mark_hash(Some(&seen.source())), mark_hash(Some(&seen.project.uid.to_string())))
}
