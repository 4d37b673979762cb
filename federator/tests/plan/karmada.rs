//! F6: a WD that changes its city, with Karmada between the federator's writes.

use std::collections::BTreeSet;

use fedhub_api::conditions::find;
use fedhub_core::names::{CITY_CODE, CLAIMED_BY, MOVING, SOURCE_GENERATION};
use fedhub_core::object::{Object, ObjectView, set_field};
use fedhub_federator::moving::keeps;
use jiff::SignedDuration;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use crate::plan::fixtures::{annotate, fresh, spec};
use crate::plan::model::Model;
use crate::plan::moves::{CITIES, available, bound, cell_of, report};
use crate::plan::observed::{Plan, plan};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The user names this city.
    City(usize),
    /// A pass that is killed after so many writes.
    Pass(usize),
    /// A look at the policies: those that claim what they do not select are touched.
    Touch,
    /// Karmada's cache catches up with the WD.
    Cache,
    /// Karmada looks at the policies that were touched.
    PolicyEvent,
    /// Karmada looks at the WD.
    DeploymentEvent,
    /// The cell that has it reports.
    Report,
    /// Karmada passes the report on.
    Aggregate,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        1 => (0usize..2).prop_map(Step::City),
        3 => (0usize..4).prop_map(Step::Pass),
        2 => Just(Step::Touch),
        2 => Just(Step::Cache),
        2 => Just(Step::PolicyEvent),
        2 => Just(Step::DeploymentEvent),
        1 => Just(Step::Report),
        1 => Just(Step::Aggregate),
    ];
    vec(step, 0..60)
}

struct World {
    model: Model,
    cache: Option<Object>,
    touched: BTreeSet<String>,
    clusters: Vec<&'static str>,
    reported: Vec<(&'static str, Value)>,
    versions: u32,
}

impl World {
    fn new() -> Self {
        let model = Model::new(fresh());
        Self { model, cache: None, touched: BTreeSet::new(), clusters: vec![], reported: vec![], versions: 0 }
    }

    fn city(&self) -> String {
        self.model.project.as_ref().unwrap().spec()["cityCode"].as_str().unwrap().to_owned()
    }

    fn pass(&mut self, writes: usize) -> Result<(), TestCaseError> {
        self.model.time += SignedDuration::from_secs(1);
        let moves = self.model.hub.as_ref().is_some_and(|hub| hub.annotation(MOVING).is_some());
        self.model.bound = moves.then(|| bound(&self.clusters, &self.reported, &self.city()));
        let plan = plan(&self.model.seen().unwrap());
        if let Some(write) = &plan.status
            && find(&write.status, "Available").is_some_and(|c| c["status"] == "True")
        {
            let city = self.city();
            prop_assert_eq!(write.status["by"].as_str(), Some(cell_of(&city)), "another cell's word");
        }
        prop_assert!(plan.delete.is_none(), "a move deletes nothing");
        let all = self.model.log.len();
        self.model.perform(first(plan, writes));
        if self.model.log.len() < all + writes {
            return Ok(());
        }
        self.model.restart();
        Ok(())
    }

    fn touch(&mut self) {
        let Some(hub) = &self.model.hub else { return };
        for (name, policy) in &self.model.policies {
            if hub.annotation(CLAIMED_BY) == Some(name) && !keeps(policy, hub.label(CITY_CODE).unwrap()) {
                self.touched.insert(name.clone());
            }
        }
    }

    /// Karmada writes the hub WD from what its cache holds; refused where the cache lags behind.
    fn claim(&mut self, by: Option<&str>) -> bool {
        let (Some(cached), Some(hub)) = (&self.cache, &mut self.model.hub) else { return false };
        if cached.metadata.resource_version != hub.metadata.resource_version {
            return false;
        }
        match by {
            Some(name) => annotate(hub, CLAIMED_BY, name),
            None => crate::plan::fixtures::unannotate(hub, CLAIMED_BY),
        }
        self.versions += 1;
        hub.metadata.resource_version = Some(format!("5{:05}", self.versions));
        true
    }

    fn policy_events(&mut self) {
        for name in self.touched.clone() {
            let stray = self.cache.as_ref().is_some_and(|wd| {
                wd.annotation(CLAIMED_BY) == Some(&name)
                    && !keeps(&self.model.policies[&name], wd.label(CITY_CODE).unwrap())
            });
            // Where the cache does not show it, the touch is lost.
            if !stray || self.claim(None) {
                self.touched.remove(&name);
            }
        }
    }

    fn deployment_event(&mut self) {
        let Some(wd) = self.cache.clone() else { return };
        let city = wd.label(CITY_CODE).unwrap();
        let claimed = if let Some(name) = wd.annotation(CLAIMED_BY) {
            keeps(&self.model.policies[name], city)
        } else {
            let found = self
                .model
                .policies
                .iter()
                .find(|(_, p)| p.label(CITY_CODE) == Some(city))
                .map(|(name, _)| name.clone());
            found.is_some_and(|name| self.claim(Some(&name)))
        };
        if claimed && self.clusters != [cell_of(city)] {
            self.clusters = vec![cell_of(city)];
            self.reported.clear();
        }
    }

    fn report(&mut self) {
        let Some(hub) = &self.model.hub else { return };
        let generation = hub.annotation(SOURCE_GENERATION).unwrap().parse().unwrap();
        self.reported = self.clusters.iter().map(|cell| (*cell, report(cell, generation))).collect();
    }

    fn aggregate(&mut self) {
        if let (Some((_, status)), Some(hub)) = (self.reported.first(), &mut self.model.hub) {
            set_field(hub, "status", status.clone());
        }
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::City(n) => {
                let project = self.model.project.as_mut().unwrap();
                if project.spec()["cityCode"] != CITIES[n].0 {
                    set_field(project, "spec", spec(CITIES[n].0));
                    *project.metadata.generation.as_mut().unwrap() += 1;
                }
            }
            Step::Pass(writes) => self.pass(writes)?,
            Step::Touch => self.touch(),
            Step::Cache => self.cache.clone_from(&self.model.hub),
            Step::PolicyEvent => self.policy_events(),
            Step::DeploymentEvent => self.deployment_event(),
            Step::Report => self.report(),
            Step::Aggregate => self.aggregate(),
        }
        Ok(())
    }
}

/// The first writes of a plan, in their order.
fn first(plan: Plan, mut count: usize) -> Plan {
    let mut next = || {
        let more = count > 0;
        count = count.saturating_sub(1);
        more
    };
    Plan {
        mark: plan.mark.filter(|_| next()),
        namespace: plan.namespace.filter(|_| next()),
        policy: plan.policy.filter(|_| next()),
        deployment: plan.deployment.filter(|_| next()),
        status: plan.status.filter(|_| next()),
        ..Plan::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn f6_back_and_forth_with_kills_between_any_two_writes_ends_in_the_city_that_was_named_last(steps in steps()) {
        let mut world = World::new();
        for step in steps {
            world.step(step)?;
        }
        for _ in 0..12 {
            for step in [Step::Pass(9), Step::Touch, Step::Cache, Step::PolicyEvent, Step::Cache,
                         Step::DeploymentEvent, Step::Cache, Step::DeploymentEvent, Step::Report, Step::Aggregate] {
                world.step(step)?;
            }
        }
        world.model.forget_log();
        world.pass(9)?;
        let city = world.city();
        let hub = world.model.hub.clone().unwrap();
        prop_assert!(world.model.log.is_empty(), "it does not come to rest: {:?}", &world.model.log);
        prop_assert_eq!(hub.label(CITY_CODE), Some(city.as_str()));
        prop_assert_eq!(hub.annotation(MOVING), None);
        prop_assert_eq!(&world.clusters, &vec![cell_of(&city)]);
        let status = world.model.project.as_ref().unwrap().status();
        prop_assert_eq!(available(status), ("True", cell_of(&city)));
    }
}
