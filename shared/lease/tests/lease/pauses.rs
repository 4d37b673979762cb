//! What operators paused, at the beginning of a term (I12).

use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::Pauses;
use fedhub_testing::{client, follow_pauses, set_paused};

use crate::support::*;

/// The standby's watch is behind, and it becomes leader: it reads what is paused before its first write.
#[tokio::test(start_paused = true)]
async fn i12_a_new_leader_honours_a_pause_that_its_watch_has_not_shown() {
    let management = management();
    let hub = ApiServer::hub("hub");
    let one = Replica::start(&management, &hub, "one");
    until("one leads", || one.leads()).await;
    let pauses = Pauses::stored(client(&management), SPACE);
    let two = Replica::honouring(management.client(), &hub, "two", pauses.clone());
    management.fault(Fault::Hang.on("watch", "configmaps"));
    let _followed = follow_pauses(&two.planes);
    until("two is warm", || two.planes.hub().synced()).await;
    set_paused(&management, None, true).await;
    // And while that cannot be read, it does nothing.
    management.fault(Fault::Status(503).on("get", "configmaps"));
    quiet(10).await;
    assert!(!pauses.any(), "its watch shows nothing");
    two.add("a");
    one.stop().await;
    until("two leads", || two.leads()).await;
    quiet(60).await;
    assert!(two.leads() && hub.get("Namespace", "", "a").is_none());
    assert_eq!(two.passes("not_engaged") + two.passes("updated"), 0, "no key is given out");
    management.clear_faults();
    quiet(30).await;
    assert!(pauses.any() && hub.get("Namespace", "", "a").is_none());
    set_paused(&management, None, false).await;
    // The watch hangs all the time, and is not waited for.
    quiet(40).await;
    assert!(!pauses.any());
    until("it to be resumed", || hub.get("Namespace", "", "a").is_some()).await;
    two.stop().await;
}
