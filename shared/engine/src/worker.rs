//! Workers: take a key, hand it to the controller, count how it went.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors::{self, Category, Error};
use fedhub_core::fence::in_epoch;
use fedhub_core::metrics::Metrics;
use fedhub_planes::plane_responses::{PlaneResponses, recording};
use futures::FutureExt;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use super::{Job, Outcome, Queue};

/// When a write that was refused because of a suspension is tried again, where nobody else knows of that.
const SUSPENDED: Duration = Duration::from_secs(5);

/// What is done for a key.
pub trait Controller: Send + Sync + 'static {
    /// The metric label and the name in logs.
    fn name(&self) -> &'static str;

    /// One pass: observe, plan, apply. Called for one key by one worker at a time.
    fn reconcile(&self, job: &Job) -> impl Future<Output = Result<Outcome, Error>> + Send;
}

/// Starts `count` workers, which run until the queue is closed; a pass that has begun is finished.
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
                let (outcome, responses, error) = pass(controller.as_ref(), &job, &metrics).await;
                let news = queue.ended(&job, outcome, &responses);
                if let Some(error) = error {
                    log_failure(controller.name(), &job, &error, news);
                }
            }
        });
    }
}

async fn pass<C: Controller>(
    controller: &C,
    job: &Job,
    metrics: &Metrics,
) -> (Outcome, PlaneResponses, Option<Error>) {
    let name = controller.name();
    let started = Instant::now();
    metrics.queue_wait.observe(job.waited.as_secs_f64());
    let span = tracing::debug_span!("reconcile", controller = name, key = %job.key);
    // In a box for as long as it lasts: an idle worker must not hold room for the largest pass there is.
    let reconcile = Box::pin(in_epoch(job.epoch, controller.reconcile(job).instrument(span)));
    let reconcile = AssertUnwindSafe(reconcile).catch_unwind();
    let (reconciled, mut responses) = recording(job.asks_hub, reconcile).await;
    let reconciled = match reconciled {
        Ok(reconciled) => reconciled,
        // A panic is a bug of one object's pass: it must take neither the worker nor the key with it.
        Err(_) => Err(Error::Bug(format!("the pass over {} panicked", job.key))),
    };
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
    metrics.reconciles.with_label_values(&[name, label]).inc();
    metrics.reconcile_seconds.with_label_values(&[name]).observe(started.elapsed().as_secs_f64());
    (outcome, responses, reconciled.err())
}

/// What becomes of a key whose pass failed, and the metric label of it.
fn failure(error: &Error) -> (Outcome, &'static str) {
    let category = error.category();
    // Out of sync is no fault of the object: the plane's own event brings it back, or the next term.
    let outcome = match category {
        // The root server tells when the project is suspended and resumed; its planes may know it sooner, or later.
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

/// `news`: whether nobody knows yet that the plane fails that failed the pass.
fn log_failure(controller: &str, job: &Job, error: &Error, news: bool) {
    let category = error.category();
    let cause = errors::chain(error);
    match category {
        // Both are part of the daily round: the next pass reads again.
        Category::Conflict | Category::NotEngaged => {
            tracing::debug!(controller, key = %job.key, %category, cause, "will be tried again");
        }
        _ if !news => {
            tracing::debug!(controller, key = %job.key, %category, cause, "failed, will be tried again");
        }
        _ => tracing::warn!(controller, key = %job.key, %category, cause, "failed, will be tried again"),
    }
}
