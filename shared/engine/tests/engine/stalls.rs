//! Answers that begin and do not go on: whatever waits for the rest of one ends (I8).

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors::{Category, Error};
use fedhub_core::object::Kind;
use fedhub_engine::{Controller, Job, Outcome, Queue, QueueConfig, run_workers};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::{Health, Pass, Plane};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::support::*;

/// For how long something that stalls may go unnoticed: the time-out, and a back-off that has hardly begun.
const NOTICED: Duration = Duration::from_secs(12);

#[tokio::test(start_paused = true)]
async fn i8_a_page_of_a_list_that_stalls_is_asked_for_again() {
    let server = ApiServer::project_plane("alpha");
    server.put(instance("a")).unwrap();
    let id = server.fault(Fault::Stall.on("list", "instances"));
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    let start = Instant::now();
    until("the reason", || plane.health() != Health::Engaging).await;
    assert!(start.elapsed() <= NOTICED, "{:?}", start.elapsed());
    match plane.health() {
        Health::Unreachable(reason) => assert!(reason.contains("the answer stopped"), "{reason}"),
        other => panic!("{other:?}"),
    }
    server.clear_fault(id);
    let start = Instant::now();
    until("the list", || plane.store(Kind::Instance).get("n", "a").is_some()).await;
    assert!(start.elapsed() <= NOTICED, "{:?}", start.elapsed());
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_watch_that_stalls_in_the_middle_of_a_line_resumes_where_it_was() {
    let server = ApiServer::project_plane("alpha");
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("sync", || plane.synced()).await;
    let id = server.fault(Fault::Stall.on("watch", "instances"));
    server.put(instance("a")).unwrap();
    quiet(1).await;
    server.clear_fault(id);
    assert!(plane.store(Kind::Instance).get("n", "a").is_none(), "half a line says nothing");
    let start = Instant::now();
    until("the change", || plane.store(Kind::Instance).get("n", "a").is_some()).await;
    assert!(start.elapsed() <= NOTICED, "{:?}", start.elapsed());
    assert_eq!(count(&server, "list", "instances"), 1, "by the watch, not by a new list");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_watch_without_news_goes_on_for_its_whole_time() {
    let server = ApiServer::project_plane("alpha");
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("sync", || plane.synced()).await;
    quiet(230).await;
    assert_eq!(count(&server, "watch", "instances"), 1);
    assert_eq!(plane.health(), Health::Engaged);
    planes.stop().await;
}

/// Reads its object.
struct Reads(Arc<Plane>);

impl Controller for Reads {
    fn name(&self) -> &'static str {
        "reads"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        self.0.get_live(&job.pass, job.key.kind, &job.key.namespace, &job.key.name).await?;
        Ok(Outcome::Unchanged)
    }
}

#[tokio::test(start_paused = true)]
async fn i8_a_pass_and_a_half_open_probe_whose_answers_stall_end() {
    let server = ApiServer::project_plane("alpha");
    server.put(instance("a")).unwrap();
    server.put(instance("b")).unwrap();
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("sync", || plane.synced()).await;
    server.fault(Fault::Stall.on("get", "instances"));
    let start = Instant::now();
    let error = plane.get_live(&Pass::unbound(), Kind::Instance, "n", "a").await.unwrap_err();
    assert_eq!((start.elapsed(), error.category()), (HEADERS, Category::Transient));

    let queue = Arc::new(Queue::new(QueueConfig::default()));
    let tasks = TaskTracker::new();
    run_workers(&Arc::new(Reads(plane.clone())), &queue, &metrics(), 4, &tasks);
    for name in ["a", "b"] {
        queue.add(plane.key(Kind::Instance, "n", name), &plane.id);
    }
    until("the circuit to open", || queue.circuits_open() == 1).await;
    // By now probes stall, one after another.
    quiet(60).await;
    server.clear_faults();
    until("both to be in order", || queue.pending() == 0).await;
    queue.close();
    planes.stop().await;
}
