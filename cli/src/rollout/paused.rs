//! The messages about a paused rollout.

use fedhub_api::facts::workload::is_paused;
use fedhub_core::message::Quoted;
use fedhub_core::object::Kind;

use crate::exit::Exit;
use crate::model::{self, Paused};
use crate::problem::Problem;
use crate::session::Session;

/// A rollout that is watched is paused, and goes on only when it is resumed.
pub fn problem(session: &Session, name: &str, paused: &Paused) -> Problem {
    Problem::new(Exit::Blocked, paused.sentence(name)).remedy(format!("{}.", resumes(session, name)))
}

/// Reports that a stored change is held back.
pub fn tell(session: &Session, name: &str, paused: &Paused) {
    session.tell(&format!("The change is stored. {} {}.", paused.sentence(name), resumes(session, name)));
}

/// Reports that the rollout is paused, if it is, without waiting for the platform to observe it. Returns
/// whether it is.
pub async fn tell_at_once(session: &Session, name: &str) -> bool {
    let Ok(workload) = model::get(session, Kind::Workload, name).await else { return false };
    let is_paused = is_paused(&workload);
    if is_paused {
        session.tell(&format!(
            "The rollout of {} is paused: a new template, a restart of all cities and new cities wait. {}.",
            Quoted(name),
            resumes(session, name)
        ));
    }
    is_paused
}

/// How a paused rollout goes on.
pub fn resumes(session: &Session, name: &str) -> String {
    format!("`{}` lets it go on", session.command(&format!("rollout resume {name}")))
}
