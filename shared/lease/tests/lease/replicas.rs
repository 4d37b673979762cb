//! Replicas over one management plane: one leads, hands over, crashes.

use std::time::Duration;

use fedhub_core::errors::Category;
use fedhub_core::names::PlaneName;
use fedhub_core::object::Kind;
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::Pass;
use serde_json::json;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn one_leads_at_once_and_renews() {
    let management = management();
    let hub = ApiServer::hub("hub");
    let one = Replica::start(&management, &hub, "one");
    assert!(until("one leads", || one.leads()).await < Duration::from_secs(1));
    assert_eq!(holder(&management), "one");
    assert_eq!(spec(&management)["leaseDurationSeconds"], 15);
    let acquired = spec(&management)["acquireTime"].clone();
    management.patch("Lease", SPACE, "fedhub", &json!({"metadata": {"labels": {"by": "hand"}}})).unwrap();
    let mark = management.mark();
    quiet(100).await;
    assert!(one.leads());
    assert_eq!(one.epoch(), Some(0));
    assert_eq!(management.writes_since(mark).len(), 20, "every 5 s");
    let lease = management.get("Lease", SPACE, "fedhub").unwrap();
    assert_eq!(lease["metadata"]["labels"]["by"], "hand");
    assert_eq!(lease["spec"]["acquireTime"], acquired);
    assert_ne!(lease["spec"]["renewTime"], acquired);
    one.stop().await;
    assert_eq!(holder(&management), "");
}

#[tokio::test(start_paused = true)]
async fn who_cannot_get_into_sync_leads_after_its_warm_up() {
    let management = management();
    let hub = ApiServer::hub("hub");
    hub.fault(Fault::Hang);
    let one = Replica::start(&management, &hub, "one");
    let took = until("one leads", || one.leads()).await;
    assert!(took >= Duration::from_secs(10) && took < Duration::from_secs(11), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn who_awaits_a_plane_that_turns_out_to_fail_or_leaves_leads_at_once() {
    for leaves in [false, true] {
        let management = management();
        let hub = ApiServer::hub("hub");
        let service = tower::service_fn(move |_: http::Request<kube::client::Body>| async move {
            tokio::time::sleep(Duration::from_secs(if leaves { 60 } else { 2 })).await;
            http::Response::builder().status(500).body(kube::client::Body::empty())
        });
        let one = Replica::start(&management, &hub, "one");
        let alpha = PlaneName::new("alpha").unwrap();
        one.planes.engage(&alpha, kube::Client::new(service, "default"));
        quiet(1).await;
        assert!(one.planes.hub().synced() && !one.leads());
        if leaves {
            one.planes.disengage(&alpha);
        }
        let took = until("one leads", || one.leads()).await;
        assert!(took < Duration::from_secs(2), "{took:?}");
        one.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_is_warm_and_its_workers_take_no_keys() {
    let management = management();
    let hub = ApiServer::hub("hub");
    let one = Replica::start(&management, &hub, "one");
    until("one leads", || one.leads()).await;
    let two = Replica::start(&management, &hub, "two");
    quiet(10).await;
    assert!(two.planes.hub().synced() && !two.leads());
    one.add("a");
    two.add("b");
    quiet(1).await;
    assert_eq!((one.passes("updated"), two.passes("updated")), (1, 0));
    assert_eq!(two.queue.depth(), 0, "what is to be done is looked for when it leads");
    assert!(two.planes.hub().create(&Pass::unbound(), Kind::Namespace, &namespace("c"), "m").await.is_err());
    assert!(hub.get("Namespace", "", "c").is_none());
    // It counts from the last sign of life of the leader before, not from when it came.
    quiet(100).await;
    one.stop().await;
    until("two leads", || two.leads()).await;
    quiet(1).await;
    assert!(hub.get("Namespace", "", "b").is_some());
    assert!(two.metrics.queue_wait.get_sample_sum() < 1.0);
    two.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_hand_over_takes_less_than_a_second_and_waits_for_passes_under_way() {
    let management = management();
    let hub = ApiServer::hub("hub");
    let one = Replica::start(&management, &hub, "one");
    until("one leads", || one.leads()).await;
    let two = Replica::start(&management, &hub, "two");
    quiet(10).await;
    one.add("slow");
    quiet(1).await;
    one.stop().await;
    assert!(hub.get("Namespace", "", "slow").is_some(), "the pass was finished by its own leader");
    assert!(until("two leads", || two.leads()).await < Duration::from_secs(1));
    assert_eq!((holder(&management).as_str(), two.epoch()), ("two", Some(1)));
    two.stop().await;
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_another_leads_within_the_lease_and_a_second() {
    let management = management();
    let hub = ApiServer::hub("hub");
    let line = Line::default();
    let one = Replica::over(line.to(&management), &hub, "one");
    until("one leads", || one.leads()).await;
    let two = Replica::start(&management, &hub, "two");
    quiet(12).await;
    line.cut();
    let mut both = false;
    let took = until("two leads", || {
        both |= one.leads() && two.leads();
        two.leads()
    });
    let took = took.await;
    assert!(took > Duration::from_secs(10) && took < DURATION + Duration::from_secs(1), "{took:?}");
    assert!(!both);
    assert_eq!(two.epoch(), Some(1));
    // Cut off, not crashed: when it is back it stands by.
    line.mend();
    quiet(60).await;
    assert!(two.leads() && !one.leads());
    two.stop().await;
    assert!(until("one leads again", || one.leads()).await < Duration::from_secs(1));
    one.stop().await;
}

/// Two runtimes: a stopped process does not run, but its monotonic clock does.
#[test]
fn a_leader_that_was_stopped_notices_before_it_writes() {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let stopped = runtime();
    let running = runtime();
    let (management, hub) = stopped.block_on(async { (management(), ApiServer::hub("hub")) });
    let one = stopped.block_on(async {
        let one = Replica::start(&management, &hub, "one");
        until("one leads", || one.leads()).await;
        one.add("slow-1");
        quiet(1).await;
        one
    });
    // SIGSTOP: nothing of it runs.
    let two = running.block_on(async {
        let two = Replica::start(&management, &hub, "two");
        let took = until("two leads", || two.leads()).await;
        assert!(took >= DURATION && took < DURATION + Duration::from_secs(1), "{took:?}");
        two.add("a");
        quiet(1).await;
        assert!(hub.get("Namespace", "", "a").is_some());
        two
    });
    // SIGCONT: the pass goes on, and the next key waits.
    stopped.block_on(async {
        one.add("b");
        tokio::time::advance(Duration::from_mins(1)).await;
        let refused = one
            .planes
            .hub()
            .create(&Pass::unbound(), Kind::Namespace, &namespace("c"), "m")
            .await
            .unwrap_err();
        assert_eq!(refused.category(), Category::NotEngaged);
        quiet(2).await;
        assert!(!one.leads());
        assert_eq!(one.passes("not_engaged"), 2, "refused by the fence, and no failure");
        assert_eq!((one.passes("updated"), one.passes("transient"), one.passes("bug")), (0, 0, 0));
        assert_eq!(one.queue.pending(), 0);
    });
    running.block_on(async {
        quiet(30).await;
        assert!(two.leads());
    });
    let by_one =
        hub.audit().iter().filter(|e| e.is_write() && e.user_agent.as_deref() == Some("one")).count();
    assert_eq!(by_one, 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_has_to_wait_does_not_leave_after_the_term() {
    let management = management();
    let hub = ApiServer::hub("hub");
    let one = Replica::start(&management, &hub, "one");
    until("one leads", || one.leads()).await;
    hub.fault(Fault::Hang.on("create", "namespaces"));
    one.add("a");
    quiet(1).await;
    assert_eq!(one.passes("not_engaged"), 0, "it hangs");
    management.fault(Fault::Status(503).on("*", "leases"));
    quiet(20).await;
    assert_eq!(one.passes("not_engaged"), 1, "dropped at the end of the lease");
    management.clear_faults();
    hub.clear_faults();
    until("one leads again", || one.leads()).await;
    one.add("a");
    quiet(1).await;
    assert!(hub.get("Namespace", "", "a").is_some());
    one.stop().await;
}

/// What a pass has read may be old by the time of the next term.
#[tokio::test(start_paused = true)]
async fn a_pass_of_an_earlier_term_does_not_write_in_a_later_one() {
    let management = management();
    let hub = ApiServer::hub("hub");
    let one = Replica::start(&management, &hub, "one");
    until("one leads", || one.leads()).await;
    one.add("slow");
    quiet(1).await;
    let fault = management.fault(Fault::Status(503).on("*", "leases"));
    until("the lease ends", || !one.leads()).await;
    management.clear_fault(fault);
    until("one leads again", || one.leads()).await;
    assert_eq!(one.epoch(), Some(1));
    until("the pass ends", || one.passes("not_engaged") == 1).await;
    assert!(one.leads() && hub.get("Namespace", "", "slow").is_none());
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn every_replica_counts_the_changes_of_the_leader() {
    let management = management();
    let hub = ApiServer::hub("hub");
    let changes = |replica: &Replica| replica.metrics.lease_transitions.with_label_values(&["fedhub"]).get();
    let one = Replica::start(&management, &hub, "one");
    until("one leads", || one.leads()).await;
    let two = Replica::start(&management, &hub, "two");
    quiet(10).await;
    assert_eq!((changes(&one), changes(&two)), (0, 0));
    one.stop().await;
    until("two leads", || two.leads()).await;
    let three = Replica::start(&management, &hub, "three");
    quiet(10).await;
    assert_eq!((changes(&two), changes(&three)), (1, 1), "one that came later sees the same");
    two.stop().await;
    until("three leads", || three.leads()).await;
    assert_eq!(changes(&three), 2);
    management.delete("Lease", SPACE, "fedhub").unwrap();
    quiet(10).await;
    assert_eq!(changes(&three), 2);
    three.stop().await;
}
