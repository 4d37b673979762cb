//! The order in which the cities of Workloads get a template, as events of their WDs show it.

mod sighted;

use std::collections::BTreeMap;

use kube::api::DynamicObject;

pub use self::sighted::Sighted;
use crate::demo::objects::{are_updated, image};

/// A change of the image of Workloads, as far as it was seen.
#[derive(Debug, Clone)]
pub struct Turns {
    prefix: &'static str,
    cities: Vec<&'static str>,
    replicas: u32,
    /// The image before, and the new one.
    images: [String; 2],
    workloads: BTreeMap<String, Vec<State>>,
    /// How often the state of a city has changed.
    pub changes: usize,
    /// The most cities of one Workload that were under way at once.
    pub most: usize,
    /// How many cities began before all those ahead of them were complete.
    pub overtakes: usize,
    /// How often a WD had an image that is neither: no city was allowed it (R2).
    pub strays: usize,
}

/// How far a city is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Updating,
    Complete,
}

impl Turns {
    /// A change from the first to the second image of the Workloads whose names begin so, of which nothing is
    /// seen yet. The cities are in the order of the placements, and each has so many Instances.
    pub fn new(prefix: &'static str, cities: &[&'static str], replicas: u32, images: [&str; 2]) -> Self {
        Self {
            prefix,
            cities: cities.to_vec(),
            replicas,
            images: images.map(str::to_owned),
            workloads: BTreeMap::new(),
            changes: 0,
            most: 0,
            overtakes: 0,
            strays: 0,
        }
    }

    /// A WD as it stands now.
    pub fn see(&mut self, wd: &DynamicObject) {
        let spec = &wd.data["spec"];
        let place = self.cities.iter().position(|city| spec["cityCode"] == *city);
        let (Some(place), Some(workload)) = (place, spec["workloadRef"]["name"].as_str()) else { return };
        if !workload.starts_with(self.prefix) {
            return;
        }
        let [before, new] = &self.images;
        let image = image(wd);
        self.strays += usize::from(image != Some(before) && image != Some(new));
        let state = match (image == Some(new), are_updated(wd, self.replicas)) {
            (false, _) => State::Waiting,
            (true, false) => State::Updating,
            (true, true) => State::Complete,
        };
        let states = self.workloads.entry(workload.to_owned());
        let states = states.or_insert_with(|| vec![State::Waiting; self.cities.len()]);
        if states[place] == state {
            return;
        }
        let begins = states[place] == State::Waiting;
        states[place] = state;
        self.changes += 1;
        let has_overtaken = states[..place].iter().any(|ahead| *ahead != State::Complete);
        self.overtakes += usize::from(begins && has_overtaken);
        let under_way = states.iter().filter(|state| **state == State::Updating).count();
        self.most = self.most.max(under_way);
    }

    /// How many cities are complete, over all Workloads.
    pub fn complete(&self) -> usize {
        self.count(State::Complete)
    }

    /// How many cities are under way, over all Workloads.
    pub fn updating(&self) -> usize {
        self.count(State::Updating)
    }

    fn count(&self, state: State) -> usize {
        self.workloads.values().flatten().filter(|it| **it == state).count()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::demo::objects::object;

    fn wd(workload: &str, city: &str, image: &str, is_observed: bool) -> DynamicObject {
        object(json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
            "metadata": { "name": format!("{workload}-{city}"), "generation": if is_observed { 1 } else { 2 } },
            "spec": {
                "cityCode": city, "workloadRef": { "name": workload },
                "template": { "spec": { "runtime": { "sandbox": { "containers": [{ "image": image }] } } } },
            },
            "status": {
                "observedGeneration": 1, "updatedReplicas": 1, "readyReplicas": 1,
                "conditions": [{ "type": "Available", "status": "True" }],
            },
        }))
        .unwrap()
    }

    fn seen(events: &[(&str, &str, &str, bool)]) -> Turns {
        let mut turns = Turns::new("", &["DFW", "ORD", "SJC"], 1, ["old", "new"]);
        for (workload, city, image, is_observed) in events {
            turns.see(&wd(workload, city, image, *is_observed));
        }
        turns
    }

    #[test]
    fn r1_cities_one_after_the_other_overtake_nobody() {
        let turns = seen(&[
            ("a", "DFW", "old", true),
            ("a", "DFW", "new", false),
            ("b", "DFW", "new", false),
            ("a", "DFW", "new", true),
            ("a", "DFW", "new", true),
            ("a", "ORD", "new", false),
            ("a", "ORD", "new", true),
            ("a", "ELSEWHERE", "new", false),
        ]);
        assert_eq!((turns.changes, turns.most, turns.overtakes, turns.strays), (5, 1, 0, 0));
        assert_eq!((turns.complete(), turns.updating()), (2, 1));
    }

    #[test]
    fn r3_a_city_that_begins_before_those_ahead_are_complete_overtakes() {
        let turns = seen(&[("a", "DFW", "new", false), ("a", "ORD", "new", false)]);
        assert_eq!((turns.most, turns.overtakes), (2, 1));
        let turns = seen(&[("a", "SJC", "new", true), ("a", "DFW", "new", false)]);
        assert_eq!((turns.most, turns.overtakes), (1, 1), "the first one overtakes nobody");
    }

    #[test]
    fn other_workloads_do_not_count() {
        let mut turns = Turns::new("a", &["DFW"], 1, ["old", "new"]);
        turns.see(&wd("b", "DFW", "other", true));
        assert_eq!((turns.strays, turns.changes), (0, 0));
        turns.see(&wd("a", "DFW", "other", true));
        assert_eq!(turns.strays, 1);
    }

    #[test]
    fn r2_an_image_that_no_city_was_allowed_is_a_stray() {
        assert_eq!(seen(&[("a", "DFW", "older", true), ("a", "ORD", "old", true)]).strays, 1);
    }
}
