//! Rollouts: how far the newest change of a workload has come, its revisions, and going back to one.
//!
//! # The way through
//!
//! 1. [`judge`] decides from a Workload and what belongs to it whether the newest generation runs everywhere,
//!    is on its way, or is blocked. [`template`] compares what is made from a template with it.
//! 2. [`wait()`] keeps what is known up to date by [`watch`]es, judges at each change, and ends with a
//!    [`wait::End`]. What it shows is made by [`view`], and shown by a [`display`].
//! 3. [`conclude`] turns the end into words and an exit code.
//! 4. [`follow`] does all of that for the commands that change a workload: `deploy`, `scale`, `restart`,
//!    `rollout undo`.
//!
//! A rollout over waves is described by a WorkloadRollout ([`governed`]), which [`waves`] reads. It may wait
//! for an approval ([`awaiting`], [`approve`]), or be given up ([`abort`]).
//!
//! A rollout can be paused ([`pause`]). Then it is judged as far as it goes (`held`), and that is said
//! ([`paused`]).
//!
//! [`revision`]s are what the platform records: [`history`] lists them, and [`undo`] goes back to one.
//! [`command`] is `rollout` with all that is below it.

pub mod abort;
pub mod approve;
pub mod args;
pub mod awaiting;
pub mod command;
pub mod conclude;
pub mod display;
pub mod governed;
mod held;
pub mod history;
pub mod judge;
pub mod pause;
pub mod paused;
pub mod refusal;
pub mod revision;
mod row;
mod stage;
pub mod template;
pub mod undo;
pub mod view;
pub mod wait;
pub mod watch;
pub mod waves;

pub use args::{StatusArgs, WaitArgs};
pub use wait::wait;

use fedhub_core::object::{Kind, ObjectView};

use crate::args::timeout;
use crate::model::{Project, absent};
use crate::problem::Problem;
use crate::session::Session;
use crate::view::Look;

use wait::{End, Outcome, Wait};

/// Waits for the rollout of a workload that was just changed, unless the flags say not to. A pause that holds
/// the change back, and a wave that requires approval, are said, and no errors: the change is stored.
pub async fn follow(session: &Session, workload: &str, args: &WaitArgs) -> Result<(), Problem> {
    if args.no_wait {
        if !paused::tell_at_once(session, workload).await {
            let status = session.command(&format!("rollout status {workload}"));
            session.tell(&format!("Not waiting for the rollout: `{status}` shows how far it is."));
        }
        return Ok(());
    }
    let (of, end) = watched(session, workload, timeout::limit(args.timeout)).await?;
    if let (Outcome::AwaitingApproval, Some(judgement)) = (end.outcome, &end.judgement) {
        awaiting::tell(session, workload, judgement);
        return Ok(());
    }
    let paused = end.judgement.as_ref().and_then(|judgement| judgement.paused.as_ref());
    match paused.filter(|_| end.outcome == Outcome::Paused) {
        Some(paused) => {
            paused::tell(session, workload, paused);
            Ok(())
        }
        None => conclude::conclude(session, &of, &end),
    }
}

/// Watches a rollout, and reports its end to programs.
async fn watched(
    session: &Session,
    workload: &str,
    timeout: Option<std::time::Duration>,
) -> Result<(Wait, End), Problem> {
    let of = Wait {
        client: session.client.clone(),
        namespace: session.namespace.clone(),
        workload: workload.to_owned(),
        timeout,
    };
    let mut display = display::of(Look::from_session(session));
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without a handler, Ctrl-C ends the process as it ends others.
            std::future::pending::<()>().await;
        }
    };
    let end = wait(&of, &mut *display, interrupt).await?;
    if let Some(judgement) = end.judgement.as_ref()
        && session.global.output.is_structured()
    {
        session.print(|| view::report(workload, &end.outcome.to_string(), judgement), String::new)?;
    }
    Ok((of, end))
}

/// Shows how far a rollout is, and waits for its end unless that is not wanted.
pub(crate) async fn status(session: &Session, args: &StatusArgs) -> Result<(), Problem> {
    if args.watch {
        let (of, end) = watched(session, &args.name, timeout::limit(args.timeout)).await?;
        return conclude::conclude(session, &of, &end);
    }
    let (project, rollout) = tokio::join!(
        Project::of_workload(session, &args.name),
        governed::find(&session.client, &session.namespace, &args.name),
    );
    let Project { workloads, deployments, instances } = project;
    let seen = watch::Seen::listed([workloads?, deployments?, instances?], rollout?);
    let judgement = seen.judge(&args.name).ok_or_else(|| absent(session, Kind::Workload, &args.name))?;
    let state = conclude::state(judgement.verdict);
    session.print(
        || view::report(&args.name, state, &judgement),
        || view::table(&judgement, &Look::from_session(session)),
    )?;
    conclude::at_once(session, &args.name, &judgement)
}

/// A workload's generation and version as a precondition of a change that was decided by it.
pub(crate) fn version_test(workload: &fedhub_core::object::Object) -> serde_json::Value {
    // Replaced by what it is, it is the precondition that servers answer with a conflict.
    serde_json::json!({"op": "replace", "path": "/metadata/resourceVersion", "value": workload.version()})
}
