//! The management plane fails, or the Lease is edited by hand.

use std::time::Duration;

use fedhub_fake_apiserver::{ApiServer, Fault};
use serde_json::json;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn without_the_management_plane_a_leader_goes_on_until_its_lease_ends_and_comes_back_by_itself() {
    for fault in [Fault::Hang, Fault::Status(503), Fault::Disconnect, Fault::Garbage] {
        let management = management();
        let hub = ApiServer::hub("hub");
        let one = Replica::start(&management, &hub, "one");
        until("one leads", || one.leads()).await;
        quiet(14).await;
        let id = management.fault(fault);
        let led = until("the lease ends", || !one.leads()).await;
        assert!(led >= Duration::from_secs(7) && led <= Duration::from_secs(12), "{fault:?}: {led:?}");
        quiet(1).await;
        one.add("a");
        quiet(60).await;
        assert!(hub.get("Namespace", "", "a").is_none(), "{fault:?}");
        management.clear_fault(id);
        let back = until("one leads again", || one.leads()).await;
        assert!(back < Duration::from_secs(5), "{fault:?}: {back:?}");
        quiet(1).await;
        assert!(hub.get("Namespace", "", "a").is_some(), "{fault:?}");
        one.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_trouble_is_not_noticed() {
    let management = management();
    let hub = ApiServer::hub("hub");
    let one = Replica::start(&management, &hub, "one");
    until("one leads", || one.leads()).await;
    for fault in [Fault::Hang, Fault::Status(429), Fault::Status(500), Fault::LostAnswer] {
        management.fault(fault.on("patch", "leases").times(2));
        for _ in 0..300 {
            assert!(one.leads(), "{fault:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    assert_eq!(one.epoch(), Some(0), "one term");
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_the_first_claim_is_made_up_for() {
    let management = management();
    let hub = ApiServer::hub("hub");
    management.fault(Fault::LostAnswer.on("create", "leases").times(1));
    let one = Replica::start(&management, &hub, "one");
    assert!(until("one leads", || one.leads()).await < Duration::from_secs(3));
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_deleted_by_hand_is_put_back_by_its_leader() {
    let management = management();
    let hub = ApiServer::hub("hub");
    let one = Replica::start(&management, &hub, "one");
    until("one leads", || one.leads()).await;
    let two = Replica::start(&management, &hub, "two");
    quiet(7).await;
    management.delete("Lease", SPACE, "fedhub").unwrap();
    for _ in 0..400 {
        assert!(one.leads() && !two.leads());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(holder(&management), "one");
    two.stop().await;
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_taken_by_somebody_else_ends_the_term_and_comes_back_when_it_is_not_renewed() {
    let management = management();
    let hub = ApiServer::hub("hub");
    let one = Replica::start(&management, &hub, "one");
    until("one leads", || one.leads()).await;
    quiet(7).await;
    management
        .patch("Lease", SPACE, "fedhub", &json!({"spec": {"holderIdentity": "hand", "leaseTransitions": 7}}))
        .unwrap();
    assert!(until("one to release it", || !one.leads()).await < Duration::from_secs(1));
    let back = until("one leads again", || one.leads()).await;
    assert!(back + Duration::from_secs(1) > DURATION && back < DURATION + Duration::from_secs(1), "{back:?}");
    assert_eq!(one.epoch(), Some(8));
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_comes_back_empty_takes_nobodys_lease() {
    let management = management();
    let hub = ApiServer::hub("hub");
    let one = Replica::start(&management, &hub, "one");
    until("one leads", || one.leads()).await;
    management.fault(Fault::EmptyList.on("list", "leases"));
    let two = Replica::start(&management, &hub, "two");
    management.compact();
    management.break_watches();
    for _ in 0..400 {
        assert!(one.leads() && !two.leads());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    two.stop().await;
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_hand_over_is_found_out_although_the_watch_is_silent() {
    let management = management();
    let hub = ApiServer::hub("hub");
    let one = Replica::start(&management, &hub, "one");
    until("one leads", || one.leads()).await;
    let two = Replica::start(&management, &hub, "two");
    quiet(10).await;
    management.fault(Fault::Hang.on("watch", "leases"));
    one.stop().await;
    assert!(until("two leads", || two.leads()).await < Duration::from_secs(8), "it looks now and then");
    two.stop().await;
}
