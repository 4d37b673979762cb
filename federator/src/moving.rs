//! A WD that changes its city (F6).
//!
//! Relabelling the hub WD does not move it: Karmada keeps an object with the policy that claimed it. So the
//! old policy is touched, which makes Karmada release what it no longer selects. Karmada can miss that (its
//! caches may lag behind one another), and this process may be killed at any point: so both halves follow
//! from what the hub shows. A policy is touched, again and again, while it claims a WD that it does not
//! select; and a hub WD carries `MOVING` from the write that relabels it until the cell of the new city has
//! reported on it.
//!
//! Decides F6.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use fedhub_api::cells::CellRefusal;
use fedhub_api::conditions::said;
use fedhub_api::facts::deployment::{mark_hash, reported};
use fedhub_cache::digest::Uid;
use fedhub_core::clock::stamp;
use fedhub_core::names::CITY_CODE;
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use crate::snapshot::{Snapshot, Wd};

/// The shortest time between two checks of a move and between two touches of a policy; it doubles, to the
/// longest.
pub(crate) const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);

/// A move under way, as the hub WD's annotation `MOVING` records it: `<city code>/<time>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The code of the city that the WD leaves.
    pub from: String,
    /// When the hub WD was relabelled, to the second.
    since: String,
}

impl Move {
    /// The move that a hub WD records.
    pub fn recorded(hub: &Wd) -> Option<Self> {
        let (from, since) = hub.moving()?.split_once('/')?;
        since.parse::<Timestamp>().ok()?;
        Some(Self { from: from.to_owned(), since: since.to_owned() })
    }

    fn begins(from: &str, now: Timestamp) -> Self {
        Self { from: from.to_owned(), since: stamp(now) }
    }

    /// Returns how long the move has been under way.
    pub fn lasted(&self, now: Timestamp) -> Duration {
        let since = self.since.parse().unwrap_or(now);
        Duration::try_from(now.duration_since(since)).unwrap_or_default()
    }

    /// When to check it again: in as much time as has passed since it began.
    pub fn resync_after(&self, now: Timestamp) -> Duration {
        self.lasted(now).clamp(FIRST, LONGEST)
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.from, self.since)
    }
}

/// The binding of a hub WD, from Karmada's `ResourceBinding`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Whether it is bound to cells of its city and to no other.
    here: bool,
    /// The status that such a cell reported, null where none has.
    status: Value,
    /// Whether Karmada says of such a cell that it has not applied the WD there.
    unapplied: bool,
    /// Why Karmada fails to apply it there.
    pub refusal: Option<CellRefusal>,
}

impl Bound {
    /// Reads `binding`, for a WD of the city of these cells.
    pub fn new(binding: &Object, cells: &[String]) -> Self {
        let ours = |name: &Value| name.as_str().is_some_and(|name| cells.iter().any(|cell| cell == name));
        let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
        let clusters = list(&binding.spec()["clusters"]);
        let items = list(&binding.status()["aggregatedStatus"]);
        let unapplied = items.iter().any(|item| ours(&item["clusterName"]) && item["applied"] != true);
        let refusal = items.iter().filter(|item| ours(&item["clusterName"])).find_map(CellRefusal::from_item);
        let theirs = items.into_iter().find(|item| ours(&item["clusterName"]) && reported(&item["status"]));
        Self {
            here: !clusters.is_empty() && clusters.iter().all(|cluster| ours(&cluster["name"])),
            status: theirs.map(|mut item| item["status"].take()).unwrap_or_default(),
            unapplied,
            refusal,
        }
    }

    /// Whether Karmada says that it has not applied the WD in a cell of its city, or passes on a status from
    /// before this `generation` (F8).
    pub fn is_behind(&self, generation: i64) -> bool {
        self.unapplied || reported(&self.status) && self.status["observedGeneration"] != generation
    }

    /// Whether the hub WD is bound to cells of its city alone, and has the status that one of them reported.
    pub fn has_arrived(&self, hub: &Object) -> bool {
        let conditions = |status: &Value| -> BTreeSet<(String, String, String)> {
            let all = status["conditions"].as_array().cloned().unwrap_or_default();
            all.iter()
                .map(|c| {
                    let (status, reason, _) = said(c);
                    (c["type"].to_string(), status.to_owned(), reason.to_owned())
                })
                .collect()
        };
        let same = |of: fn(&Value) -> &Value| of(&self.status) == of(hub.status());
        self.here
            && reported(&self.status)
            && same(|status| &status["observedGeneration"])
            && conditions(&self.status) == conditions(hub.status())
    }
}

/// Whether the project WD names another city than the one that its hub WD was made for.
pub fn changes_city(seen: &Snapshot) -> bool {
    seen.hub
        .as_ref()
        .is_some_and(|hub| hub.city.as_deref() != Some(seen.city()) && hub.spec_city() != seen.city())
}

/// The move that the hub WD is to record: one that begins, or one that is not finished.
pub fn under_way(seen: &Snapshot) -> Option<Move> {
    let hub = seen.hub.as_ref()?;
    if changes_city(seen) {
        return Some(Move::begins(hub.city.as_deref().unwrap_or(hub.spec_city()), seen.now));
    }
    let claim = seen
        .policies
        .iter()
        .map(|policy| policy.object.as_ref())
        .find(|policy| mark_hash(Some(policy.name())) == hub.claimed_by);
    match (Move::recorded(hub), claim.map(|policy| keeps(policy, seen.city()))) {
        // Another city's policy has it: it was relabelled by hand, or by a version that did not move it.
        (None, Some(false)) => {
            let from = claim.and_then(|policy| policy.label(CITY_CODE)).unwrap_or_default();
            Some(Move::begins(from, seen.now))
        }
        (Some(_), Some(true)) if seen.arrived => None,
        (recorded, _) => recorded,
    }
}

/// The city that the WD has left for good: the next write of the hub WD takes the record of that move off.
pub fn finished(seen: &Snapshot) -> Option<String> {
    let hub = seen.hub.as_ref().filter(|hub| !hub.terminating)?;
    let recorded = Move::recorded(hub)?;
    under_way(seen).is_none().then_some(recorded.from)
}

/// Whether the status that the hub has may be that of a cell of another city.
pub fn speaks_for_another_city(seen: &Snapshot) -> bool {
    under_way(seen).is_some()
}

/// Whether a policy rightly claims WDs of that city: by its label or, as Karmada judges, by what it selects.
/// One that was edited by hand may differ in the two, which is put right (F5).
pub fn keeps(policy: &Object, city: &str) -> bool {
    let selectors = policy.spec()["resourceSelectors"].as_array().map(Vec::as_slice).unwrap_or_default();
    policy.label(CITY_CODE) == Some(city)
        || selectors.iter().any(|s| s["labelSelector"]["matchLabels"][CITY_CODE] == city)
}

/// The policies that claim WDs which they do not select, by UID: when they were touched.
#[derive(Default)]
pub(crate) struct Touches(Mutex<BTreeMap<Uid, Touched>>);

struct Touched {
    /// A hash of the WDs that the policy is to release.
    strays: u64,
    since: Instant,
    last: Instant,
}

impl Touches {
    /// When to touch a policy that claims these WDs, by their hash: at once the first time, then after as
    /// much time as has passed since it first claimed them.
    pub fn due(&self, policy: &Uid, strays: u64, now: Instant) -> Duration {
        let mut all = self.0.lock();
        let Some(touched) = all.get_mut(policy) else {
            all.insert(policy.clone(), Touched { strays, since: now, last: now });
            return Duration::ZERO;
        };
        if touched.strays != strays {
            (touched.strays, touched.since) = (strays, now);
        }
        let pause = now.saturating_duration_since(touched.since).clamp(FIRST, LONGEST);
        let left = (touched.last + pause).saturating_duration_since(now);
        if left.is_zero() {
            touched.last = now;
        }
        left
    }

    /// Forgets a policy that claims only what it selects, or is gone.
    pub fn forget(&self, policy: &Uid) {
        self.0.lock().remove(policy);
    }

    /// Forgets all policies but these, by UID.
    pub fn keep(&self, stand: &BTreeSet<Uid>) {
        self.0.lock().retain(|uid, _| stand.contains(uid));
    }

    /// How many policies are being touched.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }
}
