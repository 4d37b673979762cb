//! An open watch: a cursor into the history, and what it is limited to.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::answer::Refusal;
use crate::faults::Fault;
use crate::object::Stored;
use crate::read::{ListRequest, parse_version};
use crate::route::Call;
use crate::selector::Filter;
use crate::store::Change;
use crate::world::{Shared, World};
use crate::{meta, view};

/// How long a watch lasts if its client does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(30);
/// How often a watch with bookmarks gets one.
const BOOKMARK_INTERVAL: Duration = Duration::from_mins(1);

/// A watch as it is going on.
pub(crate) struct Session {
    shared: Arc<Shared>,
    resource: usize,
    namespace: Option<String>,
    filter: Filter,
    metadata_only: bool,
    cursor: u64,
    epoch: u64,
    deadline: Instant,
    bookmark: Option<Instant>,
    lines: VecDeque<String>,
    over: bool,
    /// Whether the watch stopped in the middle of a line.
    stalled: bool,
}

/// The news for a watch at this moment.
enum News {
    /// Lines were queued.
    Some,
    /// Wait for the bell, or for the time.
    None,
    /// Wait for the bell only: the connection hangs.
    Hung,
    /// The watch has ended.
    Ended,
    /// The connection broke.
    Broken,
}

impl Session {
    /// Opens a watch. A resourceVersion that is too old is answered inside the stream, as the real server
    /// does.
    pub(crate) fn open(
        shared: &Arc<Shared>,
        world: &World,
        resource: usize,
        call: &Call,
    ) -> Result<Self, Refusal> {
        let filter = Filter::parse(call.param("labelSelector"), call.param("fieldSelector"))?;
        let from = parse_version(call.param("resourceVersion"))?;
        let bookmarks = call.flag("allowWatchBookmarks");
        let initial = call.flag("sendInitialEvents");
        if initial && (!bookmarks || call.param("resourceVersionMatch") != Some("NotOlderThan")) {
            let why =
                "sendInitialEvents requires resourceVersionMatch=NotOlderThan and allowWatchBookmarks=true";
            return Err(Refusal::invalid_options("sendInitialEvents", why));
        }
        let seconds = call.param("timeoutSeconds").and_then(|s| s.parse().ok()).filter(|s| *s > 0);
        let now = Instant::now();
        let mut session = Self {
            shared: shared.clone(),
            resource,
            namespace: call.namespace.clone(),
            filter,
            metadata_only: call.metadata_only,
            cursor: from.unwrap_or(world.store.revision),
            epoch: world.epoch,
            deadline: now + seconds.map_or(DEFAULT_TIMEOUT, Duration::from_secs),
            bookmark: bookmarks.then_some(now + BOOKMARK_INTERVAL),
            lines: VecDeque::new(),
            over: false,
            stalled: false,
        };
        if initial || from.is_none() {
            session.cursor = world.store.revision;
            let everything = ListRequest { filter: session.filter.clone(), ..ListRequest::default() };
            for object in world.page(resource, session.namespace.as_deref(), &everything)?.items {
                session.say("ADDED", &object);
            }
            if initial {
                session.mark_bookmark(world, json!({ "k8s.io/initial-events-end": "true" }));
            }
        } else if !world.store.reaches(session.cursor) {
            let words = format!("too old resource version: {} ({})", session.cursor, world.store.oldest());
            session.push("ERROR", &Refusal::expired(words).status().to_string());
            session.over = true;
        }
        Ok(session)
    }

    /// The next line of the stream, or its end.
    pub(crate) async fn next(&mut self) -> Option<io::Result<String>> {
        let shared = self.shared.clone();
        loop {
            if self.stalled {
                return std::future::pending().await;
            }
            if let Some(mut line) = self.lines.pop_front() {
                if self.stalls(&shared.lock()) {
                    line.truncate(line.floor_char_boundary(line.len() / 2));
                    self.stalled = true;
                }
                return Some(Ok(line));
            }
            if self.over {
                return None;
            }
            let mut bell = std::pin::pin!(shared.bell.notified());
            bell.as_mut().enable();
            let news = self.look(&shared.lock());
            match news {
                News::Some => {}
                News::Ended => return None,
                News::Broken => {
                    self.over = true;
                    return Some(Err(io::Error::new(
                        io::ErrorKind::ConnectionReset,
                        "connection reset by peer",
                    )));
                }
                News::Hung => bell.await,
                News::None => {
                    let wake = self.bookmark.map_or(self.deadline, |bookmark| bookmark.min(self.deadline));
                    if timeout_at(wake, bell).await.is_err() {
                        self.on_time(&shared.lock());
                    }
                }
            }
        }
    }

    fn stalls(&self, world: &World) -> bool {
        world.faults.on_open_watch(&world.resources[self.resource].plural) == Some(Fault::Stall)
    }

    /// Queues what has happened since the last look.
    fn look(&mut self, world: &World) -> News {
        if world.epoch != self.epoch {
            return News::Ended;
        }
        match world.faults.on_open_watch(&world.resources[self.resource].plural) {
            Some(Fault::Hang) => return News::Hung,
            Some(Fault::Stall) | None => {}
            Some(_) => return News::Broken,
        }
        let Some(changes) = world.store.since(self.cursor) else { return News::Ended };
        for change in changes {
            self.deliver(change);
        }
        self.cursor = self.cursor.max(world.store.revision);
        if self.lines.is_empty() { News::None } else { News::Some }
    }

    /// A change as this watch sees it: entering the selection is ADDED, leaving it is DELETED.
    fn deliver(&mut self, change: &Change) {
        let elsewhere = self.namespace.as_ref().is_some_and(|ns| *ns != change.key.namespace);
        if change.key.resource != self.resource || elsewhere {
            return;
        }
        let before = change.before.as_ref().filter(|object| self.filter.selects(object));
        let after = change.after.as_ref().filter(|object| self.filter.selects(object));
        match (before, after) {
            (None, Some(after)) => self.say("ADDED", after),
            (Some(_), Some(after)) => self.say("MODIFIED", after),
            (Some(before), None) => {
                let mut last = before.value();
                meta::set(&mut last, "resourceVersion", json!(change.revision.to_string()));
                self.say("DELETED", &Stored::new(&last));
            }
            (None, None) => {}
        }
    }

    fn say(&mut self, event: &str, object: &Stored) {
        if self.metadata_only {
            self.push(event, &view::partial(object).to_string());
        } else {
            self.push(event, object.text());
        }
    }

    fn push(&mut self, event: &str, object: &str) {
        self.lines.push_back(format!("{{\"type\":\"{event}\",\"object\":{object}}}\n"));
    }

    fn on_time(&mut self, world: &World) {
        if self.bookmark.is_some() {
            self.mark_bookmark(world, Value::Null);
            self.bookmark = Some(Instant::now() + BOOKMARK_INTERVAL);
        }
        self.over = Instant::now() >= self.deadline;
    }

    fn mark_bookmark(&mut self, world: &World, annotations: Value) {
        let resource = &world.resources[self.resource];
        let version = self.cursor.to_string();
        let mut object = json!({
            "kind": resource.kind, "apiVersion": resource.api_version(),
            "metadata": { "resourceVersion": version, "creationTimestamp": null },
        });
        meta::set(&mut object, "annotations", annotations);
        self.say("BOOKMARK", &Stored::new(&object));
    }
}
