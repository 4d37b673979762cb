//! The log of failing planes: a summary for each server and reason, in place of a line for each plane.
//!
//! Hundreds of planes may be behind one server, and all of them fail when it does, for one reason after the
//! other until it has started up again. The first plane is named at once; after that a line tells when ten, a
//! hundred, a thousand planes have failed for the same reason, and one when they have recovered. What else
//! there is to know of a plane is its health.
//!
//! Pure: the caller brings the time and writes the lines.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fedhub_core::object::PlaneId;
use tokio::time::Instant;

/// A line is logged whenever the number of planes that fail for a reason has grown by this factor.
const STEP: usize = 10;

/// Failing planes, by server.
#[derive(Debug, Default)]
pub struct Outages(BTreeMap<String, Outage>);

/// The failures of the planes behind one server.
#[derive(Debug)]
struct Outage {
    since: Instant,
    failing: BTreeSet<PlaneId>,
    /// The most that were failing at once.
    most: usize,
    /// The planes that have failed for a reason so far, and at how many the next line is logged.
    reasons: BTreeMap<String, (BTreeSet<PlaneId>, usize)>,
}

/// A line that tells how an outage ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Planes that work again.
    pub planes: usize,
    /// Planes that still fail.
    pub failing: usize,
    /// How long it took, from the first failure.
    pub after: Duration,
}

impl Outages {
    /// A plane behind `server` fails for this reason. Returns how many have by now, where a line is due.
    pub fn failed(&mut self, server: &str, plane: &PlaneId, reason: &str, now: Instant) -> Option<usize> {
        let outage = self.0.entry(server.to_owned()).or_insert_with(|| Outage {
            since: now,
            failing: BTreeSet::new(),
            most: 0,
            reasons: BTreeMap::new(),
        });
        outage.failing.insert(plane.clone());
        outage.most = outage.most.max(outage.failing.len());
        let (planes, next) = outage.reasons.entry(reason.to_owned()).or_insert_with(|| (BTreeSet::new(), 1));
        planes.insert(plane.clone());
        if planes.len() < *next {
            return None;
        }
        *next = planes.len().saturating_mul(STEP);
        Some(planes.len())
    }

    /// Removes a plane that has recovered or left. Returns the line that is due, if any.
    pub fn recovered(&mut self, server: &str, plane: &PlaneId, now: Instant) -> Option<Recovery> {
        let outage = self.0.get_mut(server)?;
        if !outage.failing.remove(plane) {
            return None;
        }
        let failing = outage.failing.len();
        let mostly = outage.most >= STEP && failing <= outage.most / STEP;
        if failing > 0 && !mostly {
            return None;
        }
        let recovery = Recovery { planes: outage.most - failing, failing, after: now - outage.since };
        if failing == 0 {
            self.0.remove(server);
            return Some(recovery);
        }
        // Those that are left fail for reasons of their own: what comes next is another outage.
        outage.most = failing;
        outage.reasons.retain(|_, (planes, next)| {
            planes.retain(|plane| outage.failing.contains(plane));
            *next = planes.len().saturating_mul(STEP);
            !planes.is_empty()
        });
        Some(recovery)
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::names::PlaneName;
    use proptest::prelude::*;

    use super::*;

    fn plane(n: usize) -> PlaneId {
        PlaneId::Project(PlaneName::new(&format!("p{n}")).unwrap())
    }

    #[test]
    fn i8_an_outage_of_a_server_with_hundreds_of_planes_is_told_in_few_lines() {
        let mut outages = Outages::default();
        let start = Instant::now();
        let mut told = Vec::new();
        for reason in ["unreachable", "forbidden", "throttled"] {
            for round in 0..20 {
                for n in 0..300 {
                    let count = outages.failed("https://milo:443", &plane((n + round) % 300), reason, start);
                    told.extend(count.map(|count| (reason, count)));
                }
            }
        }
        let expected = ["unreachable", "forbidden", "throttled"].map(|r| [1, 10, 100].map(|n| (r, n)));
        assert_eq!(told, expected.concat());
        let now = start + Duration::from_secs(61);
        let lines: Vec<_> =
            (0..300).filter_map(|n| outages.recovered("https://milo:443", &plane(n), now)).collect();
        let line = |planes, failing| Recovery { planes, failing, after: Duration::from_secs(61) };
        assert_eq!(lines, [line(270, 30), line(27, 3), line(3, 0)]);
        assert!(outages.0.is_empty());
    }

    #[test]
    fn i8_a_plane_in_trouble_of_its_own_does_not_hide_the_next_outage() {
        let mut outages = Outages::default();
        let now = Instant::now();
        assert_eq!(outages.failed("s", &plane(7), "forbidden", now), Some(1));
        for outage in 0..3 {
            let told: Vec<_> =
                (0..100).filter_map(|n| outages.failed("s", &plane(n), "unreachable", now)).collect();
            assert_eq!(told.last(), Some(&100), "outage {outage}: {told:?}");
            let others = (0..100).filter(|n| *n != 7);
            let over: Vec<_> = others.filter_map(|n| outages.recovered("s", &plane(n), now)).collect();
            assert_eq!(over.last().map(|line| line.failing), Some(1), "outage {outage}: {over:?}");
            assert_eq!(outages.failed("s", &plane(7), "forbidden", now), None, "that is no news");
        }
        assert_eq!(outages.failed("other", &plane(7), "forbidden", now), Some(1), "each server has its own");
    }

    proptest! {
        /// Lines grow with the logarithm of what happens between two states without failures.
        #[test]
        fn i8_who_comes_and_goes_is_told_rarely(steps in prop::collection::vec((0..200usize, 0..4u8), 1..2000)) {
            let mut outages = Outages::default();
            let now = Instant::now();
            for n in 0..200 {
                outages.failed("s", &plane(n), "unreachable", now);
            }
            let mut lines = 0;
            let mut failing = (0..200).collect::<BTreeSet<_>>();
            for (n, step) in steps {
                if step == 0 {
                    failing.remove(&n);
                    lines += usize::from(outages.recovered("s", &plane(n), now).is_some());
                } else {
                    failing.insert(n);
                    let reason = ["a", "b", "c"][usize::from(step) - 1];
                    lines += usize::from(outages.failed("s", &plane(n), reason, now).is_some());
                }
                if failing.len() < 20 {
                    break;
                }
            }
            prop_assert!(lines <= 3 * 3 + 2, "{lines}");
            let left = outages.0.get("s").map_or(0, |outage| outage.failing.len());
            prop_assert_eq!(left, failing.len());
        }
    }
}
