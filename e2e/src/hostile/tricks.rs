//! The tricks of a hostile server: what it sends in place of a plane's answer.

use std::future::ready;
use std::time::Duration;

use clap::ValueEnum;
use futures::{StreamExt, stream};
use http::Method;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};

use crate::gateway::{Content, Problem, content, route};

/// The length of what has an end.
const LENGTH: usize = 8 << 20;
/// How much of it is sent at a time.
const CHUNK: usize = 64 << 10;
/// Objects on a page.
const PAGE: usize = 500;
/// The time between two bytes of a slow answer.
const PACE: Duration = Duration::from_secs(1);

/// The change of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Maps of one field: once decoded they take fifty times their text.
    Fields,
    /// Maps within maps.
    Nesting,
    /// A string of eight megabytes.
    Strings,
    /// A string without an end.
    Endless,
    /// Objects without an end, on one page.
    Objects,
    /// Pages without an end.
    Pages,
    /// A page that names itself as the next one.
    Repeated,
    /// A byte a second.
    Slow,
    /// Headers without an end, whatever is asked.
    Headers,
}

/// Which answers a trick is about, and which a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Asked {
    /// A namespace.
    Namespaces,
    /// A page of a list.
    Lists,
    /// A watch.
    Watches,
    /// All of these and everything else.
    Everything,
}

impl Asked {
    /// Returns what a request asks for.
    pub fn by(method: &Method, path: &str) -> Self {
        if method != Method::GET {
            return Self::Everything;
        }
        if matches!(parameter(path, "watch"), Some("true" | "1")) {
            return Self::Watches;
        }
        if route::is_list(path) {
            return Self::Lists;
        }
        let bare = path.split('?').next().unwrap_or_default();
        match bare.strip_prefix("/api/v1/namespaces/") {
            Some(name) if !name.contains('/') => Self::Namespaces,
            _ => Self::Everything,
        }
    }
}

/// A trick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trick {
    kind: Kind,
    about: Asked,
}

impl Trick {
    /// The trick with this name, `KIND ANSWERS`; `None` for the empty one.
    pub fn choose(name: &str) -> Result<Option<Self>, String> {
        let words: Vec<_> = name.split_whitespace().collect();
        match words[..] {
            [] => Ok(None),
            [kind, about] => {
                Ok(Some(Self { kind: Kind::from_str(kind, false)?, about: Asked::from_str(about, false)? }))
            }
            _ => Err(format!("{name:?} does not name a trick: expected KIND ANSWERS")),
        }
    }

    /// Whether it is played before a request is read.
    pub fn is_in_headers(self) -> bool {
        self.kind == Kind::Headers
    }

    /// Whether it is played on a request.
    pub fn is_about(self, asked: Asked) -> bool {
        self.about == asked || self.about == Asked::Everything
    }

    /// Returns the content that is sent to a request. `uid` becomes the UID of objects.
    pub fn content(self, asked: Asked, path: &str, uid: &str) -> Content {
        match self.kind {
            Kind::Fields => Text::new(asked, uid, "[", r#"{"a":1},"#, Some("{}]".to_owned())).content(),
            Kind::Nesting => {
                let map = r#"{"a":"#;
                let depth = chunk(map).len() / map.len() * (LENGTH / CHUNK);
                Text::new(asked, uid, "", map, Some("1".to_owned() + &"}".repeat(depth))).content()
            }
            Kind::Strings => Text::new(asked, uid, "\"", "x", Some("\"".to_owned())).content(),
            Kind::Endless | Kind::Headers => Text::new(asked, uid, "\"", "x", None).content(),
            Kind::Objects => {
                let next = r#"1},{"metadata":{"name":"more","namespace":"default","uid":"more"},"data":"#;
                Text::new(asked, uid, "", next, None).content()
            }
            Kind::Pages => {
                let number = parameter(path, "continue").and_then(|token| token.parse().ok()).unwrap_or(0);
                content(page(number, &(number + 1).to_string()))
            }
            Kind::Repeated => content(page(0, "again")),
            Kind::Slow => slow(),
        }
    }
}

/// An answer that is sent in pieces.
struct Text {
    opening: String,
    /// Sent again and again.
    chunk: Bytes,
    /// The text after as many chunks as have the length; `None` if there is no end.
    closing: Option<String>,
}

impl Text {
    /// An answer with one object, with a field that begins with `before` and goes on with `unit`, again and
    /// again.
    fn new(asked: Asked, uid: &str, before: &str, unit: &str, closing: Option<String>) -> Self {
        let kind = match asked {
            Asked::Namespaces => r#""apiVersion":"v1","kind":"Namespace""#,
            _ => r#""apiVersion":"compute.datumapis.com/v1alpha","kind":"WorkloadDeployment""#,
        };
        let metadata = format!(r#"{{"name":"kube-system","uid":"{uid}","resourceVersion":"1"}}"#);
        let object = format!(r#"{{{kind},"metadata":{metadata},"data":{before}"#);
        let (opening, end) = match asked {
            Asked::Namespaces | Asked::Everything => (object, "}"),
            Asked::Watches => (format!(r#"{{"type":"MODIFIED","object":{object}"#), "}}\n"),
            Asked::Lists => {
                let list = r#"{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"1"},"items":["#;
                (list.to_owned() + &object, "}]}")
            }
        };
        Self { opening, chunk: chunk(unit), closing: closing.map(|closing| closing + end) }
    }

    fn content(self) -> Content {
        let chunks = if self.closing.is_some() { LENGTH / CHUNK } else { usize::MAX };
        let pieces = stream::once(ready(Bytes::from(self.opening)))
            .chain(stream::repeat(self.chunk).take(chunks))
            .chain(stream::iter(self.closing.map(Bytes::from)));
        StreamBody::new(pieces.map(|piece| Ok::<_, Problem>(Frame::data(piece)))).boxed_unsync()
    }
}

fn chunk(unit: &str) -> Bytes {
    Bytes::from(unit.repeat(CHUNK / unit.len()))
}

/// A page of objects, by its number, and the token of the next one.
fn page(number: u64, next: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "List",
        "metadata": { "resourceVersion": "1", "continue": next },
        "items": (0..PAGE).map(|index| object(number, index)).collect::<Vec<_>>(),
    })
    .to_string()
}

fn object(page: u64, index: usize) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
        "metadata": {
            "name": format!("more-{page}-{index}"), "namespace": "default", "resourceVersion": "1",
            "uid": format!("00000000-0000-4000-8000-{page:06}{index:06}"),
        },
    })
}

/// White space, which may stand before any JSON, a byte at a time.
fn slow() -> Content {
    let bytes = stream::unfold(tokio::time::interval(PACE), |mut pace| async move {
        pace.tick().await;
        Some((Ok::<_, Problem>(Frame::data(Bytes::from_static(b" "))), pace))
    });
    StreamBody::new(bytes).boxed_unsync()
}

fn parameter<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = path.split_once('?')?;
    query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    const WDS: &str = "/apis/compute.datumapis.com/v1alpha/workloaddeployments";

    #[test]
    fn a_request_is_told_by_what_it_asks_for() {
        for (method, path, expected) in [
            (Method::GET, "/api/v1/namespaces/kube-system".to_owned(), Asked::Namespaces),
            (Method::GET, "/api/v1/namespaces/default/secrets/x".to_owned(), Asked::Everything),
            (Method::GET, format!("{WDS}?limit=500"), Asked::Lists),
            (Method::GET, format!("{WDS}?watch=true&resourceVersion=1"), Asked::Watches),
            (Method::GET, "/api/v1/namespaces?watch=1".to_owned(), Asked::Watches),
            (Method::GET, "/version".to_owned(), Asked::Everything),
            (Method::PATCH, "/api/v1/namespaces/kube-system".to_owned(), Asked::Everything),
        ] {
            assert_eq!(Asked::by(&method, &path), expected, "{method} {path}");
        }
    }

    #[test]
    fn a_trick_is_about_what_it_names() {
        let trick = |name| Trick::choose(name).unwrap().unwrap();
        assert_eq!(Trick::choose(" \n"), Ok(None));
        for wrong in ["fields", "fields lists watches", "purple lists", "fields purple"] {
            assert!(Trick::choose(wrong).is_err(), "{wrong}");
        }
        assert!(trick("fields lists\n").is_about(Asked::Lists));
        assert!(!trick("fields lists").is_about(Asked::Watches));
        assert!(trick("slow everything").is_about(Asked::Namespaces));
        assert!(trick("headers everything").is_in_headers());
    }

    async fn sent(trick: &str, asked: Asked, path: &str) -> Bytes {
        let trick = Trick::choose(trick).unwrap().unwrap();
        trick.content(asked, path, "itself").collect().await.unwrap().to_bytes()
    }

    #[derive(Deserialize)]
    struct Object {
        metadata: Value,
    }

    #[derive(Deserialize)]
    struct List {
        items: Vec<Object>,
    }

    #[derive(Deserialize)]
    struct Event {
        object: Object,
    }

    #[tokio::test]
    async fn what_has_an_end_is_an_answer_of_eight_megabytes() {
        for kind in ["fields", "strings"] {
            let namespace = sent(&format!("{kind} namespaces"), Asked::Namespaces, WDS).await;
            let list = sent(&format!("{kind} lists"), Asked::Lists, WDS).await;
            let event = sent(&format!("{kind} watches"), Asked::Watches, WDS).await;
            for text in [&namespace, &list, &event] {
                assert!(text.len() > LENGTH, "{kind}: {}", text.len());
            }
            let object: Object = serde_json::from_slice(&namespace).unwrap();
            assert_eq!(object.metadata["uid"], "itself", "{kind}");
            let List { items } = serde_json::from_slice(&list).unwrap();
            assert_eq!(items[0].metadata["uid"], "itself", "{kind}");
            let Event { object } = serde_json::from_slice(&event).unwrap();
            assert_eq!(object.metadata["uid"], "itself", "{kind}");
        }
        let nested = sent("nesting namespaces", Asked::Namespaces, WDS).await;
        let [opened, closed] =
            ['{', '}'].map(|brace| str::from_utf8(&nested).unwrap().matches(brace).count());
        assert!(opened > 1_000_000 && opened == closed, "{opened} {closed}");
    }

    #[tokio::test]
    async fn what_is_endless_goes_on() {
        for trick in ["endless lists", "endless watches", "objects lists"] {
            let trick = Trick::choose(trick).unwrap().unwrap();
            let mut content = trick.content(trick.about, WDS, "itself");
            let mut length = 0;
            while length < 2 * LENGTH {
                length += content.frame().await.unwrap().unwrap().into_data().unwrap().len();
            }
        }
    }

    #[tokio::test]
    async fn pages_follow_each_other_and_a_page_itself() {
        for (trick, token, expected, first) in [
            ("pages lists", "", "1", "more-0-0"),
            ("pages lists", "&continue=7", "8", "more-7-0"),
            ("repeated lists", "", "again", "more-0-0"),
            ("repeated lists", "&continue=again", "again", "more-0-0"),
        ] {
            let text = sent(trick, Asked::Lists, &format!("{WDS}?limit=500{token}")).await;
            let page: Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(page["metadata"]["continue"], expected, "{trick}");
            assert_eq!(page["items"][0]["metadata"]["name"], first, "{trick}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_answer_takes_a_second_for_each_byte() {
        let began = tokio::time::Instant::now();
        let mut content = Trick::choose("slow lists").unwrap().unwrap().content(Asked::Lists, WDS, "itself");
        for _ in 0..5 {
            assert_eq!(content.frame().await.unwrap().unwrap().into_data().unwrap().len(), 1);
        }
        assert_eq!(began.elapsed(), Duration::from_secs(4));
    }
}
