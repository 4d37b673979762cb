//! Identities on a management plane that was restored from a backup while fedhub ran (I13).

use fedhub_fake_apiserver::{ApiServer, Fault};
use serde_json::json;

use super::identity::{Process, management, remove, same_shard, shard, stored, uid};
use crate::planes::support::*;

/// A process that knows the plane `a`, on a management plane that is put back to a time at which it knew it,
/// too.
async fn on_a_restored_management_plane(is_away: bool) -> (ApiServer, ApiServer, Process) {
    let management = management();
    let server = ApiServer::project_plane("a");
    let process = Process::start(&management);
    process.engage("a", &server);
    process.engaged("a").await;
    quiet(10).await;
    let map = shard(&management, "a");
    let backup = management.snapshot();
    for n in 0..30 {
        let touched = json!({"metadata": {"annotations": {"n": n.to_string()}}});
        management.patch("ConfigMap", HOME, &map, &touched).unwrap();
    }
    quiet(1).await;
    let away = is_away.then(|| management.fault(Fault::Disconnect));
    management.break_watches();
    quiet(5).await;
    management.restore(&backup);
    if let Some(away) = away {
        management.clear_fault(away);
    }
    quiet(30).await;
    (management, server, process)
}

#[tokio::test(start_paused = true)]
async fn i13_an_entry_that_is_removed_on_a_restored_management_plane_counts() {
    let (management, _, process) = on_a_restored_management_plane(true).await;
    let twin = ApiServer::project_plane("twin");
    process.engage("a", &twin);
    quiet(60).await;
    process.reason("a");
    remove(&management, "a");
    process.engaged("a").await;
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn i13_what_is_new_is_stored_on_a_restored_management_plane_also_where_its_watch_is_silent() {
    let (management, server, process) = on_a_restored_management_plane(false).await;
    let name = same_shard("a");
    let other = ApiServer::project_plane("other");
    process.engage(&name, &other);
    until("both to be stored", || !stored(&management)[&name].is_null()).await;
    assert_eq!(stored(&management)["a"], uid(&server, "default"));
    process.end().await;
}
