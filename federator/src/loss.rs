//! A hub that has lost its state (F9).
//!
//! What the hub knew of a WD may be lost while the WD runs on in its cell, and then nothing on the hub proves
//! that the cell has let go: where the hub namespace is another one; or where the hub WD is missing and was
//! not seen deleted, and either the hub is not known to go on from where it was, or the WD is older than its
//! last restore. The loss is remembered on both planes until a cell has reported since: the project WD goes
//! on naming the hub namespace that was lost, and the hub WD that is made in place of the lost one says so.

use fedhub_api::facts::Deployment;
use fedhub_cache::digest::Uid;
use jiff::SignedDuration;

use crate::origin::is_anothers;
use crate::snapshot::Snapshot;

/// How far a project plane's clock may be ahead of ours.
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// Whether the hub lost this WD, and no cell has reported on the one in its place.
pub fn stands(seen: &Snapshot) -> bool {
    match seen.hub.as_ref().filter(|hub| !is_anothers(seen, hub)) {
        Some(hub) => is_awaiting_cell(hub),
        None => happened(seen),
    }
}

/// Whether a hub WD was made in place of one that was lost, and no cell has reported on it yet. Karmada
/// passes on the status of what it has applied, of nothing else.
pub fn is_awaiting_cell(hub: &Deployment) -> bool {
    hub.lost && !hub.reported()
}

/// Whether a hub WD that is missing may have been lost: the hub was restored from a backup, or may have been.
/// That it is trusted again proves nothing of a WD whose plane was unreachable all the while.
pub fn is_possible(seen: &Snapshot) -> bool {
    !seen.seen_deleted
        && (seen.distrust.is_some()
            || seen
                .last_restore
                .is_some_and(|restore| i64::from(seen.project.created) <= (restore + SKEW).as_second()))
}

/// Whether this WD, which has no hub WD, was federated to a hub namespace that is not there any more or that
/// may have lost it.
fn happened(seen: &Snapshot) -> bool {
    let project = &seen.project;
    // I2: nothing is on the hub of a WD without the finalizer, whatever it was copied from.
    project.held
        && match project.counterpart_uid {
            // Taken off by hand, or federated before there was that annotation: a cell has reported on it.
            0 => project.observed_generation().is_some(),
            _ => !seen.recorded_namespace_stands() || is_possible(seen),
        }
}

/// A hub WD that was seen deleted, of a WD that is being deleted.
#[derive(PartialEq, Eq)]
pub(crate) struct Deletion {
    /// The UID of its project WD.
    pub uid: Uid,
    /// Where it was.
    pub hub_namespace: String,
    /// How often the hub had gone back to an earlier state.
    pub life: u64,
}
