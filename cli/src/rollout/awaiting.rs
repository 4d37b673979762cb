//! The messages about a rollout that waits for an approval.

use fedhub_core::message::Quoted;

use super::approve::side;
use super::judge::Judgement;
use super::waves::Stop;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::session::Session;

/// What a rollout waits for, in a sentence; `None` where it waits for no approval.
pub fn sentence(name: &str, judgement: &Judgement) -> Option<String> {
    let Some(Stop::Approval { wave, gate }) = judgement.stop() else { return None };
    let side = side(*gate);
    Some(format!(
        "The rollout of {} waits for the approval of its wave {} {side}.",
        Quoted(name),
        Quoted(wave)
    ))
}

/// A rollout that is watched goes on only when the wave is approved.
pub fn problem(session: &Session, name: &str, judgement: &Judgement) -> Option<Problem> {
    let sentence = sentence(name, judgement)?;
    Some(Problem::new(Exit::Blocked, sentence).remedy(remedy(session, name, judgement)))
}

/// Reports that a stored change waits for an approval.
pub fn tell(session: &Session, name: &str, judgement: &Judgement) {
    if let Some(sentence) = sentence(name, judgement) {
        let remedy = remedy(session, name, judgement);
        session.tell(&format!("The change is stored. {sentence} {remedy}"));
    }
}

fn remedy(session: &Session, name: &str, judgement: &Judgement) -> String {
    let Some(Stop::Approval { wave, .. }) = judgement.stop() else { return String::new() };
    let approve = session.command(&format!("rollout approve {name} --wave {wave}"));
    let abort = session.command(&format!("rollout abort {name}"));
    format!("`{approve}` lets it go on, `{abort}` gives it up.")
}
