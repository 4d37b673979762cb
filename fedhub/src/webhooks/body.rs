//! The body of a review: read within a time, in the room that is there for bodies, and weighed before
//! anything is decoded.
//!
//! Room is taken for what has arrived, not for what a header promises: a caller that trickles holds what it
//! sent. The first bytes of each connection need none, so that large bodies never keep small ones waiting;
//! there are so many connections only.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use fedhub_planes::transport::weight::Scale;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// How long a body may take to arrive. An API server sends it at once, after the headers.
pub const ARRIVES_WITHIN: Duration = Duration::from_secs(2);
/// How large a body may be, in KiB: it holds an object twice, each of which etcd takes up to 1.5 MiB of.
pub const LARGEST: usize = 4096;
/// How much memory a review may need once it is decoded, in KiB: twice what an object may that is kept of a
/// project plane.
pub const HEAVIEST: usize = 32 << 10;
/// How large all bodies on their way may be, in KiB, beside the first bytes of each.
const AT_ONCE: usize = 16 << 10;
/// The first bytes of a body, which need no room, in KiB.
const FREE: usize = 16;

/// A body that has arrived.
pub struct Arrived {
    /// Its bytes.
    pub text: Vec<u8>,
    /// How much memory it needs with what is decoded of it, about, in KiB.
    pub memory: usize,
    /// The room that the text takes, for as long as it is held.
    pub room: Option<OwnedSemaphorePermit>,
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The body is over [`LARGEST`].
    TooLarge,
    /// The body needs more memory than [`HEAVIEST`].
    TooHeavy,
    /// The body did not arrive in time, or not completely.
    Late,
    /// There was no room for it, because too many large bodies are on their way.
    NoRoom,
}

/// The room for bodies on their way.
pub struct Bodies(Arc<Semaphore>);

impl Default for Bodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Bodies {
    /// Reads a body to its end.
    pub async fn read(&self, mut body: Body) -> Result<Arrived, Unread> {
        // What the headers say it has.
        if body.size_hint().lower() > u64::try_from(LARGEST << 10).unwrap_or(u64::MAX) {
            return Err(Unread::TooLarge);
        }
        let end = Instant::now() + ARRIVES_WITHIN;
        let mut text = Vec::new();
        let mut scale = Scale::default();
        let mut room = None::<OwnedSemaphorePermit>;
        let mut taken = FREE;
        loop {
            let frame = match timeout_at(end, body.frame()).await {
                Ok(None) => break,
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(_))) | Err(_) => return Err(Unread::Late),
            };
            let Ok(bytes) = frame.into_data() else { continue };
            let length = (text.len() + bytes.len()).div_ceil(1 << 10);
            if length > LARGEST {
                return Err(Unread::TooLarge);
            }
            scale.add(&bytes);
            if scale.weight().memory() >> 10 > HEAVIEST {
                return Err(Unread::TooHeavy);
            }
            if let Some(more) = length.checked_sub(taken).and_then(|more| u32::try_from(more).ok()) {
                let more = timeout_at(end, self.0.clone().acquire_many_owned(more)).await;
                let Ok(Ok(more)) = more else { return Err(Unread::NoRoom) };
                taken = length;
                match &mut room {
                    Some(room) => room.merge(more),
                    None => room = Some(more),
                }
            }
            text.extend_from_slice(&bytes);
        }
        let memory = (text.len() + scale.weight().memory()) >> 10;
        Ok(Arrived { text, memory, room })
    }

    /// How much room there is, in KiB.
    #[cfg(test)]
    pub fn left(&self) -> usize {
        self.0.available_permits()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::future::join_all;
    use futures::{StreamExt, stream};

    use super::*;

    /// Sends that much, and no end.
    fn stalling(bytes: Vec<u8>) -> Body {
        let sent = stream::iter([Ok::<_, Infallible>(bytes)]);
        Body::from_stream(sent.chain(stream::pending()))
    }

    async fn read(text: Vec<u8>) -> Result<Arrived, Unread> {
        Bodies::default().read(Body::from(text)).await
    }

    #[tokio::test(start_paused = true)]
    async fn i8_bodies_that_stall_hold_what_they_sent_and_end_soon_while_others_are_read() {
        let bodies = Bodies::default();
        let began = Instant::now();
        // More connections than there is room for, had each taken what it may have.
        let promising = (0..64).map(|_| bodies.read(stalling(vec![b' '; 1 << 10])));
        let large = (0..8).map(|_| bodies.read(stalling(vec![b' '; LARGEST << 10])));
        let others = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(bodies.left() < FREE, "the large ones have taken the room: {}", bodies.left());
            let small = bodies.read(Body::from(vec![b' '; FREE << 10])).await;
            assert!(small.is_ok(), "a small one waits for none of them");
            began.elapsed()
        };
        let (promising, large, after) = tokio::join!(join_all(promising), join_all(large), others);
        assert!(after < Duration::from_millis(200), "{after:?}");
        assert!(promising.iter().all(|read| read.as_ref().err() == Some(&Unread::Late)));
        assert!(large.iter().all(|read| matches!(read.as_ref().err(), Some(Unread::Late | Unread::NoRoom))));
        assert_eq!(began.elapsed(), ARRIVES_WITHIN);
        assert_eq!(bodies.left(), AT_ONCE, "all room is given back");
    }

    #[tokio::test(start_paused = true)]
    async fn i8_what_is_large_or_takes_memory_out_of_proportion_is_refused_before_it_is_decoded() {
        assert_eq!(read(vec![b' '; (LARGEST << 10) + 1]).await.err(), Some(Unread::TooLarge));
        let maps = |count: usize| format!("[{}1]", "{\"a\":1},".repeat(count)).into_bytes();
        let few = read(maps(1000)).await.unwrap_or_else(|unread| panic!("{unread:?}"));
        assert!(few.memory > 400, "{}", few.memory);
        let many = maps(100_000);
        assert!(many.len() < 1 << 20);
        assert_eq!(read(many).await.err(), Some(Unread::TooHeavy));
    }
}
