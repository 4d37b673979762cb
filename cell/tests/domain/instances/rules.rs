//! The rules as statements about one step, each said without looking at how the plan comes to it.

use fedhub_cell::domain::instances::{InstanceStep, InstanceWait, RolloutPlan};

use super::support::Held;

fn find<'h>(held: &'h [Held], name: &str) -> &'h Held {
    held.iter().find(|h| h.name == name).unwrap()
}

/// Panics where a step breaks a rule. `hash` is the template's of now.
pub fn check(held: &[Held], hash: &str, desired: u32, plan: &RolloutPlan<'_>) {
    let ours = |ordinal: u32| held.iter().find(|h| h.is_ours() && h.ordinal() == Some(ordinal));
    let current = |h: &Held| h.hash.as_deref() == Some(hash);
    let serves = |ordinal: u32| ours(ordinal).is_some_and(|h| h.ready && !h.terminating);
    let leaving = || held.iter().filter(|h| h.is_ours() && h.ordinal().is_some() && h.terminating);
    let above = |h: &&Held| h.is_ours() && h.ordinal().is_some_and(|o| o >= desired);
    // What is on its way out is no surplus any more.
    let surplus = || held.iter().filter(above).filter(|h| !h.terminating);
    let strays = || held.iter().filter(|h| h.is_ours() && h.ordinal().is_none() && !h.terminating);
    let wanted = || (0..desired).filter_map(ours);
    let why = || format!("{plan:?} of {desired} on {hash} in {held:#?}");

    match &plan.step {
        InstanceStep::Rest => {
            assert!((0..desired).all(serves) && wanted().all(current), "{}", why());
            assert!(held.iter().filter(above).count() == 0 && strays().count() == 0, "{}", why());
        }
        InstanceStep::Create(ordinal) => {
            assert!(*ordinal < desired, "{}", why());
            assert!(
                (0..*ordinal).all(serves),
                "C2, C12: predecessors are Ready, and none is on its way out: {}",
                why()
            );
            assert!(
                held.iter().all(|h| h.ordinal() != Some(*ordinal)),
                "C1, C3: the name is free: {}",
                why()
            );
            assert!(
                surplus().count() == 0 && strays().count() == 0,
                "C1: never more than desired: {}",
                why()
            );
        }
        InstanceStep::Replace(instance) => {
            let it = find(held, instance.name);
            assert!(it.is_ours() && !it.terminating && !current(it), "C3: {}", why());
            assert!(
                it.ordinal().unwrap() < desired && surplus().count() == 0 && strays().count() == 0,
                "{}",
                why()
            );
            assert!(wanted().all(|h| !h.terminating), "C2: one at a time: {}", why());
            assert!(
                wanted().all(|h| h.ready || !current(h)),
                "C2: stops while a new one is not Ready: {}",
                why()
            );
            let place = it.ordinal().unwrap();
            if it.ready {
                assert!(
                    (0..desired).all(serves) && leaving().count() == 0,
                    "C2: nothing Ready goes while another is missing or on its way out: {}",
                    why()
                );
                assert!((place + 1..desired).all(|o| current(ours(o).unwrap())), "C2: descending: {}", why());
            } else {
                assert!((0..place).all(serves), "C2: predecessors are Ready: {}", why());
            }
        }
        InstanceStep::Delete(them) => {
            assert!(!them.is_empty(), "{}", why());
            let them: Vec<_> = them.iter().map(|i| find(held, i.name)).collect();
            assert!(them.iter().all(|h| h.is_ours() && !h.terminating), "C3: {}", why());
            if strays().count() > 0 {
                assert_eq!(them.len(), strays().count(), "all strays at once: {}", why());
                assert!(them.iter().all(|h| h.ordinal().is_none()), "{}", why());
            } else {
                assert_eq!(them.len(), 1, "C2: one at a time: {}", why());
                assert_eq!(leaving().count(), 0, "C2: the next only when the last is gone: {}", why());
                assert_eq!(
                    them[0].ordinal(),
                    surplus().filter_map(Held::ordinal).max(),
                    "descending: {}",
                    why()
                );
            }
        }
        InstanceStep::Wait(InstanceWait::Deleting(instance)) => {
            assert!(
                find(held, instance.name).terminating && find(held, instance.name).is_ours(),
                "{}",
                why()
            );
            let place = find(held, instance.name).ordinal().unwrap();
            let lacking = (0..desired).find(|o| !serves(*o));
            let to_be_replaced = |o: u32| ours(o).is_some_and(|h| !h.terminating && !h.ready && !current(h));
            let holds_up = if surplus().count() > 0 {
                true // C2: the next one too many is asked to go when it is gone.
            } else if place < desired {
                lacking.is_some_and(|o| o == place || to_be_replaced(o))
            } else {
                lacking.is_none()
            };
            assert!(holds_up, "what is missing before it is made, or mended: {}", why());
        }
        InstanceStep::Wait(InstanceWait::NotReady(instance)) => {
            let it = find(held, instance.name);
            assert!(
                it.is_ours() && !it.ready && current(it),
                "C4: an outdated one blocks nothing: {}",
                why()
            );
            assert_eq!(surplus().count(), 0, "C4: scale-down does not wait for readiness: {}", why());
        }
        InstanceStep::Wait(InstanceWait::NameTaken(instance)) => {
            let it = find(held, instance.name);
            assert!(!it.is_ours() && it.ordinal().unwrap() < desired, "C3: {}", why());
            assert_eq!(surplus().count(), 0, "C4: scale-down does not wait for names: {}", why());
        }
        InstanceStep::Wait(InstanceWait::UnknownPolicy(_) | InstanceWait::NoTemplate) => panic!("{}", why()),
    }

    for patch in &plan.labels {
        let it = find(held, patch.instance.name);
        assert!(it.is_ours() && !it.terminating && it.ordinal().is_some(), "C3: {}", why());
        assert!(
            patch.set.iter().all(|(k, v)| it.labels.get(*k) != Some(v)),
            "I7: only what differs: {}",
            why()
        );
    }
}
