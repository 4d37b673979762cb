//! Lists and watches in bounded memory (I8). As `kube::runtime::watcher`, whose events these are; but objects
//! are cut out of what a server sends while it comes, so that of a page or a line no more is held than one
//! object, and of an object no more than a limit. A server that was put back to an earlier state is noticed
//! by the versions that it names.
//!
//! Uses [`transport`](crate::transport) alone of the other folders.
//!
//! Decides I13.

pub mod envelope;
mod error;
pub(crate) mod guard;
pub mod limits;
mod newest;
pub mod object;
pub mod pages;
mod reader;
pub(crate) mod resume;
mod watch;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fedhub_cache::budget::MemoryBudget;
use fedhub_core::errors::{ApiError, Excess};
use fedhub_core::object::{Kind, Object, PlaneId};
use futures::{Stream, stream};
use kube::api::{ListParams, WatchParams};
use kube::core::{Request, Status};
use kube::runtime::watcher::Event;
use kube::{Client, Resource, ResourceExt};

use self::envelope::{Piece, malformed};
pub use self::error::{Result, WatchError};
use self::guard::Guarded;
use self::limits::{ListLimits, Tally};
pub(crate) use self::newest::newest_version;
use self::object::Cut;
use self::reader::Reader;
use self::watch::Watch;
use crate::transport::Connection;

/// Objects on one page of a list, at most.
const PAGE: u32 = 500;
/// Bytes of one page that are read; a page of one object has no limit, for nothing of it is held.
const PAGE_BYTES: usize = 16 << 20;
/// Bytes of a page that are asked for, by the size of the objects on the page before.
const PAGE_AIM: usize = 4 << 20;
/// How much longer than the server was asked for a watch is waited for.
const IDLE: Duration = Duration::from_secs(5);

/// Selects what is listed and watched.
#[derive(Clone)]
pub struct Config {
    /// The plane.
    pub plane: PlaneId,
    /// The kind.
    pub kind: Kind,
    /// The label selector of the objects.
    pub selector: Option<String>,
    /// How long a watch lasts, in seconds.
    pub timeout: u32,
    /// How many objects there may be.
    pub objects: usize,
    /// Whether the server is asked how far it has come before an interrupted watch goes on (I13): one that
    /// was put back to an earlier state would say nothing until it has come so far once more.
    pub asks: bool,
}

/// Lists, then watches, for ever; goes on after errors where it can, at once. `newest` is the version that
/// the server named last, 0 before the first.
pub fn listwatch(
    connection: Connection,
    config: Config,
    budget: MemoryBudget,
    newest: &AtomicU64,
) -> impl Stream<Item = Result<Event<Guarded>>> + Send {
    // In a box, for it goes from one future to the next, and each of them would hold room for it.
    let source = Box::new(Source { request: request(config.kind, None), connection, config, budget, newest });
    stream::unfold((source, State::Empty), async |(source, mut state)| {
        loop {
            let event;
            (event, state) = source.step(state).await;
            if let Some(event) = event {
                return Some((event, (source, state)));
            }
        }
    })
}

/// Sends a request whose answer is one object, and reads that.
pub async fn object(
    client: &Client,
    request: http::Request<Vec<u8>>,
    kind: Kind,
    plane: &PlaneId,
    budget: &MemoryBudget,
) -> Result<Guarded, ApiError> {
    reader::object(client, request, guard::limit_of(kind, plane), plane, budget, |cut| {
        Ok(Guarded::from_cut(cut, kind, plane)?)
    })
    .await
}

/// Requests for objects of a kind.
pub fn request(kind: Kind, namespace: Option<&str>) -> Request {
    Request::new(Object::url_path(kind.resource(), namespace))
}

/// Requests for one object of a kind, in that namespace where the kind has any.
pub fn requests(kind: Kind, namespace: &str) -> Request {
    request(kind, kind.namespaced().then_some(namespace))
}

struct Source<'a> {
    connection: Connection,
    request: Request,
    config: Config,
    budget: MemoryBudget,
    /// The version that a list, an event or a bookmark named last.
    newest: &'a AtomicU64,
}

enum State {
    Empty,
    Listing(Listing),
    Listed { version: String, is_recent: bool },
    Watching { version: String, watch: Box<Watch> },
}

impl State {
    /// A watch that was interrupted: meanwhile the server may have been put back to an earlier state.
    fn interrupted(version: String) -> Self {
        Self::Listed { version, is_recent: false }
    }
}

/// A page that is to be asked for, or is being read.
struct Listing {
    token: Option<String>,
    size: u32,
    reader: Option<Box<Reader>>,
    tally: Tally,
}

impl Listing {
    fn new(token: Option<String>, size: u32, mut tally: Tally) -> Self {
        tally.page_begins();
        Self { token, size, reader: None, tally }
    }

    /// The first page.
    fn first(objects: usize) -> Self {
        Self::new(None, PAGE, Tally::new(ListLimits::objects(objects)))
    }
}

/// Returns how many objects the next page is to have, given that `objects` objects took `bytes` bytes.
fn page_size(objects: usize, bytes: usize) -> u32 {
    let each = (bytes / objects.max(1)).max(1);
    u32::try_from(PAGE_AIM / each).unwrap_or(PAGE).clamp(1, PAGE)
}

type Step = (Option<Result<Event<Guarded>>>, State);

impl Source<'_> {
    async fn step(&self, state: State) -> Step {
        match state {
            State::Empty => (Some(Ok(Event::Init)), State::Listing(Listing::first(self.config.objects))),
            // Both in boxes: a watch that is silent must not hold room for the requests that it began with.
            State::Listing(listing) => match Box::pin(self.list(listing)).await {
                Ok(step) => step,
                Err(error) => (Some(Err(WatchError::List(error))), State::Empty),
            },
            State::Listed { version, is_recent } => match Box::pin(self.resume(&version, is_recent)).await {
                Ok(reader) => (None, State::Watching { version, watch: Box::new(Watch::new(reader)) }),
                Err(error @ WatchError::WentBack { .. }) => (Some(Err(error)), State::Empty),
                Err(error) => (Some(Err(error)), State::interrupted(version)),
            },
            State::Watching { version, mut watch } => {
                let idle = Duration::from_secs(self.config.timeout.into()) + IDLE;
                match watch.next(idle, &self.config.plane, &self.budget).await {
                    Ok(Some((what, cut))) => self.event(&what, &cut, version, watch),
                    Ok(None) => (None, State::Listed { version, is_recent: watch.was_announced() }),
                    Err(error) => (Some(Err(WatchError::Broken(error))), State::interrupted(version)),
                }
            }
        }
    }

    /// Whether nothing but the metadata of the objects is asked for: what may hold a tenant's data (W6), and
    /// what need only be there.
    fn is_metadata_only(&self) -> bool {
        matches!(self.config.kind, Kind::ConfigMap | Kind::Secret | Kind::Network)
    }

    async fn open(&self, request: http::Request<Vec<u8>>, most: Option<usize>) -> Result<Reader, ApiError> {
        let plane = &self.config.plane;
        let limit =
            if self.is_metadata_only() { guard::METADATA } else { guard::limit_of(self.config.kind, plane) };
        // In a box of its own: thousands of open watches must not hold room for the request that they began
        // with.
        Box::pin(Reader::open(&self.connection.client(), request, limit, most)).await
    }

    /// Watches from a version on that the server named: a moment ago, or it may have been put back to an
    /// earlier state since.
    async fn resume(&self, version: &str, is_recent: bool) -> Result<Reader> {
        if self.config.asks && !is_recent {
            let newest = newest_version(&self.connection.client(), self.config.kind).await;
            self.note(newest.map_err(WatchError::Start)?)?;
        }
        self.watch(version).await.map_err(WatchError::Start)
    }

    /// The server named this version, if it is a number. Fails where it has named a greater one before: it
    /// was put back to an earlier state.
    fn note(&self, version: Option<u64>) -> Result<()> {
        let Some(now) = version else { return Ok(()) };
        let before = self.newest.swap(now, Ordering::Relaxed);
        if now >= before { Ok(()) } else { Err(WatchError::WentBack { before, now }) }
    }

    async fn watch(&self, version: &str) -> Result<Reader, ApiError> {
        let params = WatchParams {
            label_selector: self.config.selector.clone(),
            timeout: Some(self.config.timeout),
            bookmarks: true,
            ..WatchParams::default()
        };
        let request = if self.is_metadata_only() {
            self.request.watch_metadata(&params, version)
        } else {
            self.request.watch(&params, version)
        };
        self.open(request?, None).await
    }

    async fn list(&self, mut listing: Listing) -> Result<Step, ApiError> {
        let metadata_only = self.is_metadata_only();
        let reader = match &mut listing.reader {
            Some(reader) => reader,
            none => {
                let params = ListParams {
                    label_selector: self.config.selector.clone(),
                    limit: Some(listing.size),
                    continue_token: listing.token.clone(),
                    ..ListParams::default()
                };
                let request = if metadata_only {
                    self.request.list_metadata(&params)
                } else {
                    self.request.list(&params)
                };
                let most = (listing.size > 1).then_some(PAGE_BYTES);
                none.insert(Box::new(self.open(request?, most).await?))
            }
        };
        let piece = reader.next(&self.config.plane, &self.budget).await;
        let read = reader.read();
        let on_page = listing.tally.on_page();
        match piece {
            Ok(Some(Piece::Item(cut))) => {
                listing.tally.object(cut.memory)?;
                let object = self.object(&cut)?;
                Ok((Some(Ok(Event::InitApply(object))), State::Listing(listing)))
            }
            Ok(Some(Piece::Page(page))) => {
                let size = page_size(on_page, read);
                let next = page.next.filter(|token| !token.is_empty());
                listing.tally.page_ends(listing.token.as_deref(), next.as_deref())?;
                let version = page.resource_version.filter(|version| !version.is_empty());
                Ok(match (next, version) {
                    (Some(token), _) => {
                        (None, State::Listing(Listing::new(Some(token), size, listing.tally)))
                    }
                    (None, Some(version)) => match self.note(version.parse().ok()) {
                        Ok(()) => (Some(Ok(Event::InitDone)), State::Listed { version, is_recent: true }),
                        Err(error) => (Some(Err(error)), State::Empty),
                    },
                    (None, None) => (Some(Err(WatchError::NoVersion)), State::Empty),
                })
            }
            // The same page again, with fewer objects on it; those that were read already are known then.
            Err(ApiError::TooLarge(Excess::Page(_))) => {
                let size = page_size(on_page, read).min(listing.size / 2).max(1);
                tracing::debug!(plane = %self.config.plane, kind = %self.config.kind.resource().kind, size, "page too large, requesting a smaller one");
                Ok((None, State::Listing(Listing::new(listing.token, size, listing.tally))))
            }
            Err(error) => Err(error),
            Ok(Some(Piece::Event(..))) => Err(malformed("a watch in place of a list").into()),
            Ok(None) => Err(malformed("the list ends in the midst of a page").into()),
        }
    }

    fn object(&self, cut: &Cut) -> Result<Guarded, ApiError> {
        Ok(Guarded::from_cut(cut, self.config.kind, &self.config.plane)?)
    }

    fn event(&self, what: &str, cut: &Cut, version: String, mut watch: Box<Watch>) -> Step {
        if what == "ERROR" {
            return match serde_json::from_slice::<Status>(&cut.text) {
                Ok(status) => {
                    let gone = status.code == 410;
                    let state = if gone { State::Empty } else { State::Watching { version, watch } };
                    (Some(Err(WatchError::Ended(Box::new(status)))), state)
                }
                Err(error) => (Some(Err(WatchError::Broken(error.into()))), State::Empty),
            };
        }
        let object = match self.object(cut) {
            Ok(object) => object,
            Err(error) => return (Some(Err(WatchError::Broken(error))), State::Empty),
        };
        let version = object.resource_version().unwrap_or_default();
        if version.is_empty() {
            return (Some(Err(WatchError::NoVersion)), State::Empty);
        }
        if let Err(error) = self.note(version.parse().ok()) {
            return (Some(Err(error)), State::Empty);
        }
        let event = match what {
            "ADDED" | "MODIFIED" => Some(Ok(Event::Apply(object))),
            "DELETED" => Some(Ok(Event::Delete(object))),
            _ => {
                watch.bookmark();
                None
            }
        };
        (event, State::Watching { version, watch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i8_pages_are_smaller_where_objects_are_larger() {
        for (objects, bytes, size) in [
            (500, 500 * 4000, 500),
            (500, 500 * 40_000, 104),
            (60, PAGE_BYTES, 15),
            (1, 8 << 20, 1),
            (0, 0, 500),
        ] {
            assert_eq!(page_size(objects, bytes), size, "{objects} objects of {bytes} bytes");
        }
    }
}
