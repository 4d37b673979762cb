//! Servers of others that put into every answer what a terminal acts on: no command passes it on (I15).

use std::collections::BTreeSet;
use std::fs;
use std::pin::Pin;
use std::task::{Context, Poll};

use fedhub_fake_apiserver::{AnswerBody, ApiServer, ApiService};
use futures::future::join_all;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use serde_json::{Value, json};
use tower::{BoxError, Service};

use super::planes::Planes;

/// A title, the clipboard, a cleared screen (by ESC and by CSI), a row of its own, the other direction, a
/// line of its own.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}]52;c;eA==\u{9c}\u{1b}[2J\u{9b}2J\u{1b}[32m\r\nall in order\u{202e}\u{2066}\u{200f}\u{2028}\u{7f}";
/// A part of it, as it is shown, in whatever format: of errors the control characters are gone.
const SHOWN: &str = "202e";

/// What a hostile server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// The texts for people in each answer are hostile.
    Messages,
    /// All texts are, but for those that name the object, its kind and its place.
    Texts,
    /// The names of objects in lists are, too.
    Names,
    /// Each request is refused, with a hostile reason and message.
    Refusals,
    /// Each answer is 200, and no JSON.
    Garbage,
}

/// Texts for people.
const MESSAGES: [&str; 5] = ["message", "reason", "holderIdentity", "by", "since"];
/// What answers are joined by.
const STRUCTURE: [&str; 13] = [
    "apiVersion",
    "kind",
    "resourceVersion",
    "continue",
    "name",
    "namespace",
    "creationTimestamp",
    "type",
    "status",
    "renewTime",
    "kubeconfig",
    "lastTransitionTime",
    "deletionTimestamp",
];

impl Manner {
    const ALL: [Self; 5] = [Self::Messages, Self::Texts, Self::Names, Self::Refusals, Self::Garbage];

    fn spoils(self, field: &str) -> bool {
        match self {
            Self::Messages => MESSAGES.contains(&field),
            Self::Texts => !STRUCTURE.contains(&field),
            Self::Names => MESSAGES.contains(&field) || field == "name",
            Self::Refusals | Self::Garbage => false,
        }
    }

    fn spoil(self, field: &str, value: &mut Value) {
        match value {
            Value::String(text) if self.spoils(field) => text.push_str(HOSTILE),
            Value::Array(items) => items.iter_mut().for_each(|item| self.spoil(field, item)),
            Value::Object(fields) => fields.iter_mut().for_each(|(field, value)| self.spoil(field, value)),
            _ => {}
        }
    }
}

/// A server in front of another, whose answers it spoils.
#[derive(Clone)]
struct Hostile {
    inner: ApiService,
    manner: Manner,
}

impl Service<Request<Incoming>> for Hostile {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let mut inner = self.inner.clone();
        let manner = self.manner;
        Box::pin(async move {
            let (code, body) = match manner {
                Manner::Refusals => {
                    let status = json!({
                        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
                        "reason": format!("Forbidden{HOSTILE}"), "message": format!("no{HOSTILE}"),
                    });
                    (StatusCode::FORBIDDEN, status.to_string())
                }
                Manner::Garbage => (StatusCode::OK, HOSTILE.to_owned()),
                _ => {
                    let (parts, body) = inner.call(request).await?.into_parts();
                    let mut value: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
                    manner.spoil("", &mut value);
                    (parts.status, value.to_string())
                }
            };
            let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
            let response = Response::builder().status(code).header(header::CONTENT_TYPE, "application/json");
            Ok(response.body(body)?)
        })
    }
}

/// The planes, of which project, hub and cell are hostile, and with `everything` the management plane, too.
async fn planes(manner: Manner, everything: bool) -> Planes {
    let planes = Planes::in_sync().await;
    // Who looks whether its holder renews it waits that long.
    let short = json!({"spec": {"leaseDurationSeconds": 1}});
    planes.management.patch("Lease", "fedhub-system", "fedhub", &short).unwrap();
    let hostile = |server: &ApiServer| Hostile { inner: server.service(), manner };
    for (name, server) in [("hub", &planes.hub), ("cell", &planes.cell), ("project", &planes.project)] {
        let content = planes.serve_by(name, hostile(server)).await;
        fs::write(planes.file(name), content.to_string()).unwrap();
    }
    planes.put_secret("project-a", None, &fs::read_to_string(planes.file("project")).unwrap());
    if everything {
        let content = planes.serve_by("management", hostile(&planes.management)).await;
        fs::write(planes.file("management"), content.to_string()).unwrap();
    }
    planes
}

/// Each command that reads a server, and the flags that make it read those here: `@NAME` is the file of a
/// plane.
const COMMANDS: &[(&str, &[&str])] = &[
    ("planes", &["planes -o table M", "planes -o wide M", "planes -o json M", "planes -o yaml M"]),
    (
        "explain",
        &[
            "explain wd web -n shop --plane project-a -o wide M H C",
            "explain wd web -n shop --plane project-a -o json M H C",
            "explain wd web -n shop --plane project-a -o yaml M H C",
            "explain instance web-0 -n shop --plane project-a -o wide M H C",
            "explain workload web -n shop --plane project-a -o wide M H C",
            "explain workload web -n shop --plane project-a -o yaml M H C",
        ],
    ),
    ("snapshot", &["snapshot --file=@snapshot M H C"]),
    (
        "audit",
        &[
            "audit -o wide --grace=0s M H C",
            "audit -o json --grace=0s M H C",
            "audit -o yaml --grace=0s M H C",
            "audit --reclaim --yes M H",
        ],
    ),
    ("cells", &["cells -o table H", "cells -o json H", "cells -o yaml H"]),
    (
        "check",
        &[
            "check --enable-management-controllers --discovery=kubeconfigs -o wide M H",
            "check --enable-management-controllers --discovery=kubeconfigs -o yaml M H",
            "check --enable-cell-controllers --cell-name=cell-dfw -o table H --cell-kubeconfig=@cell",
        ],
    ),
    ("pause", &["pause --plane project-z M", "pause --plane project-a M", "pause --plane project-a M"]),
    ("resume", &["resume --plane project-a M", "resume M"]),
    ("hub", &["hub status M", "hub accept-restore --yes M H"]),
    (
        "kubeconfig",
        &[
            "kubeconfig mint --for project --project-kubeconfig=project-a=@project --force -o wide M",
            "kubeconfig rotate --for project -o wide M",
            "kubeconfig rotate --for project -o yaml M",
        ],
    ),
    (
        "uninstall",
        &[
            "uninstall --plan -o wide M H C",
            "uninstall --plan -o yaml M H C",
            "uninstall --plan --hub=empty -o json M H C",
            "uninstall --run --yes --yes-stopped -o wide M H C",
        ],
    ),
];

fn words(planes: &Planes, line: &str) -> Vec<String> {
    let file = |name: &str| planes.file(name).display().to_string();
    let word = |word: &str| match word {
        "M" => format!("--management-kubeconfig={}", file("management")),
        "H" => format!("--hub-kubeconfig={}", file("hub")),
        "C" => planes.cell_flag(),
        word => match word.split_once('@') {
            Some((before, name)) => format!("{before}{}", file(name)),
            None => word.to_owned(),
        },
    };
    line.split(' ').map(word).collect()
}

fn steers(character: char) -> bool {
    let turns = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (character.is_control() && character != '\n') || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Runs every command on planes of this kind, and gives those that had something hostile to show.
async fn asked(manner: Manner, everything: bool) -> BTreeSet<&'static str> {
    let planes = planes(manner, everything).await;
    let mut shown = BTreeSet::new();
    for (command, lines) in COMMANDS {
        for line in *lines {
            let words = words(&planes, line);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let ran = planes.run(&words).await;
            let at = format!("{manner:?} {everything} {line}: {:?}", ran.text);
            assert!(!ran.text.contains(steers), "{at}");
            // Nor has it begun a line.
            assert!(!ran.text.lines().any(|line| line.starts_with("all in order")), "{at}");
            assert_ne!(ran.code, 2, "{at}");
            if ran.text.contains(SHOWN) {
                shown.insert(*command);
            }
        }
    }
    shown
}

/// They are asked side by side: some commands wait for what never comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i15_nothing_that_a_server_says_steers_the_terminal_of_an_operator() {
    let all = Manner::ALL.iter().flat_map(|manner| [asked(*manner, false), asked(*manner, true)]);
    let shown: BTreeSet<&str> = join_all(all).await.into_iter().flatten().collect();
    let all: BTreeSet<&str> = COMMANDS.iter().map(|(command, _)| *command).collect();
    assert_eq!(shown, all, "of the others nothing hostile was on its way to the terminal");
}

/// A new command is among them.
#[tokio::test]
async fn i15_every_command_is_asked() {
    let help = Planes::in_sync().await.run(&["--help"]).await.text;
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let listed: BTreeSet<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    let asked =
        COMMANDS.iter().map(|(command, _)| *command).chain(["run", "crds", "completions", "man", "help"]);
    assert_eq!(listed, asked.collect());
}
