//! Every page from made-up data: that it is well-formed, that nothing a tenant chose becomes markup, and that
//! it says what it is to say.
//!
//! With `FEDHUB_STATUS_PAGES=<directory>` the pages are written there, for a look in a browser.

use std::collections::BTreeSet;
use std::time::Duration;

use http_body_util::BodyExt;

use super::frame::{SCRIPT, STYLE, hash};
use super::*;
use crate::status_page::concerns::concerns;
use crate::status_page::data::Attention;
use crate::status_page::data::{PlaneRow, PlaneState};
use fixtures::{HOSTILE, broken, busy, calm, detail, explained, fleet_of};

mod fixtures;

/// The body of a response.
async fn text(response: Response) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

async fn body(page: &Page<'_>) -> String {
    text(respond(page)).await
}

/// Every page there is, by a name for its file.
async fn pages() -> Vec<(&'static str, String)> {
    let calm = calm();
    let busy = busy();
    let broken = broken();
    let all = PlanesQuery::default();
    let needy = detail(&HOSTILE.replace('/', ""));
    let many = fleet_of(10_000);
    let filtered = PlanesQuery { name: "no-such".to_owned(), ..all.clone() };
    let second = PlanesQuery { page: 2, ..all.clone() };
    let query = |name: &str| ObjectQuery {
        kind: "wd".to_owned(),
        plane: "project-a".to_owned(),
        namespace: "shop".to_owned(),
        name: name.to_owned(),
    };
    let asked = query("web");
    let hostile = query(HOSTILE);
    let nothing = ObjectQuery { kind: "wd".to_owned(), ..ObjectQuery::default() };
    let answers = explained().map(|explained| ObjectAnswer::Explained(Box::new(explained)));
    vec![
        ("fleet-calm", body(&Page::Fleet(&calm)).await),
        ("fleet-busy", body(&Page::Fleet(&busy)).await),
        ("fleet-broken", body(&Page::Fleet(&broken)).await),
        ("fleet-10000", body(&Page::Fleet(&many)).await),
        ("planes", body(&Page::Planes(&busy, &all)).await),
        ("planes-10000", body(&Page::Planes(&many, &second)).await),
        ("planes-none", body(&Page::Planes(&busy, &filtered)).await),
        ("plane", body(&Page::Plane(&busy, "project-a", &[detail("project-a")])).await),
        ("plane-hostile", body(&Page::Plane(&broken, HOSTILE, &[needy])).await),
        ("plane-unknown", body(&Page::Plane(&calm, HOSTILE, &[])).await),
        ("object", body(&Page::Object(&calm, &nothing, &ObjectAnswer::Nothing)).await),
        ("object-in-sync", body(&Page::Object(&calm, &asked, &answers[0])).await),
        ("object-blocked", body(&Page::Object(&busy, &asked, &answers[1])).await),
        ("object-hostile", body(&Page::Object(&busy, &hostile, &answers[2])).await),
        (
            "object-invalid",
            body(&Page::Object(&calm, &hostile, &ObjectAnswer::Invalid(HOSTILE.to_owned()))).await,
        ),
        ("object-busy", body(&Page::Object(&calm, &asked, &ObjectAnswer::Busy)).await),
        (
            "object-late",
            body(&Page::Object(&calm, &asked, &ObjectAnswer::TimedOut(Duration::from_secs(5)))).await,
        ),
        ("not-found", body(&Page::NotFound(&calm)).await),
    ]
}

/// The names of the elements and attributes of a page, and the addresses that it links to. Fails where tags
/// do not match.
fn parsed(name: &str, page: &str) -> (BTreeSet<String>, Vec<String>) {
    const VOID: [&str; 5] = ["meta", "link", "input", "wbr", "br"];
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    let mut open = Vec::new();
    let mut names = BTreeSet::new();
    let mut links = Vec::new();
    while let Some(at) = rest.find('<') {
        let (tag, after) =
            rest[at + 1..].split_once('>').unwrap_or_else(|| panic!("{name}: a tag has no end"));
        rest = after;
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "{name}: before {:?}", &rest[..rest.len().min(80)]);
            continue;
        }
        let (element, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        names.insert(element.to_owned());
        // Of two, a browser takes the first.
        let keys: Vec<&str> =
            attributes.split('"').step_by(2).map(str::trim).filter(|it| !it.is_empty()).collect();
        let unique: BTreeSet<&str> = keys.iter().copied().collect();
        assert_eq!(keys.len(), unique.len(), "{name}: <{tag}>");
        for (at, part) in attributes.split('"').enumerate() {
            if at % 2 == 0 {
                let attribute = part.trim().trim_end_matches('=').split(' ');
                names.extend(attribute.filter(|it| !it.is_empty()).map(|it| format!("@{it}")));
            } else if attributes
                .split('"')
                .nth(at - 1)
                .is_some_and(|it| it.ends_with("href=") || it.ends_with("action="))
            {
                links.push(part.to_owned());
            }
        }
        if element == "script" || element == "style" {
            let end = rest.find(&format!("</{element}>")).unwrap();
            rest = &rest[end + element.len() + 3..];
        } else if !VOID.contains(&element) {
            open.push(element);
        }
    }
    assert!(open.is_empty(), "{name}: {open:?}");
    (names, links)
}

#[tokio::test]
async fn every_page_is_well_formed_and_nothing_that_tenants_chose_becomes_markup() {
    let directory = std::env::var_os("FEDHUB_STATUS_PAGES");
    let elements: BTreeSet<&str> = [
        "html", "head", "meta", "title", "link", "style", "body", "script", "header", "nav", "main",
        "footer", "section", "div", "span", "p", "h1", "h2", "ul", "li", "a", "code", "time", "button",
        "form", "label", "input", "select", "option", "table", "thead", "tbody", "tr", "th", "td", "dl",
        "dt", "dd", "svg", "path", "rect", "wbr", "bdi",
    ]
    .into();
    for (name, page) in pages().await {
        if let Some(directory) = &directory {
            let path = std::path::Path::new(directory).join(format!("{name}.html"));
            std::fs::write(path, &page).unwrap();
        }
        let (names, links) = parsed(name, &page);
        for it in &names {
            match it.strip_prefix('@') {
                Some(attribute) => {
                    assert!(!attribute.starts_with("on") && attribute != "style", "{name}: {attribute}");
                }
                None => assert!(elements.contains(it.as_str()), "{name}: <{it}>"),
            }
        }
        assert!(
            links.iter().all(|link| {
                link.starts_with(crate::status_page::route::ROOT) || link == "#main" || link == "data:,"
            }),
            "{name}: {links:?}"
        );
        assert!(!page.contains(fedhub_terminal::turns), "{name}");
        assert!(!page.contains(HOSTILE) && !page.contains("<script>alert"), "{name}");
        for one in ["<h1", "<main", "fedhub</title>", "lang=\"en\"", "class=\"skip\"", "id=\"live\""] {
            assert_eq!(page.matches(one).count(), 1, "{name}: {one}");
        }
        assert!(!page.contains("http://") && !page.contains("https://"), "{name}");
    }
}

#[tokio::test]
async fn hostile_names_are_shown_as_they_are() {
    let page = pages().await.into_iter().find(|(name, _)| *name == "plane-unknown").unwrap().1;
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    assert!(page.contains("&quot;"), "{page}");
}

#[test]
fn the_policy_allows_what_is_inline_by_its_hash_and_nothing_else() {
    let response = respond(&Page::NotFound(&calm()));
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    let policy = header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    for loose in ["unsafe", "*", "http:", "https:", "script-src 'self'"] {
        assert!(!policy.contains(loose), "{policy}");
    }
    // As `openssl dgst -sha256 -binary | base64` has it.
    assert_eq!(hash(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    assert!(policy.contains(&hash(STYLE)) && policy.contains(&hash(SCRIPT)), "{policy}");
    assert_eq!(header("cache-control"), "no-store");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("referrer-policy"), "no-referrer");
    // A browser ends them at the first of these, whatever the hash says.
    assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
}

#[tokio::test]
async fn the_fleet_says_what_needs_attention_and_that_nothing_does() {
    let calm = body(&Page::Fleet(&calm())).await;
    assert!(calm.contains("<h1>Nothing needs attention</h1>"), "{calm}");
    assert!(calm.contains("<title>Fleet · fedhub</title>"), "{calm}");
    let found: Vec<String> = concerns(&broken()).into_iter().map(|it| it.text).collect();
    assert_eq!(
        found,
        [
            "This process is not ready",
            "The hub is unreachable",
            "The hub was restored from a backup: no deletion is inferred",
            "2 entitlements are missing",
            "2 planes are unreachable",
            "1 plane is refused",
            "2 planes are stuck",
            "Cell cell-dfw of city DFW is not ready",
            "City LHR has no cell",
            "City ORD has 2 cells",
            "1 rollout is stalled",
            "3 Instances are quarantined",
            "1 finalizer is held",
            "5 orphans are on the hub: fedhub audit names what runs without an owner",
        ]
    );
    let broken = body(&Page::Fleet(&broken())).await;
    assert!(
        broken.contains("<h1>14 things need attention</h1>") && broken.contains("<title>(14) Fleet"),
        "{broken}"
    );
    assert!(broken.contains("on standby"), "{broken}");
    let remedy = "run on until an operator runs fedhub audit --reclaim";
    assert!(broken.contains(remedy) && !calm.contains(remedy), "{broken}");
}

#[tokio::test]
async fn rollouts_say_where_they_are_what_holds_them_and_how_many_there_are() {
    let calm = body(&Page::Fleet(&calm())).await;
    assert!(!calm.contains("Rollouts"), "none is under way: {calm}");
    let busy = body(&Page::Fleet(&busy())).await;
    for part in [
        "Rollouts under way",
        "1 failed, 12 waiting",
        "<bdi>canary</bdi>",
        "DFW failed by ImageUnavailable",
        "waits until the wave &quot;canary&quot; is approved",
        "name=web-us-dfw",
        "4 of 62 are shown",
    ] {
        assert!(busy.contains(part), "{part}: {busy}");
    }
}

#[test]
fn a_plane_needs_attention_by_its_state_and_its_lag() {
    let row = |state, oldest: Option<u64>, since: u64| PlaneRow {
        name: "a".to_owned(),
        role: "management",
        state,
        since: Some(Duration::from_secs(since)),
        oldest: oldest.map(Duration::from_secs),
        keys: 0,
        objects: 0,
        circuit_open: false,
        error: None,
    };
    for (row, expected) in [
        (row(PlaneState::Engaged, None, 9999), Attention::None),
        (row(PlaneState::Engaged, Some(9), 9999), Attention::None),
        (row(PlaneState::Engaged, Some(11), 9999), Attention::Slow),
        (row(PlaneState::Engaged, Some(61), 9999), Attention::Stuck),
        (row(PlaneState::Engaging, None, 5), Attention::None),
        (row(PlaneState::Engaging, None, 61), Attention::Stuck),
        (row(PlaneState::Suspended, None, 9999), Attention::None),
        (row(PlaneState::Paused, Some(9999), 9999), Attention::None),
        (row(PlaneState::Unreachable, None, 1), Attention::Failing),
        (row(PlaneState::Refused, None, 1), Attention::Failing),
        (PlaneRow { circuit_open: true, ..row(PlaneState::Engaged, None, 1) }, Attention::Failing),
    ] {
        assert_eq!(row.attention(), expected, "{row:?}");
    }
}

#[tokio::test]
async fn ten_thousand_planes_are_listed_by_the_page_and_selected_on_the_server() {
    let snapshot = fleet_of(10_000);
    let rows = |page: &str| page.matches("<tr>").count() - 1;
    let first = body(&Page::Planes(&snapshot, &PlanesQuery::default())).await;
    assert_eq!(rows(&first), 50);
    assert!(first.contains("1–50 of 10\u{202f}000 planes") && first.contains("Page 1 of 200"), "{first}");
    assert!(!first.contains("rel=\"prev\"") && first.contains("href=\"/status/planes?page=2\""), "{first}");
    let beyond = PlanesQuery { page: 4711, ..PlanesQuery::default() };
    let last = body(&Page::Planes(&snapshot, &beyond)).await;
    assert!(last.contains("Page 200 of 200") && !last.contains("rel=\"next\""), "{last}");
    let query = PlanesQuery { name: "project-00042".to_owned(), ..PlanesQuery::default() };
    assert_eq!(rows(&body(&Page::Planes(&snapshot, &query)).await), 1);
    let query = PlanesQuery { state: Some(PlaneState::Unreachable), ..PlanesQuery::default() };
    let failing = body(&Page::Planes(&snapshot, &query)).await;
    assert!(
        rows(&failing) > 0
            && !failing.contains("\u{a0}engaged</span>")
            && first.contains("\u{a0}engaged</span>"),
        "{failing}"
    );
}

#[tokio::test]
async fn a_chain_is_what_explain_says_and_marks_where_it_is_behind() {
    let pages = pages().await;
    let page = |wanted: &str| &pages.iter().find(|(name, _)| *name == wanted).unwrap().1;
    let blocked = page("object-blocked");
    let explained = &explained()[1];
    for (label, text) in &explained.verdict {
        let text =
            text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        assert!(blocked.contains(&format!("<dt>{label}</dt><dd>{text}</dd>")), "{label}: {text}: {blocked}");
    }
    assert_eq!(blocked.matches("aria-current=\"step\"").count(), 1, "{blocked}");
    assert_eq!(page("object-in-sync").matches("aria-current=\"step\"").count(), 0);
    assert!(blocked.contains("data-refresh=\"15\"") && page("object-busy").contains("data-refresh=\"0\""));
}
