//! How a WD leaves the cells before it leaves the hub, and how long that is waited for (F9, C7).
//!
//! A copy on the hub lives as long as its Instance, if its WD does: garbage collection takes the copies of a
//! hub WD that is gone, and with them all that the project sees of the teardown. So the hub WD is *recalled*
//! before it is deleted. Its `ResourceBinding` goes, by which Karmada deletes it in its cells, and a label
//! keeps Karmada from binding it again; the hub WD itself, and the copies, stay until the cells have deleted
//! the last of these. Nothing that an older cell or an older fedhub does not know is left on any object that
//! lives on.

use std::time::Duration;

use jiff::Timestamp;

use crate::cleanup::CleanupBlocked;
use crate::refusal::Refusal;
use crate::snapshot::{Snapshot, Wd};
use crate::teardown::{TeardownLimits, cells, named};

/// How long a deletion may take before it is shown.
pub const SHOWN_AFTER: Duration = Duration::from_secs(5);

/// How far the teardown of a hub WD has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stage {
    /// The teardown is not waited for any more.
    Over,
    /// Its copies have to be read first.
    Unread,
    /// Its cells are to be told.
    Begins,
    /// Its cells were told.
    Lasts {
        /// When it began.
        since: String,
        /// Whether and how that is shown.
        shown: Option<Shown>,
        /// When to look again.
        next: Duration,
    },
}

/// How a teardown that lasts is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shown {
    /// As what passes by itself.
    Passing,
    /// As what holds the deletion.
    Held(CleanupBlocked),
}

/// How far the teardown of the hub WD has come. What is lost with its cell, or out of reach for too long, is
/// not waited for.
pub(crate) fn stage(seen: &Snapshot, hub: &Wd) -> Stage {
    let recalled = recalled(hub, seen.now);
    if seen.cell_lost || !seen.teardown.cached && recalled.is_none() {
        return Stage::Over;
    }
    let Some(left) = &seen.teardown.left else { return Stage::Unread };
    if left.is_empty() {
        return Stage::Over;
    }
    let Some(since) = recalled else { return Stage::Begins };
    let TeardownLimits { deadline, away } = seen.teardown.limits;
    let remains = |from: Timestamp, limit: Duration| {
        let passed = Duration::try_from(seen.now.duration_since(from)).unwrap_or_default();
        limit.checked_sub(passed).filter(|remains| !remains.is_zero())
    };
    // The last of the cells decides; one that is reached is waited for, however long it takes.
    let unreached: Option<Vec<Timestamp>> =
        left.iter().map(|left| left.unreached_since(since, seen.now)).collect();
    let last = unreached.as_ref().and_then(|since| since.iter().max().copied());
    let given_up = last.map(|last| remains(last, away));
    let (shown, next) = match given_up {
        Some(None) => return Stage::Over,
        Some(Some(next)) => (Some(Shown::Held(CleanupBlocked::CellUnreachable)), next),
        None => match (remains(since, SHOWN_AFTER), remains(since, deadline)) {
            (_, None) => (Some(Shown::Held(CleanupBlocked::CellHolds)), deadline.max(SHOWN_AFTER)),
            (Some(next), Some(_)) => (None, next),
            (None, Some(next)) => (Some(Shown::Passing), next),
        },
    };
    Stage::Lasts { since: hub.recalled().unwrap_or_default().to_owned(), shown, next }
}

/// The words in which the WD's status shows that.
pub(crate) fn refusal(seen: &Snapshot, shown: Shown) -> Refusal {
    let left = seen.teardown.left.as_deref().unwrap_or_default();
    match shown {
        Shown::Passing => Refusal::Terminating(cells(left)),
        Shown::Held(why) => Refusal::CleanupHeld(why, Some(named(left))),
    }
}

/// Returns when the hub WD was recalled. A time that cannot be read, or is in the future, was not written by
/// fedhub.
fn recalled(hub: &Wd, now: Timestamp) -> Option<Timestamp> {
    hub.recalled()?.parse().ok().filter(|since| *since <= now)
}
