//! Where the time goes between a WD and the projections of its Instances.
//!
//! The benchmark's own watches see each step of each WD and each Instance. A hop lasts from one observation
//! to the next; where two watches bring their events in the other order, it lasted no time. A hop's share is
//! the mean of its times over all Instances, divided by the mean of their whole times, so that the shares add
//! up to one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::stats::{number, rounded};

/// When each was first seen so, by name.
pub type Times = HashMap<String, Instant>;

/// The hops, and the component of each. An Instance that is not the first of its WD has to wait for those
/// before it, which takes the same hops: that is a hop of its own, in which no component works on this
/// Instance.
const HOPS: [(&str, &str); 9] = [
    ("WD marked", "fedhub on the hub"),
    ("WD on the hub", "fedhub on the hub"),
    ("WD in the cell", "Karmada"),
    ("Instances before it are Ready", "the order in which they come"),
    ("Instance created", "fedhub in the cell"),
    ("Available", "the simulated provider"),
    ("Ready", "fedhub in the cell"),
    ("copy on the hub Ready", "fedhub in the cell"),
    ("projection Ready", "fedhub on the hub"),
];

/// The observations of a lap.
#[derive(Debug, Default)]
pub struct Observations {
    /// WDs in the project.
    pub created: Times,
    /// WDs in the project with the finalizer.
    pub marked: Times,
    /// WDs on the hub.
    pub on_hub: Times,
    /// WDs in the cells.
    pub in_cell: Times,
    /// Instances in the cells.
    pub made: Times,
    /// Instances in the cells that are Available.
    pub available: Times,
    /// Instances in the cells that are Ready.
    pub ready: Times,
    /// Instances on the hub that are Ready.
    pub copied: Times,
    /// Instances in the project that are Ready.
    pub projected: Times,
}

impl Observations {
    /// How long each hop of an Instance took; `None` where not all of them were seen.
    fn hops(&self, instance: &str) -> Option<[Duration; HOPS.len()]> {
        let (deployment, ordinal) = instance.rsplit_once('-')?;
        let in_cell = *self.in_cell.get(deployment)?;
        let turn = match ordinal.parse::<u32>().ok()?.checked_sub(1) {
            Some(before) => *self.ready.get(&format!("{deployment}-{before}"))?,
            None => in_cell,
        };
        let mut last = *self.created.get(deployment)?;
        let observations = [
            *self.marked.get(deployment)?,
            *self.on_hub.get(deployment)?,
            in_cell,
            turn,
            *self.made.get(instance)?,
            *self.available.get(instance)?,
            *self.ready.get(instance)?,
            *self.copied.get(instance)?,
            *self.projected.get(instance)?,
        ];
        Some(observations.map(|observation| {
            let hop = observation.saturating_duration_since(last);
            last = last.max(observation);
            hop
        }))
    }

    /// The hops with their shares, as a report has them, and how many Instances were seen at all of them.
    pub fn shares(&self) -> (usize, Value) {
        let all: Vec<_> = self.projected.keys().filter_map(|instance| self.hops(instance)).collect();
        let total = |of: &dyn Fn(&[Duration; HOPS.len()]) -> Duration| {
            all.iter().map(|hops| of(hops).as_secs_f64()).sum::<f64>()
        };
        let whole = total(&|hops| hops.iter().sum());
        let hops = HOPS.iter().enumerate().map(|(at, (hop, whose))| {
            let time = total(&|hops| hops[at]);
            json!({
                "hop": hop,
                "whose": whose,
                "mean_ms": rounded(time * 1e3 / number(all.len()), 1),
                "share": rounded(time / whole, 4),
            })
        });
        let hops: Vec<_> = hops.collect();
        (all.len(), json!(hops))
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "numbers that are exact")]
mod tests {
    use super::*;

    /// One WD with two Instances; the numbers are seconds.
    fn observations(began: Instant) -> Observations {
        let at = |name: &str, seconds: u64| (name.to_owned(), began + Duration::from_secs(seconds));
        let of = |pairs: &[(&str, u64)]| pairs.iter().map(|(name, s)| at(name, *s)).collect::<Times>();
        Observations {
            created: of(&[("wd", 0)]),
            marked: of(&[("wd", 1)]),
            on_hub: of(&[("wd", 2)]),
            in_cell: of(&[("wd", 5)]),
            made: of(&[("wd-0", 6), ("wd-1", 9)]),
            available: of(&[("wd-0", 7), ("wd-1", 10)]),
            ready: of(&[("wd-0", 8), ("wd-1", 11)]),
            copied: of(&[("wd-0", 9), ("wd-1", 12)]),
            projected: of(&[("wd-0", 10), ("wd-1", 14)]),
        }
    }

    #[test]
    fn the_wait_for_those_before_is_a_hop_of_its_own() {
        let observations = observations(Instant::now());
        let seconds = |name| observations.hops(name).unwrap().map(|hop| hop.as_secs());
        assert_eq!(seconds("wd-0"), [1, 1, 3, 0, 1, 1, 1, 1, 1]);
        assert_eq!(seconds("wd-1"), [1, 1, 3, 3, 1, 1, 1, 1, 2]);
        let (seen, shares) = observations.shares();
        let sum: f64 = shares.as_array().unwrap().iter().map(|hop| hop["share"].as_f64().unwrap()).sum();
        assert_eq!(seen, 2);
        assert!((sum - 1.0).abs() < 1e-3, "{shares}");
        assert_eq!((&shares[2]["mean_ms"], &shares[2]["share"]), (&json!(3000.0), &json!(0.25)));
    }

    #[test]
    fn events_in_the_other_order_make_no_time_and_lose_none() {
        let began = Instant::now();
        let mut observations = observations(began);
        observations.marked.insert("wd".to_owned(), began + Duration::from_secs(3));
        let hops = observations.hops("wd-0").unwrap().map(|hop| hop.as_secs());
        assert_eq!(hops, [3, 0, 2, 0, 1, 1, 1, 1, 1]);
        observations.copied.remove("wd-0");
        assert_eq!(observations.shares().0, 1, "an incomplete observation does not count");
    }
}
