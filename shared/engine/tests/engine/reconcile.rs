//! The reconcile loop: rounds, convergence and outcome.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fedhub_core::errors::Error;
use fedhub_core::object::{Key, Kind, PlaneId};
use fedhub_core::trace::Answered;
use fedhub_engine::reconcile::MAX_ROUNDS;
use fedhub_engine::{Job, Outcome, Reconciler, Step, reconcile};
use fedhub_planes::Pass;
use tokio::time::Instant;

/// Plays a script of steps; its snapshot is the number of the round.
#[derive(Default)]
struct Script {
    steps: VecDeque<Step>,
    rounds: usize,
    breaks_at: Option<usize>,
    synced_at: Option<usize>,
    marked: AtomicUsize,
}

impl Reconciler for Script {
    type Snapshot = usize;
    type Plan = Option<Step>;

    async fn snapshot(&mut self) -> Result<ControlFlow<Outcome, usize>, Error> {
        self.rounds += 1;
        let breaks = self.breaks_at == Some(self.rounds);
        Ok(if breaks { ControlFlow::Break(Outcome::Unchanged) } else { ControlFlow::Continue(self.rounds) })
    }

    fn is_synced(&self, snapshot: &usize) -> bool {
        self.synced_at == Some(*snapshot)
    }

    fn plan(&self, _: &usize) -> Option<Step> {
        self.steps.front().copied()
    }

    async fn apply(&mut self, _: &usize, plan: Option<Step>) -> Result<Step, Error> {
        self.steps.pop_front();
        plan.ok_or_else(|| Error::NotEngaged(PlaneId::Hub))
    }

    fn mark_synced(&self, snapshot: &usize) {
        self.marked.store(*snapshot, Ordering::Relaxed);
    }
}

fn job() -> Job {
    let namespace = "shop".into();
    let name = "wd".into();
    let key = Key { plane: PlaneId::Hub, kind: Kind::WorkloadDeployment, namespace, name };
    let now = Instant::now();
    Job {
        key,
        since: now,
        unsettled_since: now,
        waited: Duration::ZERO,
        pass: Pass::unbound(),
        answered: Answered::recorded(),
    }
}

async fn play(script: &mut Script) -> Result<Outcome, Error> {
    reconcile(script, &job()).await
}

fn script(steps: &[Step]) -> Script {
    Script { steps: steps.iter().copied().collect(), ..Script::default() }
}

#[tokio::test]
async fn p8_what_is_in_sync_is_neither_planned_nor_applied() {
    let mut known = Script { synced_at: Some(1), ..script(&[]) };
    assert_eq!(play(&mut known).await.unwrap(), Outcome::Unchanged);
    assert_eq!((known.rounds, known.marked.into_inner()), (1, 1));
    let mut nothing = Script { breaks_at: Some(1), ..script(&[]) };
    assert_eq!(play(&mut nothing).await.unwrap(), Outcome::Unchanged);
    assert_eq!(nothing.marked.into_inner(), 0, "there is nothing to remember");
}

#[tokio::test]
async fn a_reconcile_that_wrote_ends_as_updated_and_one_that_only_read_as_unchanged() {
    for (steps, expected) in [
        (vec![Step::Unchanged], Outcome::Unchanged),
        (vec![Step::Learned, Step::Unchanged], Outcome::Unchanged),
        (vec![Step::Updated, Step::Learned, Step::Unchanged], Outcome::Updated),
        (vec![Step::Updated, Step::End(Outcome::Unchanged)], Outcome::Updated),
        (vec![Step::Updated, Step::End(Outcome::AwaitChange)], Outcome::AwaitChange),
    ] {
        let ends = matches!(steps.last(), Some(Step::End(_)));
        let mut script = script(&steps);
        assert_eq!(play(&mut script).await.unwrap(), expected, "{steps:?}");
        assert_eq!(script.rounds, steps.len());
        assert_eq!(script.marked.into_inner(), if ends { 0 } else { steps.len() }, "{steps:?}");
    }
    let mut synced = Script { synced_at: Some(2), ..script(&[Step::Updated]) };
    assert_eq!(play(&mut synced).await.unwrap(), Outcome::Updated);
    let mut gone = Script { breaks_at: Some(2), ..script(&[Step::Updated]) };
    assert_eq!(play(&mut gone).await.unwrap(), Outcome::Updated);
}

#[tokio::test]
async fn what_does_not_converge_is_an_error_and_so_is_a_step_that_fails() {
    let mut endless = script(&[Step::Updated; 2 * MAX_ROUNDS]);
    assert!(matches!(play(&mut endless).await, Err(Error::Bug(_))));
    assert_eq!(endless.rounds, MAX_ROUNDS);
    let mut failing = script(&[Step::Updated]);
    assert!(matches!(play(&mut failing).await, Err(Error::NotEngaged(_))));
}
