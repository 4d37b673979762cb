//! Rules of the queue for keys that write again and again, and for planes that are behind.

use std::time::Duration;

use fedhub_core::object::PlaneId;
use fedhub_engine::{Job, Outcome, Queue, QueueConfig};
use fedhub_planes::PlaneResponses;
use tokio::time::{Instant, advance};

use crate::queue::{alpha, now, queue};
use crate::support::*;

/// Takes the key again and again, each time changed meanwhile and written, until it has to wait.
fn written_at_once(queue: &Queue, lane: &PlaneId) -> usize {
    let mut written = 0;
    while let Some(job) = now(queue) {
        queue.add(key(lane, "a"), lane);
        queue.done(&job, Outcome::Updated);
        written += 1;
    }
    written
}

#[tokio::test(start_paused = true)]
async fn i8_a_key_that_changes_without_end_has_its_writes_spaced_out() {
    let queue = queue();
    let lane = alpha();
    queue.add(key(&lane, "a"), &lane);
    let began = Instant::now();
    assert_eq!(written_at_once(&queue, &lane), 3, "a few changes in a moment are nothing unusual");
    assert_eq!(queue.unsynced(fedhub_core::object::Kind::Instance), 1, "it is not in order");
    queue.add(key(&lane, "a"), &lane);
    assert!(now(&queue).is_none(), "one more change does not bring its turn forward");
    queue.add(key(&lane, "b"), &lane);
    let other = now(&queue).expect("the others have their turns");
    queue.done(&other, Outcome::Unchanged);
    for turn in 1..=3 {
        let changed = Instant::now();
        let job = queue.next().await.unwrap();
        let due = Duration::from_secs(turn);
        assert!(
            (due..=due + Duration::from_millis(1001)).contains(&began.elapsed()),
            "{:?}",
            began.elapsed()
        );
        assert_eq!(job.since, changed, "since its first change");
        queue.add(key(&lane, "a"), &lane);
        queue.done(&job, Outcome::Updated);
    }
    advance(Duration::from_secs(10)).await;
    assert_eq!(written_at_once(&queue, &lane), 3, "that is forgotten once it is quiet");
}

/// It is the writes that a plane feels: they count whether they are stored, refused, or one step of several.
#[tokio::test(start_paused = true)]
async fn i8_writes_are_spaced_out_however_a_pass_ends() {
    let put_off = Outcome::RequeueAfter(Duration::from_millis(1));
    for outcome in [Outcome::Updated, Outcome::AwaitChange, Outcome::Failed, put_off] {
        let queue = queue();
        let lane = alpha();
        queue.add(key(&lane, "a"), &lane);
        let mut writes = 0;
        let end = Instant::now() + Duration::from_mins(1);
        while let Ok(job) = tokio::time::timeout_at(end, queue.next()).await {
            queue.add(key(&lane, "a"), &lane);
            queue.ended(&job.unwrap(), outcome, &PlaneResponses { wrote: true, ..PlaneResponses::default() });
            writes += 1;
            assert!(writes < 100, "{outcome:?}: without a pause");
        }
        assert!((60..=64).contains(&writes), "{outcome:?}: {writes} in a minute");
    }
}

/// A burst of ten keys, each of which writes and has changed meanwhile; then those that may run at once.
fn repeats(queue: &Queue, lane: &PlaneId) -> Vec<Job> {
    for n in 0..10 {
        queue.add(key(lane, &format!("{n}")), lane);
    }
    let burst: Vec<_> = std::iter::from_fn(|| now(queue)).collect();
    assert_eq!(burst.len(), 10, "a burst is no flood");
    for job in burst {
        queue.add(job.key.clone(), lane);
        queue.done(&job, Outcome::Updated);
    }
    std::iter::from_fn(|| now(queue)).collect()
}

#[tokio::test(start_paused = true)]
async fn i8_what_keeps_changing_on_a_plane_has_two_of_its_turns() {
    let queue = queue();
    let lane = alpha();
    let mut running = repeats(&queue, &lane);
    assert_eq!((running.len(), queue.depth()), (2, 8));
    assert!(!queue.is_behind(&lane), "they leave turns to others");
    queue.add(key(&lane, "new"), &lane);
    let new = now(&queue).expect("what changes for the first time has the others");
    assert_eq!(new.key, key(&lane, "new"));
    queue.done(&new, Outcome::Updated);
    // Also where they are forgotten meanwhile and come back.
    queue.forget(&lane);
    for n in 2..10 {
        queue.add(key(&lane, &format!("{n}")), &lane);
    }
    assert!(now(&queue).is_none(), "two are running");
    for left in (0..8).rev() {
        queue.done(&running.remove(0), Outcome::Unchanged);
        running.extend(now(&queue));
        assert_eq!((running.len(), queue.depth()), (2, left), "one ends, and the next begins");
    }
    for job in &running {
        queue.done(job, Outcome::Unchanged);
    }
    advance(Duration::from_millis(500)).await;
    assert_eq!(repeats(&queue, &lane).len(), 2, "which was a burst once more");
}

/// A flood of many keys, throttled in one moment: what is due a second later comes as an even stream.
#[tokio::test(start_paused = true)]
async fn i8_what_is_throttled_together_is_not_ready_together() {
    let queue = queue();
    let lane = alpha();
    for n in 0..100 {
        queue.add(key(&lane, &format!("{n}")), &lane);
    }
    while let Some(job) = now(&queue) {
        queue.add(job.key.clone(), &lane);
        queue.done(&job, Outcome::Updated);
    }
    let began = Instant::now();
    let mut due = Vec::new();
    while due.len() < 100 {
        let job = queue.next().await.unwrap();
        due.push(began.elapsed());
        queue.done(&job, Outcome::Unchanged);
    }
    let tenths = (10..20).map(|tenth| due.iter().filter(|at| at.as_millis() / 100 == tenth).count());
    assert!(tenths.clone().all(|ready| (2..=25).contains(&ready)), "{:?}", tenths.collect::<Vec<_>>());
}

/// With one turn, as a plane has that is tried again: neither what is new nor what never ends keeps the other
/// out.
#[tokio::test(start_paused = true)]
async fn i8_repeats_and_others_are_served_as_they_come() {
    let queue = Queue::new(QueueConfig { per_plane: 1, ..QueueConfig::default() });
    let lane = alpha();
    for name in ["hot", "hotter"] {
        queue.add(key(&lane, name), &lane);
        queue.done(&now(&queue).unwrap(), Outcome::Updated);
    }
    for name in ["hot", "new", "hotter", "newer"] {
        queue.add(key(&lane, name), &lane);
    }
    for name in ["hot", "new", "hotter", "newer"] {
        let job = now(&queue).unwrap();
        assert_eq!(job.key, key(&lane, name));
        queue.add(key(&lane, "hot"), &lane);
        queue.done(&job, Outcome::Unchanged);
    }
}

#[tokio::test(start_paused = true)]
async fn i8_the_hubs_own_keys_and_those_of_a_cell_have_no_neighbours_to_spare() {
    for lane in [PlaneId::Hub, PlaneId::Cell] {
        assert_eq!(repeats(&queue(), &lane).len(), 10);
    }
}

#[tokio::test(start_paused = true)]
async fn i8_passes_that_write_nothing_are_not_spaced_out() {
    let queue = queue();
    let lane = alpha();
    queue.add(key(&lane, "a"), &lane);
    for _ in 0..50 {
        let job = now(&queue).unwrap();
        queue.add(key(&lane, "a"), &lane);
        queue.done(&job, Outcome::Unchanged);
    }
}

/// The keys of a burst come in waves: that none waits at one moment does not mean that it is over.
#[tokio::test(start_paused = true)]
async fn u2_a_plane_is_behind_while_its_turns_are_taken_and_for_a_while_after() {
    let queue = Queue::new(QueueConfig { per_plane: 2, ..QueueConfig::default() });
    let lane = alpha();
    queue.add(key(&lane, "a"), &lane);
    let a = now(&queue).unwrap();
    assert!(!queue.is_behind(&lane), "a turn is left");
    queue.add(key(&lane, "b"), &lane);
    assert!(queue.is_behind(&lane), "one waits");
    let b = now(&queue).unwrap();
    queue.done(&b, Outcome::Unchanged);
    assert!(queue.is_behind(&lane), "both turns were taken a moment ago");
    queue.done(&a, Outcome::Unchanged);
    assert_eq!(queue.lanes(), 0);
    assert!(queue.is_behind(&lane), "also where nothing is left to do");
    advance(Duration::from_secs(5)).await;
    assert!(!queue.is_behind(&lane));
}

#[tokio::test(start_paused = true)]
async fn u2_neither_a_plane_that_is_engaged_again_nor_a_new_term_is_behind() {
    let queue = Queue::new(QueueConfig { per_plane: 1, ..QueueConfig::default() });
    let lane = alpha();
    for is_engaged_again in [true, false] {
        queue.add(key(&lane, "a"), &lane);
        queue.done(&now(&queue).unwrap(), Outcome::Unchanged);
        assert!(queue.is_behind(&lane));
        if is_engaged_again {
            queue.forget(&lane);
        } else {
            queue.hold();
            queue.lead(1);
        }
        assert!(!queue.is_behind(&lane));
    }
}

#[tokio::test(start_paused = true)]
async fn u2_i8_keys_whose_time_has_come_are_not_kept_waiting_and_leave_turns_to_what_changes() {
    let queue = queue();
    let lane = alpha();
    for n in 1..5 {
        queue.add_after(key(&lane, &format!("{n}")), Duration::from_secs(5));
    }
    for seconds in [20, 9, 15] {
        queue.add_after(key(&lane, "0"), Duration::from_secs(seconds));
    }
    assert_eq!((queue.pending(), queue.lanes()), (0, 0), "nothing is out of sync");
    advance(Duration::from_secs(5)).await;
    for n in 0..14 {
        queue.add(key(&lane, &format!("new-{n}")), &lane);
    }
    let jobs: Vec<_> = std::iter::from_fn(|| now(&queue)).collect();
    let timed = |job: &Job| ["1", "2", "3", "4"].contains(&&*job.key.name);
    assert_eq!(jobs.iter().filter(|job| timed(job)).count(), 2, "{jobs:?}");
    assert_eq!((jobs.len(), queue.depth()), (16, 2));
    assert!(timed(&jobs[0]) || timed(&jobs[1]), "they waited long enough");
    for job in &jobs {
        queue.done(job, Outcome::Unchanged);
    }
    while let Some(job) = now(&queue) {
        assert!(timed(&job) && job.since == Instant::now(), "what was waited out is no delay");
        queue.done(&job, Outcome::Unchanged);
    }
    let before = Instant::now();
    let last = queue.next().await.unwrap();
    assert_eq!(last.key, key(&lane, "0"));
    // What keeps announcing a later time would otherwise put a key off for ever.
    assert_eq!(before.elapsed(), Duration::from_secs(4), "the earliest time stands");
    queue.done(&last, Outcome::Unchanged);
    advance(Duration::from_mins(1)).await;
    assert!(now(&queue).is_none());
}

#[tokio::test(start_paused = true)]
async fn u2_what_is_to_be_added_later_ends_with_the_plane_and_with_the_term() {
    let queue = queue();
    let lane = alpha();
    for is_term in [false, true] {
        queue.add_after(key(&lane, "a"), Duration::from_secs(5));
        if is_term {
            queue.hold();
            queue.add_after(key(&lane, "b"), Duration::from_secs(5));
            queue.lead(1);
        } else {
            queue.forget(&lane);
        }
        advance(Duration::from_mins(1)).await;
        assert!(now(&queue).is_none());
    }
}
