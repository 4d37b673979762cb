//! Maps that a burst fills and that empty again.
//!
//! An [`IndexMap`] holds entries and hashes in one allocation each, which goes back whole. The nodes of a
//! tree lie among what is soon freed, and keep its pages.

use fedhub_core::object::Key;
use indexmap::IndexMap;

/// The capacity below which nothing is given back.
const FEW: usize = 64;

/// Releases the memory of a burst, once most of its entries are gone.
pub(crate) fn shrink<V>(map: &mut IndexMap<Key, V>) {
    if map.capacity() / 4 > map.len().max(FEW) {
        map.shrink_to(map.len() * 2);
    }
}
