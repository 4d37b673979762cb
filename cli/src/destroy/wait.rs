//! Waiting until a workload is gone: by watch, over lost connections. Meanwhile it reports what each city
//! still has.

use std::convert::Infallible;
use std::time::Duration;

use fedhub_core::object::{Object, ObjectView};
use kube::runtime::wait::{self, await_condition, conditions};
use tokio::time::{Instant, interval_at, sleep, timeout};

use super::requests::{remains, workloads};
use crate::exit::Exit;
use crate::problem::{Problem, is_final, of_watch};
use crate::session::Session;

/// The pause after a watch that broke.
const PAUSE: Duration = Duration::from_secs(1);

/// Interval between two looks at what is left.
const LOOK: Duration = Duration::from_secs(10);

/// Waits until that very workload is gone; one that is made anew by its name is another. Without a limit, for
/// as long as it takes.
pub async fn gone(session: &Session, workload: &Object, limit: Option<Duration>) -> Result<(), Problem> {
    tokio::select! {
        biased;
        _ = tokio::signal::ctrl_c() => Err(Problem::new(
            Exit::Interrupted,
            format!("Stopped waiting. The deletion of workload {:?} goes on.", workload.name()),
        )),
        ended = in_time(session, workload, limit) => ended,
    }
}

async fn in_time(session: &Session, workload: &Object, limit: Option<Duration>) -> Result<(), Problem> {
    let gone = async {
        tokio::select! {
            biased;
            ended = watched(session, workload) => ended,
            never = report_remains(session, workload) => match never {},
        }
    };
    let Some(limit) = limit else { return gone.await };
    if let Ok(ended) = timeout(limit, gone).await {
        return ended;
    }
    let name = workload.name();
    let again = session.command(&format!("destroy {name}"));
    let left = remains(session, workload).await.map_or_else(String::new, |lines| format!("\n{lines}"));
    Err(Problem::new(
        Exit::TimedOut,
        format!("Workload {name:?} is being deleted, and is not gone yet.{left}"),
    )
    .remedy(format!("The deletion goes on. Wait for it with `{again}`.")))
}

/// Reports what is left of a workload, and again when that has changed.
async fn report_remains(session: &Session, workload: &Object) -> Infallible {
    let mut looks = interval_at(Instant::now() + LOOK, LOOK);
    let mut reported = None;
    loop {
        looks.tick().await;
        let left = remains(session, workload).await;
        if left == reported {
            continue;
        }
        if let Some(lines) = left.as_deref() {
            session.tell(lines);
            reported = left;
        }
    }
}

async fn watched(session: &Session, workload: &Object) -> Result<(), Problem> {
    let name = workload.name();
    let uid = workload.uid();
    let doing = format!("see whether workload {name:?} is gone");
    loop {
        match await_condition(workloads(session), name, conditions::is_deleted(uid)).await {
            Ok(_) => return Ok(()),
            Err(wait::Error::ProbeFailed(error)) => match of_watch(error) {
                Some(error) if is_final(&error) => return Err(Problem::from_error(error, &doing)),
                _ => sleep(PAUSE).await,
            },
        }
    }
}
