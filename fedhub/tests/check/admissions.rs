//! `fedhub cells admit`: a cell is entered by what the hub recorded of it, whatever it says of itself (I14).

use serde_json::{Value, json};

use super::planes::{Checked, Planes, cluster};

const UID: &str = "uid-cell-dfw";

/// Planes of an installation whose cell is joined, and not entered yet.
async fn joined() -> Planes {
    let planes = Planes::bare().await;
    record(&planes, "cell-dfw", UID);
    entries(&planes, &json!({"other": "LHR/uid-of-other"}));
    planes
}

/// What Karmada records when a cell is joined.
fn record(planes: &Planes, cluster: &str, uid: &str) {
    planes.hub.server.patch("Cluster", "", cluster, &json!({"spec": {"id": uid}})).unwrap();
}

fn entries(planes: &Planes, data: &Value) {
    let metadata = json!({"namespace": "fedhub-cells", "name": "fedhub-cells"});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    planes.hub.server.put(map).unwrap();
}

/// The UID that the cell's API server gives its `kube-system`.
fn show(planes: &Planes, uid: &str) {
    let metadata = json!({"name": "kube-system", "uid": uid});
    // An object that stands keeps its UID.
    planes.cell.server.delete("Namespace", "", "kube-system").unwrap();
    planes.cell.server.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).unwrap();
}

fn map(planes: &Planes) -> Value {
    planes.hub.server.get("ConfigMap", "fedhub-cells", "fedhub-cells").unwrap()
}

async fn admit(planes: &Planes, more: &[&str]) -> Checked {
    let given = [
        "cells".to_owned(),
        "admit".to_owned(),
        "cell-dfw".to_owned(),
        format!("--hub-kubeconfig={}", planes.file("hub").display()),
        format!("--cell-kubeconfig={}", planes.file("cell-dfw").display()),
    ];
    planes.command(given.into_iter().chain(more.iter().map(ToString::to_string)).collect()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_a_cell_is_entered_once_and_only_what_changed_is_written() {
    let planes = joined().await;
    let before = map(&planes);
    let dry = admit(&planes, &["--dry-run"]).await;
    assert_eq!(dry.code, 0, "{}", dry.text);
    assert!(dry.text.contains("cell-dfw: would be entered as DFW/uid-cell-dfw"), "{}", dry.text);
    assert_eq!(map(&planes), before);
    assert!(planes.hub.server.get("ServiceAccount", "fedhub-cells", "cell-dfw").is_none());

    let entered = admit(&planes, &[]).await;
    assert_eq!(entered.code, 0, "{}", entered.text);
    assert_eq!(map(&planes)["data"], json!({"cell-dfw": "DFW/uid-cell-dfw", "other": "LHR/uid-of-other"}));
    assert!(planes.hub.server.get("ServiceAccount", "fedhub-cells", "cell-dfw").is_some());
    let once = map(&planes);
    let mark = planes.cell.server.mark();
    let again = admit(&planes, &[]).await;
    assert_eq!((again.code, map(&planes)), (0, once), "nothing is written twice: {}", again.text);
    assert!(planes.cell.server.requests_since(mark).iter().all(|it| it.verb == "get"), "the cell is read");

    // It was rebuilt and joined anew, and serves another city.
    show(&planes, "uid-of-rebuilt");
    planes.hub.server.put(cluster("cell-dfw", "ORD")).unwrap();
    record(&planes, "cell-dfw", "uid-of-rebuilt");
    let replaced = admit(&planes, &[]).await;
    assert!(replaced.code == 0 && replaced.text.contains("in place of"), "{}", replaced.text);
    assert_eq!(map(&planes)["data"]["cell-dfw"], "ORD/uid-of-rebuilt");
}

/// Words of the refusal, and how the planes come to deserve it.
type Case = (&'static str, fn(&Planes));

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_a_cell_that_lies_is_refused_and_nothing_is_written() {
    let injection = r#"x"},"metadata":{"annotations":{"lost.federation.datumapis.com/uid-of-other":"2026-01-02T15:04:05Z"#;
    let cases: [Case; 5] = [
        ("shows no UID", |planes| {
            planes.cell.server.delete("Namespace", "", "kube-system").unwrap();
        }),
        ("Karmada recorded uid-cell-dfw", |planes| show(planes, "uid-of-other")),
        ("the entry of other has the UID uid-of-other", |planes| {
            show(planes, "uid-of-other");
            record(planes, "cell-dfw", "uid-of-other");
        }),
        ("no spec.id", |planes| record(planes, "cell-dfw", "")),
        ("no Cluster cell-dfw", |planes| {
            planes.hub.server.delete("Cluster", "", "cell-dfw").unwrap();
        }),
    ];
    for (why, lie) in cases {
        let planes = joined().await;
        lie(&planes);
        refused(&planes, why).await;
    }
    let planes = joined().await;
    show(&planes, injection);
    refused(&planes, "shows no UID").await;
    record(&planes, "cell-dfw", injection);
    refused(&planes, "is no UID").await;
}

async fn refused(planes: &Planes, why: &str) {
    let before = map(planes);
    let refused = admit(planes, &[]).await;
    assert_eq!(refused.code, 3, "{why}: {}", refused.text);
    assert!(refused.text.contains(why), "{why}: {}", refused.text);
    assert_eq!(map(planes), before, "{why}");
    assert!(planes.hub.server.get("ServiceAccount", "fedhub-cells", "cell-dfw").is_none(), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_what_is_missing_is_named() {
    let planes = Planes::bare().await;
    record(&planes, "cell-dfw", UID);
    let bare = admit(&planes, &[]).await;
    assert!(bare.code == 1 && bare.text.contains("apply deploy/components/hub-for-cells"), "{}", bare.text);
    for (words, fault) in [
        (vec!["cells", "admit", "cell-dfw"], "needs --hub-kubeconfig or --hub-context"),
        (
            vec!["cells", "admit", "cell-dfw", "--hub-context=HUB"],
            "needs --cell-kubeconfig or --cell-context",
        ),
        (
            vec!["cells", "admit", "cell\"dfw", "--hub-context=HUB", "--cell-context=CELL"],
            "not the name of a Cluster",
        ),
        (vec!["cells", "admit"], "<CLUSTER>"),
        (vec!["cells"], "--hub-kubeconfig"),
    ] {
        let misuse = planes.command(words.iter().map(ToString::to_string).collect()).await;
        assert!(misuse.code == 2 && misuse.text.contains(fault), "{words:?}: {}", misuse.text);
    }
}
