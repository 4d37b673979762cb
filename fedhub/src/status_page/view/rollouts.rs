//! The rollouts that are not complete.

use fedhub_api::RolloutCityState;
use jiff::Timestamp;
use maud::{Markup, html};

use super::parts::{Tone, number, state};
use crate::status_page::data::{ObjectQuery, RolloutRow, RolloutState, Rollouts};
use crate::status_page::route::Route;
use fedhub_terminal::table::age;

/// The section of the fleet's page.
pub fn rollouts(rollouts: &Rollouts, now: Timestamp) -> Markup {
    let Rollouts { rows, counts } = rollouts;
    let all: usize = counts.iter().map(|(_, count)| count).sum();
    html! {
        section aria-labelledby="rollouts" {
            h2 #rollouts { "Rollouts under way" }
            table aria-labelledby="rollouts" {
                thead {
                    tr {
                        th scope="col" { "Workload" }
                        th scope="col" { "State" }
                        th.wide-only scope="col" { "Wave" }
                        th scope="col" { "Cities" }
                        th.n.wide-only scope="col" { "For" }
                    }
                }
                tbody { @for row in rows { (line(row, now)) } }
            }
            @if rows.len() < all { p.soft { (number(rows.len())) " of " (number(all)) " are shown." } }
        }
    }
}

fn line(row: &RolloutRow, now: Timestamp) -> Markup {
    let RolloutRow { plane, namespace, workload, wave, cities, since, deployment, remark, .. } = row;
    let dash = || html! { span.soft { span aria-hidden="true" { "–" } span.hidden { "none" } } };
    html! {
        tr {
            th scope="row" {
                a href=(Route::Plane(plane.clone())) { bdi { (plane) } } " "
                span.soft { bdi { (namespace) } "/" } bdi { (workload) }
                @if let Some(remark) = remark { span.error { (remark) } }
            }
            td { (state(tone(row.state), row.state.id())) }
            td.wide-only { @if let Some(wave) = wave { bdi { (wave) } } @else { (dash()) } }
            td {
                @if cities.is_empty() { (dash()) } @else { (listed(cities)) }
                @if let Some(name) = deployment { " " a href=(explained(row, name)) { bdi { (name) } } }
            }
            td.n.wide-only { @if let Some(since) = since { (age(*since, now)) } @else { (dash()) } }
        }
    }
}

/// The address of what explains the WD that decides how the rollout goes on.
fn explained(row: &RolloutRow, deployment: &str) -> Route {
    Route::Object(ObjectQuery {
        kind: "wd".to_owned(),
        plane: row.plane.clone(),
        namespace: row.namespace.clone(),
        name: deployment.to_owned(),
    })
}

/// `1 failed, 12 waiting`.
fn listed(cities: &[(RolloutCityState, usize)]) -> String {
    let parts = cities.iter().map(|(state, count)| format!("{} {}", number(*count), word(*state)));
    parts.collect::<Vec<_>>().join(", ")
}

fn word(state: RolloutCityState) -> &'static str {
    match state {
        RolloutCityState::Waiting => "waiting",
        RolloutCityState::Updating => "updating",
        RolloutCityState::Soaking => "soaking",
        RolloutCityState::Complete => "complete",
        RolloutCityState::Failed => "failed",
        RolloutCityState::Skipped => "skipped",
    }
}

fn tone(state: RolloutState) -> Tone {
    match state {
        RolloutState::Stalled | RolloutState::Overdue => Tone::Bad,
        RolloutState::RolledBack => Tone::Notice,
        RolloutState::Paused => Tone::Plain,
        RolloutState::InProgress => Tone::Good,
    }
}
