//! F6: a WD that changes its city, and Karmada between the federator's writes.

use std::collections::BTreeSet;

use fedhub_api::conditions::find;
use fedhub_core::names::{CITY_CODE, CLAIMED_BY, MOVING, SOURCE_GENERATION};
use fedhub_core::object::{Kind, Object, ObjectView, bare, set_field};
use fedhub_federator::moving::{Bound, keeps};
use fedhub_federator::observe::Observed;
use fedhub_federator::plan::{Plan, Then, plan};
use fedhub_planes::Write;
use jiff::SignedDuration;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixtures::{
    HUB_SPACE, annotate, body, fresh, hub_namespace, hub_wd, in_order, label, marked_in, policy, seen,
    shared, spec, status_of, with, writes_hub,
};
use crate::model::Model;

const CITIES: [(&str, &str); 2] = [("DFW", "cell-1"), ("ORD", "cell-2")];

fn cell_of(city: &str) -> &'static str {
    CITIES.iter().find(|(code, _)| *code == city).unwrap().1
}

fn report(by: &str, generation: i64) -> Value {
    json!({"by": by, "replicas": 1, "observedGeneration": generation,
           "conditions": [{"type": "Available", "status": "True", "reason": by}]})
}

fn binding(clusters: &[&str], items: &[(&str, Value)]) -> Object {
    let mut binding = bare(Kind::ResourceBinding, HUB_SPACE, "web-dfw-workloaddeployment");
    let clusters: Vec<Value> = clusters.iter().map(|name| json!({"name": name})).collect();
    let items = items.iter().map(|(name, status)| json!({"clusterName": name, "status": status}));
    set_field(&mut binding, "spec", json!({"clusters": clusters}));
    set_field(&mut binding, "status", json!({"aggregatedStatus": items.collect::<Vec<_>>()}));
    binding
}

fn bound(clusters: &[&str], items: &[(&str, Value)], city: &str) -> Bound {
    Bound::of(&binding(clusters, items), &[cell_of(city).to_owned()])
}

fn available(status: &Value) -> (&str, &str) {
    let condition = find(status, "Available").unwrap();
    (condition["status"].as_str().unwrap(), condition["reason"].as_str().unwrap())
}

/// A WD that was federated to DFW, where its cell reported, and is to be in ORD.
fn to_change() -> Observed {
    let hub = with(hub_wd(), |wd| annotate(wd, CLAIMED_BY, "city-dfw"));
    let hub = status_of(hub, report("cell-1", 7));
    let project = status_of(marked_in("ORD"), report("cell-1", 7));
    seen(project, Some(hub_namespace()), Some(hub), vec![policy("city-dfw", "DFW")])
}

/// The same, relabelled: Karmada has let go of it, and the policy of ORD has claimed it.
fn relabelled() -> Observed {
    let mut seen = to_change();
    let Some(Write::Replace { object, .. }) = plan(&seen).deployment else { panic!("not relabelled") };
    let hub = with(*object, |wd| annotate(wd, CLAIMED_BY, "city-ord"));
    seen.hub = Some(shared(hub));
    seen.policies = crate::fixtures::in_order().policies;
    for (name, city) in [("city-dfw", "DFW"), ("city-ord", "ORD")] {
        let known = fedhub_federator::observe::Known { object: shared(policy(name, city)), echo: None };
        seen.policies.retain(|p| p.object.name() != name);
        seen.policies.push(known);
    }
    seen
}

#[test]
fn f6_a_new_city_is_one_write_that_records_the_move_and_says_so_at_once() {
    let plan = plan(&to_change());
    assert_eq!(body(plan.policy.as_ref().unwrap()).label(CITY_CODE), Some("ORD"));
    let deployment = body(plan.deployment.as_ref().unwrap());
    assert_eq!(deployment.label(CITY_CODE), Some("ORD"));
    assert!(deployment.annotation(MOVING).unwrap().starts_with("DFW/2027-"), "{:?}", deployment.metadata);
    // The cell of DFW says that it is available, which is no answer.
    let status = plan.status.unwrap().status;
    assert_eq!(available(&status), ("False", "Moving"));
    assert!(matches!(plan.then, Then::LookAgain(_)));
    assert!(plan.delete.is_none() && plan.moved.is_none());
}

#[test]
fn f6_a_move_ends_when_the_cell_of_the_new_city_has_reported() {
    let (old, new) = (report("cell-1", 7), report("cell-2", 7));
    let there = || bound(&["cell-2"], &[("cell-2", report("cell-2", 7))], "ORD");
    for (what, claim, bound, status, ends) in [
        ("all of it", Some("city-ord"), Some(there()), &new, true),
        ("no binding", Some("city-ord"), None, &new, false),
        ("nobody's", None, Some(there()), &new, false),
        ("the old policy's", Some("city-dfw"), Some(there()), &new, false),
        ("the old cell's status", Some("city-ord"), Some(there()), &old, false),
        ("unscheduled", Some("city-ord"), Some(bound(&[], &[("cell-2", new.clone())], "ORD")), &new, false),
        (
            "in the old cell",
            Some("city-ord"),
            Some(bound(&["cell-1"], &[("cell-1", old.clone())], "ORD")),
            &old,
            false,
        ),
        (
            "in both",
            Some("city-ord"),
            Some(bound(&["cell-1", "cell-2"], &[("cell-2", new.clone())], "ORD")),
            &new,
            false,
        ),
        (
            "not reported",
            Some("city-ord"),
            Some(bound(&["cell-2"], &[("cell-2", json!({}))], "ORD")),
            &old,
            false,
        ),
        (
            "reported by the old one",
            Some("city-ord"),
            Some(bound(&["cell-2"], &[("cell-1", old.clone())], "ORD")),
            &old,
            false,
        ),
    ] {
        let mut seen = relabelled();
        let mut hub = status_of(seen.hub.as_deref().unwrap().clone(), status.clone());
        match claim {
            Some(claim) => annotate(&mut hub, CLAIMED_BY, claim),
            None => crate::fixtures::unannotate(&mut hub, CLAIMED_BY),
        }
        (seen.hub, seen.bound) = (Some(shared(hub)), bound);
        seen.project = shared(status_of(seen.project.as_ref().clone(), json!({})));
        let plan = plan(&seen);
        let told = plan.status.as_ref().map(|w| available(&w.status).1.to_owned()).unwrap();
        if ends {
            assert_eq!(body(plan.deployment.as_ref().unwrap()).annotation(MOVING), None, "{what}");
            assert_eq!((plan.moved.as_deref(), told.as_str()), (Some("DFW"), "cell-2"), "{what}");
            assert_eq!(plan.then, Then::Done, "{what}");
        } else {
            assert!(!writes_hub(&plan) && plan.moved.is_none(), "{what}: {plan:?}");
            assert_eq!(told, "Moving", "{what}");
            assert!(matches!(plan.then, Then::LookAgain(_)), "{what}");
        }
    }
}

#[test]
fn i10_a_wd_whose_new_city_has_no_cell_or_several_is_left_where_it_is() {
    for (cells, reason) in [(0, "NoCellForCity"), (2, "AmbiguousCity")] {
        let mut seen = to_change();
        seen.cells = cells;
        let plan = plan(&seen);
        assert!(!writes_hub(&plan) && plan.mark.is_none(), "{reason}");
        assert_eq!(available(&plan.status.unwrap().status), ("False", reason));
    }
}

#[test]
fn f6_a_wd_that_another_citys_policy_claims_moves_to_its_own() {
    let mut seen = in_order();
    let hub = with(hub_wd(), |wd| annotate(wd, CLAIMED_BY, "city-ord"));
    seen.hub = Some(shared(status_of(hub, report("cell-2", 7))));
    let other = fedhub_federator::observe::Known { object: shared(policy("city-ord", "ORD")), echo: None };
    seen.policies.push(other);
    let plan = plan(&seen);
    assert!(body(plan.deployment.as_ref().unwrap()).annotation(MOVING).unwrap().starts_with("ORD/"));
    assert_eq!(available(&plan.status.unwrap().status), ("False", "Moving"));
}

#[test]
fn f6_a_label_that_is_edited_by_hand_is_put_back_without_a_move() {
    let mut seen = in_order();
    let hub = with(hub_wd(), |wd| {
        annotate(wd, CLAIMED_BY, "city-dfw");
        label(wd, CITY_CODE, "ORD");
    });
    seen.hub = Some(shared(status_of(hub, report("cell-1", 7))));
    let plan = plan(&seen);
    assert_eq!(
        body(plan.deployment.as_ref().unwrap()),
        &with(hub_wd(), |wd| {
            annotate(wd, CLAIMED_BY, "city-dfw");
            set_field(wd, "status", report("cell-1", 7));
        })
    );
    assert_eq!(available(&plan.status.unwrap().status), ("True", "cell-1"));
}

#[test]
fn f6_a_mark_of_a_move_that_cannot_be_read_is_taken_off() {
    for junk in ["", "DFW", "DFW/yesterday"] {
        let mut seen = in_order();
        seen.hub = Some(shared(with(hub_wd(), |wd| annotate(wd, MOVING, junk))));
        let plan = plan(&seen);
        assert_eq!(body(plan.deployment.as_ref().unwrap()), &hub_wd(), "{junk}");
        assert!(plan.moved.is_none());
    }
}

// === With Karmada in between ===

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
            None => crate::fixtures::unannotate(hub, CLAIMED_BY),
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
        let selecting = |(_, p): &(&String, &Object)| p.label(CITY_CODE) == Some(city);
        let claimed = if let Some(name) = wd.annotation(CLAIMED_BY) {
            keeps(&self.model.policies[name], city)
        } else {
            let found = self.model.policies.iter().find(selecting).map(|(name, _)| name.clone());
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
        let (city, hub) = (world.city(), world.model.hub.clone().unwrap());
        prop_assert!(world.model.log.is_empty(), "it does not come to rest: {:?}", &world.model.log);
        prop_assert_eq!(hub.label(CITY_CODE), Some(city.as_str()));
        prop_assert_eq!(hub.annotation(MOVING), None);
        prop_assert_eq!(&world.clusters, &vec![cell_of(&city)]);
        let status = world.model.project.as_ref().unwrap().status();
        prop_assert_eq!(available(status), ("True", cell_of(&city)));
    }
}
