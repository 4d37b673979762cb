//! The pages as HTML: pure functions of what is shown. `maud` escapes all text and all attributes.
//!
//! Names and messages come from tenants. None is printed but through `maud`, none becomes part of an address
//! but through [`Route`], and the Content-Security-Policy allows no script and no style but the two of
//! `frame`.

mod fleet;
mod frame;
mod object;
mod parts;
mod plane;
mod planes;
mod rollouts;

use axum::response::{IntoResponse, Response};
use http::{HeaderName, StatusCode, header};
use maud::html;

use super::data::{ObjectAnswer, ObjectQuery, PlaneDetail, Snapshot};
use super::route::{PlanesQuery, Route};
use frame::{Framed, POLICY, document};

/// A page and all that it shows.
pub enum Page<'a> {
    /// The fleet at a glance.
    Fleet(&'a Snapshot),
    /// The list of planes.
    Planes(&'a Snapshot, &'a PlanesQuery),
    /// A plane, in each role that has it; none if no role has.
    Plane(&'a Snapshot, &'a str, &'a [PlaneDetail]),
    /// An object's chain.
    Object(&'a Snapshot, &'a ObjectQuery, &'a ObjectAnswer),
    /// The page does not exist.
    NotFound(&'a Snapshot),
}

/// The response for a page.
pub fn respond(page: &Page<'_>) -> Response {
    let (snapshot, framed) = match page {
        Page::Fleet(snapshot) => (snapshot, fleet::page(snapshot)),
        Page::Planes(snapshot, query) => (snapshot, planes::page(snapshot, query)),
        Page::Plane(snapshot, name, details) => (snapshot, plane::page(name, details)),
        Page::Object(snapshot, query, answer) => (snapshot, object::page(query, answer)),
        Page::NotFound(snapshot) => (snapshot, not_found()),
    };
    let code = framed.code;
    let text = document(snapshot, framed);
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, &**POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    (code, headers, text).into_response()
}

fn not_found() -> Framed {
    Framed {
        code: StatusCode::NOT_FOUND,
        title: "Not found".to_owned(),
        route: None,
        fixed: html! {
            h1 { "There is no such page" }
            p { a href=(Route::Fleet) { "The fleet" } " has links to all that there are." }
        },
        live: html! {},
        every: 0,
    }
}

#[cfg(test)]
mod tests;
