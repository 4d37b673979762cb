//! Workers: take a key, have the controller reconcile it, record the outcome.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors::{self, Category, Error};
use fedhub_core::fence::in_epoch;
use fedhub_core::metrics::Metrics;
use fedhub_core::object::Key;
use fedhub_core::trace::{self, Change, Reconciled, following};
use fedhub_planes::plane_responses::{PlaneResponses, recording};
use futures::FutureExt;
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

/// Starts `count` workers, which run until the queue is closed; a reconcile that has begun is finished.
pub fn run_workers<C: Controller>(
    controller: &Arc<C>,
    queue: &Arc<Queue>,
    metrics: &Metrics,
    count: usize,
    tasks: &TaskTracker,
) {
    queue.staff(controller.name(), count);
    for _ in 0..count {
        let (controller, queue, metrics) = (controller.clone(), queue.clone(), metrics.clone());
        tasks.spawn(async move {
            while let Some(job) = queue.next().await {
                let (outcome, responses, error) = reconcile(controller.as_ref(), &job, &metrics).await;
                let news = queue.ended(&job, outcome, &responses);
                if let Some(error) = error {
                    log_failure(controller.name(), &job, &error, news);
                }
            }
        });
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
    // In a box for as long as it lasts: an idle worker must not hold room for the largest pass there is.
    let running = Box::pin(in_epoch(job.epoch, followed(controller.reconcile(job)).instrument(span)));
    let running = AssertUnwindSafe(running).catch_unwind();
    let (reconciled, mut responses) = recording(job.asks_hub, running).await;
    // A panic is a bug of one reconcile: it must take neither the worker nor the key with it.
    let panicked = |_| (Err(Error::Bug(format!("the reconcile of {} panicked", job.key))), None);
    let (reconciled, change) = reconciled.unwrap_or_else(panicked);
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
    if let Some(recorder) = trace::recorder().filter(|_| outcome != Outcome::Unchanged) {
        recorder.reconciled(Reconciled {
            controller: name,
            key: job.key.clone(),
            outcome: label,
            failed: reconciled.is_err(),
            took,
            waited: job.waited,
            change,
        });
    }
    (outcome, responses, reconciled.err())
}

/// Runs a reconcile; returns which change it answers as well, where spans are recorded.
async fn followed<F: Future>(reconcile: F) -> (F::Output, Option<Change>) {
    if trace::recorder().is_some() { following(reconcile).await } else { (reconcile.await, None) }
}

/// The outcome of a reconcile that failed, and its metric label.
fn failure(error: &Error) -> (Outcome, &'static str) {
    let category = error.category();
    // Out of sync is no fault of the object: the plane's own event enqueues it again, or the next term.
    let outcome = match category {
        // The root server reports when the project is suspended and resumed; its planes may know it sooner, or later.
        Category::NotEngaged if error.is_suspension() => Outcome::RequeueAfter(SUSPENDED),
        Category::NotEngaged => Outcome::AwaitChange,
        _ => Outcome::Failed,
    };
    (outcome, category.label())
}

fn outcome_label(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Unchanged => "unchanged",
        Outcome::Updated => "updated",
        Outcome::AwaitChange | Outcome::RequeueAfter(_) => "waiting",
        Outcome::Failed => "failed",
    }
}

/// Logs a failure: as a warning where it is `news`, which part of the daily round never is, as the next reconcile reads
/// again.
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
