//! Random histories of a cell: Instances become Ready or never, deletions finish late, templates and replicas
//! change midway, strays and foreign objects are thrown in, hands delete and edit.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_cell::domain::instances::{Deployment, InstanceStep, labels, name};
use fedhub_core::names::INSTANCE_INDEX;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::rules::check;
use super::support::*;

#[derive(Clone, Debug)]
enum Event {
    /// The library is asked, and what it says is done.
    Pass,
    /// What can become Ready does.
    Start,
    /// A deletion is done, if one was asked for.
    Gone(usize),
    /// A new template: one whose Instances become Ready, or never.
    Template(bool),
    /// An earlier template again.
    Back(u32),
    Scale(u32),
    Stray,
    Foreign(u32),
    ForeignGone,
    /// A Ready Instance is not Ready for a while.
    Flap(usize),
    /// An Instance never becomes Ready again.
    Break(usize),
    DeletedByHand(usize),
    EditedByHand(usize),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        12 => Just(Event::Pass),
        6 => Just(Event::Start),
        6 => any::<usize>().prop_map(Event::Gone),
        2 => any::<bool>().prop_map(Event::Template),
        1 => (0..6u32).prop_map(Event::Back),
        2 => (0..5u32).prop_map(Event::Scale),
        1 => Just(Event::Stray),
        1 => (0..5u32).prop_map(Event::Foreign),
        1 => Just(Event::ForeignGone),
        1 => any::<usize>().prop_map(Event::Flap),
        1 => any::<usize>().prop_map(Event::Break),
        1 => any::<usize>().prop_map(Event::DeletedByHand),
        1 => any::<usize>().prop_map(Event::EditedByHand),
    ];
    prop::collection::vec(event, 0..120)
}

struct Cell {
    release: u32,
    /// For each release, its hash and whether its Instances become Ready.
    releases: Vec<(String, bool)>,
    desired: u32,
    held: Vec<Held>,
    /// UIDs of Instances that never become Ready again.
    broken: BTreeSet<String>,
    made: u32,
    /// Instances replaced since the template or the number changed: all, and those that were Ready.
    replaced: u32,
    lost: u32,
}

impl Cell {
    fn new() -> Self {
        let mut cell = Self {
            release: 0,
            releases: Vec::new(),
            desired: 3,
            held: Vec::new(),
            broken: BTreeSet::new(),
            made: 0,
            replaced: 0,
            lost: 0,
        };
        cell.publish(true);
        cell
    }

    fn after(events: &[Event]) -> Self {
        let mut cell = Self::new();
        for event in events {
            cell.apply(event);
        }
        cell
    }

    fn publish(&mut self, good: bool) {
        let release = u32::try_from(self.releases.len()).unwrap();
        self.releases.push((Deployment::from_object(&wd(template(release))).template_hash, good));
        self.turn(release, self.desired);
    }

    fn turn(&mut self, release: u32, desired: u32) {
        (self.release, self.desired, self.replaced, self.lost) = (release, desired, 0, 0);
    }

    fn add(&mut self, held: Held) {
        assert!(self.held.iter().all(|h| h.name != held.name), "C1: never two of one ordinal");
        self.made += 1;
        self.held.push(Held { uid: format!("uid-{}", self.made), ..held });
    }

    /// The `n`th of this WD's Instances.
    fn pick(&mut self, n: usize) -> Option<&mut Held> {
        let mut ours: Vec<_> = self.held.iter_mut().filter(|h| h.is_ours()).collect();
        let len = ours.len();
        (len > 0).then(|| ours.swap_remove(n % len))
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Pass => _ = self.pass(),
            Event::Start => self.start(),
            Event::Gone(n) => {
                let leaving: Vec<_> =
                    self.held.iter().filter(|h| h.terminating).map(|h| h.uid.clone()).collect();
                if let Some(uid) = leaving.get(n % leaving.len().max(1)) {
                    self.held.retain(|h| h.uid != *uid);
                }
            }
            Event::Template(good) => self.publish(*good),
            Event::Back(n) => self.turn(n % u32::try_from(self.releases.len()).unwrap(), self.desired),
            Event::Scale(desired) => self.turn(self.release, *desired),
            Event::Stray => self.add(Held::ours(&format!("web-x{}", self.made))),
            Event::Foreign(ordinal) => {
                if self.held.iter().all(|h| h.name != name(WD, *ordinal)) {
                    self.add(Held::slot(*ordinal).foreign());
                }
            }
            Event::ForeignGone => self.held.retain(Held::is_ours),
            Event::Flap(n) => _ = self.pick(*n).map(|h| h.ready = false),
            Event::Break(n) => {
                let uid = self.pick(*n).map(|h| {
                    h.ready = false;
                    h.uid.clone()
                });
                self.broken.extend(uid);
            }
            Event::DeletedByHand(n) => _ = self.pick(*n).map(|h| h.terminating = true),
            Event::EditedByHand(n) => {
                _ = self.pick(*n).map(|h| h.labels.insert(INSTANCE_INDEX.to_owned(), "1".to_owned()));
            }
        }
    }

    fn start(&mut self) {
        let good: BTreeMap<_, _> = self.releases.iter().map(|(hash, good)| (hash, *good)).collect();
        for h in self.held.iter_mut().filter(|h| !self.broken.contains(&h.uid)) {
            h.ready = h.hash.as_ref().is_some_and(|hash| good[hash]);
        }
    }

    /// One pass; the words of its step, and whether it did anything.
    fn pass(&mut self) -> (String, bool) {
        let (hash, good) = self.releases[self.release as usize].clone();
        let wd = wd(template(self.release));
        let mut create = None;
        let mut delete = Vec::new();
        let mut replaced = None;
        let mut patches = Vec::new();
        let said = planned(&wd, self.desired, &self.held, |plan| {
            check(&self.held, &hash, self.desired, plan);
            match &plan.step {
                InstanceStep::Create(ordinal) => create = Some(*ordinal),
                InstanceStep::Replace(instance) => {
                    delete.push(instance.uid.to_owned());
                    replaced = Some(instance.ready);
                }
                InstanceStep::Delete(them) => delete.extend(them.iter().map(|i| i.uid.to_owned())),
                InstanceStep::Rest | InstanceStep::Wait(_) => {}
            }
            patches.extend(plan.labels.iter().map(|p| (p.instance.uid.to_owned(), p.set.clone())));
            words(plan)
        });
        let acted = create.is_some() || !delete.is_empty() || !patches.is_empty();

        for h in self.held.iter_mut().filter(|h| delete.contains(&h.uid)) {
            h.terminating = true;
        }
        for (uid, set) in patches {
            let it = self.held.iter_mut().find(|h| h.uid == uid).unwrap();
            it.labels.extend(set.into_iter().map(|(k, v)| (k.to_owned(), v)));
        }
        if let Some(ordinal) = create {
            self.add(Held::slot(ordinal).on(self.release));
            let count =
                self.held.iter().filter(|h| h.is_ours() && h.ordinal().is_some() && !h.terminating).count();
            assert!(count <= self.desired as usize, "C1: never more than desired: {:#?}", self.held);
        }
        if let Some(ready) = replaced {
            self.replaced += 1;
            self.lost += u32::from(ready);
            assert!(good || self.lost <= 1, "C2: a bad template costs one Ready Instance: {:#?}", self.held);
        }
        (said, acted)
    }

    /// Passes in a cell where nothing that is deleted goes.
    fn partition(&mut self) {
        for _ in 0..25 {
            self.pass();
            self.start();
        }
    }

    /// Passes in a cell that is left alone, where deletions take a while, until nothing happens any more.
    fn quiet(&mut self) -> String {
        let mut still = 0;
        let mut said = String::new();
        for round in 0..200 {
            let acted;
            (said, acted) = self.pass();
            let before = self.held.clone();
            if round % 3 == 0 {
                self.start();
                self.held.retain(|h| !h.terminating);
            }
            still = if acted || self.held != before { 0 } else { still + 1 };
            if still > 6 {
                return said;
            }
        }
        panic!("no rest: {said} in {:#?}", self.held);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::with_cases(300)
    })]

    /// C1, C2, C4: whatever happened, with a template that becomes ready and no foreign name in the way it
    /// converges.
    #[test]
    fn c1_c2_c3_c4_from_any_history_it_converges(events in events(), desired in 0..5u32) {
        let mut cell = Cell::after(&events);
        cell.apply(&Event::ForeignGone);
        cell.apply(&Event::Scale(desired));
        cell.publish(true);
        prop_assert_eq!(cell.quiet(), "rest");

        let hash = &cell.releases[cell.release as usize].0;
        let mut names: Vec<_> = cell.held.iter().map(|h| h.name.clone()).collect();
        names.sort();
        prop_assert_eq!(names, (0..desired).map(|o| name(WD, o)).collect::<Vec<_>>());
        let wd = wd(template(cell.release));
        for held in &cell.held {
            prop_assert!(held.ready && !held.terminating && held.hash.as_ref() == Some(hash));
            let own = labels(&Deployment::from_object(&wd), held.ordinal().unwrap());
            prop_assert!(own.iter().all(|(k, v)| held.labels.get(*k) == Some(v)), "{:?}", held);
        }
    }

    /// C2: from any history a template that never becomes Ready replaces one Instance, and then all stands
    /// still; C4: scaling down goes on, and a better template is taken up.
    #[test]
    fn c2_c4_a_bad_template_costs_one_and_a_better_one_mends_it(events in events(), desired in 1..5u32) {
        let mut cell = Cell::after(&events);
        cell.apply(&Event::ForeignGone);
        cell.apply(&Event::Scale(desired));
        cell.publish(false);
        let said = cell.quiet();
        prop_assert!(said.starts_with("NotReady"), "{}", said);
        prop_assert!(cell.replaced <= 1, "{} replaced", cell.replaced);

        cell.apply(&Event::Scale(desired - 1));
        cell.quiet();
        prop_assert!(cell.held.iter().all(|h| h.ordinal().is_some_and(|o| o < desired)));
        cell.publish(false);
        cell.quiet();
        cell.publish(true);
        prop_assert_eq!(cell.quiet(), "rest");
    }

    /// C1, C2: while nothing that is deleted goes, as where a provider hangs, one Instance at most is asked
    /// to go, whatever is scaled and rolled out; what is to be made below it is made.
    #[test]
    fn c2_while_nothing_goes_one_at_most_is_asked_to(
        events in events(), desired in 0..5u32, then in 0..5u32, roll: bool,
    ) {
        let mut cell = Cell::after(&events);
        cell.apply(&Event::ForeignGone);
        cell.publish(true);
        cell.quiet();
        for desired in [desired, then] {
            cell.apply(&Event::Scale(desired));
            cell.partition();
        }
        if roll {
            cell.publish(true);
            cell.partition();
        }
        let leaving: Vec<_> = cell.held.iter().filter(|h| h.terminating).filter_map(Held::ordinal).collect();
        prop_assert!(leaving.len() <= 1, "{:#?}", cell.held);
        let below = leaving.first().map_or(then, |gone| then.min(*gone));
        prop_assert!((0..below).all(|o| cell.held.iter().any(|h| h.ordinal() == Some(o) && h.ready && !h.terminating)), "{:#?}", cell.held);
        prop_assert_eq!(cell.quiet(), "rest", "and when they go, all is made good");
    }

    /// C3: a foreign object is never touched, and said.
    #[test]
    fn c3_a_foreign_name_is_waited_for_for_ever(events in events(), ordinal in 0..3u32) {
        let mut cell = Cell::after(&events);
        cell.apply(&Event::ForeignGone);
        cell.held.retain(|h| h.ordinal() != Some(ordinal));
        cell.apply(&Event::Foreign(ordinal));
        let foreign = cell.held.last().cloned();
        cell.apply(&Event::Scale(4));
        cell.publish(true);
        prop_assert_eq!(cell.quiet(), format!("NameTaken {}", name(WD, ordinal)));
        prop_assert!(cell.held.contains(foreign.as_ref().unwrap()));
        cell.apply(&Event::ForeignGone);
        prop_assert_eq!(cell.quiet(), "rest");
    }
}
