//! `explain`: from the workload over its cities to its instances; who has to act, and the exit code (C9).

use fedhub_api::facts::workload::recorded_template;
use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::reading::plane::Plane;
use crate::reading::support::{
    NO_IMAGE, blocked, condition, counts, deployment, image_missing, instance, over_quota, ready, serving,
    template, with, workload,
};

fn available() -> Value {
    json!([condition("Available", "True", "AvailablePlacementFound", "")])
}

/// `web` runs in DFW; its image is missing in ORD.
fn half() -> Vec<Value> {
    vec![
        workload("web", &["DFW", "ORD"], with(counts(2, 2, 1), available())),
        deployment("web", "DFW", with(counts(1, 1, 1), serving())),
        deployment("web", "ORD", with(counts(1, 1, 0), blocked("InstancesProvisioning", NO_IMAGE))),
        instance("web", "DFW", 0, ready()),
        instance("web", "ORD", 0, image_missing()),
    ]
}

#[tokio::test]
async fn c9_what_blocks_is_said_with_who_has_to_act_and_exits_4() {
    let plane = Plane::with(half()).await;
    let ended = plane.run("explain web").await;
    assert_eq!(ended.code, 4, "{ended:?}");
    for words in [
        "\"web\" is blocked in ORD.",
        "DFW (us): Done, 1/1 ready, 1/1 up to date",
        "ORD (us): Blocked, 0/1 ready",
        "見つかりません",
        "What you can do: check the image's name and tag, and the pull secrets",
        "web-us-ord-0",
        "Failed (image unavailable)",
    ] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
    assert_eq!(ended.out.matches("What you can do").count(), 1, "said once: {}", ended.out);
    assert!(!ended.out.contains("WorkloadDeployment") && !ended.out.contains("Federated"), "{}", ended.out);
    let value = plane.run("explain web -o json").await.json();
    assert_eq!(
        (&value["outcome"], &value["cities"][1]["problem"]["responsible"]),
        (&json!("blocked"), &json!("user"))
    );
    assert_eq!(value["cities"][1]["instances"][0]["problem"]["reason"], "ImageUnavailable");
}

#[tokio::test]
async fn c9_quota_and_the_operators_part_are_named_as_such() {
    let no_cell = "No cell serves it. Action required by the platform operator: leave the city's label on one Cluster of \
        the federation hub";
    let plane = Plane::with([
        workload(
            "api",
            &["DFW", "ORD"],
            with(counts(2, 2, 0), json!([condition("Available", "False", "X", "")])),
        ),
        deployment("api", "DFW", with(counts(1, 1, 0), blocked("QuotaNotGranted", "0/1"))),
        deployment("api", "ORD", with(counts(1, 0, 0), blocked("AmbiguousCity", no_cell))),
        instance("api", "DFW", 0, over_quota()),
    ])
    .await;
    let ended = plane.run("explain api").await;
    assert_eq!(ended.code, 4, "{ended:?}");
    assert!(ended.out.contains("blocked in DFW and ORD"), "{}", ended.out);
    assert!(ended.out.contains("compute.datumapis.com/vcpus"), "which quota it is: {}", ended.out);
    assert!(ended.out.contains("The platform operator has to act"), "{}", ended.out);
}

#[tokio::test]
async fn c9_what_stands_in_the_way_of_several_cities_is_said_once() {
    let words = "No new deployment in \"LAX\", \"lax\": no cell serves them";
    let mut nowhere = json!([condition("Available", "False", "NoMatchingLocations", words)]);
    nowhere[0]["observedGeneration"] = json!(1);
    let plane = Plane::with([workload("far", &["LAX", "lax"], with(counts(0, 0, 0), nowhere))]).await;
    let ended = plane.run("explain far").await;
    assert!(ended.code == 4 && ended.out.matches("no cell serves them").count() == 1, "{ended:?}");
    assert!(
        ended.out.contains("lax (us): Blocked, ?/? ready, ?/? up to date\n  The same as in LAX (us)"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn all_that_is_well_or_on_its_way_exits_0() {
    let plane = Plane::with([
        workload("web", &["DFW"], with(counts(1, 1, 1), available())),
        deployment("web", "DFW", with(counts(1, 1, 1), serving())),
        instance("web", "DFW", 0, ready()),
    ])
    .await;
    let ended = plane.run("explain web").await;
    assert!(ended.code == 0 && ended.out.contains("\"web\" is as it should be."), "{ended:?}");
    plane.server.put(workload("new", &["DFW"], json!({}))).unwrap();
    let ended = plane.run("explain new").await;
    assert!(ended.code == 0 && ended.out.contains("has not taken it up yet"), "{ended:?}");
    assert!(ended.out.contains("?/? ready"), "not none: {ended:?}");
    let ended = plane.run("explain nope").await;
    assert_eq!(ended.code, 1, "{ended:?}");
    let ended = plane.run("explain web --city AMS").await;
    assert!(ended.code == 2 && ended.err.contains("Its cities are DFW"), "{ended:?}");
}

/// `web` runs revision 2 in DFW, and revision 1 in ORD, whose wave comes after that of DFW.
fn in_waves(reason: &str, more: &Value) -> Vec<Value> {
    let mut web = workload("web", &["DFW", "ORD"], with(counts(2, 1, 2), available()));
    web["metadata"]["annotations"] = json!({
        "compute.datumapis.com/current-revision": "2",
        "federation.datumapis.com/recorded-template": recorded_template(2, &web["spec"]["template"]),
    });
    let mut ord = deployment("web", "ORD", with(counts(1, 1, 1), serving()));
    ord["spec"]["template"] = template("web:1");
    ord["metadata"]["annotations"] = json!({"compute.datumapis.com/revision": "1/old"});
    let wave = |name: &str, deployment: &str| json!({"name": name, "approval": "After", "deployments": [deployment]});
    let city = |city: &str, wave: &str, state: &str, revision: u64| {
        json!({"city": city, "deployment": format!("web-us-{}", city.to_lowercase()), "wave": wave, "state": state,
            "revision": revision, "since": "2026-11-23T11:55:00Z"})
    };
    let mut status = json!({
        "targetRevision": 2, "direction": "Forward", "plan": [wave("canary", "web-us-dfw"), wave("rest", "web-us-ord")],
        "cities": [city("DFW", "canary", "Complete", 2), city("ORD", "rest", "Waiting", 1)],
        "conditions": [{
            "type": "Progressing", "status": "False", "reason": reason, "message": "in words", "observedGeneration": 1,
        }],
    });
    for (field, value) in more.as_object().unwrap() {
        status[field] = value.clone();
    }
    let rollout = json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadRollout",
        "metadata": {"namespace": "default", "name": "web"}, "spec": {"workloadRef": {"name": "web"}},
        "status": status,
    });
    vec![
        web,
        ord,
        rollout,
        deployment("web", "DFW", with(counts(1, 1, 1), serving())),
        instance("web", "DFW", 0, ready()),
        instance("web", "ORD", 0, ready()),
    ]
}

#[tokio::test]
async fn r3_what_a_city_waits_for_is_said_with_its_wave_and_who_acts() {
    let awaiting = json!({"awaiting": {"wave": "canary", "gate": "After"}});
    let plane = Plane::with(in_waves("RolloutAwaitingApproval", &awaiting)).await;
    let ended = plane.run("explain web").await;
    assert_eq!(ended.code, 4, "{ended:?}");
    for words in [
        "The rollout of \"web\" waits for the approval of its wave \"canary\" after its last city.",
        "What you can do: approve it with `",
        "rollout approve web --wave canary",
        "ORD (us): Waiting, 1/1 ready, 0/1 up to date, in wave rest",
        "Waits until the wave \"canary\" is approved after its last city",
    ] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
    let value = plane.run("explain web -o json").await.json();
    assert_eq!(value["outcome"], "awaiting-approval");
    assert_eq!(value["cities"][1]["rollout"]["state"], "waiting", "{value:#}");
}

#[tokio::test]
async fn r1_a_city_that_waits_for_another_is_on_its_way() {
    let updating = json!({"cities": [
        {"city": "DFW", "deployment": "web-us-dfw", "wave": "canary", "state": "Updating", "revision": 2,
            "since": "2026-11-23T11:55:00Z"},
        {"city": "ORD", "deployment": "web-us-ord", "wave": "rest", "state": "Waiting", "revision": 1,
            "since": "2026-11-23T11:55:00Z"},
    ]});
    let plane = Plane::with(in_waves("WaveInProgress", &updating)).await;
    let ended = plane.run("explain web").await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.out.contains("Waits until \"DFW\" is healthy on the new revision"), "{}", ended.out);
}

#[tokio::test]
async fn a_missing_right_neither_hides_a_blocker_nor_makes_all_well() {
    let plane = Plane::with(half()).await;
    plane.server.fault(Fault::Status(403).on("list", "instances"));
    let ended = plane.run("explain web").await;
    assert_eq!(ended.code, 4, "{ended:?}");
    assert!(
        ended.out.contains("Its instances are not known.") && ended.out.contains("見つかりません"),
        "{ended:?}"
    );
    assert!(ended.err.contains("Could not list instances: your account lacks the right"), "{ended:?}");
    let ended = plane.run("explain web --city DFW").await;
    assert!(ended.code == 1 && ended.out.contains("DFW (us): Done, 1/1 ready"), "{ended:?}");
    plane.server.fault(Fault::Status(403).on("list", "workloaddeployments"));
    let ended = plane.run("explain web").await;
    assert!(ended.code == 1 && ended.err.contains("is not known"), "{ended:?}");
    assert!(!ended.out.contains("has no deployment yet"), "unread is not absent: {ended:?}");
}
