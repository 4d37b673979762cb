//! The frame of all pages: header, footer, style, script, and the policy that allows those two.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fedhub_core::clock::stamp;
use fedhub_terminal::turns;
use http::StatusCode;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::status_page::concerns::concerns;
use crate::status_page::data::{Head, ObjectQuery, Snapshot};
use crate::status_page::route::{PlanesQuery, Route};

/// The style of all pages.
pub const STYLE: &str = include_str!("style.css");
/// The script that refreshes a page.
pub const SCRIPT: &str = include_str!("refresh.js");

/// The Content-Security-Policy: nothing is loaded from anywhere, and what is inline is allowed by its hash.
pub static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; style-src {}; script-src {}; connect-src 'self'; img-src data:; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
});

/// The hash by which a policy allows what is inline.
pub fn hash(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    format!("'sha256-{}'", BASE64_STANDARD.encode(digest))
}

/// The parts of a page's frame.
pub struct Framed {
    /// The code of the response.
    pub code: StatusCode,
    /// The title, less the name of the program.
    pub title: String,
    /// Its address, where there is one.
    pub route: Option<Route>,
    /// The part that is not refreshed: forms, in which somebody may be typing.
    pub fixed: Markup,
    /// The part that is refreshed.
    pub live: Markup,
    /// Seconds from one renewal to the next.
    pub every: u32,
}

/// The whole document.
pub fn document(snapshot: &Snapshot, framed: Framed) -> String {
    let Framed { title, route, fixed, live, every, .. } = framed;
    let concerns = concerns(snapshot).len();
    let count = if concerns == 0 { String::new() } else { format!("({concerns}) ") };
    let document = html! {
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
    };
    // A name could disguise the text behind it.
    document.into_string().replace(turns, "\u{fffd}")
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
