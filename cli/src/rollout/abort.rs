//! `rollout abort` and `rollout retry`: giving up a rollout over waves, and letting it go on.

use fedhub_api::conditions::{find, said};
use fedhub_api::reason::Reason;
use fedhub_core::message::Quoted;
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::args::{AbortArgs, RetryArgs};
use super::{follow, governed};
use crate::destroy::plan::{Consent, consent};
use crate::problem::Problem;
use crate::session::Session;

/// Runs `rollout abort`.
pub async fn abort(session: &Session, args: &AbortArgs) -> Result<(), Problem> {
    let name = &*args.name;
    let rollout = governed::get(session, name).await?;
    if is_aborted(&rollout) {
        session.tell(&format!("The rollout of {} is aborted already.", Quoted(name)));
    } else {
        check(session, name, &rollout)?;
        agree(session, args).await?;
        let aborted = governed::change(session, name, "abort", |rollout| {
            check(session, name, rollout)?;
            Ok(Some(json!({"spec": {"abort": true}})))
        });
        aborted.await?;
        session.tell(&format!(
            "Aborted the rollout of {}: every city that can be reached ends on one revision.",
            Quoted(name)
        ));
    }
    let status = session.command(&format!("rollout status {name}"));
    let retry = session.command(&format!("rollout retry {name}"));
    session.tell(&format!("`{status}` watches it, `{retry}` begins it anew."));
    if session.global.output.is_structured() {
        session.print(|| json!({"workload": name, "aborted": true}), String::new)?;
    }
    Ok(())
}

fn is_aborted(rollout: &Object) -> bool {
    rollout.spec()["abort"] == true
}

/// A rollout that is complete is left alone: to give it up would only keep the next one from starting.
fn check(session: &Session, name: &str, rollout: &Object) -> Result<(), Problem> {
    if !governed::is_complete(rollout) {
        return Ok(());
    }
    let undo = session.command(&format!("rollout undo {name}"));
    let sentence = format!("The rollout of {} is complete: there is nothing to abort.", Quoted(name));
    Err(Problem::failed(sentence).remedy(format!("`{undo}` goes back to the revision before.")))
}

/// Makes sure that the user wants it.
async fn agree(session: &Session, args: &AbortArgs) -> Result<(), Problem> {
    let name = Quoted(&args.name);
    match consent(args.yes, session.terminal.can_ask()) {
        Consent::Given => Ok(()),
        Consent::Missing => {
            let sentence = format!("There is no terminal to ask whether to abort the rollout of {name}.");
            Err(Problem::usage(sentence).remedy("Give --yes to abort it without a question."))
        }
        Consent::Question => {
            session.tell(&format!(
                "This gives up the rollout of {name} in {}: every city that can be reached ends on one revision.",
                session.project_in_words()
            ));
            let agreed = session.confirms("Abort it?", false).await;
            if agreed { Ok(()) } else { Err(Problem::failed("Nothing was aborted.")) }
        }
    }
}

/// What taking a rollout up again writes: `None` where nothing holds it. Pure.
pub fn plan_retry(rollout: &Object) -> Option<Value> {
    let is_held = is_aborted(rollout) || rollout.spec()["paused"] == true;
    is_held.then(|| json!({"spec": {"abort": null, "paused": null}}))
}

/// Whether its cities failed, and went back.
fn is_rolled_back(rollout: &Object) -> bool {
    let status = rollout.status();
    status["direction"] == "Back"
        || find(status, "Progressing").is_some_and(|it| said(it).1 == Reason::RolloutRolledBack)
}

/// Runs `rollout retry`.
pub async fn retry(session: &Session, args: &RetryArgs) -> Result<(), Problem> {
    let name = &*args.name;
    let seen = governed::change(session, name, "retry", |rollout| {
        if is_rolled_back(rollout) { Err(newer(session, name)) } else { Ok(plan_retry(rollout)) }
    });
    let seen = seen.await?;
    let quoted = Quoted(name);
    match plan_retry(&seen) {
        Some(_) => session.tell(&format!("The rollout of {quoted} goes on.")),
        None => session.tell(&format!("The rollout of {quoted} is neither aborted nor paused.")),
    }
    follow(session, name, &args.wait).await
}

/// The template has failed: the platform does not try it again.
fn newer(session: &Session, name: &str) -> Problem {
    let explain = session.command(&format!("explain {name}"));
    let deploy = session.command(&format!("deploy {name} --image IMAGE"));
    let sentence = format!(
        "The rollout of {} was rolled back, and its template is not tried again: a newer one is needed.",
        Quoted(name)
    );
    Problem::failed(sentence).remedy(format!("`{explain}` says why; correct it, and `{deploy}`."))
}
