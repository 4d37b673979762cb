//! What holds in every world.

use fedhub_rollout::{Approval, Carries, Direction, Health, OnFailure, Revision, Verdict};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::assign::scene::{Scene, stuck};
use crate::assign::simulator::{Event, Simulator, event, scene};

/// A Workload without a rollout of its own, with so many deployments.
fn stateless() -> impl Strategy<Value = Scene> {
    (1_usize..7).prop_map(|count| {
        let names = (0..count).map(|number| format!("d{number}"));
        Scene::stateless(&names.collect::<Vec<_>>().join(" "))
    })
}

/// What happens to a Workload without a rollout: nobody steers it.
fn unsteered() -> impl Strategy<Value = Event> {
    event().prop_filter("nobody steers", |event| {
        !matches!(
            event,
            Event::Pause(_) | Event::Abort(_) | Event::Approve(..) | Event::PassHalfway | Event::Hurry(_)
        )
    })
}

/// What happens to the cities of one rollout, while nobody approves anything.
fn unapproved() -> impl Strategy<Value = Event> {
    event().prop_filter("it is the same rollout", |event| {
        matches!(
            event,
            Event::Pass
                | Event::PassHalfway
                | Event::Heal(_)
                | Event::Slow(_)
                | Event::Break(_)
                | Event::Away(_)
                | Event::Delete(_)
                | Event::Wait(_)
        )
    })
}

/// The names of the deployments behind the first approval that the waves of a scene ask for.
fn behind_an_approval(scene: &Scene) -> Vec<Box<str>> {
    let mut is_behind = false;
    let mut behind = Vec::new();
    for wave in &scene.policy.waves {
        is_behind |= wave.approval == Approval::Before;
        if is_behind {
            behind.extend(wave.deployments.iter().cloned());
        }
        is_behind |= wave.approval == Approval::After;
    }
    behind
}

fn simulate(scene: Scene, events: &[Event]) -> Simulator {
    let mut simulator = Simulator::new(scene);
    for event in events {
        simulator.happen(event);
    }
    simulator
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(200) })]

    /// R1 to R6, R8, R10: the simulator checks each decision.
    #[test]
    fn r3_no_decision_breaks_a_rule(scene in scene(), events in vec(event(), 0..120)) {
        simulate(scene, &events);
    }

    /// Whatever is skipped, and whichever waves have lost all their cities.
    #[test]
    fn r3_nothing_passes_an_approval_that_is_missing(
        mut scene in scene(),
        fates in vec(prop_oneof![Just("there"), Just("away"), Just("gone")], 12),
        events in vec(unapproved(), 0..60),
    ) {
        let behind = behind_an_approval(&scene);
        let names: Vec<_> = scene.cities.iter().map(|city| city.deployment.clone()).collect();
        for (name, fate) in names.iter().zip(fates) {
            match fate {
                "away" => drop(scene.set(name, Health::Unreachable).carried()),
                "gone" => drop(scene.remove(name).carried()),
                _ => {}
            }
        }
        prop_assume!(!scene.cities.is_empty());
        let before = scene.newest;
        scene.template();
        let mut simulator = Simulator::new_at(scene, before);
        for event in events {
            simulator.happen(&event);
            for city in simulator.scene.cities.iter().filter(|city| behind.contains(&city.deployment)) {
                let is_before = matches!(city.carries, Carries::Nothing) || city.carries == Carries::Known(before);
                prop_assert!(is_before, "{}: {:?}", city.deployment, city.carries);
            }
        }
    }

    #[test]
    fn r3_no_decision_without_a_status_breaks_a_rule(
        scene in stateless(),
        events in vec(unsteered(), 0..120),
    ) {
        simulate(scene, &events);
    }

    #[test]
    fn r6_a_rollout_completes_when_all_heals(scene in scene(), events in vec(event(), 0..80)) {
        let mut simulator = simulate(scene, &events);
        simulator.scene.policy.abort = false;
        simulator.scene.policy.on_failure = OnFailure::Pause;
        // What was rolled back is over; a newer template is the way on.
        simulator.happen(&Event::Template);
        simulator.end_well();
        prop_assert_eq!(simulator.decide().verdict, Verdict::Complete);
        prop_assert_eq!(simulator.carried(), [simulator.scene.newest].into());
    }

    #[test]
    fn r10_a_rollout_without_a_status_completes_when_all_heals(
        scene in stateless(),
        events in vec(unsteered(), 0..80),
    ) {
        let mut simulator = simulate(scene, &events);
        simulator.end_well();
        prop_assert_eq!(simulator.decide().verdict, Verdict::Complete);
        prop_assert_eq!(simulator.carried(), [simulator.scene.newest].into());
    }

    #[test]
    fn r7_an_abort_ends_in_one_revision(scene in scene(), events in vec(event(), 0..80)) {
        let mut simulator = simulate(scene, &events);
        simulator.scene.policy.abort = true;
        simulator.pass();
        simulator.pass();
        let target = simulator.scene.status.target.unwrap();
        let reachable = simulator.scene.cities.iter().filter(|city| city.health != Health::Unreachable);
        for city in reachable {
            prop_assert_eq!(city.carries, Carries::Known(target), "{}", city.deployment);
        }
        simulator.end_well();
        prop_assert_eq!(simulator.carried(), [target].into());
        prop_assert_eq!(simulator.decide().verdict, Verdict::Complete);
    }

    #[test]
    fn r6_a_roll_back_ends_at_each_citys_last_good_revision(
        scene in scene(),
        events in vec(event(), 0..80),
        at in any::<prop::sample::Index>(),
    ) {
        let mut simulator = simulate(scene, &events);
        simulator.scene.policy.abort = false;
        simulator.scene.policy.on_failure = OnFailure::RollBack;
        simulator.happen(&Event::Template);
        simulator.scene.status.approvals.clear();
        // So far as it comes by itself, until this city has the target and fails on it.
        let failing = at.get(&simulator.scene.cities).deployment.clone();
        for city in &mut simulator.scene.cities {
            city.health = Health::Healthy;
        }
        for _ in 0..simulator.scene.cities.len() {
            simulator.pass();
            for city in &mut simulator.scene.cities {
                let fails = city.deployment == failing && city.carries == Carries::Known(simulator.scene.newest);
                city.health = if fails { stuck() } else { Health::Healthy };
            }
        }
        simulator.pass();
        if simulator.scene.status.direction == Direction::Back {
            simulator.end_well();
            let status = simulator.scene.status.clone();
            for entry in &status.cities {
                let good = entry.last_good.unwrap_or(simulator.scene.newest);
                let carried = simulator.scene.city(&entry.deployment).carries;
                let is_good = carried == Carries::Known(good);
                // Its turn had not come: it stays where it was.
                let is_older = matches!(carried, Carries::Known(Revision(older)) if older < simulator.scene.newest.0);
                prop_assert!(is_good || is_older, "{:?}", entry);
            }
            let verdict = simulator.decide().verdict;
            let is_stopped = matches!(verdict, Verdict::Stalled { .. } | Verdict::RolledBack { .. });
            prop_assert!(is_stopped);
        }
    }
}
