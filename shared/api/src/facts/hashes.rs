//! Hashes by which facts name what annotations say.

use fedhub_core::hash::KeyedHasher;

/// The hash of what an annotation names, zero where there is none.
pub fn mark_hash(value: Option<&str>) -> u64 {
    value.map_or(0, |value| KeyedHasher::default().text(value).end().max(1))
}
