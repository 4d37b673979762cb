//! The parts of a page that need somebody's attention: a pure function.

use super::data::{Attention, PlaneRow, PlaneState, RolloutState, Snapshot};
use super::route::{PlanesQuery, Route};

/// A concern that needs attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concern {
    /// The sentence for the operator.
    pub text: String,
    /// Where there is more.
    pub to: Option<Route>,
}

/// All of them, in the order in which they are to be looked at: the process itself, what all planes need,
/// planes, cities, single objects.
pub fn concerns(snapshot: &Snapshot) -> Vec<Concern> {
    let mut found = Vec::new();
    let mut add = |text: String, to: Option<Route>| found.push(Concern { text, to });
    if !snapshot.head.not_ready.is_empty() {
        add("This process is not ready".to_owned(), None);
    }
    for anchor in snapshot.anchors.iter().filter(|it| it.state == PlaneState::Unreachable) {
        add(format!("The {} is unreachable", anchor.name), None);
    }
    if snapshot.withheld.hub_restored {
        add("The hub was restored from a backup: no deletion is inferred".to_owned(), None);
    }
    let missing = usize::try_from(snapshot.withheld.entitlements).unwrap_or(usize::MAX);
    if let Some(text) = are(missing, "entitlement", "missing") {
        add(text, None);
    }
    for state in [PlaneState::Unreachable, PlaneState::Refused] {
        let query = PlanesQuery { state: Some(state), ..PlanesQuery::default() };
        let count = snapshot.planes.iter().filter(|row| row.state == state).count();
        if let Some(text) = are(count, "plane", state.id()) {
            add(text, Some(Route::Planes(query)));
        }
    }
    // Those that are held up although they can be reached.
    let held = |row: &&PlaneRow| {
        !matches!(row.state, PlaneState::Unreachable | PlaneState::Refused)
            && row.attention() <= Attention::Stuck
    };
    if let Some(text) = are(snapshot.planes.iter().filter(held).count(), "plane", "stuck") {
        add(text, Some(Route::Planes(PlanesQuery::default())));
    }
    for city in &snapshot.cities {
        match city.cells.len() {
            0 if city.policies > 0 => add(format!("City {} has no cell", city.code), None),
            0 | 1 => {}
            n => add(format!("City {} has {n} cells", city.code), None),
        }
        for cell in city.cells.iter().filter(|cell| cell.reachable == Some(false)) {
            add(format!("Cell {} of city {} is not ready", cell.name, city.code), None);
        }
    }
    for &(state, count) in &snapshot.rollouts.counts {
        // The others go on, or are as their users want them.
        if matches!(state, RolloutState::Stalled | RolloutState::Overdue)
            && let Some(text) = are(count, "rollout", state.id())
        {
            add(text, None);
        }
    }
    let sum = |counts: &[(String, u64)]| {
        usize::try_from(counts.iter().map(|(_, n)| n).sum::<u64>()).unwrap_or(usize::MAX)
    };
    if let Some(text) = are(sum(&snapshot.withheld.quarantined), "Instance", "quarantined") {
        add(text, None);
    }
    if let Some(text) = are(sum(&snapshot.withheld.finalizers), "finalizer", "held") {
        add(text, None);
    }
    let orphans = usize::try_from(snapshot.withheld.orphans).unwrap_or(usize::MAX);
    if let Some(text) = are(orphans, "orphan", "on the hub: fedhub audit names what runs without an owner") {
        add(text, None);
    }
    found
}

/// `1 plane is stuck`, `2 planes are stuck`; nothing of none.
fn are(count: usize, what: &str, how: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {what} is {how}")),
        n => Some(format!("{n} {what}s are {how}")),
    }
}
