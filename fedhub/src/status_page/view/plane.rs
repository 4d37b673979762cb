//! One plane.

use http::StatusCode;
use maud::{Markup, html};

use super::frame::Framed;
use super::parts::{Tone, counted, number, oldest, plane_state, span, state, words};
use crate::status_page::data::{ObjectQuery, PlaneDetail};
use crate::status_page::route::{PlanesQuery, Route};

pub fn page(name: &str, details: &[PlaneDetail]) -> Framed {
    let route = Some(Route::Plane(name.to_owned()));
    if details.is_empty() {
        return Framed {
            code: StatusCode::NOT_FOUND,
            title: "No such plane".to_owned(),
            route,
            fixed: html! {
                h1 { "No plane has this name" }
                p { "This process knows no plane " code { (name) } ". " a href=(Route::Planes(PlanesQuery::default())) { "All planes" } }
            },
            live: html! {},
            every: 0,
        };
    }
    Framed {
        code: StatusCode::OK,
        title: name.to_owned(),
        route,
        fixed: html! {
            p.crumb { a href=(Route::Planes(PlanesQuery::default())) { "Planes" } }
            h1 { bdi { (name) } }
        },
        live: html! { @for detail in details { (one(detail, details.len() > 1)) } },
        every: 5,
    }
}

fn one(detail: &PlaneDetail, of_several: bool) -> Markup {
    html! {
        @if of_several { h2.role { "In the role " (detail.row.role) } }
        (facts(detail))
        div.columns {
            (kinds(detail))
            (lanes(detail))
        }
        (deployments(detail))
    }
}

fn facts(detail: &PlaneDetail) -> Markup {
    let row = &detail.row;
    html! {
        dl.facts {
            div { dt { "State" } dd { (plane_state(row)) } }
            @if let Some(since) = row.since { div { dt { "For" } dd { (span(since)) } } }
            div {
                dt { "Oldest change not in sync" }
                dd { @match row.oldest { Some(age) => (span(age)), None => "none" } }
            }
            @if let Some(error) = &row.error { div.long { dt { "Error" } dd.error { (error) } } }
            @match &detail.last_failure {
                None => div { dt { "Last failure" } dd { "none since it was engaged" } },
                // The error above is the same as long as it lasts.
                Some(last) if row.error.as_deref() == Some(last.error.as_str()) => {
                    div { dt { "Failed last" } dd { (span(last.ago)) " ago, watching " (last.kind) } }
                },
                Some(last) => div.long {
                    dt { "Last failure" }
                    dd { (span(last.ago)) " ago, watching " (last.kind) ": " span.error { (last.error) } }
                },
            }
        }
    }
}

fn kinds(detail: &PlaneDetail) -> Markup {
    html! {
        section {
            h2 { "Objects" }
            table aria-label="Objects" {
                thead { tr { th scope="col" { "Kind" } th scope="col" { "List" } th.n scope="col" { "Objects" } } }
                tbody {
                    @for kind in &detail.kinds {
                        tr {
                            th scope="row" { (kind.kind) }
                            td {
                                @if kind.synced { (state(Tone::Good, "complete")) }
                                @else { (state(Tone::Notice, "not complete")) }
                            }
                            td.n { (number(kind.objects)) }
                        }
                    }
                }
            }
            p.soft.small { "About " (number(detail.bytes.div_ceil(1024))) " kB in memory." }
        }
    }
}

fn lanes(detail: &PlaneDetail) -> Markup {
    html! {
        section {
            h2 { "Queues" }
            @if detail.lanes.is_empty() { p { "No key of this plane is in a queue." } }
            @else {
                table aria-label="Queues" {
                    thead {
                        tr {
                            th scope="col" { "Controller" }
                            th scope="col" { "Circuit" }
                            th.n scope="col" { "Oldest" }
                            th.n scope="col" { "Keys" }
                            th.n scope="col" { "Running" }
                        }
                    }
                    tbody {
                        @for lane in &detail.lanes {
                            tr {
                                th scope="row" { (words(lane.controller)) }
                                td { (state(if lane.circuit == "closed" { Tone::Good } else { Tone::Bad }, lane.circuit)) }
                                td.n { (oldest(lane.oldest)) }
                                td.n { (number(lane.keys)) }
                                td.n { (number(lane.running)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn deployments(detail: &PlaneDetail) -> Markup {
    let link = |namespace: &str, name: &str| {
        Route::Object(ObjectQuery {
            kind: "wd".to_owned(),
            plane: detail.row.name.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    };
    let shown = detail.deployments.len();
    html! {
        section {
            h2 { "WorkloadDeployments" }
            @if shown == 0 { p { "None is known." } }
            @else {
                ul.names {
                    @for (namespace, name) in &detail.deployments {
                        li { a href=(link(namespace, name)) { span.soft { bdi { (namespace) } "/" } bdi { (name) } } }
                    }
                }
                @if shown < detail.deployments_total {
                    p.soft { "The first " (number(shown)) " of " (counted(detail.deployments_total, "WorkloadDeployment")) "." }
                }
            }
            p { a href=(link("", "")) { "Explain another object of this plane" } }
        }
    }
}
