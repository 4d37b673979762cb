//! What holds in a cell at every moment, whatever is killed: the rules of its rollouts (C1, C2).

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::api::DynamicObject;

use super::fixture::{NAME, round_of};
use crate::demo::objects::is_true;

/// Label of an Instance: its ordinal.
const INDEX: &str = "compute.datumapis.com/instance-index";

/// The Instances of a cell, as reported by events, and the violations found at any time.
#[derive(Debug, Clone)]
pub struct Invariants {
    cell: &'static str,
    replicas: u32,
    instances: BTreeMap<(String, String), Known>,
    /// The objects of a list so far, before it is complete.
    listing: Option<BTreeMap<(String, String), Known>>,
    /// Whether there was a listing.
    listed: bool,
    /// Whether all were Ready once: before that they are made, after that they are replaced.
    full: bool,
    breaches: Vec<String>,
}

/// An Instance, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    ordinal: Option<u32>,
    ready: bool,
    leaving: bool,
    round: String,
}

impl Known {
    fn from_object(object: &DynamicObject) -> Self {
        let named = object.name_any();
        let ordinal = named.strip_prefix(NAME).and_then(|rest| rest.strip_prefix('-')?.parse().ok());
        // One whose label says another ordinal is of none.
        let ordinal = ordinal.filter(|own: &u32| object.labels().get(INDEX) == Some(&own.to_string()));
        Self {
            ordinal,
            ready: is_true(&object.data["status"], "Ready"),
            leaving: object.metadata.deletion_timestamp.is_some(),
            round: round_of(&object.data["spec"]).to_owned(),
        }
    }

    fn stands(&self) -> bool {
        self.ready && !self.leaving
    }
}

impl Invariants {
    /// Creates the invariants of a cell, of which nothing is known yet, in which `replicas` Instances are
    /// wanted.
    pub fn new(cell: &'static str, replicas: u32) -> Self {
        Self {
            cell,
            replicas,
            instances: BTreeMap::new(),
            listing: None,
            listed: false,
            full: false,
            breaches: Vec::new(),
        }
    }

    /// A list begins: what it does not contain is gone.
    pub fn begin(&mut self) {
        self.listing = Some(BTreeMap::new());
    }

    /// The listing is whole.
    pub fn done(&mut self) {
        if let Some(listing) = self.listing.take() {
            self.instances = listing;
            self.listed = true;
            self.judge();
        }
    }

    /// An Instance as it stands; of a listing while there is one.
    pub fn seen(&mut self, object: &DynamicObject) {
        let known = Known::from_object(object);
        if let Some(listing) = &mut self.listing {
            listing.insert(key(object), known);
        } else if self.instances.insert(key(object), known.clone()) != Some(known) {
            self.judge();
        }
    }

    /// An Instance is gone.
    pub fn gone(&mut self, object: &DynamicObject) {
        self.instances.remove(&key(object));
        self.judge();
    }

    /// Whether there was a listing.
    pub fn listed(&self) -> bool {
        self.listed
    }

    /// How many stay, are Ready and run this round's template.
    pub fn rolled(&self, round: &str) -> usize {
        self.instances.values().filter(|known| known.stands() && known.round == round).count()
    }

    /// Returns every breach so far.
    pub fn breaches(&self) -> &[String] {
        &self.breaches
    }

    fn judge(&mut self) {
        let staying: Vec<_> = self.instances.values().filter(|known| !known.leaving).collect();
        let count =
            |ordinal, all: &[&Known]| all.iter().filter(|known| known.ordinal == Some(ordinal)).count();
        let all: Vec<_> = self.instances.values().collect();
        let stand: Vec<_> = all.iter().copied().filter(|known| known.stands()).collect();
        let idle: Vec<_> = (0..self.replicas).filter(|ordinal| count(*ordinal, &stand) == 0).collect();
        let mut wrong = Vec::new();
        if staying.len() > self.replicas as usize {
            wrong.push(format!("{} Instances, not counting those on their way out (C1)", staying.len()));
        }
        wrong.extend(
            (0..self.replicas)
                .filter(|ordinal| count(*ordinal, &all) > 1)
                .map(|twice| format!("two of ordinal {twice} (C1)")),
        );
        if staying.iter().any(|known| known.ordinal.is_none_or(|ordinal| ordinal >= self.replicas)) {
            wrong.push("an Instance of an ordinal that is not wanted (C1)".to_owned());
        }
        if self.full && idle.len() > 1 {
            wrong.push(format!("ordinals {idle:?} are missing or not Ready at once (C2)"));
        }
        self.full |= idle.is_empty();
        self.breaches.extend(wrong.into_iter().map(|wrong| format!("{}: {wrong}", self.cell)));
    }
}

fn key(object: &DynamicObject) -> (String, String) {
    (object.namespace().unwrap_or_default(), object.name_any())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn instance(name: &str, index: u32, ready: bool, leaving: bool) -> DynamicObject {
        let deleted = leaving.then_some("2026-01-02T03:04:05Z");
        serde_json::from_value(json!({
            "metadata": {
                "namespace": "ns", "name": name, "labels": { INDEX: index.to_string() }, "deletionTimestamp": deleted,
            },
            "spec": { "runtime": { "sandbox": { "containers": [{ "env": [{ "name": "ROUND", "value": "round 1" }] }] } } },
            "status": { "conditions": [{ "type": "Ready", "status": if ready { "True" } else { "False" } }] },
        }))
        .unwrap()
    }

    fn of(ordinal: u32, ready: bool, leaving: bool) -> DynamicObject {
        instance(&format!("web-{ordinal}"), ordinal, ready, leaving)
    }

    /// Three that are Ready.
    fn full() -> Invariants {
        let mut invariants = Invariants::new("cell", 3);
        invariants.begin();
        (0..3).for_each(|ordinal| invariants.seen(&of(ordinal, true, false)));
        assert!(!invariants.listed());
        invariants.done();
        assert!(invariants.listed() && invariants.breaches().is_empty());
        assert_eq!((invariants.rolled("round 1"), invariants.rolled("round 2")), (3, 0));
        invariants
    }

    #[test]
    fn c2_one_after_the_other_is_replaced() {
        let mut invariants = full();
        for ordinal in [2, 1, 0] {
            invariants.seen(&of(ordinal, true, true));
            invariants.gone(&of(ordinal, true, true));
            invariants.seen(&of(ordinal, false, false));
            invariants.seen(&of(ordinal, true, false));
        }
        assert_eq!(invariants.breaches(), [""; 0]);
        invariants.seen(&of(2, true, true));
        invariants.seen(&of(1, true, true));
        assert_eq!(invariants.breaches(), ["cell: ordinals [1, 2] are missing or not Ready at once (C2)"]);
    }

    #[test]
    fn while_they_are_made_many_are_missing() {
        let mut invariants = Invariants::new("cell", 3);
        invariants.begin();
        invariants.done();
        invariants.seen(&of(0, true, false));
        assert!(invariants.breaches().is_empty());
    }

    #[test]
    fn c1_never_more_and_never_two_of_one_ordinal() {
        for (object, expected) in [
            (
                instance("web-3", 3, true, false),
                "cell: 4 Instances, not counting those on their way out (C1)",
            ),
            (instance("web-01", 1, true, true), "cell: two of ordinal 1 (C1)"),
            (instance("web-3", 3, true, false), "cell: an Instance of an ordinal that is not wanted (C1)"),
            (instance("web-1", 2, true, false), "cell: an Instance of an ordinal that is not wanted (C1)"),
        ] {
            let mut invariants = full();
            invariants.seen(&object);
            assert!(
                invariants.breaches().iter().any(|breach| breach == expected),
                "{:?}",
                invariants.breaches()
            );
        }
        let mut invariants = full();
        invariants.seen(&instance("web-3", 3, true, true));
        assert!(invariants.breaches().is_empty(), "one that goes does not count");
    }

    #[test]
    fn a_listing_replaces_all_at_once() {
        let mut invariants = full();
        invariants.begin();
        invariants.seen(&of(0, true, false));
        assert!(invariants.breaches().is_empty());
        invariants.seen(&of(1, true, false));
        invariants.done();
        assert_eq!((invariants.breaches().len(), invariants.rolled("round 1")), (0, 2));
    }
}
