use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, PlaneId};
use proptest::prelude::*;

use super::*;

fn key(name: &str) -> Key {
    Key {
        plane: PlaneId::Project(PlaneName::new("alpha").unwrap()),
        kind: Kind::WorkloadDeployment,
        namespace: "shop".into(),
        name: name.into(),
    }
}

/// What happens to one WD.
#[derive(Clone, Copy, Debug)]
enum Step {
    Seen(i64),
    Federated(i64),
    Reported(i64),
    Returned(i64),
}
use Step::{Federated, Reported, Returned, Seen};

/// What was measured after steps that begin at these seconds: Karmada's shares, and the whole ways.
fn measured(steps: &[(u64, Step)]) -> (Vec<u64>, Vec<u64>) {
    let start = Instant::now();
    let wd = key("web");
    let mut convergence = Convergence::default();
    let mut shares = Vec::new();
    let mut whole = Vec::new();
    for (at, step) in steps {
        let now = start + Duration::from_secs(*at);
        match step {
            Seen(generation) => convergence.seen(&wd, *generation, "DFW", now),
            Federated(generation) => convergence.federated(&wd, *generation, "DFW", now, now),
            Reported(observed) => shares.extend(convergence.reported(&wd, *observed, now).took),
            Returned(observed) => whole.extend(convergence.returned(&wd, *observed, now).took),
        }
    }
    let seconds = |took: Vec<Duration>| took.iter().map(Duration::as_secs).collect();
    (seconds(shares), seconds(whole))
}

/// A name, steps, and what is measured: Karmada's shares, and the whole ways.
type Case<'a> = (&'a str, &'a [(u64, Step)], &'a [u64], &'a [u64]);

fn check(cases: &[Case<'_>]) {
    for (name, steps, shares, whole) in cases {
        assert_eq!(measured(steps), (shares.to_vec(), whole.to_vec()), "{name}");
    }
}

#[test]
fn u5_a_generation_is_measured_from_its_sight_to_its_status_and_karmadas_share_apart() {
    check(&[
        ("one", &[(0, Seen(1)), (1, Federated(1)), (4, Reported(1)), (5, Returned(1))], &[3], &[5]),
        ("an older status", &[(0, Seen(2)), (1, Federated(2)), (2, Reported(1)), (3, Returned(1))], &[], &[]),
        (
            "written and reported again",
            &[
                (0, Seen(1)),
                (1, Federated(1)),
                (5, Federated(1)),
                (6, Reported(1)),
                (7, Reported(1)),
                (8, Returned(1)),
                (9, Returned(1)),
            ],
            &[5],
            &[8],
        ),
        (
            "reported before the write was acknowledged",
            &[(0, Seen(1)), (1, Reported(1)), (2, Federated(1)), (3, Reported(1)), (4, Returned(1))],
            &[],
            &[4],
        ),
        ("never seen, but federated", &[(2, Federated(3)), (4, Reported(3)), (5, Returned(3))], &[2], &[3]),
        ("on its way at the start", &[(2, Reported(3)), (3, Returned(3))], &[], &[]),
        ("older than what is on its way", &[(0, Seen(4)), (1, Seen(3)), (2, Returned(4))], &[], &[2]),
    ]);
}

#[test]
fn u5_what_is_superseded_converges_with_what_supersedes_it() {
    check(&[
        (
            "before it was federated",
            &[(0, Seen(1)), (2, Seen(2)), (3, Federated(2)), (7, Reported(2)), (8, Returned(2))],
            &[4, 4],
            &[8, 6],
        ),
        (
            "on its way",
            &[
                (0, Seen(1)),
                (1, Federated(1)),
                (2, Seen(2)),
                (3, Federated(2)),
                (9, Reported(2)),
                (9, Returned(2)),
            ],
            &[8, 6],
            &[9, 7],
        ),
        (
            "both come back",
            &[
                (0, Seen(1)),
                (1, Federated(1)),
                (2, Seen(2)),
                (3, Reported(1)),
                (4, Returned(1)),
                (6, Federated(2)),
                (8, Reported(2)),
                (9, Returned(2)),
            ],
            &[2, 2],
            &[4, 7],
        ),
    ]);
}

#[test]
fn u5_a_wd_that_changes_without_end_counts_from_its_oldest_change_and_takes_no_more_room() {
    let start = Instant::now();
    let wd = key("web");
    let mut convergence = Convergence::default();
    for n in 0..1000 {
        convergence.seen(&wd, n, "DFW", start + Duration::from_secs(n.unsigned_abs()));
    }
    assert_eq!(convergence.0[&wd].generations.len(), MAX_GENERATIONS);
    let measured = convergence.returned(&wd, 999, start + Duration::from_secs(1000));
    let seconds: Vec<_> = measured.took.iter().map(Duration::as_secs).collect();
    assert_eq!(
        seconds,
        [1000, 999, 998, 997, 996, 995, 994, 993],
        "the last from the first that it stands for"
    );
    assert!(convergence.is_empty());
}

#[test]
fn u5_so_many_wds_are_followed_and_no_more() {
    let now = Instant::now();
    let mut convergence = Convergence::default();
    for n in 0..MAX_WDS + 10 {
        convergence.seen(&key(&format!("wd-{n}")), 1, "DFW", now);
    }
    assert_eq!(convergence.len(), MAX_WDS);
    convergence.seen(&key("wd-0"), 2, "ORD", now);
    let measured = convergence.returned(&key("wd-0"), 2, now);
    assert_eq!((&*measured.city, measured.took.len()), ("ORD", 2), "one that is known goes on");
    convergence.retain(|key| &*key.name == "wd-1");
    assert_eq!(convergence.len(), 1);
    convergence.forget(&key("wd-1"));
    assert!(convergence.is_empty());
}

proptest! {
    /// Whatever the order: no generation is measured twice, none is left that has come back, and none takes
    /// longer than since the first sight of any.
    #[test]
    fn u5_each_generation_is_measured_once(steps in prop::collection::vec((0u64..4, 0..4u8, 0i64..12), 0..60)) {
        let start = Instant::now();
        let wd = key("web");
        let mut convergence = Convergence::default();
        let mut now = start;
        let mut begun = 0;
        let mut shares = 0;
        let mut whole = 0;
        for (wait, step, generation) in steps {
            now += Duration::from_secs(wait);
            match step {
                0 => {
                    convergence.seen(&wd, generation, "DFW", now);
                    begun += 1;
                }
                1 => {
                    convergence.federated(&wd, generation, "DFW", now, now);
                    begun += 1;
                }
                2 => shares += convergence.reported(&wd, generation, now).took.len(),
                _ => {
                    let took = convergence.returned(&wd, generation, now).took;
                    prop_assert!(took.iter().all(|took| *took <= now - start));
                    prop_assert!(took.is_sorted_by(|older, newer| older >= newer), "oldest first");
                    whole += took.len();
                    let left = convergence.0.get(&wd).map_or(&[][..], |wd| &wd.generations);
                    prop_assert!(left.iter().all(|it| it.number > generation));
                }
            }
            let left = convergence.0.get(&wd).map_or(&[][..], |wd| &wd.generations);
            prop_assert!(left.len() <= MAX_GENERATIONS && left.is_sorted_by(|a, b| a.number < b.number));
            prop_assert!(shares <= begun && whole <= begun);
        }
    }
}

#[test]
fn u5_bounded_what_a_burst_took_is_given_back() {
    let mut convergence = Convergence::default();
    let now = Instant::now();
    let keys: Vec<_> = (0..10_000).map(|n| key(&format!("wd-{n}"))).collect();
    for key in &keys {
        convergence.seen(key, 1, "DFW", now);
    }
    assert!(convergence.0.values().all(|wd| wd.generations.capacity() == 1));
    for key in &keys[100..] {
        convergence.returned(key, 1, now);
    }
    assert!(convergence.len() == 100 && convergence.0.capacity() < 1000, "{}", convergence.0.capacity());
    convergence.retain(|_| false);
    assert!(convergence.0.capacity() < 1000);
}
