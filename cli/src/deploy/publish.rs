//! The steps after the write of workloads: their URLs, what is printed, and the wait for their rollouts.

use std::time::Duration;

use fedhub_core::object::{Object, ObjectView};
use fedhub_terminal::output::Format;
use fedhub_terminal::plain;
use serde_json::Value;
use tokio::time::Instant;

use super::args::{Asked, DeployArgs};
use super::view::{printed, together};
use crate::args::timeout;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::rollout::{self, WaitArgs};
use crate::session::Session;
use crate::url::plan::Url;
use crate::url::{self, Intent, Settled};

/// How long a URL is waited for after the rollout.
const URL_TIMEOUT: Duration = Duration::from_mins(1);

/// Publishes, prints and waits. What fails does not keep the rest from being done; `failed` is what kept a
/// workload from being stored.
pub async fn finish(
    session: &Session,
    args: &DeployArgs,
    asked: &Asked<'_>,
    stored: &[Object],
    failed: Option<Problem>,
) -> Result<(), Problem> {
    if failed.is_some() {
        session.tell("Not everything was deployed: first, the rest is seen through.");
    }
    let (published, unpublished) = settle(session, intent(asked), stored).await;
    if session.global.output.is_structured() {
        session.print(|| together(stored.iter().map(printed).collect()), String::new)?;
    }
    let began = Instant::now();
    let waited = wait(session, args.wait, stored).await;
    let mut problems: Vec<Problem> = failed.into_iter().chain(waited).chain(unpublished).collect();
    // Ctrl-C decides how the command ended; earlier problems are still reported.
    problems.sort_by_key(|problem| problem.exit != Exit::Interrupted);
    if problems.is_empty() {
        problems = urls(session, &published, || url_timeout(args.wait, began.elapsed())).await;
    }
    let mut problems = problems.into_iter();
    let first = problems.next();
    problems.for_each(|problem| session.tell(&problem.text(session.global.verbose)));
    first.map_or(Ok(()), Err)
}

/// Creates or removes URLs. Returns the workloads that have one, and what went wrong.
async fn settle<'a>(session: &Session, intent: Intent, stored: &'a [Object]) -> (Vec<&'a str>, Vec<Problem>) {
    let mut published = Vec::new();
    let mut problems = Vec::new();
    for workload in stored {
        match url::settle(session, workload, intent).await {
            Ok(Settled::Published) => published.push(workload.name()),
            Ok(settled) => tell(session, workload.name(), intent, settled),
            // No flag asked for a URL: whether there is one may be none of this user's business.
            Err(problem) if intent == Intent::Follow => {
                session.tell(&format!("{} A URL that it has may lead to an older port.", problem.sentence));
            }
            Err(problem) => problems.push(problem),
        }
    }
    (published, problems)
}

/// Waits for URLs, each within its own `timeout`, and prints them. Returns what went wrong.
async fn urls(session: &Session, names: &[&str], timeout: impl Fn() -> Duration) -> Vec<Problem> {
    let mut problems = Vec::new();
    for name in names {
        match url::wait(session, name, timeout()).await {
            Ok(Url::Live(url)) if session.global.output.is_structured() => session.tell(&url),
            // Alone on the last line, for scripts.
            Ok(Url::Live(url)) => {
                problems.extend(session.print(Value::default, || plain(&url).into_owned()).err());
            }
            Ok(Url::Pending(why)) => session.tell(&format!("The URL of {name} does not answer yet: {why}.")),
            Err(problem) => problems.push(problem),
        }
    }
    problems
}

/// How long a URL is waited for, so long after the wait began: not beyond the time that the user gives the
/// whole.
fn url_timeout(args: WaitArgs, spent: Duration) -> Duration {
    if args.no_wait {
        return Duration::ZERO;
    }
    timeout::limit(args.timeout).map_or(URL_TIMEOUT, |limit| limit.saturating_sub(spent).min(URL_TIMEOUT))
}

/// Returns what to do with URLs. Only a flag publishes a workload: a file with a port of that name may not
/// have meant it.
fn intent(asked: &Asked<'_>) -> Intent {
    match asked {
        Asked::Flags(_, flags) if flags.http_port.is_some() => Intent::Publish,
        Asked::Flags(_, flags) if flags.no_http => Intent::Unpublish,
        Asked::Flags(..) | Asked::Documents(_) => Intent::Follow,
    }
}

fn tell(session: &Session, name: &str, intent: Intent, settled: Settled) {
    let what = match settled {
        Settled::Unserved if intent == Intent::Publish => {
            format!("The project publishes no URLs: {name} answers inside of its network only.")
        }
        Settled::Taken => format!(
            "The URL of {name} is left alone: the project has a proxy or a service of that name that {name} did not make."
        ),
        Settled::Published | Settled::None | Settled::Unserved => return,
    };
    session.tell(&what);
}

/// Waits for all rollouts within one span of time, and says what went wrong.
async fn wait(session: &Session, args: WaitArgs, stored: &[Object]) -> Vec<Problem> {
    // The wait has an output of its own for programs, which is not that of a deployment.
    let mut session = session.clone();
    session.global.output = Format::Table;
    let began = Instant::now();
    let mut problems = Vec::new();
    for workload in stored {
        let left = args.timeout.saturating_sub(began.elapsed());
        // Zero is for ever.
        let timeout = if args.timeout.is_zero() { left } else { left.max(Duration::from_secs(1)) };
        let waited = rollout::follow(&session, workload.name(), &WaitArgs { timeout, ..args }).await;
        let is_interrupted = waited.as_ref().is_err_and(|problem| problem.exit == Exit::Interrupted);
        problems.extend(waited.err());
        if is_interrupted {
            break;
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_waited_for_within_the_time_that_is_given() {
        let seconds = Duration::from_secs;
        for (no_wait, timeout, spent, expected) in [
            (true, 600, 0, 0),
            (false, 0, 900, 60),
            (false, 600, 1, 60),
            (false, 30, 10, 20),
            (false, 10, 11, 0),
        ] {
            let args = WaitArgs { no_wait, timeout: seconds(timeout) };
            assert_eq!(url_timeout(args, seconds(spent)), seconds(expected), "{no_wait} {timeout} {spent}");
        }
    }
}
