//! A watch that is not one of a plane's stores, and waits between its failures as those are waited out. After
//! each it lists anew: the server may have been put back to an earlier state (I13), and a watch would go on
//! from a version that it has yet to reach.

use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use kube::runtime::watcher::{self, Event};

use crate::listwatch::{self, WatchError};
use crate::transport::backoff::{Attempt, AttemptFailure, Backoffs};
use crate::transport::{Connection, ConnectionAttempt};

/// How long a watch has to last for its failure to be the first of a sequence.
const LASTED: Duration = Duration::from_secs(30);

struct State<M, S> {
    make: M,
    events: Pin<Box<S>>,
    connection: Connection,
    waits: Backoffs,
    attempt: ConnectionAttempt,
    /// The wait before the next event, and the failure that it is for.
    failed: Option<(Duration, AttemptFailure)>,
}

/// Returns the events of the watches that `make` makes, failures included: each is waited out when the next
/// event is asked for.
pub fn resumed<K, M, S>(
    make: M,
    connection: Connection,
    seed: u64,
) -> impl Stream<Item = listwatch::Result<Event<K>>>
where
    M: Fn() -> S,
    S: Stream<Item = watcher::Result<Event<K>>>,
{
    let events = Box::pin(make());
    let attempt = connection.attempt();
    let state = State { make, events, connection, waits: Backoffs::new(seed), attempt, failed: None };
    stream::unfold(state, |mut state| async {
        if let Some((wait, failure)) = state.failed.take() {
            let attempt = state.attempt;
            state.connection.wait(wait, failure, &attempt, &mut state.waits).await;
            state.events = Box::pin((state.make)());
            state.attempt = state.connection.attempt();
        }
        let event = state.events.next().await?.map_err(WatchError::from);
        match &event {
            Ok(Event::Init | Event::InitApply(_)) => {}
            Ok(Event::InitDone) => state.waits.succeeded(Attempt::List),
            Ok(Event::Apply(_) | Event::Delete(_)) => state.waits.succeeded(Attempt::Watch),
            Err(error) => {
                let (tried, failure) = error.failure();
                if tried == Attempt::Watch && state.attempt.began.elapsed() > LASTED {
                    state.waits.succeeded(Attempt::Watch);
                }
                let wait = state.waits.after(tried, failure, state.connection.is_starting());
                state.failed = Some((wait, failure));
            }
        }
        Some((event, state))
    })
}
