//! How far a city is that keeps its template: while the rollout is paused, and until its turn has come. Pure.

use fedhub_api::facts::carried::marked_revision;
use fedhub_api::facts::restarts;
use fedhub_api::facts::workload::is_paused;
use fedhub_core::message::named;
use fedhub_core::names::CURRENT_REVISION;
use fedhub_core::object::{Object, ObjectView};

use super::row::Row;
use super::stage::{Phase, Stage};

/// Whether a deployment carries an earlier revision than the Workload's newest: its turn has not come.
pub fn is_waiting(workload: &Object, deployment: &Object) -> bool {
    let newest = workload.annotation(CURRENT_REVISION).and_then(|revision| revision.parse::<u64>().ok());
    marked_revision(deployment).zip(newest).is_some_and(|(carried, newest)| carried < newest)
}

/// A city whose turn has not come.
pub fn waiting() -> Stage {
    (Phase::Waiting, None, Some("gets the new template when the cities before it are done".to_owned()))
}

/// Names the cities that are done before those that wait for their turn, where no wave says what these wait
/// for.
pub fn name_cities_before(rows: &mut [Row]) {
    let before = rows.iter().filter(|row| {
        matches!(row.phase, Phase::Pending | Phase::Updating | Phase::Draining | Phase::Blocked)
    });
    let before: Vec<_> = before.map(|row| row.city.clone()).collect();
    let Some(cities) = named(&before) else { return };
    let verb = if before.len() > 1 { "are" } else { "is" };
    for row in rows.iter_mut().filter(|row| row.phase == Phase::Waiting && row.turn.is_none()) {
        row.awaits = Some(format!("gets the new template when {cities} {verb} done"));
    }
}

/// A city that gets no deployment until the rollout is resumed.
pub fn without_deployment() -> Stage {
    (Phase::Paused, None, Some("gets no deployment while the rollout is paused".to_owned()))
}

/// A city whose deployment is as far as `stage` with the template that it has. It is not done where the
/// Workload has another one, which the pause holds back: compared as the platform does.
pub fn with_deployment(workload: &Object, deployment: &Object, stage: Stage) -> Stage {
    let is_held = is_paused(workload)
        && !restarts::is_as_wanted(&deployment.spec()["template"], &workload.spec()["template"]);
    if is_held && stage.0 == Phase::Done {
        return (Phase::Paused, None, Some("keeps its template while the rollout is paused".to_owned()));
    }
    stage
}
