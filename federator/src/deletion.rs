//! A deletion on the hub that is remembered, see [`crate::seen_deleted`].

use fedhub_cache::digest::Uid;

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
