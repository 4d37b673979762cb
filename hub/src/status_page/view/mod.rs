//! The pages as HTML: pure functions of what is shown. `maud` escapes all text and all attributes.
//!
//! Names and messages come from tenants. None is printed but through `maud`, none becomes part of an address but through
//! [`Route`], and the Content-Security-Policy allows no script and no style but the two of this module.

mod fleet;
mod object;
mod parts;
mod plane;
mod planes;

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fedhub_core::clock::stamp;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Bytes;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::concerns::concerns;
use super::data::{Head, ObjectAnswer, ObjectQuery, PlaneDetail, Snapshot};
use super::route::{PlanesQuery, Route};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("refresh.js");

/// Nothing is loaded from anywhere, and what is inline is allowed by its hash.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; style-src {}; script-src {}; connect-src 'self'; img-src data:; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
});

fn hash(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    format!("'sha256-{}'", BASE64_STANDARD.encode(digest))
}

/// A page and all that it shows.
pub enum Page<'a> {
    /// The fleet at a glance.
    Fleet(&'a Snapshot),
    /// The list of planes.
    Planes(&'a Snapshot, &'a PlanesQuery),
    /// One plane, in each role that has it; none where no role has.
    Plane(&'a Snapshot, &'a str, &'a [PlaneDetail]),
    /// An object's chain.
    Object(&'a Snapshot, &'a ObjectQuery, &'a ObjectAnswer),
    /// There is no such page.
    NotFound(&'a Snapshot),
}

/// What the frame of a page takes.
struct Framed {
    code: StatusCode,
    title: String,
    route: Option<Route>,
    /// What is not renewed: forms, in which somebody may be typing.
    fixed: Markup,
    /// What is.
    live: Markup,
    /// Seconds from one renewal to the next.
    every: u32,
}

/// The response for a page.
pub fn respond(page: &Page<'_>) -> Response<Full<Bytes>> {
    let (snapshot, framed) = match page {
        Page::Fleet(snapshot) => (snapshot, fleet::page(snapshot)),
        Page::Planes(snapshot, query) => (snapshot, planes::page(snapshot, query)),
        Page::Plane(snapshot, name, details) => (snapshot, plane::page(name, details)),
        Page::Object(snapshot, query, answer) => (snapshot, object::page(query, answer)),
        Page::NotFound(snapshot) => (snapshot, not_found()),
    };
    let code = framed.code;
    let text = document(snapshot, framed).into_string().replace(turns_around, "\u{fffd}");
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = code;
    let policy = HeaderValue::from_str(&POLICY).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let headers: [(HeaderName, HeaderValue); 7] = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    ];
    response.headers_mut().extend(headers);
    response
}

/// Whether a character changes the direction of the text after it, so that a name could disguise what stands behind it.
fn turns_around(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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

fn document(snapshot: &Snapshot, framed: Framed) -> Markup {
    let Framed { title, route, fixed, live, every, .. } = framed;
    let concerns = concerns(snapshot).len();
    let count = if concerns == 0 { String::new() } else { format!("({concerns}) ") };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (count) (title) " · fedhub" }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body data-refresh=(every) {
                a.skip href="#main" { "Skip to content" }
                (banner(&snapshot.head, route.as_ref()))
                main #main tabindex="-1" {
                    (fixed)
                    div #live { (live) }
                }
                (footer(&snapshot.head, every))
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// The header of all pages: where one is, and which process this is.
fn banner(head: &Head, route: Option<&Route>) -> Markup {
    let planes = matches!(route, Some(Route::Planes(_) | Route::Plane(_)));
    let object = matches!(route, Some(Route::Object(_)));
    let links = [
        ("Fleet", Route::Fleet, matches!(route, Some(Route::Fleet))),
        ("Planes", Route::Planes(PlanesQuery::default()), planes),
        ("Explain", Route::Object(ObjectQuery { kind: "wd".to_owned(), ..ObjectQuery::default() }), object),
    ];
    html! {
        header.banner {
            div.wide {
                span.brand { "fedhub" span.soft { (head.version) } }
                nav aria-label="Pages" {
                    ul {
                        @for (text, to, here) in &links {
                            li { a href=(to) aria-current=[here.then_some("page")] { (text) } }
                        }
                    }
                }
                p.process {
                    @for (role, leads) in &head.roles {
                        span { (role) " · " (if *leads { "leader" } else { "standby" }) }
                    }
                }
            }
        }
    }
}

/// The footer of all pages: how old this is, and a switch for the renewal that the script shows.
fn footer(head: &Head, every: u32) -> Markup {
    html! {
        footer.wide {
            p {
                span #updated { "As of " time datetime=(stamp(head.now)) { (head.now.strftime("%H:%M:%S UTC")) } }
                @if every > 0 {
                    button #pause type="button" aria-pressed="false" hidden { "Pause refresh" }
                }
            }
            // Tells once that the process does not answer, and is silent otherwise.
            p #trouble role="status" {}
        }
    }
}

#[cfg(test)]
mod tests;
