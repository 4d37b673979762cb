//! The fleet at a glance.

use http::StatusCode;
use maud::{Markup, html};

use super::frame::Framed;
use super::parts::{Tone, counted, number, oldest, seconds, span, sparkline, state, tone, words};
use super::planes::table;
use super::rollouts::rollouts;
use crate::status_page::concerns::{Concern, concerns};
use crate::status_page::data::{
    Attention, Cell, City, Controller, Convergence, HopLag, PlaneState, Snapshot, Withheld,
};
use crate::status_page::figures::Count;
use crate::status_page::route::{PlanesQuery, Route};
use strum::VariantArray;

/// How many planes that need attention are listed.
const WORST: usize = 8;
/// How many circuit breakers are listed.
const CIRCUITS: usize = 20;
/// How many cities are listed.
const CITIES: usize = 200;

pub fn page(snapshot: &Snapshot) -> Framed {
    let live = html! {
        (verdict(snapshot))
        (states(snapshot))
        (attention(snapshot))
        div.columns {
            (hops(snapshot))
            (controllers(snapshot))
        }
        @if !snapshot.rollouts.rows.is_empty() { (rollouts(&snapshot.rollouts, snapshot.head.now)) }
        @if !snapshot.cities.is_empty() { (cities(snapshot)) }
        div.columns {
            (withheld(&snapshot.withheld))
            (anchors(snapshot))
        }
        @if !snapshot.circuits.is_empty() { (circuits(snapshot)) }
    };
    Framed {
        code: StatusCode::OK,
        title: "Fleet".to_owned(),
        route: Some(Route::Fleet),
        fixed: html! {},
        live,
        every: 5,
    }
}

/// Renders what needs somebody, in one sentence and then one by one.
fn verdict(snapshot: &Snapshot) -> Markup {
    let concerns = concerns(snapshot);
    html! {
        @match concerns.len() {
            0 => h1 { "Nothing needs attention" },
            1 => h1 { "One thing needs attention" },
            n => h1 { (n) " things need attention" },
        }
        @if snapshot.head.is_standby() {
            p.note {
                "This process is on standby: queues, circuit breakers and what is withheld are the leader's to show."
            }
        }
        @if !concerns.is_empty() {
            ul.concerns {
                @for Concern { text, to } in &concerns {
                    li {
                        span.bad aria-hidden="true" { "■" } " "
                        @match to {
                            Some(to) => a href=(to) { (text) },
                            None => bdi { (text) },
                        }
                    }
                }
            }
        }
    }
}

/// How many planes are in each state.
fn states(snapshot: &Snapshot) -> Markup {
    let of = |state| snapshot.planes.iter().filter(|row| row.state == state).count();
    let all = snapshot.planes.len();
    html! {
        section aria-labelledby="planes" {
            h2 #planes { "Planes" }
            ul.tiles {
                @for &it in PlaneState::VARIANTS.iter().rev() {
                    @let count = of(it);
                    @let query = PlanesQuery { state: Some(it), ..PlanesQuery::default() };
                    li class=[(count == 0).then_some("none")] {
                        a href=(Route::Planes(query)) {
                            span.figure { (number(count)) }
                            @if count == 0 { (state(Tone::Plain, it.id())) } @else { (state(tone(it), it.id())) }
                        }
                    }
                }
            }
            @if all > 0 { (share(snapshot)) }
        }
    }
}

/// The shares of the states as a bar; the tiles above it have the numbers.
fn share(snapshot: &Snapshot) -> Markup {
    html! {
        svg.share viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true" focusable="false" {
            @for (it, from, width) in shares(snapshot) {
                rect class=(it.id()) x=(format!("{from:.2}")) width=(format!("{width:.2}")) height="1" {}
            }
        }
    }
}

/// Each state that there is, with its place on the bar in percent.
#[allow(clippy::cast_precision_loss)] // Planes are far from 2^52.
fn shares(snapshot: &Snapshot) -> Vec<(PlaneState, f64, f64)> {
    let all = snapshot.planes.len().max(1) as f64;
    let mut at = 0.0;
    let mut shares = Vec::new();
    for &state in PlaneState::VARIANTS.iter().rev() {
        let count = snapshot.planes.iter().filter(|row| row.state == state).count();
        if count > 0 {
            // One among ten thousand is to be seen.
            let width = (count as f64 / all * 100.0).max(0.6);
            shares.push((state, f64::min(at, 100.0 - width), width));
            at += width;
        }
    }
    shares
}

fn attention(snapshot: &Snapshot) -> Markup {
    let needy = snapshot.planes.iter().take_while(|row| row.attention() != Attention::None).count();
    html! {
        @if needy > 0 {
            section aria-labelledby="attention" {
                h2 #attention { "Planes that need attention" }
                (table(&snapshot.planes[..needy.min(WORST)], "attention"))
                @if needy > WORST {
                    p { a href=(Route::Planes(PlanesQuery::default())) { "All " (counted(needy, "plane")) " that need attention" } }
                }
            }
        }
    }
}

fn hops(snapshot: &Snapshot) -> Markup {
    html! {
        section aria-labelledby="hops" {
            h2 #hops { "Lag by hop" }
            table aria-labelledby="hops" {
                thead {
                    tr {
                        th scope="col" { "Hop" }
                        th scope="col" { span.wide-only { "Last " (span(snapshot.covered)) } span.narrow-only { "Trend" } }
                        th.n scope="col" { "95 %" }
                        th.n scope="col" { "Per min" }
                    }
                }
                tbody {
                    @for HopLag { hop, trend, per_minute } in &snapshot.hops {
                        tr {
                            th scope="row" { (hop_words(hop)) }
                            td.trend { (sparkline(trend, "95 % of changes", snapshot.covered)) }
                            td.n {
                                @match trend.latest() {
                                    Some(p95) => (seconds(f64::from(p95))),
                                    None => span.soft { "idle" },
                                }
                            }
                            td.n { (per_minute) }
                        }
                    }
                }
            }
            p.soft.small { "From the watch event received to the write acknowledged; 95 of 100 changes took no longer." }
        }
    }
}

/// A hop in words; one that is new, by its label.
fn hop_words(hop: &str) -> String {
    match hop {
        "project_to_hub" => "Project → hub".to_owned(),
        "hub_to_project_status" => "Hub → project, status".to_owned(),
        "hub_to_project_instance" => "Hub → project, Instance".to_owned(),
        "cell_to_hub" => "Cell → hub".to_owned(),
        other => words(other),
    }
}

fn controllers(snapshot: &Snapshot) -> Markup {
    html! {
        section aria-labelledby="queues" {
            h2 #queues { "Queues" }
            table aria-labelledby="queues" {
                thead {
                    tr {
                        th scope="col" { "Controller" }
                        th scope="col" { span.wide-only { "Last " (span(snapshot.covered)) } span.narrow-only { "Trend" } }
                        th.n scope="col" { "Oldest" }
                        th.n scope="col" { "Ready" }
                    }
                }
                tbody {
                    @for Controller { name, trend, oldest: age, depth } in &snapshot.controllers {
                        tr {
                            th scope="row" { (words(name)) }
                            td.trend { (sparkline(trend, "oldest change", snapshot.covered)) }
                            td.n { (oldest(*age)) }
                            td.n { (number(*depth)) }
                        }
                    }
                }
            }
            p.soft.small { "The age of the oldest change that is not in sync, and the keys that wait for a worker." }
        }
    }
}

fn cities(snapshot: &Snapshot) -> Markup {
    let figure = |value: Option<f64>| {
        html! { @match value { Some(value) => (seconds(value)), None => span.soft { "–" } } }
    };
    html! {
        section aria-labelledby="cities" {
            h2 #cities { "Cities and cells" }
            table aria-labelledby="cities" {
                thead {
                    tr {
                        th scope="col" { "City" }
                        th scope="col" { "Cells" }
                        th.n scope="col" { "Namespaces" }
                        th.n.wide-only scope="col" { "50 %" }
                        th.n scope="col" { "95 %" }
                        th.n.wide-only scope="col" { "Karmada’s 95 %" }
                    }
                }
                tbody {
                    @for city in snapshot.cities.iter().take(CITIES) {
                        @let Convergence { median, p95, karmada_p95 } = city.convergence;
                        tr {
                            th.code scope="row" { bdi { (city.code) } }
                            td { (cells(city)) }
                            td.n { (number(city.policies)) }
                            td.n.wide-only { (figure(median)) }
                            td.n { (figure(p95)) }
                            td.n.wide-only { (figure(karmada_p95)) }
                        }
                    }
                }
            }
            @if snapshot.cities.len() > CITIES { p { "and " (counted(snapshot.cities.len() - CITIES, "more")) } }
            p.soft.small {
                "Namespaces: hub namespaces that use the city. Times: from a change in the project to its status back there, \
                 since this process started; Karmada’s share includes the cell’s."
            }
        }
    }
}

fn cells(city: &City) -> Markup {
    html! {
        @match city.cells.len() {
            0 => (state(Tone::Bad, "no cell")),
            1 => {},
            _ => (state(Tone::Bad, "more than one cell")),
        }
        ul.plain {
            @for Cell { name, reachable, down } in &city.cells {
                li {
                    bdi { (name) } " "
                    @match reachable {
                        Some(true) => (state(Tone::Good, "ready")),
                        Some(false) => (state(Tone::Bad, "not ready")),
                        None => (state(Tone::Notice, "not reported")),
                    }
                    @if let Some(down) = down { span.error { (down) } }
                }
            }
        }
    }
}

fn withheld(withheld: &Withheld) -> Markup {
    let Withheld { quarantined, finalizers, deletes, entitlements, orphans, hub_restored } = withheld;
    html! {
        section aria-labelledby="withheld" {
            h2 #withheld { "Withheld for safety" }
            table aria-labelledby="withheld" {
                thead {
                    tr {
                        th scope="col" { "What" }
                        th scope="col" { "Reason" }
                        th.n scope="col" { "Count" }
                    }
                }
                tbody {
                    (reasons("Instances quarantined", quarantined))
                    (reasons("Finalizers held", finalizers))
                    (reasons("Deletions withheld since the start", deletes))
                    (decisions("Entitlements missing", *entitlements, "an operator decides"))
                    (decisions("Orphans on the hub", *orphans, "run on until an operator runs fedhub audit --reclaim"))
                    tr {
                        th scope="row" { "Hub" }
                        td colspan="2" {
                            @if *hub_restored { (state(Tone::Bad, "restored from a backup: no deletion is inferred")) }
                            @else { (state(Tone::Good, "not restored")) }
                        }
                    }
                }
            }
        }
    }
}

/// A row that counts what waits for an operator.
fn decisions(what: &str, count: u64, until: &str) -> Markup {
    html! {
        tr {
            th scope="row" { (what) }
            @if count == 0 { td.soft { "none" } } @else { td { (state(Tone::Bad, until)) } }
            td.n { (count) }
        }
    }
}

fn reasons(what: &str, counts: &[Count]) -> Markup {
    html! {
        @if counts.is_empty() {
            tr { th scope="row" { (what) } td.soft { "none" } td.n { "0" } }
        }
        @for (reason, count) in counts {
            tr { th scope="row" { (what) } td { bdi { (words(reason)) } } td.n { (count) } }
        }
    }
}

fn anchors(snapshot: &Snapshot) -> Markup {
    html! {
        section aria-labelledby="anchors" {
            h2 #anchors { "Hub and cell" }
            table aria-labelledby="anchors" {
                thead {
                    tr {
                        th scope="col" { "Plane" }
                        th scope="col" { "State" }
                        th.n scope="col" { "For" }
                        th.n scope="col" { "Objects" }
                    }
                }
                tbody {
                    @for anchor in &snapshot.anchors {
                        tr {
                            th scope="row" { (anchor.name) " " span.soft { "(" (anchor.role) ")" } }
                            td {
                                (state(tone(anchor.state), anchor.state.id()))
                                @if let Some(error) = &anchor.error { span.error { (error) } }
                            }
                            td.n { (span(anchor.since)) }
                            td.n { (number(anchor.objects)) }
                        }
                    }
                }
            }
            @if !snapshot.head.not_ready.is_empty() {
                p { (state(Tone::Bad, "not ready")) }
                ul { @for cause in &snapshot.head.not_ready { li { bdi { (cause) } } } }
            }
        }
    }
}

fn circuits(snapshot: &Snapshot) -> Markup {
    html! {
        section aria-labelledby="circuits" {
            h2 #circuits { "Circuit breakers" }
            table aria-labelledby="circuits" {
                thead { tr { th scope="col" { "Plane" } th scope="col" { "Controller" } th scope="col" { "State" } } }
                tbody {
                    @for circuit in snapshot.circuits.iter().take(CIRCUITS) {
                        tr {
                            th scope="row" { bdi { (circuit.plane) } }
                            td { (words(circuit.controller)) }
                            td { (state(Tone::Bad, if circuit.half_open { "half open: a probe runs" } else { "open" })) }
                        }
                    }
                }
            }
            @if snapshot.circuits.len() > CIRCUITS { p { (number(snapshot.circuits.len() - CIRCUITS)) " more" } }
        }
    }
}
