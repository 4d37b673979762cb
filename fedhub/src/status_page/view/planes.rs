//! The list of planes.

use http::StatusCode;
use maud::{Markup, html};
use strum::VariantArray;

use super::frame::Framed;
use super::parts::{counted, number, oldest, plane_state, span};
use crate::status_page::data::{PlaneRow, PlaneState, Snapshot};
use crate::status_page::route::{PlanesQuery, ROOT, Route};

/// How many planes a page has.
const PER_PAGE: usize = 50;

/// The part of the planes that a page shows.
struct Part {
    rows: Vec<PlaneRow>,
    /// The page, from 1.
    page: usize,
    pages: usize,
    /// How many planes the query selects.
    selected: usize,
}

impl Part {
    fn new(snapshot: &Snapshot, query: &PlanesQuery) -> Self {
        let selects = |row: &&PlaneRow| {
            query.state.is_none_or(|state| row.state == state) && row.name.contains(&query.name)
        };
        let selected = snapshot.planes.iter().filter(selects).count();
        let pages = selected.div_ceil(PER_PAGE).max(1);
        let page = query.page.clamp(1, pages);
        let rows = snapshot.planes.iter().filter(selects).skip((page - 1) * PER_PAGE).take(PER_PAGE);
        Self { rows: rows.cloned().collect(), page, pages, selected }
    }
}

pub fn page(snapshot: &Snapshot, query: &PlanesQuery) -> Framed {
    let part = Part::new(snapshot, query);
    let live = html! {
        (summary(&part, snapshot.planes.len()))
        @if part.rows.is_empty() {
            p { "No plane matches. " a href=(Route::Planes(PlanesQuery::default())) { "Show all planes" } }
        } @else {
            (table(&part.rows, "title"))
            (pager(query, &part))
        }
    };
    Framed {
        code: StatusCode::OK,
        title: "Planes".to_owned(),
        route: Some(Route::Planes(query.clone())),
        fixed: html! {
            h1 #title { "Planes" }
            (filter(query))
        },
        live,
        every: 5,
    }
}

fn filter(query: &PlanesQuery) -> Markup {
    html! {
        form.filter role="search" aria-label="Planes" action=(format!("{ROOT}/planes")) {
            label { "Name contains" input type="search" name="name" value=(query.name) maxlength="253" autocomplete="off" spellcheck="false"; }
            label {
                "State"
                select name="state" {
                    option value="" { "any" }
                    @for state in PlaneState::VARIANTS {
                        option value=(state.id()) selected[query.state == Some(*state)] { (state.id()) }
                    }
                }
            }
            button { "Filter" }
        }
    }
}

fn summary(part: &Part, all: usize) -> Markup {
    let first = (part.page - 1) * PER_PAGE + 1;
    html! {
        p.soft {
            @if part.selected > part.rows.len() {
                (number(first)) "–" (number(first + part.rows.len() - 1)) " of "
            }
            (counted(part.selected, "plane"))
            @if part.selected < all { " of " (number(all)) }
            "; those that need attention first"
        }
    }
}

/// The table of planes, named by the element of that id.
pub fn table(rows: &[PlaneRow], named_by: &str) -> Markup {
    html! {
        table.planes aria-labelledby=(named_by) {
            thead {
                tr {
                    th scope="col" { "Plane" }
                    th scope="col" { "State" }
                    th.n scope="col" { "For" }
                    th.n scope="col" { "Behind" }
                    th.n.wide-only scope="col" { "Keys" }
                    th.n.wide-only scope="col" { "Objects" }
                }
            }
            tbody {
                @for row in rows {
                    tr {
                        th scope="row" {
                            a href=(Route::Plane(row.name.clone())) { (row.name) }
                            @if let Some(error) = &row.error { span.error { (error) } }
                        }
                        td { (plane_state(row)) }
                        td.n { @if let Some(since) = row.since { (span(since)) } }
                        td.n { (oldest(row.oldest)) }
                        td.n.wide-only { (number(row.keys)) }
                        td.n.wide-only { (number(row.objects)) }
                    }
                }
            }
        }
    }
}

fn pager(query: &PlanesQuery, part: &Part) -> Markup {
    let to = |page| Route::Planes(PlanesQuery { page, ..query.clone() });
    html! {
        @if part.pages > 1 {
            nav.pager aria-label="Pages of planes" {
                @if part.page > 1 { a rel="prev" href=(to(part.page - 1)) { "← Previous" } }
                span { "Page " (part.page) " of " (number(part.pages)) }
                @if part.page < part.pages { a rel="next" href=(to(part.page + 1)) { "Next →" } }
            }
        }
    }
}
