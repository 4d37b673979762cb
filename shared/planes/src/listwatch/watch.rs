//! An open watch, and how it ends.

use std::io;
use std::time::Duration;

use fedhub_cache::budget::MemoryBudget;
use fedhub_core::errors::{ApiError, TransportFailure};
use fedhub_core::object::PlaneId;
use tokio::time::{Instant, timeout};

use super::envelope::{Piece, malformed};
use super::object::Cut;
use super::reader::Reader;

/// How long before its end a server that ends a watch in time has announced that by a bookmark, at most.
const ANNOUNCED: Duration = Duration::from_secs(5);
/// The silence after which a watch whose server has sent a bookmark is taken for dead: it sends one a minute.
const MUTE: Duration = Duration::from_secs(150);
/// A watch that ends sooner has failed, in whatever order it ends: the next one would end as soon.
const LASTS: Duration = Duration::from_secs(1);

/// An open watch.
pub struct Watch {
    reader: Reader,
    began: Instant,
    /// When its last bookmark came.
    bookmark: Option<Instant>,
}

impl Watch {
    /// A watch that the server has just begun to answer.
    pub fn new(reader: Reader) -> Self {
        Self { reader, began: Instant::now(), bookmark: None }
    }

    /// The next event: its type, and the object; `None` where the watch has ended, or was silent for `idle`.
    pub async fn next(
        &mut self,
        idle: Duration,
        plane: &PlaneId,
        budget: &MemoryBudget,
    ) -> Result<Option<(String, Cut)>, ApiError> {
        let idle = if self.bookmark.is_some() { idle.min(MUTE) } else { idle };
        match timeout(idle, self.reader.next(plane, budget)).await {
            Ok(Ok(Some(Piece::Event(what, cut)))) => return Ok(Some((what, cut))),
            Ok(Ok(Some(Piece::Item(_) | Piece::Page(_)))) => {
                return Err(malformed("a list in place of a watch").into());
            }
            // One that ends as watches do, if not in good order, goes on from where it was.
            Ok(Err(error)) if error.failure() != Some(TransportFailure::Ended) => return Err(error),
            Ok(Ok(None) | Err(_)) | Err(_) => {}
        }
        if self.began.elapsed() < LASTS {
            let at_once = io::Error::new(io::ErrorKind::UnexpectedEof, "the server ended the watch at once");
            return Err(at_once.into());
        }
        Ok(None)
    }

    /// A bookmark came.
    pub fn bookmark(&mut self) {
        self.bookmark = Some(Instant::now());
    }

    /// Whether the server announced the end by a bookmark, which names the version that it had come to.
    pub fn was_announced(&self) -> bool {
        self.bookmark.is_some_and(|bookmark| bookmark.elapsed() < ANNOUNCED)
    }
}
