//! How a wait for a rollout ends, in words and as an exit code.

use std::time::Duration;

use fedhub_api::reason::Reason;
use fedhub_core::message::Quoted;
use fedhub_core::object::Kind;

use super::judge::{Judgement, Verdict};
use super::wait::{End, Outcome, Wait};
use super::waves::Stop;
use super::{awaiting, paused, view};
use crate::exit::Exit;
use crate::model::absent;
use crate::problem::Problem;
use crate::session::Session;

/// The end of a wait: nothing to complain of where the rollout is done.
pub fn conclude(session: &Session, wait: &Wait, end: &End) -> Result<(), Problem> {
    let name = &*wait.workload;
    match (end.outcome, &end.judgement) {
        (Outcome::Done, Some(judgement)) => {
            session.tell(&view::done(name, judgement));
            Ok(())
        }
        (Outcome::Blocked, Some(judgement)) => Err(blocked(session, name, judgement)),
        (Outcome::Missing, _) => Err(absent(session, Kind::Workload, name)),
        (Outcome::Paused, Some(Judgement { paused: Some(paused), .. })) => {
            Err(paused::problem(session, name, paused))
        }
        (Outcome::AwaitingApproval, Some(judgement)) => {
            awaiting::problem(session, name, judgement).map_or(Ok(()), Err)
        }
        (Outcome::Deleted, _) => Err(Problem::failed(format!("The workload {} was deleted.", Quoted(name)))),
        (Outcome::Interrupted, _) => {
            let sentence = format!("Stopped watching. The rollout of {} goes on.", Quoted(name));
            Err(again(session, name, Problem::new(Exit::Interrupted, sentence)))
        }
        (
            Outcome::TimedOut
            | Outcome::Done
            | Outcome::Blocked
            | Outcome::Paused
            | Outcome::AwaitingApproval,
            judgement,
        ) => {
            let time = wait.timeout.map(spoken).unwrap_or_default();
            Err(timed_out(session, name, &time, judgement.as_ref()))
        }
    }
}

/// Returns the result without waiting: an error unless the rollout is done.
pub fn at_once(session: &Session, name: &str, judgement: &Judgement) -> Result<(), Problem> {
    if let (Verdict::Paused, Some(paused)) = (judgement.verdict, &judgement.paused) {
        return Err(paused::problem(session, name, paused));
    }
    if let Some(problem) = awaiting::problem(session, name, judgement) {
        return Err(problem);
    }
    match judgement.verdict {
        Verdict::Done => Ok(()),
        // The table has said why.
        Verdict::Blocked => Err(mended(
            session,
            name,
            judgement,
            Problem::new(Exit::Blocked, format!("The rollout of {} is blocked.", Quoted(name))),
        )),
        Verdict::Deleted => Err(Problem::failed(format!("The workload {} is being deleted.", Quoted(name)))),
        Verdict::Progressing | Verdict::Paused | Verdict::AwaitingApproval => {
            let sentence = format!("The rollout of {} is not done yet.", Quoted(name));
            Err(again(session, name, Problem::new(Exit::TimedOut, sentence)))
        }
    }
}

/// The name of a verdict, as [`Outcome`] has it.
pub fn state(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Done => "done",
        Verdict::Progressing => "progressing",
        Verdict::Blocked => "blocked",
        Verdict::Paused => "paused",
        Verdict::AwaitingApproval => "awaiting-approval",
        Verdict::Deleted => "deleted",
    }
}

fn blocked(session: &Session, name: &str, judgement: &Judgement) -> Problem {
    mended(session, name, judgement, Problem::new(Exit::Blocked, view::blocked(name, judgement)))
}

/// Adds to a problem what follows once it is mended, and how to go back if there is a way.
fn mended(session: &Session, name: &str, judgement: &Judgement, problem: Problem) -> Problem {
    if let Some(Stop::Ended(obstacle)) = judgement.stop() {
        return problem.remedy(way_out(session, name, &obstacle.reason));
    }
    let again = session.command(&format!("rollout status {name}"));
    let undo = session.command(&format!("rollout undo {name}"));
    let back = if judgement.has_earlier { format!(", `{undo}` goes back") } else { String::new() };
    problem.remedy(format!("It goes on by itself once that is mended: `{again}` watches it{back}."))
}

/// What helps a rollout over waves that has ended early, by the reason that the platform gives.
fn way_out(session: &Session, name: &str, reason: &str) -> String {
    let deploy = session.command(&format!("deploy {name} --image IMAGE"));
    match Reason::parse(reason) {
        Some(Reason::RolloutAborted) => {
            format!("`{}` begins it anew.", session.command(&format!("rollout retry {name}")))
        }
        Some(Reason::RolloutRolledBack) => {
            format!("`{deploy}`, or any other template, begins a rollout anew.")
        }
        Some(Reason::CityFailed) => {
            let abort = session.command(&format!("rollout abort {name}"));
            let undo = session.command(&format!("rollout undo {name}"));
            format!("`{abort}` gives it up, `{undo}` goes back, `{deploy}` goes on with another template.")
        }
        _ => {
            let again = session.command(&format!("rollout status {name}"));
            format!("It goes on by itself once that is mended: `{again}` watches it.")
        }
    }
}

fn timed_out(session: &Session, name: &str, time: &str, judgement: Option<&Judgement>) -> Problem {
    let quoted = Quoted(name);
    let why = match judgement {
        None => "it is not known how far it is".to_owned(),
        Some(judgement) if !judgement.taken_up => {
            "nothing in the platform has taken the workload up yet".to_owned()
        }
        Some(judgement) => view::remarks(judgement).join("\n  "),
    };
    let sentence = if why.is_empty() {
        format!("The rollout of {quoted} was not done within {time}. It goes on.")
    } else {
        format!("The rollout of {quoted} was not done within {time}. It goes on:\n  {why}")
    };
    again(session, name, Problem::new(Exit::TimedOut, sentence))
}

fn again(session: &Session, name: &str, problem: Problem) -> Problem {
    let status = session.command(&format!("rollout status {name}"));
    problem.remedy(format!("`{status}` watches it again."))
}

/// A span of time as one says it: `90 seconds`, `10 minutes`.
fn spoken(time: Duration) -> String {
    let counted = |count: u64, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    // The time that passed before the wait began is less than that.
    match time.saturating_add(Duration::from_millis(500)).as_secs() {
        seconds if seconds >= 120 && seconds % 60 == 0 => counted(seconds / 60, "minute"),
        seconds => counted(seconds, "second"),
    }
}
