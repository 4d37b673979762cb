//! Single rules of the queue.

use std::time::Duration;

use fedhub_core::object::PlaneId;
use fedhub_engine::{Job, Outcome, Queue, QueueConfig};
use futures::FutureExt;
use tokio::time::{Instant, advance};

use crate::support::*;

pub fn queue() -> Queue {
    Queue::new(QueueConfig { seed: 3, ..QueueConfig::default() })
}

/// The next key, if one may be taken now.
pub fn now(queue: &Queue) -> Option<Job> {
    queue.next().now_or_never().flatten()
}

pub fn alpha() -> PlaneId {
    project("alpha")
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_once_and_runs_once() {
    let queue = queue();
    let lane = alpha();
    for _ in 0..5 {
        queue.add(key(&lane, "a"), &lane);
    }
    assert_eq!((queue.depth(), queue.pending()), (1, 1));
    let job = now(&queue).unwrap();
    queue.add(key(&lane, "a"), &lane);
    assert!(now(&queue).is_none(), "it runs");
    queue.done(&job, Outcome::Unchanged);
    let again = now(&queue).expect("an event came while it ran");
    queue.done(&again, Outcome::Unchanged);
    assert!(now(&queue).is_none());
    assert_eq!((queue.depth(), queue.pending()), (0, 0), "nothing is remembered of what is in order");
}

#[tokio::test(start_paused = true)]
async fn an_event_during_a_pass_dates_the_next_pass() {
    let queue = queue();
    let lane = alpha();
    let start = Instant::now();
    queue.add(key(&lane, "a"), &lane);
    let first = now(&queue).unwrap();
    assert_eq!(first.since, start);
    advance(Duration::from_secs(3)).await;
    queue.add(key(&lane, "a"), &lane);
    advance(Duration::from_secs(3)).await;
    queue.add(key(&lane, "a"), &lane);
    queue.done(&first, Outcome::Updated);
    let second = now(&queue).unwrap();
    assert_eq!(second.since - start, Duration::from_secs(3), "from its first event on");
    queue.done(&second, Outcome::Failed);
    advance(Duration::from_secs(2)).await;
    let third = now(&queue).unwrap();
    assert_eq!(third.since - start, Duration::from_secs(3), "a failed pass answered nothing");
}

/// A pass that puts a key off has settled nothing: how long it has waited in all is not forgotten with each
/// turn.
#[tokio::test(start_paused = true)]
async fn a_key_that_is_put_off_knows_its_first_event() {
    let queue = queue();
    let lane = alpha();
    let start = Instant::now();
    queue.add(key(&lane, "a"), &lane);
    for turn in 0..4 {
        let job = queue.next().await.unwrap();
        assert_eq!(job.unsettled_since, start);
        assert_eq!(job.since - start, Duration::from_secs(5 * turn), "what it was told to wait is no delay");
        queue.done(&job, Outcome::RequeueAfter(Duration::from_secs(5)));
    }
    let job = queue.next().await.unwrap();
    queue.add(key(&lane, "a"), &lane);
    queue.done(&job, Outcome::Unchanged);
    let next = queue.next().await.unwrap();
    assert_eq!(next.unsettled_since, Instant::now(), "what came before is settled");
}

/// The back-offs of a key that fails so many times, in milliseconds.
async fn backoffs(queue: &Queue, lane: &PlaneId, times: usize) -> Vec<u128> {
    let mut waits = Vec::new();
    for _ in 0..times {
        let job = queue.next().await.unwrap();
        let failed = Instant::now();
        queue.done(&job, Outcome::Failed);
        let next = queue.next().await.unwrap();
        waits.push(failed.elapsed().as_millis());
        queue.done(&next, Outcome::AwaitChange);
        // As it was, less the success: fail it as often again.
        queue.add(key(lane, "a"), lane);
    }
    waits
}

#[tokio::test(start_paused = true)]
async fn a_success_forgets_the_back_off() {
    let queue = queue();
    let lane = alpha();
    queue.add(key(&lane, "a"), &lane);
    for wait in backoffs(&queue, &lane, 5).await {
        assert!((450..=551).contains(&wait), "{wait}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_back_off_doubles_to_its_maximum_and_an_event_ends_it() {
    let queue = queue();
    let lane = alpha();
    queue.add(key(&lane, "a"), &lane);
    let mut wanted = 500_u128;
    let mut job = now(&queue).unwrap();
    for _ in 0..15 {
        let failed = Instant::now();
        queue.done(&job, Outcome::Failed);
        job = queue.next().await.unwrap();
        let wait = failed.elapsed().as_millis();
        assert!(wait * 10 >= wanted * 9 && wait * 10 <= wanted * 11 + 20, "{wait} for {wanted}");
        wanted = (wanted * 2).min(300_000);
    }
    queue.done(&job, Outcome::Failed);
    assert!(now(&queue).is_none());
    queue.add(key(&lane, "a"), &lane);
    job = now(&queue).expect("an event ends the back-off at once");
    let failed = Instant::now();
    queue.done(&job, Outcome::Failed);
    job = queue.next().await.unwrap();
    assert!(failed.elapsed() <= Duration::from_millis(551), "and starts it again");
    queue.done(&job, Outcome::Unchanged);
    assert_eq!(queue.pending(), 0);
}

#[tokio::test(start_paused = true)]
async fn after_is_when_it_says_and_no_failure() {
    let queue = queue();
    let lane = alpha();
    queue.add(key(&lane, "a"), &lane);
    let job = now(&queue).unwrap();
    let said = Instant::now();
    queue.done(&job, Outcome::RequeueAfter(Duration::from_mins(1)));
    assert!(queue.oldest_by_lane().is_empty(), "what waits by plan does not age");
    let job = queue.next().await.unwrap();
    assert_eq!(said.elapsed(), Duration::from_mins(1));
    assert_eq!(job.since, Instant::now());
    queue.done(&job, Outcome::RequeueAfter(Duration::from_mins(1)));
    queue.add(key(&lane, "a"), &lane);
    let job = now(&queue).expect("an event is earlier");
    queue.done(&job, Outcome::Unchanged);
    advance(Duration::from_mins(5)).await;
    assert!(now(&queue).is_none(), "the event took the timer away");
}

#[tokio::test(start_paused = true)]
async fn i8_turns_go_round_and_a_plane_has_its_limit() {
    let queue = Queue::new(QueueConfig { per_plane: 2, ..QueueConfig::default() });
    let flood = project("flood");
    let quiet = project("quiet");
    for n in 0..1000 {
        queue.add(key(&flood, &format!("{n}")), &flood);
    }
    queue.add(key(&quiet, "one"), &quiet);
    let turns: Vec<_> = std::iter::from_fn(|| now(&queue)).collect();
    let planes: Vec<_> = turns.iter().map(|j| &j.key.plane).collect();
    assert_eq!(planes, [&flood, &quiet, &flood], "the second turn is the other plane's; two in flight each");
    queue.done(&turns[0], Outcome::Unchanged);
    assert_eq!(now(&queue).unwrap().key.plane, flood);
    assert!(now(&queue).is_none());
    assert_eq!(queue.depth(), 997);
}

#[tokio::test(start_paused = true)]
async fn ages_are_told_by_plane_the_oldest_first() {
    let queue = queue();
    let a = project("a");
    let b = project("b");
    queue.add(key(&a, "x"), &a);
    advance(Duration::from_secs(5)).await;
    queue.add(key(&b, "x"), &b);
    queue.add(key(&a, "y"), &a);
    let ages = queue.oldest_by_lane();
    assert_eq!(ages, [(a.clone(), Duration::from_secs(5)), (b, Duration::ZERO)]);
    let job = now(&queue).unwrap();
    queue.done(&job, Outcome::Failed);
    advance(Duration::from_millis(10)).await;
    assert_eq!(queue.oldest_by_lane()[0], (a, Duration::from_millis(5010)), "a failure goes on ageing");
}

#[tokio::test(start_paused = true)]
async fn forgetting_takes_what_waits_and_leaves_what_runs() {
    let queue = queue();
    let a = project("a");
    let b = project("b");
    for name in ["run", "fail", "wait"] {
        queue.add(key(&a, name), &a);
    }
    queue.add(key(&b, "other"), &b);
    let run = now(&queue).unwrap();
    let other = now(&queue).unwrap();
    let fail = now(&queue).unwrap();
    assert_eq!((&*run.key.name, &*fail.key.name), ("run", "fail"));
    queue.done(&fail, Outcome::Failed);
    queue.done(&other, Outcome::Failed);
    queue.forget(&a);
    assert_eq!((queue.depth(), queue.pending()), (0, 2), "what runs, and the other plane's");
    queue.done(&run, Outcome::Failed);
    advance(Duration::from_secs(1)).await;
    let mut names: Vec<_> = std::iter::from_fn(|| now(&queue)).map(|j| j.key.name).collect();
    names.sort();
    assert_eq!(names, ["other", "run"].map(Into::into));
}

#[tokio::test(start_paused = true)]
async fn closing_wakes_all_workers_and_gives_out_nothing() {
    let queue = std::sync::Arc::new(queue());
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.next().await.is_none() })
        })
        .collect();
    tokio::task::yield_now().await;
    let lane = alpha();
    queue.close();
    queue.add(key(&lane, "late"), &lane);
    for worker in workers {
        assert!(tokio::time::timeout(Duration::from_secs(1), worker).await.unwrap().unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_held_queue_keeps_nothing_and_gives_out_what_was_gathered_for_the_next_term() {
    let queue = queue();
    let lane = alpha();
    for name in ["late", "timed", "ready"] {
        queue.add(key(&lane, name), &lane);
    }
    let running = now(&queue).unwrap();
    let timed = now(&queue).unwrap();
    queue.done(&timed, Outcome::RequeueAfter(Duration::from_secs(1)));
    queue.hold();
    assert_eq!(queue.pending(), 1, "what runs");
    for n in 0..1000 {
        queue.add(key(&lane, &format!("change-{n}")), &lane);
    }
    queue.add(key(&lane, "late"), &lane);
    queue.done(&running, Outcome::Failed);
    advance(Duration::from_mins(10)).await;
    assert!(now(&queue).is_none());
    assert_eq!((queue.depth(), queue.pending(), queue.lanes()), (0, 0, 0));
    let vacant = Instant::now();
    advance(Duration::from_secs(3)).await;
    queue.gather(vacant);
    queue.add(key(&lane, "a"), &lane);
    assert!(now(&queue).is_none(), "not yet");
    queue.lead(4);
    let job = now(&queue).unwrap();
    assert_eq!((job.pass.epoch(), job.waited, job.since), (Some(4), Duration::ZERO, vacant));
    queue.add(key(&lane, "b"), &lane);
    assert_eq!(now(&queue).unwrap().since, Instant::now());
}
