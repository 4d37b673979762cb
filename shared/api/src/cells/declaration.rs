//! How operators declare cells lost (C11): by annotations of Karmada Clusters.

use std::collections::BTreeMap;

use fedhub_core::names::{LOST, LOST_CLUSTER};
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;

/// The annotation of a Cluster by which an operator declares a cell lost (C11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declaration {
    /// The cell is lost since then.
    Lost(Timestamp),
    /// Its value is not a time, and so declares nothing.
    Invalid(String),
}

impl Declaration {
    /// Reads what an operator declared about the cell of a Cluster; `None` if nothing.
    pub fn from_cluster(cluster: &Object) -> Option<Self> {
        cluster.annotation(LOST).map(Self::read)
    }

    pub(super) fn read(value: &str) -> Self {
        rfc3339(value).map_or_else(|| Self::Invalid(value.to_owned()), Self::Lost)
    }
}

/// Returns all declarations of a Cluster, by annotation: its own cell lost, or one that no Cluster stands
/// for.
pub fn declarations(cluster: &Object) -> BTreeMap<&str, Declaration> {
    let all = cluster.metadata.annotations.iter().flatten();
    let ours = all.filter(|(key, _)| *key == LOST || key.starts_with(LOST_CLUSTER));
    ours.map(|(key, value)| (key.as_str(), Declaration::read(value))).collect()
}

/// Returns when a Cluster's cell was declared lost.
pub fn lost_since(cluster: &Object) -> Option<Timestamp> {
    match Declaration::from_cluster(cluster)? {
        Declaration::Lost(since) => Some(since),
        Declaration::Invalid(_) => None,
    }
}

/// The UID of the cluster that Karmada recorded for a Cluster.
pub(super) fn id_of(cluster: &Object) -> Option<&str> {
    cluster.spec()["id"].as_str().filter(|id| !id.is_empty())
}

/// `date-time` of RFC 3339, which is narrower than what [`Timestamp`] reads.
fn rfc3339(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_at_checked(10)?;
    let is_date = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let clock = time.strip_prefix(['T', 't'])?;
    let is_clock = clock.len() > 8
        && clock.bytes().take(8).enumerate().all(|(at, byte)| match at {
            2 | 5 => byte == b':',
            _ => byte.is_ascii_digit(),
        });
    let zone = clock.get(8..)?.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let is_offset = zone.len() == 6 && zone.starts_with(['+', '-']) && zone.as_bytes()[3] == b':';
    let is_zone = matches!(zone, "Z" | "z") || is_offset;
    if is_date && is_clock && is_zone { text.parse().ok() } else { None }
}
