//! The HTTP/2 connections of one pool: which takes the next stream, and which are retired.

use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::http2::SendRequest;
use kube::client::Body;
use tokio::time::Instant;

use super::body::{Carried, Stream};
use super::connect::Http2;
use super::liveness::Retirement;

/// Streams on one connection where the server announces no limit.
const UNLIMITED: usize = 1_000;
/// How many connections that are silent a server may have before no other is opened in their place: then it
/// hangs, and not a connection to it.
const SILENT: usize = 2;
/// The time from one look at which connections are silent to the next: there may be hundreds, and answers by
/// the thousand.
const LOOK: Duration = Duration::from_secs(1);
/// How many streams in a row may go to the connection that took the last one, before the first with room is
/// sought: with hundreds of connections, all but a few full of watches, looking through them costs more than
/// the request.
const IN_A_ROW: usize = 64;

/// The HTTP/2 connections of a pool.
#[derive(Default)]
pub struct Lanes {
    all: Vec<Lane>,
    /// Which one took the last stream, and how many it took since it was found.
    last: usize,
    in_a_row: usize,
    /// When those that are silent were last looked for.
    looked: Option<Instant>,
}

/// One HTTP/2 connection and what it carries.
struct Lane {
    http2: Http2,
    carried: Arc<Carried>,
    retirement: Retirement,
}

impl Lane {
    fn closed(&self) -> bool {
        self.http2.send.is_closed()
    }

    fn under_way(&self) -> usize {
        self.carried.under_way()
    }

    fn silent(&self) -> bool {
        self.carried.liveness.is_silent()
    }

    fn limit(&self) -> usize {
        (*self.http2.limit.borrow()).min(UNLIMITED)
    }

    /// A stream, if there is room.
    fn take(&self) -> Option<(SendRequest<Body>, Stream)> {
        let stream = Stream::open(&self.carried, self.limit()).filter(|_| !self.closed())?;
        Some((self.http2.send.clone(), stream))
    }

    fn has_room(&self) -> bool {
        !self.closed() && self.under_way() < self.limit()
    }
}

impl Lanes {
    /// Adds a connection.
    pub fn add(&mut self, http2: Http2, carried: Arc<Carried>) {
        self.all.push(Lane { http2, carried, retirement: Retirement::default() });
    }

    /// Removes the connection that carries this.
    pub fn close(&mut self, carried: &Arc<Carried>) {
        self.all.retain(|lane| !Arc::ptr_eq(&lane.carried, carried));
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.all.iter().filter(|lane| !lane.closed()).count()
    }

    /// A stream on the first connection that has room, or on the one that was that just now: so those behind
    /// it run empty, and those that are empty go when the first could take as much again.
    pub fn stream(&mut self) -> Option<(SendRequest<Body>, Stream)> {
        self.in_a_row += 1;
        let last = self.all.get(self.last).filter(|lane| self.in_a_row < IN_A_ROW && !lane.silent());
        if let Some(taken) = last.and_then(Lane::take) {
            return Some(taken);
        }
        let all = &mut self.all;
        all.retain(|lane| !lane.closed());
        let spare = all.first().is_some_and(|l| !l.silent() && l.under_way() < l.limit() / 2);
        while spare && all.len() > 1 && all.last().is_some_and(|l| l.under_way() == 0) {
            all.pop();
        }
        let (last, taken) = self.take()?;
        (self.last, self.in_a_row) = (last, 0);
        Some(taken)
    }

    /// Retires those that have been silent for `patience` while a connection to `server` has answered.
    pub fn retire(&mut self, server: &str, patience: Duration) {
        let now = Instant::now();
        if self.looked.is_some_and(|looked| now.duration_since(looked) < LOOK) {
            return;
        }
        self.looked = Some(now);
        self.all.retain_mut(|lane| {
            let silent = lane.silent();
            let due = lane.retirement.is_due(silent, now, patience);
            let retires = due || (silent && lane.under_way() == 0);
            if retires {
                tracing::info!(
                    server,
                    streams = lane.under_way(),
                    "retiring connection: its requests time out while other connections to the server answer"
                );
                lane.http2.end.cancel();
            }
            !retires
        });
    }

    /// Those that are silent, or those that are not, with their numbers.
    fn that_are(&self, silent: bool) -> impl DoubleEndedIterator<Item = (usize, &Lane)> {
        self.all.iter().enumerate().filter(move |(_, lane)| lane.silent() == silent)
    }

    /// Whether a connection that is silent has to do: there are so many of them that another one would be,
    /// too.
    fn hang(&self) -> bool {
        self.that_are(true).count() >= SILENT
    }

    /// The first that has room and is not silent; the latest of those that are where the server hangs.
    fn take(&self) -> Option<(usize, (SendRequest<Body>, Stream))> {
        let from = |(at, lane): (usize, &Lane)| Some((at, lane.take()?));
        let taken = self.that_are(false).find_map(from);
        taken.or_else(|| self.that_are(true).rev().find_map(from).filter(|_| self.hang()))
    }

    /// Whether a request has room on one of them.
    pub fn has_room(&self) -> bool {
        let hang = self.hang();
        self.all.iter().any(|lane| lane.has_room() && (hang || !lane.silent()))
    }
}
