//! `fedhub explain workload`.

use fedhub_api::facts::restarts::revision_mark;
use fedhub_api::facts::workload::recorded_template;
use fedhub_fake_apiserver::Resource;
use serde_json::{Value, json};

use super::faults::CASES;
use super::objects;
use super::planes::Planes;

const COMPUTE: &str = "compute.datumapis.com/v1alpha";

/// Planes with a Workload `site` that says this of itself, whether the WD is its own or not.
async fn planes(conditions: Value, owns: bool) -> Planes {
    let planes = Planes::in_sync().await;
    let workloads = Resource::custom("compute.datumapis.com", "v1alpha", "Workload", "workloads");
    planes.project.register(workloads.with_status());
    let workload = json!({
        "apiVersion": COMPUTE, "kind": "Workload", "metadata": {"namespace": "shop", "name": "site", "uid": "uid-site"},
        "spec": {}, "status": {"conditions": conditions},
    });
    planes.project.put(workload).unwrap();
    if !owns {
        return planes;
    }
    let mut wd = planes.project.get("WorkloadDeployment", "shop", "web").unwrap();
    wd["metadata"]["ownerReferences"] = json!([{"apiVersion": COMPUTE, "kind": "Workload", "name": "site", "uid": "uid-site", "controller": true}]);
    planes.project.put(wd).unwrap();
    planes
}

fn available(status: &str, reason: &str) -> Value {
    json!([{"type": "Available", "status": status, "reason": reason, "message": "in words"}])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_a_workload_is_explained_by_what_it_says_and_by_its_wds() {
    let planes = planes(available("True", "Available"), true).await;
    let cell = planes.cell_flag();
    let said = planes.explain(["workload", "site"], &[&cell]).await;
    assert_eq!(said.code, 0, "{}", said.text);
    assert!(said.text.starts_with("Available:   True   Available   in words\n"), "{}", said.text);
    assert!(said.text.contains("\nweb   DFW    in sync   in-sync\n"), "{}", said.text);
    let (_, code, provoke) = CASES.iter().find(|case| case.0 == "image-unavailable").unwrap();
    provoke(&planes);
    let said = planes.explain(["workload", "site"], &[&cell]).await;
    assert_eq!(said.code, *code, "{}", said.text);
    assert!(said.text.contains("blocked   image-unavailable"), "{}", said.text);
    assert!(said.text.contains("Who acts:"), "{}", said.text);
    let json = planes.explain(["workload", "site"], &[&cell, "--json"]).await.json;
    assert_eq!(json["workloadDeployments"][0]["cause"], "image-unavailable");
    assert_eq!(json["conditions"][0]["reason"], "Available");
}

/// Gives the Workload two cities and a newer revision than its WD carries, whose turn comes after ORD.
fn roll_out(planes: &Planes) {
    let template = |image: &str| json!({"spec": {"runtime": {"sandbox": {"containers": [{"name": "web", "image": image}]}}}});
    let old = template("web:1");
    let new = template("web:2");
    let workload = json!({
        "metadata": {"annotations": {
            "compute.datumapis.com/current-revision": "2",
            "federation.datumapis.com/recorded-template": recorded_template(2, &new),
        }},
        "spec": {"template": new, "placements": [{"name": "us", "cityCodes": ["ORD", "DFW"]}]},
        "status": {"heldRevision": 1},
    });
    planes.project.patch("Workload", "shop", "site", &workload).unwrap();
    let mut cluster = objects::cluster("cell-ord");
    cluster["metadata"]["labels"]["topology.datum.net/city-code"] = json!("ORD");
    planes.hub.put(cluster).unwrap();
    for (city, revision, template) in [("ORD", 2, &new), ("DFW", 1, &old)] {
        planes
            .project
            .put(json!({
                "apiVersion": COMPUTE, "kind": "WorkloadDeployment",
                "metadata": {
                    "namespace": "shop", "name": format!("site-us-{}", city.to_lowercase()),
                    "labels": {"compute.datumapis.com/workload-name": "site"},
                    "annotations": {"compute.datumapis.com/revision": revision_mark(revision, template)},
                    "ownerReferences": [{"apiVersion": COMPUTE, "kind": "Workload", "name": "site", "uid": "uid-site", "controller": true}],
                },
                "spec": {
                    "cityCode": city, "placementName": "us", "template": template,
                    "workloadRef": {"name": "site", "uid": "uid-site"},
                },
            }))
            .unwrap();
    }
}

/// By what the plan says of what was read over real HTTP: of a WD by itself as of all of the Workload.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_r1_a_wd_that_waits_for_its_turn_says_for_which_city() {
    let planes = planes(available("True", "Available"), false).await;
    roll_out(&planes);
    let waits = "the WD carries revision 1 of 2: it waits until \"ORD\" is healthy on the new revision";
    let wd = planes.explain(["wd", "site-us-dfw"], &["--json"]).await.json;
    assert_eq!(wd["rollout"], waits, "{wd}");
    assert!(planes.explain(["wd", "site-us-ord"], &["--json"]).await.json["rollout"].is_null());
    let all = planes.explain(["workload", "site"], &["--json"]).await.json;
    assert_eq!(all["rollout"][0]["state"], "Updating", "{all}");
    assert_eq!(all["rollout"][1]["remark"], "waits until \"ORD\" is healthy on the new revision");
    let text = planes.explain(["workload", "site"], &[]).await.text;
    assert!(text.contains("\nsite-us-dfw   DFW    all    Waiting"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_a_workload_without_wds_and_one_that_is_not_there() {
    let planes = planes(available("False", "NoCityPlaceable"), false).await;
    let unknown = planes.explain(["workload", "other"], &[]).await;
    assert_eq!(unknown.code, 1, "{}", unknown.text);
    assert!(unknown.text.contains("no Workload other is known in namespace shop"), "{}", unknown.text);
    let waits = planes.explain(["workload", "site"], &[]).await;
    assert_eq!(waits.code, 3, "{}", waits.text);
    assert!(
        waits.text.contains("NoCityPlaceable") && waits.text.contains("it has no WD yet"),
        "{}",
        waits.text
    );
}
