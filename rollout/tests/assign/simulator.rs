//! Worlds in which anything happens in any order, and what holds of every decision in them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fedhub_rollout::{
    Approval, Assignment, Carries, City, CityState, CityStatus, Decision, Direction, Gate, Health, OnFailure,
    Revision, Status, Strategy, Unreachable, Wave,
};
use proptest::prelude::{Strategy as Arbitrary, *};
use proptest::sample::Index;

use crate::assign::scene::{Scene, stuck};

/// What may happen between two passes, and a pass itself.
#[derive(Clone, Debug)]
pub enum Event {
    /// A pass whose writes all arrive.
    Pass,
    /// A pass of which only the status is written.
    PassHalfway,
    /// A pass of which only the deployments are written, so that the next one has an older status.
    PassUnkept,
    Heal(Index),
    Slow(Index),
    Break(Index),
    Away(Index),
    Edit(Index),
    Unmark(Index),
    Delete(Index),
    Join,
    Leave(Index),
    Template,
    Wait(u16),
    SetClockBack(u16),
    Pause(bool),
    Abort(bool),
    Approve(Index, bool),
    /// All at once, or in order.
    Hurry(bool),
    /// Other waves from now on, as many as there are cities to each.
    Replan(usize),
}

pub fn event() -> impl Arbitrary<Value = Event> {
    let any_index = any::<Index>;
    prop_oneof![
        12 => Just(Event::Pass),
        1 => Just(Event::PassHalfway),
        1 => Just(Event::PassUnkept),
        12 => any_index().prop_map(Event::Heal),
        2 => any_index().prop_map(Event::Slow),
        2 => any_index().prop_map(Event::Break),
        2 => any_index().prop_map(Event::Away),
        1 => any_index().prop_map(Event::Edit),
        1 => any_index().prop_map(Event::Unmark),
        1 => any_index().prop_map(Event::Delete),
        1 => Just(Event::Join),
        1 => any_index().prop_map(Event::Leave),
        2 => Just(Event::Template),
        4 => (0_u16..900).prop_map(Event::Wait),
        1 => (0_u16..900).prop_map(Event::SetClockBack),
        1 => any::<bool>().prop_map(Event::Pause),
        1 => prop_oneof![1 => Just(true), 3 => Just(false)].prop_map(Event::Abort),
        2 => (any_index(), any::<bool>()).prop_map(|(wave, before)| Event::Approve(wave, before)),
        1 => prop_oneof![1 => Just(true), 2 => Just(false)].prop_map(Event::Hurry),
        1 => (1_usize..4).prop_map(Event::Replan),
    ]
}

/// Waves with everything that a wave may ask for, and what follows when they fail.
pub fn scene() -> impl Arbitrary<Value = Scene> {
    let approval =
        prop_oneof![4 => Just(Approval::None), 1 => Just(Approval::Before), 1 => Just(Approval::After)];
    let gates = (approval, 0_u64..3, 0_usize..4, 0_usize..2);
    let waves = proptest::collection::vec((1_usize..5, gates), 1..4);
    (waves, any::<bool>(), any::<bool>()).prop_map(|(waves, rolls_back, holds)| {
        let mut count = 0;
        let waves = waves.into_iter().enumerate().map(|(at, (size, gates))| {
            let (approval, soak, max_concurrent, max_failures) = gates;
            let deployments = (count..count + size).map(|number| format!("d{number}").into()).collect();
            count += size;
            let soak = Duration::from_mins(soak);
            Wave { name: format!("w{at}").into(), deployments, approval, soak, max_concurrent, max_failures }
        });
        let mut scene = Scene::new(&waves.collect::<Vec<_>>());
        scene.policy.on_failure = if rolls_back { OnFailure::RollBack } else { OnFailure::Pause };
        scene.policy.unreachable = if holds { Unreachable::Hold } else { Unreachable::Skip };
        scene
    })
}

/// A scene in which the events happen, with what each deployment was ever allowed.
pub struct Simulator {
    pub scene: Scene,
    allowed: BTreeMap<Box<str>, BTreeSet<Revision>>,
    joined: usize,
}

impl Simulator {
    pub fn new(scene: Scene) -> Self {
        let newest = scene.newest;
        Self::new_at(scene, newest)
    }

    /// One in which every deployment was allowed this revision.
    pub fn new_at(scene: Scene, revision: Revision) -> Self {
        let cities = scene.cities.iter();
        let allowed = cities.map(|city| (city.deployment.clone(), [revision].into())).collect();
        Self { scene, allowed, joined: 0 }
    }

    pub fn happen(&mut self, event: &Event) {
        match event {
            Event::Pass => self.pass(),
            Event::PassHalfway => {
                let decision = self.decide();
                self.scene.keep(&decision);
            }
            Event::PassUnkept => {
                let decision = self.decide();
                self.scene.write(&decision);
            }
            Event::Heal(at) => self.report(*at, Health::Healthy),
            Event::Slow(at) => self.report(*at, Health::Progressing),
            Event::Break(at) => self.report(*at, stuck()),
            Event::Away(at) => self.report(*at, Health::Unreachable),
            Event::Edit(at) => self.at(*at, |city| {
                if let Carries::Known(revision) = city.carries {
                    city.carries = Carries::Edited(revision);
                }
            }),
            Event::Unmark(at) => self.at(*at, |city| {
                if city.carries != Carries::Nothing {
                    city.carries = Carries::Unknown;
                }
            }),
            Event::Delete(at) => self.at(*at, |city| {
                city.carries = Carries::Nothing;
                city.health = Health::Progressing;
            }),
            Event::Join => {
                self.joined += 1;
                self.scene.add(&format!("j{}", self.joined));
            }
            Event::Leave(at) => {
                if self.scene.cities.len() > 1 {
                    let place = at.index(self.scene.cities.len());
                    self.scene.cities.remove(place);
                }
            }
            Event::Template => drop(self.scene.template().carried()),
            Event::Wait(seconds) => self.scene.now += Duration::from_secs((*seconds).into()),
            Event::SetClockBack(seconds) => self.scene.now -= Duration::from_secs((*seconds).into()),
            Event::Pause(paused) => self.scene.policy.paused = *paused,
            Event::Abort(abort) => self.scene.policy.abort = *abort,
            Event::Approve(wave, before) => {
                if self.scene.is_kept {
                    let wave = wave.get(&self.scene.policy.waves).name.clone();
                    self.scene.approve(&wave, if *before { Gate::Before } else { Gate::After });
                }
            }
            Event::Hurry(hurries) => {
                self.scene.policy.strategy = if *hurries { Strategy::AllAtOnce } else { Strategy::InOrder };
            }
            Event::Replan(size) => self.replan(*size),
        }
    }

    fn at(&mut self, at: Index, change: impl FnOnce(&mut City)) {
        let place = at.index(self.scene.cities.len());
        change(&mut self.scene.cities[place]);
    }

    fn report(&mut self, at: Index, health: Health) {
        self.at(at, |city| {
            if city.carries != Carries::Nothing {
                city.health = health;
            }
        });
    }

    fn replan(&mut self, size: usize) {
        let names: Vec<_> = self.scene.cities.iter().map(|city| city.deployment.clone()).collect();
        if !self.scene.is_kept {
            // Its order is that of the placements.
            self.scene.policy.waves[0].deployments = names;
            return;
        }
        let template = self.scene.policy.waves[0].clone();
        let waves = names.chunks(size).enumerate().map(|(at, names)| Wave {
            name: format!("w{at}").into(),
            deployments: names.to_vec(),
            ..template.clone()
        });
        self.scene.policy.waves = waves.collect();
    }

    /// A pass, all of whose writes arrive.
    pub fn pass(&mut self) {
        let decision = self.decide();
        self.scene.keep(&decision);
        self.scene.write(&decision);
    }

    /// A decision, of which everything is checked.
    pub fn decide(&mut self) -> Decision {
        let decision = self.scene.decide();
        self.check_order(&decision);
        self.check_rest(&decision);
        self.check_skipped(&decision);
        self.check_allowed(&decision);
        if decision.status.direction == Direction::Forward {
            self.check_starts(&decision);
        }
        decision
    }

    /// Each deployment is in the status once, in the order of the plan.
    fn check_order(&self, decision: &Decision) {
        let planned = decision.status.plan.iter().flat_map(|wave| &wave.deployments);
        let kept: Vec<_> = decision.status.cities.iter().map(|entry| &entry.deployment).collect();
        assert_eq!(planned.collect::<Vec<_>>(), kept);
        let world: BTreeSet<_> = self.scene.cities.iter().map(|city| &city.deployment).collect();
        assert_eq!(kept.iter().copied().collect::<BTreeSet<_>>(), world);
        assert_eq!(kept.len(), world.len());
    }

    /// One more pass over the same world decides the same.
    fn check_rest(&self, decision: &Decision) {
        if self.scene.is_kept {
            let mut again = self.scene.clone();
            again.status = decision.status.clone();
            assert_eq!(again.decide(), *decision);
        }
    }

    /// What cannot be reached is left as it is, unless it was edited by hand.
    fn check_skipped(&self, decision: &Decision) {
        for (city, assignment) in self.scene.cities.iter().zip(&decision.assignments) {
            if city.health == Health::Unreachable
                && self.scene.policy.strategy == Strategy::InOrder
                && matches!(city.carries, Carries::Known(_) | Carries::Unknown)
            {
                assert_eq!(*assignment, Assignment::Keep, "{}", city.deployment);
            }
            // No deployment is ever without its template.
            let is_absent = city.carries == Carries::Nothing && !matches!(assignment, Assignment::Carry(_));
            assert!(!is_absent, "{}", city.deployment);
        }
    }

    /// Every deployment gets what the status says that it is allowed: the target, or what it was allowed
    /// before.
    fn check_allowed(&mut self, decision: &Decision) {
        let status = &decision.status;
        for (city, assignment) in self.scene.cities.iter().zip(&decision.assignments) {
            let Assignment::Carry(revision) = *assignment else { continue };
            let entry = entry(status, &city.deployment);
            assert_eq!(entry.revision, Some(revision), "{}", city.deployment);
            let ever = self.allowed.entry(city.deployment.clone()).or_default();
            let is_target = status.target == Some(revision) && status.direction != Direction::Back;
            // Nothing says any more what a deleted one was allowed, where no status is kept.
            let is_unknown = ever.is_empty() || (!self.scene.is_kept && city.carries == Carries::Nothing);
            assert!(is_target || is_unknown || ever.contains(&revision), "{}: {revision:?}", city.deployment);
            assert!(revision <= self.scene.newest);
            ever.insert(revision);
        }
    }

    /// What begins on the way forward: no more than may be in flight, no wave before its time, nothing in a
    /// pause.
    fn check_starts(&self, decision: &Decision) {
        let status = &decision.status;
        let mut passed = true;
        for wave in &status.plan {
            // Whatever is in a wave: its cities may all be skipped or gone.
            passed &= is_approved(decision, wave, Approval::Before, Gate::Before);
            let cities: Vec<_> =
                wave.deployments.iter().map(|name| (self.seen(name), entry(status, name))).collect();
            let starts = cities.iter().filter(|(city, entry)| self.starts(city, entry)).count();
            if starts > 0 {
                let name = &wave.name;
                assert!(!self.scene.policy.paused, "{name} starts in a pause");
                assert!(passed, "{name} overtakes, or is not approved");
                let broken = cities.iter().filter(|(city, entry)| self.is_disturbed(city, entry));
                let failed = broken.clone().filter(|(_, entry)| entry.state == CityState::Failed).count();
                let in_flight = cities.iter().filter(|(_, entry)| self.is_in_flight(entry)).count();
                assert!(failed <= wave.max_failures, "{name}: {failed} failed");
                assert!(in_flight <= wave.max_concurrent, "{name}: {in_flight} in flight");
                // What a replaced rollout broke is down as well, where a healthy city is next.
                let risks = cities.iter().any(|(city, entry)| {
                    city.health == Health::Healthy
                        && city.carries != Carries::Nothing
                        && self.starts(city, entry)
                });
                let left = cities.iter().filter(|(city, entry)| risks && self.is_left(city, entry)).count();
                let disturbed = broken.count() + left;
                assert!(
                    disturbed <= wave.max_concurrent + wave.max_failures,
                    "{name}: {disturbed} disturbed"
                );
            }
            let holds = self.scene.policy.unreachable == Unreachable::Hold;
            passed &= cities.iter().all(|(_, entry)| match entry.state {
                CityState::Complete | CityState::Failed => true,
                CityState::Skipped => !holds,
                _ => false,
            });
            passed &= is_approved(decision, wave, Approval::After, Gate::After);
        }
    }

    fn seen(&self, name: &str) -> &City {
        self.scene.cities.iter().find(|city| &*city.deployment == name).unwrap()
    }

    /// Whether an existing deployment, or one of which something is kept, is assigned the target in this
    /// pass.
    fn starts(&self, city: &City, entry: &CityStatus) -> bool {
        let before = self.scene.status.cities.iter().find(|before| before.deployment == entry.deployment);
        let is_creation =
            city.carries == Carries::Nothing && before.is_none_or(|before| before.revision.is_none());
        let had = match city.carries {
            Carries::Known(revision) | Carries::Edited(revision) => Some(revision) == entry.revision,
            Carries::Nothing | Carries::Unknown => false,
        };
        let was_allowed = before.is_some_and(|before| before.revision == entry.revision);
        let is_target = entry.revision == Some(self.scene.newest);
        is_target && !is_creation && !had && !was_allowed
    }

    fn is_in_flight(&self, entry: &CityStatus) -> bool {
        entry.revision == Some(self.scene.newest)
            && matches!(entry.state, CityState::Updating | CityState::Soaking)
    }

    /// Whether the rollout under way may be why a city that can be reached is not healthy.
    fn is_disturbed(&self, city: &City, entry: &CityStatus) -> bool {
        let has_ended = entry.last_good == Some(self.scene.newest);
        let is_healthy = city.health == Health::Healthy && city.carries == Carries::Known(self.scene.newest);
        let is_away = city.health == Health::Unreachable && city.carries != Carries::Nothing;
        entry.revision == Some(self.scene.newest) && !has_ended && !is_healthy && !is_away
    }

    /// Whether a city that can be reached is not healthy on a revision that a rollout brought before this
    /// one.
    fn is_left(&self, city: &City, entry: &CityStatus) -> bool {
        let oldest = self.scene.cities.iter().filter_map(marked).min();
        let is_down = matches!(city.health, Health::Progressing | Health::Stuck(_));
        is_down && marked(city) > oldest && entry.revision != Some(self.scene.newest)
    }

    /// All ends well: cells come back, causes go away, users approve, and time passes.
    pub fn end_well(&mut self) {
        self.scene.policy.paused = false;
        for _ in 0..12 * (self.scene.cities.len() + 2) {
            for city in self.scene.cities.iter_mut().filter(|city| city.carries != Carries::Nothing) {
                city.health = Health::Healthy;
            }
            if self.scene.is_kept {
                self.scene.status.approvals.clear();
                for wave in self.scene.status.plan.clone() {
                    self.scene.approve(&wave.name, Gate::Before).approve(&wave.name, Gate::After);
                }
            }
            self.pass();
            self.scene.now += Duration::from_secs(30);
        }
    }

    /// The revisions that deployments carry.
    pub fn carried(&self) -> BTreeSet<Revision> {
        let known = self.scene.cities.iter().map(|city| match city.carries {
            Carries::Known(revision) => revision,
            other => panic!("{} carries {other:?}", city.deployment),
        });
        known.collect()
    }
}

fn marked(city: &City) -> Option<Revision> {
    match city.carries {
        Carries::Known(revision) | Carries::Edited(revision) => Some(revision),
        Carries::Nothing | Carries::Unknown => None,
    }
}

fn entry<'a>(status: &'a Status, name: &str) -> &'a CityStatus {
    status.cities.iter().find(|entry| &*entry.deployment == name).unwrap()
}

fn is_approved(decision: &Decision, wave: &Wave, approval: Approval, gate: Gate) -> bool {
    let mut approvals = decision.status.approvals.iter();
    wave.approval != approval || approvals.any(|taken| taken.wave == wave.name && taken.gate == gate)
}
