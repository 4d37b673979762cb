//! Hashes of owner references.

use fedhub_core::hash::KeyedHasher;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

/// Adds owner references, whole and in their order.
pub fn owners<'a>(sum: KeyedHasher, references: impl IntoIterator<Item = &'a OwnerReference>) -> KeyedHasher {
    let flag = |flag: Option<bool>| flag.map_or(2, u64::from);
    references
        .into_iter()
        .fold(sum, |sum, o| {
            sum.text(&o.api_version)
                .text(&o.kind)
                .text(&o.name)
                .text(&o.uid)
                .number(flag(o.controller))
                .number(flag(o.block_owner_deletion))
        })
        .number(0)
}
