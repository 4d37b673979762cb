//! An object's chain: what `fedhub explain` says, live.

use fedhub_core::clock::stamp;
use fedhub_terminal::table::age;
use http::StatusCode;
use maud::{Markup, html};

use super::frame::Framed;
use super::parts::{Tone, span, state};
use crate::explain::{self, Row, State};
use crate::status_page::data::{Explained, ObjectAnswer, ObjectQuery};
use crate::status_page::route::{ROOT, Route};

pub fn page(query: &ObjectQuery, answer: &ObjectAnswer) -> Framed {
    let (code, live) = match answer {
        ObjectAnswer::Nothing => (
            StatusCode::OK,
            html! { p.soft { "Name a WorkloadDeployment or an Instance to see where it is on its way, and why." } },
        ),
        ObjectAnswer::Invalid(fault) => (StatusCode::BAD_REQUEST, failed("That cannot be asked", fault)),
        ObjectAnswer::Unavailable(why) => {
            (StatusCode::NOT_FOUND, failed("This process cannot answer that", why))
        }
        ObjectAnswer::Busy => (
            StatusCode::TOO_MANY_REQUESTS,
            failed(
                "One at a time",
                "The chain of another object is being read for you, or several for others: ask again in a moment.",
            ),
        ),
        ObjectAnswer::TimedOut(limit) => (
            StatusCode::GATEWAY_TIMEOUT,
            failed(
                "No answer in time",
                &format!(
                    "The planes did not answer within {}: `fedhub explain` has more patience.",
                    span(*limit)
                ),
            ),
        ),
        ObjectAnswer::Explained(explained) => (StatusCode::OK, chain(explained)),
    };
    let every = if matches!(answer, ObjectAnswer::Explained(_)) { 15 } else { 0 };
    Framed {
        code,
        title: if query.name.is_empty() { "Explain".to_owned() } else { query.name.clone() },
        route: Some(Route::Object(query.clone())),
        fixed: html! {
            h1 {
                @if query.is_asked() { bdi { (query.namespace) } "/" wbr; bdi { (query.name) } " " span.soft { "on " bdi { (query.plane) } } }
                @else { "Explain an object" }
            }
            (form(query))
        },
        live,
        every,
    }
}

fn form(query: &ObjectQuery) -> Markup {
    let text = |label: &str, name: &str, value: &str| {
        html! {
            label {
                (label)
                input name=(name) value=(value) required maxlength="253" autocomplete="off" autocapitalize="off" spellcheck="false";
            }
        }
    };
    html! {
        form.filter role="search" aria-label="Object" action=(format!("{ROOT}/object")) {
            label {
                "Kind"
                select name="kind" {
                    option value="wd" { "WorkloadDeployment" }
                    option value="instance" selected[query.kind == "instance"] { "Instance" }
                }
            }
            (text("Plane", "plane", &query.plane))
            (text("Namespace", "namespace", &query.namespace))
            (text("Name", "name", &query.name))
            button { "Explain" }
        }
    }
}

fn failed(what: &str, why: &str) -> Markup {
    html! {
        section.verdict.bad aria-labelledby="verdict" {
            h2 #verdict { (state(Tone::Bad, what)) }
            p { (why) }
        }
    }
}

fn tone(it: State) -> Tone {
    match it {
        State::InSync => Tone::Good,
        State::OnItsWay | State::Slow => Tone::Notice,
        State::Stuck | State::Blocked => Tone::Bad,
    }
}

fn chain(explained: &Explained) -> Markup {
    let Explained { state: it, verdict, hops, now, took } = explained;
    html! {
        section class={ "verdict " (tone(*it).class()) } aria-labelledby="verdict" {
            h2 #verdict { (state(tone(*it), explain::words(*it))) }
            dl.facts {
                @for (label, text) in verdict {
                    div.long[text.len() > 60] { dt { (label) } dd { (text) } }
                }
            }
        }
        section aria-labelledby="chain" {
            h2 #chain { "Chain" }
            table.chain aria-labelledby="chain" {
                thead {
                    tr {
                        th scope="col" { "Hop" }
                        th scope="col" { "Plane" }
                        th scope="col" { "State" }
                        th.wide-only scope="col" { "Object" }
                        th.n scope="col" { "Age" }
                    }
                }
                tbody { @for (row, here) in hops { (hop(row, *here, tone(*it), explained)) } }
            }
            p.soft.small { "Read with the rights of this process at " (stamp(*now)) ", in " (took.as_millis()) " ms." }
        }
    }
}

fn hop(row: &Row, here: bool, tone: Tone, explained: &Explained) -> Markup {
    html! {
        tr class=[here.then(|| format!("here {}", tone.class()))] aria-current=[here.then_some("step")] {
            th scope="row" {
                (row.hop.id())
                @if here { " " (state(tone, "behind")) }
            }
            td { (row.plane) }
            td {
                bdi { (row.state) }
                @if !row.object.is_empty() { span.object.narrow-only { (row.object) } }
                @if !row.detail.is_empty() { span.detail { (row.detail) } }
            }
            td.wide-only { span.object { (row.object) } }
            td.n { @if let Some(since) = row.since { (age(since, explained.now)) } }
        }
    }
}
