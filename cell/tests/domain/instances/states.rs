//! Every state of four ordinals (three where it is lived through) and strays, for every desired number: no
//! step breaks a rule, and a cell where what is created becomes Ready comes to rest from there.

use fedhub_cell::domain::instances::{Deployment, InstanceStep, RolloutPlan};

use super::rules::check;
use super::support::*;

const OLD: u32 = 1;
const NOW: u32 = 2;

/// What may stand at one ordinal.
const KINDS: [fn(u32) -> Option<Held>; 8] = [
    |_| None,
    |o| Some(Held::slot(o).on(NOW).ready()),
    |o| Some(Held::slot(o).on(NOW)),
    |o| Some(Held::slot(o).on(OLD).ready()),
    |o| Some(Held::slot(o).on(OLD)),
    |o| Some(Held::slot(o)),
    |o| Some(Held::slot(o).on(OLD).ready().deleting()),
    |o| Some(Held::slot(o).on(NOW).ready().foreign()),
];

fn states(slots: u32) -> impl Iterator<Item = (u32, Vec<Held>)> {
    let all = KINDS.len().pow(slots);
    (0..all).flat_map(move |code| (0..=slots).map(move |desired| (code, desired))).map(
        move |(code, desired)| {
            let kinds = (0..slots).map(|o| KINDS[code / KINDS.len().pow(o) % KINDS.len()](o));
            let stray = (code % 3 == 0).then(|| Held::ours("web-x").ready());
            let leaving = (code % 5 == 0).then(|| Held::ours("web-01").deleting());
            (desired, kinds.flatten().chain(stray).chain(leaving).collect())
        },
    )
}

/// Performs a step; a deletion is asked for, and done when the cell gets round to it.
fn perform(held: &mut Vec<Held>, plan_of: impl FnOnce(&[Held]) -> (Vec<u32>, Vec<String>)) -> bool {
    let (create, delete) = plan_of(held);
    for h in held.iter_mut().filter(|h| delete.contains(&h.uid)) {
        h.terminating = true;
    }
    for ordinal in &create {
        assert!(held.iter().all(|h| h.ordinal() != Some(*ordinal)), "C1: never two of one ordinal");
        held.push(Held::slot(*ordinal).on(NOW));
    }
    !(create.is_empty() && delete.is_empty())
}

fn acts(plan: &RolloutPlan<'_>) -> (Vec<u32>, Vec<String>) {
    match &plan.step {
        InstanceStep::Create(ordinal) => (vec![*ordinal], vec![]),
        InstanceStep::Replace(instance) => (vec![], vec![instance.uid.to_owned()]),
        InstanceStep::Delete(them) => (vec![], them.iter().map(|i| i.uid.to_owned()).collect()),
        InstanceStep::Rest | InstanceStep::Wait(_) => (vec![], vec![]),
    }
}

#[test]
fn c1_c2_c3_c4_no_step_from_any_state_breaks_a_rule() {
    let wd = wd(template(NOW));
    let hash = Deployment::from_object(&wd).template_hash;
    for (desired, held) in states(4) {
        planned(&wd, desired, &held, |plan| check(&held, &hash, desired, plan));
    }
}

#[test]
fn c1_every_state_comes_to_rest_where_templates_become_ready() {
    let wd = wd(template(NOW));
    let hash = Deployment::from_object(&wd).template_hash;
    for (desired, start) in states(3) {
        let mut held = start.clone();
        let mut quiet = 0;
        let mut steps = 0;
        while quiet < 2 {
            let acted = perform(&mut held, |held| {
                planned(&wd, desired, held, |plan| {
                    check(held, &hash, desired, plan);
                    acts(plan)
                })
            });
            quiet = if acted { 0 } else { quiet + 1 };
            steps += 1;
            assert!(steps < 40, "{desired} of {start:#?}");
            // The cell: what is on its way out goes, what is new becomes Ready; what is old and not Ready
            // never does.
            held.retain(|h| !h.terminating || !h.is_ours());
            held.iter_mut().filter(|h| h.hash.as_ref() == Some(&hash)).for_each(|h| h.ready = true);
        }
        let foreign = |h: &Held| !h.is_ours();
        // A foreign object keeps its ordinal, and what comes after, from being made; what is there is kept.
        let first = held.iter().filter(|h| foreign(h)).filter_map(Held::ordinal).min().unwrap_or(desired);
        for ordinal in 0..desired.min(first) {
            let it = held.iter().find(|h| h.ordinal() == Some(ordinal)).expect("made");
            assert!(it.ready && it.is_ours(), "{desired} of {start:#?}");
        }
        assert!(held.iter().filter(|h| !foreign(h)).all(|h| h.ordinal().is_some_and(|o| o < desired)));
        let before: Vec<_> = start.iter().filter(|h| foreign(h)).collect();
        assert_eq!(held.iter().filter(|h| foreign(h)).collect::<Vec<_>>(), before, "C3: never touched");
        let end = planned(&wd, desired, &held, words);
        let kept = if first < desired { format!("NameTaken web-{first}") } else { "rest".to_owned() };
        assert_eq!(end, kept, "{desired} of {start:#?}");
    }
}

/// C4: with no Instance ever becoming Ready, what is too many goes all the same.
#[test]
fn c4_scale_down_ends_where_nothing_is_ever_ready() {
    let wd = wd(template(NOW));
    for (desired, start) in states(3) {
        let mut held: Vec<_> = start.iter().cloned().map(|h| Held { ready: false, ..h }).collect();
        for _ in 0..40 {
            perform(&mut held, |held| planned(&wd, desired, held, acts));
            held.retain(|h| !h.terminating || !h.is_ours());
        }
        assert!(
            held.iter().all(|h| !h.is_ours() || h.ordinal().is_some_and(|o| o < desired)),
            "{desired} of {start:#?}"
        );
        // And it stands still: nothing is deleted again and again.
        assert_eq!(planned(&wd, desired, &held, |plan| acts(plan).1), Vec::<String>::new());
    }
}
