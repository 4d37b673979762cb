//! Rollouts that may have several Instances missing, or some too many: by a table, and by random schedules.

use std::collections::BTreeSet;

use fedhub_cell::domain::instances::{Budget, Deployment, InstanceStep, RolloutPlan, name};
use fedhub_core::object::Object;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::json;

use super::support::*;

/// A case: what may be missing and what may be added, how many are wanted, what stands, and the step.
type Case<'a> = (&'a str, (u32, u32), u32, &'a [Held], &'a str);

fn old(ordinal: u32) -> Held {
    Held::slot(ordinal).on(1).ready()
}

fn new(ordinal: u32) -> Held {
    Held::slot(ordinal).on(2).ready()
}

/// One on the template of now that is not Ready.
fn starting(ordinal: u32) -> Held {
    Held::slot(ordinal).on(2)
}

fn rolling(release: u32, (unavailable, surge): (u32, u32)) -> Object {
    let mut wd = wd(template(release));
    let settings = json!({"maxUnavailable": unavailable, "maxSurge": surge});
    wd.data["spec"]["scaleSettings"]["rollingUpdate"] = settings;
    wd
}

fn check_table(table: &[Case<'_>]) {
    for (what, budget, desired, held, want) in table {
        assert_eq!(planned(&rolling(2, *budget), *desired, held, words), *want, "{what}");
    }
}

#[test]
fn c2_as_many_as_may_be_missing_are_replaced_at_once() {
    check_table(&[
        ("the first", (2, 0), 4, &[old(0), old(1), old(2), old(3)], "replace web-3"),
        ("the second beside it", (2, 0), 4, &[old(0), old(1), old(2), old(3).deleting()], "replace web-2"),
        ("no third", (2, 0), 4, &[old(0), old(1), old(2).deleting(), old(3).deleting()], "Deleting web-2"),
        ("made again", (2, 0), 4, &[old(0), old(1), old(3).deleting()], "create 2"),
        ("the lower first", (2, 0), 4, &[old(0), old(1)], "create 2"),
        ("both at once", (2, 0), 4, &[old(0), old(1), starting(2)], "create 3"),
        ("both are awaited", (2, 0), 4, &[old(0), old(1), starting(2), starting(3)], "NotReady web-2"),
        ("one is there", (2, 0), 4, &[old(0), old(1), new(2), starting(3)], "replace web-1"),
        ("all of them", (3, 0), 3, &[old(0), old(1).deleting(), old(2).deleting()], "replace web-0"),
        ("two that are broken", (2, 0), 3, &[Held::slot(0).on(1), starting(1), old(2)], "replace web-0"),
        (
            "nothing Ready past a foreign name",
            (2, 0),
            3,
            &[new(0), new(1).foreign(), old(2)],
            "NameTaken web-1",
        ),
    ]);
}

#[test]
fn c2_creation_goes_one_by_one_whatever_a_rollout_may_do() {
    check_table(&[
        ("the first", (2, 2), 3, &[], "create 0"),
        ("it is awaited", (2, 2), 3, &[starting(0)], "NotReady web-0"),
        ("then the second", (2, 2), 3, &[new(0)], "create 1"),
        ("more are wanted", (2, 2), 4, &[new(0), new(1), starting(2)], "NotReady web-2"),
        ("nothing is added without a new template", (0, 1), 2, &[new(0), new(1)], "rest"),
    ]);
}

#[test]
fn c2_what_a_rollout_adds_comes_first_and_goes_last() {
    check_table(&[
        ("a new one comes", (0, 1), 2, &[old(0), old(1)], "create 2"),
        ("and is awaited", (0, 1), 2, &[old(0), old(1), starting(2)], "NotReady web-2"),
        (
            "before an old one goes, although it may",
            (1, 1),
            2,
            &[old(0), old(1), starting(2)],
            "NotReady web-2",
        ),
        ("an old one goes", (0, 1), 2, &[old(0), old(1), new(2)], "replace web-1"),
        ("no second", (0, 1), 2, &[old(0), old(1).deleting(), new(2)], "Deleting web-1"),
        (
            "a second where one may be missing",
            (1, 1),
            2,
            &[old(0), old(1).deleting(), new(2)],
            "replace web-0",
        ),
        ("it comes again", (0, 1), 2, &[old(0), new(2)], "create 1"),
        ("it is awaited", (0, 1), 2, &[old(0), starting(1), new(2)], "NotReady web-1"),
        ("the last goes", (0, 1), 2, &[old(0), new(1), new(2)], "replace web-0"),
        (
            "what was added stands in for it",
            (0, 1),
            2,
            &[old(0).deleting(), new(1), new(2)],
            "Deleting web-0",
        ),
        ("and is there until it is back", (0, 1), 2, &[starting(0), new(1), new(2)], "NotReady web-0"),
        ("then it goes", (0, 1), 2, &[new(0), new(1), new(2)], "delete web-2"),
        ("the end", (0, 1), 2, &[new(0), new(1), new(2).deleting()], "Deleting web-2"),
        ("rest", (0, 1), 2, &[new(0), new(1)], "rest"),
        ("no more than are to be replaced", (0, 3), 3, &[new(0), old(1), new(2), new(3)], "replace web-1"),
        ("several", (0, 2), 3, &[old(0), old(1), old(2), starting(3)], "create 4"),
        (
            "one that is Ready will do",
            (0, 2),
            3,
            &[old(0), old(1), old(2), new(3), starting(4)],
            "replace web-2",
        ),
    ]);
}

#[test]
fn c2_c4_what_a_rollout_added_follows_the_template_and_the_number() {
    check_table(&[
        ("one of an earlier template", (0, 1), 2, &[old(0), old(1), old(2)], "replace web-2"),
        (
            "broken, of an earlier template",
            (0, 1),
            2,
            &[old(0), old(1), Held::slot(2).on(1)],
            "replace web-2",
        ),
        ("the earlier template is back", (0, 1), 2, &[new(0), new(1), Held::slot(2).on(1)], "delete web-2"),
        ("fewer are wanted", (0, 1), 1, &[new(0), new(1), new(2)], "delete web-2"),
        ("and one by one", (0, 1), 1, &[new(0), new(1)], "delete web-1"),
        ("no more may be added", (1, 0), 2, &[old(0), old(1), new(2)], "delete web-2"),
        ("a name that is taken is said", (0, 1), 2, &[old(0), old(1), new(2).foreign()], "NameTaken web-2"),
        ("another name will do", (0, 2), 2, &[old(0), old(1), new(2).foreign()], "create 3"),
        ("one that is deleted by hand", (0, 1), 2, &[old(0), old(1), new(2).deleting()], "Deleting web-2"),
    ]);
}

#[test]
fn c2_settings_are_read_as_a_server_stores_them() {
    for (settings, expected) in [
        (json!(null), (1, 0)),
        (json!({}), (1, 0)),
        (json!({"maxUnavailable": "50%"}), (2, 0)),
        (json!({"maxUnavailable": "25%", "maxSurge": "25%"}), (1, 2)),
        (json!({"maxUnavailable": 0, "maxSurge": "10%"}), (0, 1)),
        (json!({"maxUnavailable": 0}), (1, 0)),
        (json!({"maxUnavailable": "some", "maxSurge": {"a": 1}, "later": true}), (1, 0)),
        (json!("all"), (1, 0)),
    ] {
        let budget = Budget::from_settings(&settings, 5);
        assert_eq!((budget.unavailable, budget.surge), expected, "{settings}");
    }
}

#[derive(Clone, Debug)]
enum Event {
    Pass,
    /// One that can become Ready does.
    Start(usize),
    /// A deletion is done.
    Gone(usize),
    /// A new template: one whose Instances become Ready, or never.
    Template(bool),
    /// The first template again.
    Back,
    Scale(u32),
    Settings(u32, u32),
    Flap(usize),
    DeletedByHand(usize),
}

/// What a cell does on its own, and its users with the template.
fn rollouts() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => Just(Event::Pass),
        8 => any::<usize>().prop_map(Event::Start),
        8 => any::<usize>().prop_map(Event::Gone),
        2 => any::<bool>().prop_map(Event::Template),
        1 => Just(Event::Back),
    ]
}

fn anything() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => rollouts(),
        1 => (0..6u32).prop_map(Event::Scale),
        1 => (0..4u32, 0..4u32).prop_map(|(unavailable, surge)| Event::Settings(unavailable, surge)),
        1 => any::<usize>().prop_map(Event::Flap),
        1 => any::<usize>().prop_map(Event::DeletedByHand),
    ]
}

fn budgets() -> impl Strategy<Value = (u32, u32)> {
    (0..4u32, 0..4u32).prop_filter("one has to give", |(unavailable, surge)| unavailable + surge > 0)
}

/// What may stand at an ordinal at the start, on the template of now (0) or another one.
const KINDS: [fn(u32) -> Option<Held>; 6] = [
    |_| None,
    |o| Some(Held::slot(o).on(0).ready()),
    |o| Some(Held::slot(o).on(0)),
    |o| Some(Held::slot(o).on(7).ready()),
    |o| Some(Held::slot(o).on(7)),
    |o| Some(Held::slot(o).on(7).ready().deleting()),
];

fn start() -> impl Strategy<Value = Vec<Held>> {
    prop::collection::vec(prop::sample::select(KINDS.to_vec()), 0..9)
        .prop_map(|kinds| kinds.into_iter().zip(0..).filter_map(|(kind, o)| kind(o)).collect())
}

struct Cell {
    desired: u32,
    budget: (u32, u32),
    release: u32,
    /// For each release, its hash and whether its Instances become Ready.
    releases: Vec<(Option<String>, bool)>,
    held: Vec<Held>,
    made: u32,
}

impl Cell {
    fn new(desired: u32, budget: (u32, u32), held: Vec<Held>) -> Self {
        let mut cell = Self { desired, budget, release: 0, releases: vec![], held, made: 0 };
        cell.publish(true);
        cell
    }

    /// All that are wanted are there and Ready.
    fn healthy(desired: u32, budget: (u32, u32)) -> Self {
        Self::new(desired, budget, (0..desired).map(|o| Held::slot(o).on(0).ready()).collect())
    }

    fn publish(&mut self, good: bool) {
        self.release = u32::try_from(self.releases.len()).unwrap();
        self.releases.push((Held::slot(0).on(self.release).hash, good));
    }

    fn limit(&self) -> u32 {
        self.desired + self.budget.1
    }

    /// How many serve of those that may be there.
    fn available(&self) -> u32 {
        let limit = self.limit();
        let serving = self.held.iter().filter(|h| h.ready && !h.terminating && h.ordinal().unwrap() < limit);
        u32::try_from(serving.count()).unwrap()
    }

    fn least(&self) -> u32 {
        let (unavailable, surge) = self.budget;
        self.desired.saturating_sub(if unavailable + surge == 0 { 1 } else { unavailable })
    }

    fn apply(&mut self, event: &Event) {
        let pick = |held: &[Held], n: usize| (!held.is_empty()).then(|| n % held.len());
        match event {
            Event::Pass => _ = self.pass(),
            Event::Start(n) => {
                if let Some(n) = pick(&self.held, *n) {
                    self.start(n);
                }
            }
            Event::Gone(n) => {
                let leaving: Vec<_> = (0..self.held.len()).filter(|i| self.held[*i].terminating).collect();
                if !leaving.is_empty() {
                    self.held.remove(leaving[n % leaving.len()]);
                }
            }
            Event::Template(good) => self.publish(*good),
            Event::Back => self.release = 0,
            Event::Scale(desired) => self.desired = *desired,
            Event::Settings(unavailable, surge) => self.budget = (*unavailable, *surge),
            Event::Flap(n) => _ = pick(&self.held, *n).map(|n| self.held[n].ready = false),
            Event::DeletedByHand(n) => _ = pick(&self.held, *n).map(|n| self.held[n].terminating = true),
        }
    }

    fn start(&mut self, n: usize) {
        let held = &mut self.held[n];
        held.ready = held.ready || self.releases.iter().any(|(hash, good)| *good && *hash == held.hash);
    }

    /// One pass, as after a restart: it knows what stands, and nothing else. Its words, and whether it acted.
    fn pass(&mut self) -> (String, bool) {
        let wd = rolling(self.release, self.budget);
        let mut create = None;
        let mut delete = BTreeSet::new();
        let said = planned(&wd, self.desired, &self.held, |plan| {
            self.check(&Deployment::from_object(&wd).template_hash, plan);
            match &plan.step {
                InstanceStep::Create(ordinal) => create = Some(*ordinal),
                InstanceStep::Replace(it) => _ = delete.insert(it.uid.to_owned()),
                InstanceStep::Delete(them) => delete.extend(them.iter().map(|it| it.uid.to_owned())),
                InstanceStep::Rest | InstanceStep::Wait(_) => {}
            }
            words(plan)
        });
        for held in self.held.iter_mut().filter(|h| delete.contains(&h.uid)) {
            held.terminating = true;
        }
        if let Some(ordinal) = create {
            assert!(self.held.iter().all(|h| h.ordinal() != Some(ordinal)), "C1: never two of one ordinal");
            self.made += 1;
            let uid = format!("uid-{}", self.made);
            self.held.push(Held { uid, ..Held::slot(ordinal).on(self.release) });
        }
        (said, create.is_some() || !delete.is_empty())
    }

    /// Panics where a step breaks a rule.
    fn check(&self, hash: &str, plan: &RolloutPlan<'_>) {
        let why = || format!("{:?} of {} by {:?} in {:#?}", plan.step, self.desired, self.budget, self.held);
        let find = |uid: &str| self.held.iter().find(|h| h.uid == uid).unwrap();
        let current = |h: &Held| h.hash.as_deref() == Some(hash);
        let serves = |o: u32| self.held.iter().any(|h| h.ordinal() == Some(o) && h.ready && !h.terminating);
        let wanted = |h: &&Held| h.ordinal().unwrap() < self.desired;
        let outdated = || self.held.iter().filter(wanted).filter(|h| !current(h) && !h.terminating);
        match &plan.step {
            InstanceStep::Rest => {
                assert!((0..self.desired).all(serves) && outdated().count() == 0, "{}", why());
                assert_eq!(self.held.len(), self.desired as usize, "nothing else is left: {}", why());
            }
            InstanceStep::Create(ordinal) => {
                assert!(*ordinal < self.limit(), "C1: never more than may be added: {}", why());
                if *ordinal >= self.desired {
                    let added = self.held.iter().filter(|h| !wanted(h) && !h.terminating).count();
                    assert!(added < outdated().count(), "C2: only as many as are to be replaced: {}", why());
                }
            }
            InstanceStep::Replace(it) => {
                let it = find(it.uid);
                assert!(!current(it) && !it.terminating, "C5: {}", why());
                if it.ready {
                    assert!(self.available() > self.least(), "C2: too few are left: {}", why());
                }
                if it.ready && wanted(&it) && self.budget.1 > 0 {
                    let added = |h: &Held| !wanted(&h) && h.ready && !h.terminating && current(h);
                    assert!(self.held.iter().any(added), "C2: the new one comes first: {}", why());
                }
            }
            InstanceStep::Delete(them) => {
                assert_eq!(them.len(), 1, "C2: one at a time: {}", why());
                let it = find(them[0].uid);
                assert!(!wanted(&it) && !self.held.iter().any(|h| h.terminating), "C2: {}", why());
                if it.ordinal().unwrap() < self.limit() && it.ready {
                    assert!((0..self.desired).all(serves), "C2: it stands in for another: {}", why());
                }
            }
            InstanceStep::Wait(_) => {}
        }
    }

    /// Passes in a cell that is left alone, where deletions take a while, until nothing happens any more.
    fn quiet(&mut self) -> String {
        let mut still = 0;
        for round in 0..400 {
            let (said, acted) = self.pass();
            let before = self.held.clone();
            if round % 3 == 0 {
                (0..self.held.len()).for_each(|n| self.start(n));
                self.held.retain(|h| !h.terminating);
            }
            still = if acted || self.held != before { 0 } else { still + 1 };
            if still > 6 {
                return said;
            }
        }
        panic!("no rest: {:#?}", self.held);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::with_cases(400)
    })]

    /// C1, C2: whatever templates come, good and bad, and whenever Instances start and go, a rollout never
    /// leaves fewer Ready than it may, and never has more than it may.
    #[test]
    fn c1_c2_a_rollout_keeps_to_what_may_be_missing_and_added(
        events in prop::collection::vec(rollouts(), 0..160), desired in 1..6u32, budget in budgets(),
    ) {
        let mut cell = Cell::healthy(desired, budget);
        for event in &events {
            cell.apply(event);
            prop_assert!(cell.available() >= cell.least(), "{:?}: {:#?}", event, cell.held);
            prop_assert!(cell.held.len() <= cell.limit() as usize, "{:?}: {:#?}", event, cell.held);
        }
        cell.publish(true);
        prop_assert_eq!(cell.quiet(), "rest");
    }

    /// C2: a bad template costs as many Ready Instances as may be missing, and none where one is added first.
    #[test]
    fn c2_a_bad_template_costs_no_more_than_may_be_missing(desired in 1..6u32, budget in budgets()) {
        let mut cell = Cell::healthy(desired, budget);
        cell.publish(false);
        let said = cell.quiet();
        prop_assert!(said.starts_with("NotReady"), "{}", said);
        let (unavailable, surge) = budget;
        let lost = if surge > 0 { 0 } else { unavailable.min(desired) };
        prop_assert_eq!(cell.available(), desired - lost, "{:#?}", cell.held);
        cell.release = 0;
        prop_assert_eq!(cell.quiet(), "rest", "and the earlier one mends it");
    }

    /// C1, C2, C4: from any state and after any history it comes to rest with the wanted ordinals alone, on
    /// the newest template.
    #[test]
    fn c1_c2_c4_from_any_state_nothing_that_was_added_is_left(
        start in start(), events in prop::collection::vec(anything(), 0..120), desired in 0..6u32, budget in budgets(),
    ) {
        let mut cell = Cell::new(desired, budget, start);
        for event in &events {
            cell.apply(event);
        }
        cell.publish(true);
        prop_assert_eq!(cell.quiet(), "rest");
        let hash = &cell.releases.last().unwrap().0;
        let mut names: Vec<_> = cell.held.iter().map(|h| h.name.clone()).collect();
        names.sort();
        prop_assert_eq!(names, (0..cell.desired).map(|o| name(WD, o)).collect::<Vec<_>>());
        prop_assert!(cell.held.iter().all(|h| h.ready && !h.terminating && h.hash == *hash));
    }

    /// C2: settings that say the defaults decide as none do.
    #[test]
    fn c2_the_defaults_decide_as_no_settings_do(held in start(), desired in 0..6u32) {
        let plain = planned(&wd(template(0)), desired, &held, words);
        prop_assert_eq!(planned(&rolling(0, (1, 0)), desired, &held, words), plain);
    }
}
