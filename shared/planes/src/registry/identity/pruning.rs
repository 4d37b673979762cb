//! Selects the entries of Projects that are long gone, to be removed: pure functions.
//!
//! The server of Projects has the only say. It has to have answered of a Project by its name that there is
//! none, twice and so far apart that a restore of that server, or an operator who makes the Project anew,
//! comes in between; the hub has nothing of it, and no plane of that name is known. A list that lacks it, a
//! server that fails and a Secret that is gone prove nothing. Nothing but the entry is deleted: a Project of
//! that name that comes later has another UID, and is a new plane with the entry as without it.
//!
//! I4 allows it: nothing is inferred from an absence.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_core::names::PlaneName;
use jiff::{SignedDuration, Timestamp};

use super::entry::IdentityEntry;

/// How long a Project has to be gone.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How many entries one look at the Projects takes out at most: a mistake of the server's is seen before it
/// has cost much.
const AT_ONCE: usize = 20;
/// Prefix of the key that says since when a Project is gone. The name of a plane has no underscore.
const GONE: &str = "gone_";

/// The answer of the server of Projects about those that are remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sighting {
    /// The Projects that the server answered do not exist.
    pub gone: BTreeSet<PlaneName>,
    /// The Projects that the server lists.
    pub there: BTreeSet<PlaneName>,
}

/// How many entries may still be taken out.
pub(super) struct Pruning<'a> {
    sighting: &'a Sighting,
    now: Timestamp,
    left: usize,
}

impl<'a> Pruning<'a> {
    pub(super) fn new(sighting: &'a Sighting, now: Timestamp) -> Self {
        Self { sighting, now, left: AT_ONCE }
    }

    /// Notes in the data of a `ConfigMap` which Projects are gone, and takes out those that are long gone.
    /// Returns the planes whose entries it took. `is_in_use`: a plane of that name is worked on.
    pub(super) fn apply(
        &mut self,
        data: &mut BTreeMap<String, String>,
        is_in_use: impl Fn(&PlaneName) -> bool,
    ) -> Vec<PlaneName> {
        let mut taken = Vec::new();
        for (key, stored) in data.clone() {
            if let Some(name) = key.strip_prefix(GONE) {
                if !data.contains_key(name) {
                    data.remove(&key);
                }
                continue;
            }
            let (Ok(plane), Some(entry)) = (PlaneName::new(&key), IdentityEntry::read(&stored)) else {
                continue;
            };
            let mark = format!("{GONE}{plane}");
            if self.sighting.there.contains(&plane) || is_in_use(&plane) {
                data.remove(&mark);
                continue;
            }
            // A plane of another discovery is kept: no server says that it is gone.
            if entry.project.is_none() || !self.sighting.gone.contains(&plane) {
                continue;
            }
            match data.get(&mark).and_then(|since| since.parse::<Timestamp>().ok()) {
                None => {
                    data.insert(mark, self.now.to_string());
                }
                Some(since) if is_long(since, self.now) && self.left > 0 => {
                    self.left -= 1;
                    data.remove(&mark);
                    data.remove(&key);
                    taken.push(plane);
                }
                Some(_) => {}
            }
        }
        taken
    }
}

/// Reads from the entries of `ConfigMap`s when Projects were found to be gone.
pub(super) fn gone_since<'a>(
    entries: impl Iterator<Item = (&'a String, &'a String)>,
) -> BTreeMap<PlaneName, Timestamp> {
    entries
        .filter_map(|(key, since)| Some((PlaneName::new(key.strip_prefix(GONE)?).ok()?, since.parse().ok()?)))
        .collect()
}

/// Whether a Project that is gone since then is long gone.
pub(super) fn is_long(since: Timestamp, now: Timestamp) -> bool {
    now.duration_since(since) >= KEPT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(name: &str) -> PlaneName {
        PlaneName::new(name).unwrap()
    }

    fn at(days: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + days * 86_400).unwrap()
    }

    fn data(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn sighting(gone: &[&str], there: &[&str]) -> Sighting {
        let planes = |names: &[&str]| names.iter().map(|name| plane(name)).collect();
        Sighting { gone: planes(gone), there: planes(there) }
    }

    #[test]
    fn i4_only_the_entry_of_a_project_that_was_answered_to_be_gone_for_a_month_is_taken_out() {
        let since = |days: i64| at(days).to_string();
        for (what, entry, mark, seen, used, expected) in [
            ("first answer", "k/p", None, sighting(&["a"], &[]), false, (true, Some(since(60)))),
            ("not long", "k/p", Some(since(31)), sighting(&["a"], &[]), false, (true, Some(since(31)))),
            ("a month", "k/p", Some(since(30)), sighting(&["a"], &[]), false, (false, None)),
            ("with a grant", "k/p/withdrawn", Some(since(0)), sighting(&["a"], &[]), false, (false, None)),
            ("no answer", "k/p", Some(since(0)), sighting(&[], &[]), false, (true, Some(since(0)))),
            ("it is back", "k/p", Some(since(0)), sighting(&[], &["a"]), false, (true, None)),
            ("worked on", "k/p", Some(since(0)), sighting(&["a"], &[]), true, (true, None)),
            ("of no Project", "k", Some(since(0)), sighting(&["a"], &[]), false, (true, Some(since(0)))),
            (
                "no time",
                "k/p",
                Some("soon".to_owned()),
                sighting(&["a"], &[]),
                false,
                (true, Some(since(60))),
            ),
        ] {
            let mut stored = data(&[("a", entry), ("b", "l/q")]);
            stored.extend(mark.map(|mark| ("gone_a".to_owned(), mark)));
            let taken = Pruning::new(&seen, at(60)).apply(&mut stored, |_| used);
            let left = (stored.contains_key("a"), stored.get("gone_a").cloned());
            assert_eq!(left, expected, "{what}");
            assert_eq!(taken, if expected.0 { Vec::new() } else { vec![plane("a")] }, "{what}");
            assert_eq!(stored["b"], "l/q", "{what}");
        }
    }

    #[test]
    fn i4_so_many_are_taken_out_at_once_and_a_mark_without_an_entry_goes() {
        let names: Vec<_> = (0..AT_ONCE + 5).map(|n| format!("p{n:02}")).collect();
        let mut stored = BTreeMap::new();
        for name in &names {
            stored.insert(name.clone(), "k/p".to_owned());
            stored.insert(format!("gone_{name}"), at(0).to_string());
        }
        stored.insert("gone_other".to_owned(), at(0).to_string());
        let seen = Sighting { gone: names.iter().map(|name| plane(name)).collect(), ..Sighting::default() };
        let mut pruning = Pruning::new(&seen, at(60));
        assert_eq!(pruning.apply(&mut stored, |_| false).len(), AT_ONCE);
        assert_eq!(stored.len(), 2 * 5);
        assert!(pruning.apply(&mut stored, |_| false).is_empty(), "of all ConfigMaps together");
    }
}
