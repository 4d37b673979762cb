//! Keys that their own passes do not bring into sync.

use std::time::Duration;

use fedhub_engine::{Outcome, Queue};
use tokio::time::{Instant, advance, timeout_at};

use crate::queue::{alpha, now, queue};
use crate::support::*;

/// Ends each pass for `span` as diverged, with an event of its own writes during the pass and one after it.
/// Returns the number of passes.
async fn diverges(queue: &Queue, span: Duration) -> usize {
    let lane = alpha();
    let end = Instant::now() + span;
    let mut passes = 0;
    while let Ok(job) = timeout_at(end, queue.next()).await {
        queue.add(key(&lane, "a"), &lane);
        queue.done(&job.unwrap(), Outcome::Diverged);
        queue.add(key(&lane, "a"), &lane);
        passes += 1;
        assert!(passes < 100, "without a pause");
    }
    passes
}

#[tokio::test(start_paused = true)]
async fn i8_a_key_that_its_passes_do_not_bring_into_sync_waits_whatever_they_cause() {
    let queue = queue();
    let lane = alpha();
    queue.add(key(&lane, "a"), &lane);
    let passes = diverges(&queue, Duration::from_mins(1)).await;
    assert!((6..=8).contains(&passes), "{passes} in a minute");
    assert_eq!(queue.unsynced(fedhub_core::object::Kind::Instance), 1, "it is not in order");
    let passes = diverges(&queue, Duration::from_hours(1)).await;
    assert!((10..=18).contains(&passes), "{passes} in an hour");
}

#[tokio::test(start_paused = true)]
async fn i8_who_changes_an_object_that_its_passes_do_not_bring_into_sync_is_answered() {
    let queue = queue();
    let lane = alpha();
    queue.add(key(&lane, "a"), &lane);
    diverges(&queue, Duration::from_mins(5)).await;
    advance(Duration::from_secs(6)).await;
    queue.add(key(&lane, "a"), &lane);
    let job = now(&queue).expect("this is no event of its own writes");
    queue.done(&job, Outcome::Updated);
    // In sync: what comes now begins anew.
    advance(Duration::from_secs(10)).await;
    queue.add(key(&lane, "a"), &lane);
    let job = now(&queue).unwrap();
    queue.done(&job, Outcome::Diverged);
    advance(Duration::from_millis(600)).await;
    assert!(now(&queue).is_some(), "the first wait is short");
}
