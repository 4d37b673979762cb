//! Workers: take a key, have the controller reconcile it, record the outcome.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors::{self, Category, Error};
use fedhub_core::metrics::Metrics;
use fedhub_core::object::Key;
use fedhub_core::trace::{self, Reconciled};
use fedhub_planes::PlaneResponses;
use futures::FutureExt;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use super::{Job, Outcome, Queue};

/// When a write that was refused because of a suspension is retried, where no event tells of the suspension.
const SUSPENDED: Duration = Duration::from_secs(5);

/// A controller: reconciles keys.
pub trait Controller: Send + Sync + 'static {
    /// The metric label and the name in logs.
    fn name(&self) -> &'static str;

    /// Reconciles one key. Called for one key by one worker at a time.
    fn reconcile(&self, job: &Job) -> impl Future<Output = Result<Outcome, Error>> + Send;
}

/// Runs up to `count` workers until the queue is closed; a reconcile that has begun is finished. A worker is
/// a task only while keys are ready: the hundreds that are idle take no memory.
pub fn run_workers<C: Controller>(
    controller: &Arc<C>,
    queue: &Arc<Queue>,
    metrics: &Metrics,
    count: usize,
    tasks: &TaskTracker,
) {
    queue.staff(controller.name(), count);
    let controller = controller.clone();
    let queue = queue.clone();
    let metrics = metrics.clone();
    let workers = tasks.clone();
    let idle = Arc::new(Semaphore::new(count));
    tasks.spawn(async move {
        while let Ok(place) = idle.clone().acquire_owned().await
            && let Some(job) = queue.next().await
        {
            let controller = controller.clone();
            let queue = queue.clone();
            let metrics = metrics.clone();
            workers.spawn(async move {
                let mut next = Some(job);
                while let Some(job) = next {
                    work(controller.as_ref(), &queue, &job, &metrics).await;
                    next = queue.try_next();
                }
                drop(place);
            });
        }
    });
}

async fn work<C: Controller>(controller: &C, queue: &Queue, job: &Job, metrics: &Metrics) {
    let (outcome, responses, error) = reconcile(controller, job, metrics).await;
    let news = queue.ended(job, outcome, &responses);
    if let Some(error) = error {
        log_failure(controller.name(), job, &error, news);
    }
}

async fn reconcile<C: Controller>(
    controller: &C,
    job: &Job,
    metrics: &Metrics,
) -> (Outcome, PlaneResponses, Option<Error>) {
    let name = controller.name();
    let started = Instant::now();
    metrics.queue_wait.observe(job.waited.as_secs_f64());
    let span = tracing::debug_span!("reconcile", controller = name, key = %job.key);
    // In a box for as long as it lasts: a worker's task would hold room for the largest pass there is, also
    // in a short one.
    let running = Box::pin(controller.reconcile(job).instrument(span));
    let reconciled = AssertUnwindSafe(running).catch_unwind().await;
    let mut responses = job.pass.responses();
    // A panic is a bug of one reconcile: it must take neither the worker nor the key with it.
    let panicked = |_| Err(Error::Bug(format!("the reconcile of {} panicked", job.key)));
    let reconciled = reconciled.unwrap_or_else(panicked);
    if let Err(error) = &reconciled {
        responses.unhealthy = error.unhealthy().cloned();
    }
    let (outcome, label) = match &reconciled {
        Ok(outcome) => (*outcome, outcome_label(*outcome)),
        Err(error) => failure(error),
    };
    if outcome == Outcome::Unchanged {
        metrics.noop_reconciles.inc();
    }
    let took = started.elapsed();
    metrics.reconciles.with_label_values(&[name, label]).inc();
    metrics.reconcile_seconds.with_label_values(&[name]).observe(took.as_secs_f64());
    if let Some(recorder) = trace::recorder()
        && outcome != Outcome::Unchanged
    {
        recorder.reconciled(Reconciled {
            controller: name,
            key: job.key.clone(),
            outcome: label,
            failed: reconciled.is_err(),
            took,
            waited: job.waited,
            change: job.answered.said(),
        });
    }
    (outcome, responses, reconciled.err())
}

/// The outcome of a reconcile that failed, and its metric label.
fn failure(error: &Error) -> (Outcome, &'static str) {
    let category = error.category();
    // Out of sync is no fault of the object: the plane's own event enqueues it again, or the next term.
    let outcome = match category {
        // The root server reports when the project is suspended and resumed; its planes may know it sooner,
        // or later.
        Category::NotEngaged if error.is_suspension() => Outcome::RequeueAfter(SUSPENDED),
        Category::NotEngaged => Outcome::AwaitChange,
        Category::Bug => Outcome::Diverged,
        _ => Outcome::Failed,
    };
    (outcome, category.label())
}

fn outcome_label(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Unchanged => "unchanged",
        Outcome::Updated => "updated",
        Outcome::AwaitChange | Outcome::RequeueAfter(_) => "waiting",
        Outcome::Failed | Outcome::Diverged => "failed",
    }
}

/// Logs a failure: as a warning where it is `news`, which part of the daily round never is, as the next
/// reconcile reads again.
fn log_failure(controller: &str, job: &Job, error: &Error, news: bool) {
    let category = error.category();
    let error = errors::chain(error);
    let Key { plane, kind, namespace, name } = &job.key;
    if news && !matches!(category, Category::Conflict | Category::NotEngaged) {
        tracing::warn!(controller, %plane, ?kind, namespace, name, %category, error, "reconcile failed, requeueing");
    } else {
        tracing::debug!(controller, %plane, ?kind, namespace, name, %category, error, "reconcile failed, requeueing");
    }
}
