//! Single rules of the queue.

use std::time::Duration;

use fedhub_core::object::PlaneId;
use fedhub_engine::{Job, Outcome, Queue, QueueConfig};
use futures::FutureExt;
use tokio::time::{Instant, advance};

use crate::support::*;

fn queue() -> Queue {
    Queue::new(QueueConfig { seed: 3, ..QueueConfig::default() })
}

/// The next key, if one may be taken now.
fn now(queue: &Queue) -> Option<Job> {
    queue.next().now_or_never().flatten()
}

fn alpha() -> PlaneId {
    project("alpha")
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_once_and_runs_once() {
    let (queue, lane) = (queue(), alpha());
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
    let (queue, lane) = (queue(), alpha());
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
    let (queue, lane) = (queue(), alpha());
    queue.add(key(&lane, "a"), &lane);
    for wait in backoffs(&queue, &lane, 5).await {
        assert!((450..=551).contains(&wait), "{wait}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_back_off_doubles_to_its_maximum_and_an_event_ends_it() {
    let (queue, lane) = (queue(), alpha());
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
    let (queue, lane) = (queue(), alpha());
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
    let (flood, quiet) = (project("flood"), project("quiet"));
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
    let (a, b) = (project("a"), project("b"));
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
    let (a, b) = (project("a"), project("b"));
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
    let (queue, lane) = (queue(), alpha());
    for name in ["late", "timed", "ready"] {
        queue.add(key(&lane, name), &lane);
    }
    let (running, timed) = (now(&queue).unwrap(), now(&queue).unwrap());
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
    assert_eq!((job.epoch, job.waited, job.since), (4, Duration::ZERO, vacant));
    queue.add(key(&lane, "b"), &lane);
    assert_eq!(now(&queue).unwrap().since, Instant::now());
}

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
    let (queue, lane) = (queue(), alpha());
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
    let (queue, lane) = (queue(), alpha());
    let mut running = repeats(&queue, &lane);
    assert_eq!((running.len(), queue.depth()), (2, 8));
    assert!(queue.is_behind(&lane));
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
    let (queue, lane) = (queue(), alpha());
    let changed = || (0..100).for_each(|n| drop(queue.add(key(&lane, &format!("{n}")), &lane)));
    changed();
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

/// With one turn, as a plane has that is tried again: neither what is new nor what never ends keeps the other out.
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
    let (queue, lane) = (queue(), alpha());
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
async fn u2_a_plane_is_behind_while_its_repeats_wait_and_for_a_while_after() {
    let (queue, lane) = (queue(), alpha());
    let mut running = repeats(&queue, &lane);
    while let Some(job) = running.pop() {
        queue.done(&job, Outcome::Unchanged);
        running.extend(now(&queue));
    }
    assert_eq!(queue.lanes(), 0);
    assert!(queue.is_behind(&lane));
    queue.forget(&lane);
    assert!(!queue.is_behind(&lane), "a plane that is engaged again begins anew");
    advance(Duration::from_secs(1)).await;
    repeats(&queue, &lane);
    queue.hold();
    queue.lead(1);
    assert!(!queue.is_behind(&lane), "and so does a term");
}
