//! What makes the chain whole beside an instance: each cell's fedhub, and the simulated services.

use std::collections::BTreeMap;

use futures::future::try_join_all;

use super::member::Member;
use super::pod::{Overlay, Pod};
use super::state::State;
use super::{Fedhub, not_started, port};
use crate::Error;
use crate::topology::planes::Cells;
use crate::topology::{self, Layout};

/// Starts it, with the programs of the fedhub that is there. What runs already keeps running, as it was
/// started at first.
pub async fn start(layout: &Layout) -> Result<(), Error> {
    start_with(layout, &[]).await
}

/// Starts the chain with these components of `deploy/` for each cell.
pub async fn start_with(layout: &Layout, of_cells: &[String]) -> Result<(), Error> {
    let first = State::load(layout, Member::First)?.ok_or_else(|| not_started(layout, Member::First))?;
    for member in Member::chain(topology::cells(layout)?) {
        if State::load(layout, member)?.is_none() {
            let port = if member.has_page() { port(layout, member)? } else { 0 };
            let components = if let Member::Cell(_) = member { of_cells } else { &[] };
            let pod = match Overlay::from_member(member, components, None)? {
                Some(overlay) => overlay.pod_for_suites(layout, port).await?,
                None => Pod { arguments: member.arguments(layout, port), environment: BTreeMap::new() },
            };
            State::new(member.program(&first.program), pod, port).save(layout, member)?;
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

/// Lists the processes of the chain, or of the hub's fedhub, that were started and do not run.
pub fn ended(layout: &Layout) -> Result<Vec<String>, Error> {
    let mut ended = Vec::new();
    // A suite that starts a region service ends it too.
    let kept = Member::REPLICAS.into_iter().chain(Member::chain(Cells::Four));
    for member in kept {
        if State::load(layout, member)?.is_some_and(|state| !state.runs()) {
            ended.push(member.name());
        }
    }
    Ok(ended)
}

/// Lists the processes of the chain that were ever started, whether or not they run now.
pub fn members(layout: &Layout) -> Result<Vec<Fedhub>, Error> {
    let mut members = Vec::new();
    for member in Member::chain(Cells::Four) {
        if State::load(layout, member)?.is_some() {
            members.push(Fedhub::known(layout, member)?);
        }
    }
    Ok(members)
}
