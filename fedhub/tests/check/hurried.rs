//! What an operator who is in a hurry is kept from: taking planes for done that were not read, accepting a
//! restore unseen, ending more than was meant.

use serde_json::json;

use super::planes::{Checked, Planes, config_map, wd};

async fn run(planes: &Planes, line: &str) -> Checked {
    let file = |name: &str| planes.file(name).display().to_string();
    let word = |word: &str| match word {
        "M" => format!("--management-kubeconfig={}", file("management")),
        "H" => format!("--hub-kubeconfig={}", file("hub")),
        word => word.to_owned(),
    };
    planes.command(line.split(' ').map(word).collect()).await
}

/// An installation that remembers a plane which nothing leads to, and whose fedhub is stopped.
async fn with_a_plane_that_is_gone() -> Planes {
    let planes = Planes::installed().await;
    let label = ("federation.datumapis.com/remembers", "plane-identities");
    let data = json!({"project-a": "uid-project-a", "project-b": "uid-project-b"});
    planes.management.server.put(config_map("fedhub-system", "identities", label, &data)).unwrap();
    planes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i3_a_remembered_plane_that_is_not_read_is_a_problem_unless_the_hub_shows_nothing_of_it() {
    let planes = with_a_plane_that_is_gone().await;
    for mode in ["--plan", "--run --yes --yes-stopped"] {
        let blind = run(&planes, &format!("uninstall {mode} --json M")).await;
        assert_eq!(blind.code, 3, "{}", blind.text);
        assert_eq!(blind.json["clean"], false, "{}", blind.text);
        let lines = blind.json["planes"].as_array().unwrap();
        let problems: Vec<_> = lines.iter().filter(|line| !line["problem"].is_null()).collect();
        let [line] = &problems[..] else { panic!("{}", blind.text) };
        assert_eq!(line["plane"], "project-b");
        assert!(line["problem"].as_str().unwrap().contains("fedhub remembers it"), "{line}");

        let with_hub = run(&planes, &format!("uninstall {mode} --json M H")).await;
        assert_eq!(with_hub.code, 0, "{}", with_hub.text);
    }
    let labels = json!({
        "meta.datumapis.com/upstream-cluster-name": "cluster-project-b", "meta.datumapis.com/upstream-namespace": "shop",
    });
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns-b", "labels": labels}});
    planes.hub.server.put(namespace).unwrap();
    planes.hub.server.put(wd("ns-b", "DFW")).unwrap();
    let with_hub = run(&planes, "uninstall --plan --json M H").await;
    assert!(with_hub.code == 3 && with_hub.text.contains("project-b"), "{}", with_hub.text);
}

/// A hub that was restored at a version beyond those that its server counts; its cell has a copy that was not
/// written since.
async fn restored() -> Planes {
    let planes = Planes::installed().await;
    let data = json!({
        "highestResourceVersion": "9000000000000000000", "restoredAtResourceVersion": "9000000000000000000",
        "lastRestore": "2026-01-02T00:00:00Z",
    });
    let label = ("federation.datumapis.com/remembers", "plane-identities");
    planes.management.server.put(config_map("fedhub-system", "fedhub-hub-history", label, &data)).unwrap();
    planes.hub.server.put(wd("ns-1", "DFW")).unwrap();
    let labels = json!({"compute.datumapis.com/workload-deployment-name": "web"});
    let copy = json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Instance",
        "metadata": {"namespace": "ns-1", "name": "web-0", "labels": labels}, "spec": {},
    });
    planes.hub.server.put(copy).unwrap();
    planes
}

fn restored_at(planes: &Planes) -> bool {
    let map = planes.management.server.get("ConfigMap", "fedhub-system", "fedhub-hub-history").unwrap();
    map["data"]["restoredAtResourceVersion"].is_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i4_a_restore_is_accepted_after_a_look_at_the_cells_that_have_not_written_back() {
    let planes = restored().await;
    let unseen = run(&planes, "hub accept-restore --yes M").await;
    assert_eq!(unseen.code, 2, "it needs the hub: {}", unseen.text);
    let unasked = run(&planes, "hub accept-restore M H").await;
    assert!(unasked.code == 2 && unasked.text.contains("--yes"), "{}", unasked.text);
    assert!(restored_at(&planes), "nothing was accepted");

    let mark = planes.hub.server.mark();
    let accepted = run(&planes, "hub accept-restore --yes M H").await;
    assert_eq!(accepted.code, 0, "{}", accepted.text);
    assert!(accepted.text.contains("DFW    cell-dfw   has NOT written back"), "{}", accepted.text);
    assert!(!restored_at(&planes));
    assert!(planes.hub.server.writes_since(mark).is_empty());
    let again = run(&planes, "hub accept-restore --yes M H").await;
    assert!(again.code == 0 && again.text.contains("nothing to accept"), "{}", again.text);
}

/// A hub that cannot be read shows nothing, and nothing is accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i4_a_restore_is_not_accepted_where_the_hub_is_not_read() {
    let planes = restored().await;
    planes.hub.server.fault(fedhub_fake_apiserver::Fault::Status(403).on("list", "instances"));
    let failed = run(&planes, "hub accept-restore --yes M H").await;
    assert!(
        failed.code == 1 && failed.text.contains("failed to list instances on the hub"),
        "{}",
        failed.text
    );
    assert!(restored_at(&planes));
}
