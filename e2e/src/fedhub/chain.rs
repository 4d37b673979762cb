//! What makes the chain whole beside an instance: each cell's fedhub, and the services that are played.

use futures::future::try_join_all;

use super::{Fedhub, member::Member, not_started, port, state::State};
use crate::{Error, planes::Layout};

/// Starts it, with the program of the fedhub that is there. What runs already keeps running, as it was started at first.
pub async fn start(layout: &Layout) -> Result<(), Error> {
    let first = State::load(layout, Member::First)?.ok_or_else(|| not_started(layout, Member::First))?;
    for member in Member::chain() {
        if State::load(layout, member)?.is_none() {
            let port = if member.has_page() { port(layout, member)? } else { 0 };
            let (program, arguments) = (first.program.clone(), member.arguments(layout, port));
            State { program, arguments, port, otherwise: false, identity: None }.save(layout, member)?;
        }
    }
    try_join_all(members(layout)?.iter().map(|member| async {
        // A suite may have left it paused.
        member.resume()?;
        member.start_again().await
    }))
    .await?;
    Ok(())
}

/// Stops what runs of it.
pub async fn stop(layout: &Layout) -> Result<(), Error> {
    try_join_all(members(layout)?.iter().map(Fedhub::stop)).await?;
    Ok(())
}

/// What was ever started of it, whether or not it runs now.
pub fn members(layout: &Layout) -> Result<Vec<Fedhub>, Error> {
    let mut members = Vec::new();
    for member in Member::chain() {
        if State::load(layout, member)?.is_some() {
            members.push(Fedhub::known(layout, member)?);
        }
    }
    Ok(members)
}
