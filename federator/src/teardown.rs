//! How a WD leaves the cells before it leaves the hub (F9, C7, C11): what the cells still have of it, and how
//! long that is waited for. [`mod@crate::plan`] decides by it.
//!
//! A copy on the hub lives as long as its Instance, if its WD does: garbage collection takes the copies of a
//! hub WD that is gone, and with them all that the project sees of the teardown. So the hub WD is *recalled*
//! before it is deleted. Its `ResourceBinding` goes, by which Karmada deletes it in its cells, and a label
//! keeps Karmada from binding it again; the hub WD itself, and the copies, stay until the cells have deleted
//! the last of these. Nothing that an older cell or an older fedhub does not know is left on any object that
//! lives on.

use std::time::Duration;

use fedhub_api::cells::{CellDown, CellSource, cluster_of, source_lost_since};
use fedhub_core::message::excerpt;
use fedhub_core::object::{Object, ObjectRef, ObjectView};
use jiff::Timestamp;

/// The most Instances of a cell that are named.
const NAMED: usize = 5;

/// How long the teardown of a WD is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeardownLimits {
    /// How long a deletion may take before the cell is named as what holds it.
    pub deadline: Duration,
    /// A cell that Karmada has not reached for this time is not waited for any longer.
    pub away: Duration,
}

impl Default for TeardownLimits {
    fn default() -> Self {
        Self { deadline: Duration::from_mins(10), away: Duration::from_mins(10) }
    }
}

/// An Instance of which the hub still has the copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its name.
    pub instance: String,
    /// Its cell.
    pub cell: String,
    /// The cell, where Karmada does not reach it.
    pub away: Option<CellDown>,
}

/// The Instances of the hub WD, as far as a pass knows them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Teardown {
    /// Whether the WD is leaving, and the cache has a copy of any of them.
    pub cached: bool,
    /// The Instances that a live read has shown, of cells that can be waited for.
    pub left: Option<Vec<Left>>,
    /// How long they are waited for.
    pub limits: TeardownLimits,
}

impl Left {
    /// Returns since when its cell has been unreachable, but no earlier than `recalled`; `None` if it is
    /// reached. A time in the future counts as `recalled`.
    pub(crate) fn unreached_since(&self, recalled: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let away = self.away.as_ref()?;
        let since: Option<Timestamp> = away.since.parse().ok().filter(|since| *since <= now);
        Some(since.map_or(recalled, |since| since.max(recalled)))
    }
}

/// The Instance that a copy is of, where it is the copy of one of the hub WD with that UID and may be waited
/// for: its cell has a Cluster on the hub, and is not declared lost.
pub fn left_of(copy: &Object, hub_uid: &str, clusters: &[ObjectRef]) -> Option<Left> {
    let owners = copy.metadata.owner_references.as_deref().unwrap_or_default();
    let is_its = owners.iter().any(|owner| owner.controller == Some(true) && owner.uid == hub_uid);
    if !is_its {
        return None;
    }
    let source = CellSource::from_object(copy)?;
    let cluster = cluster_of(clusters, &source.cell, source.cell_uid.as_deref())?;
    if source_lost_since(clusters, &source).is_some() {
        return None;
    }
    Some(Left {
        instance: copy.name().to_owned(),
        cell: cluster.name().to_owned(),
        away: CellDown::from_cluster(cluster),
    })
}

/// The cells that are waited for, each with what `of` says of its Instances.
fn by_cell(left: &[Left], of: impl Fn(&str) -> String) -> String {
    let mut cells: Vec<&str> = left.iter().map(|left| &*left.cell).collect();
    cells.sort_unstable();
    cells.dedup();
    cells.iter().map(|cell| format!("{}{}", excerpt(cell), of(cell))).collect::<Vec<_>>().join(", ")
}

/// The cells alone: `cell-dfw, cell-ord`.
pub(crate) fn cells(left: &[Left]) -> String {
    by_cell(left, |_| String::new())
}

/// The cells with their Instances: `cell-dfw (web-0, web-1)`.
pub(crate) fn named(left: &[Left]) -> String {
    by_cell(left, |cell| {
        let names = left.iter().filter(|left| left.cell == cell).map(|left| excerpt(&left.instance));
        let more = names.clone().count().saturating_sub(NAMED);
        let names = names.take(NAMED).collect::<Vec<_>>().join(", ");
        if more == 0 { format!(" ({names})") } else { format!(" ({names} and {more} more)") }
    })
}
