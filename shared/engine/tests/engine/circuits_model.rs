//! Circuits against a model: whatever planes answer, limits hold and no key is forgotten (I8).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fedhub_core::object::{Key, PlaneId};
use fedhub_engine::circuit::{FIRST, LONGEST, THRESHOLD};
use fedhub_engine::{Job, Outcome, Queue, QueueConfig};
use fedhub_planes::PlaneResponses;
use futures::FutureExt;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tokio::time::{Instant, advance};

use crate::support::*;

#[derive(Clone, Debug)]
enum Step {
    Event(u8, u8),
    Take,
    /// One of the running passes ends; by whose failure, and which planes answered it.
    Done(u8, u8, Option<bool>, bool, bool),
    Works(u8),
    Pass(u16),
    Forget(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let answers = (any::<bool>(), any::<bool>());
    let step = prop_oneof![
        6 => (0..4u8, 0..6u8).prop_map(|(p, k)| Step::Event(p, k)),
        6 => Just(Step::Take),
        5 => (any::<u8>(), 0..5u8, prop::option::of(any::<bool>()), answers)
            .prop_map(|(n, o, unhealthy, (hub, project))| Step::Done(n, o, unhealthy, hub, project)),
        1 => (0..5u8).prop_map(Step::Works),
        3 => (0..20_000u16).prop_map(Step::Pass),
        1 => (0..4u8).prop_map(Step::Forget),
    ];
    prop::collection::vec(step, 1..300)
}

fn plane(n: u8) -> PlaneId {
    if n == 4 { PlaneId::Hub } else { project(&format!("p{n}")) }
}

/// Whatever passes hear: one key runs once at a time, limits hold, a plane that failed last and has not
/// answered since has one probe at most, and in the end, when all planes answer, every key that waits has its
/// pass in time.
#[allow(clippy::too_many_lines, reason = "one loop over all steps")]
async fn check(steps: &[Step], workers: usize) -> Result<(), TestCaseError> {
    let queue = Queue::new(QueueConfig { per_plane: 3, seed: 5, ..QueueConfig::default() });
    queue.staff("model", workers);
    let mut jobs: Vec<Job> = Vec::new();
    let mut waiting: BTreeSet<Key> = BTreeSet::new();
    // Failures in a row, and from when on a pass has to have begun for its failure to count: the last
    // closing.
    let mut failing: BTreeMap<PlaneId, (u32, Instant)> = BTreeMap::new();
    let mut began: BTreeMap<Key, Instant> = BTreeMap::new();
    let ever = Instant::now();
    for step in steps {
        let now = Instant::now();
        match step {
            Step::Event(p, k) => {
                let key = key(&plane(*p), &k.to_string());
                queue.add(key.clone(), &plane(*p));
                waiting.insert(key);
            }
            Step::Take if jobs.len() < workers => {
                let Some(job) = queue.next().now_or_never().flatten() else { continue };
                let lane = &job.key.plane;
                let flying = jobs.iter().filter(|j| j.key.plane == *lane).count();
                let trouble = failing.get(lane).is_some_and(|(failures, _)| *failures > 0);
                prop_assert!(flying < if trouble { 1 } else { 3 }, "{} with {flying} in flight", job.key);
                prop_assert!(!jobs.iter().any(|j| j.key == job.key), "{} runs twice", job.key);
                waiting.remove(&job.key);
                began.insert(job.key.clone(), now);
                jobs.push(job);
            }
            Step::Done(n, outcome, by, hub, project) if !jobs.is_empty() => {
                let job = jobs.swap_remove(usize::from(*n) % jobs.len());
                let lane = job.key.plane.clone();
                let unhealthy = by.map(|hub| if hub { PlaneId::Hub } else { lane.clone() });
                let outcomes = [
                    Outcome::Unchanged,
                    Outcome::Updated,
                    Outcome::AwaitChange,
                    Outcome::RequeueAfter(FIRST),
                    Outcome::Failed,
                ];
                let outcome =
                    if unhealthy.is_some() { Outcome::Failed } else { outcomes[usize::from(*outcome)] };
                let responses = PlaneResponses {
                    unhealthy: unhealthy.clone(),
                    hub: *hub,
                    project: *project,
                    ..PlaneResponses::default()
                };
                queue.ended(&job, outcome, &responses);
                if matches!(outcome, Outcome::Failed | Outcome::RequeueAfter(_)) {
                    waiting.insert(job.key.clone());
                }
                if unhealthy.as_ref() == Some(&lane) {
                    let (failures, since) = failing.entry(lane).or_insert((0, ever));
                    *failures += u32::from(began[&job.key] >= *since);
                } else if *project && let Some((failures, since)) = failing.get_mut(&lane) {
                    *since = if *failures < THRESHOLD { *since } else { now };
                    *failures = 0;
                }
            }
            Step::Take | Step::Done(..) => {}
            Step::Works(p) => {
                queue.mark_healthy(&plane(*p));
                if let Some((failures, since)) = failing.get_mut(&plane(*p)) {
                    *since = if *failures < THRESHOLD { *since } else { now };
                    *failures = 0;
                }
            }
            Step::Pass(ms) => advance(Duration::from_millis((*ms).into())).await,
            Step::Forget(p) => {
                queue.forget(&plane(*p));
                failing.remove(&plane(*p));
                waiting.retain(|k| k.plane != plane(*p));
            }
        }
        // A lane that is not needed is forgotten, and its failures with it.
        let needed = |lane: &PlaneId| {
            jobs.iter().any(|j| j.key.plane == *lane) || waiting.iter().any(|k| k.plane == *lane)
        };
        failing.retain(|lane, _| needed(lane));
    }
    let well = PlaneResponses { hub: true, project: true, ..PlaneResponses::default() };
    for job in jobs.drain(..) {
        queue.ended(&job, Outcome::Unchanged, &well);
    }
    while queue.pending() > 0 {
        let job = tokio::time::timeout(LONGEST * 5 + Duration::from_secs(1), queue.next()).await;
        let job =
            job.map_err(|_| TestCaseError::fail(format!("{} keys are stuck", queue.pending())))?.unwrap();
        waiting.remove(&job.key);
        queue.ended(&job, Outcome::Unchanged, &well);
    }
    prop_assert!(waiting.is_empty(), "lost: {waiting:?}");
    prop_assert_eq!((queue.lanes(), queue.depth(), queue.circuits_open()), (0, 0, 0));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(300) })]

    #[test]
    fn i8_circuits_neither_lose_a_key_nor_let_a_second_probe_through(steps in steps(), workers in 1..20usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(check(&steps, workers))?;
    }
}
