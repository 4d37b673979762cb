//! `workloads` and `status`: health and numbers, the URL, and what cannot be read.

use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::reading::plane::Plane;
use crate::reading::support::{NO_IMAGE, blocked, condition, counts, deployment, serving, with, workload};

fn proxy(name: &str, status: Value) -> Value {
    json!({
        "apiVersion": "networking.datumapis.com/v1alpha", "kind": "HTTPProxy",
        "metadata": {
            "namespace": "default", "name": name, "labels": {"compute.datumapis.com/workload-name": name},
        },
        "spec": {}, "status": status,
    })
}

fn available() -> Value {
    json!([condition("Available", "True", "AvailablePlacementFound", "")])
}

fn project() -> Vec<Value> {
    let unavailable = json!([condition("Available", "False", "ImageUnavailable", NO_IMAGE)]);
    vec![
        workload("web", &["DFW", "ORD"], with(counts(2, 2, 2), available())),
        deployment("web", "DFW", with(counts(1, 1, 1), serving())),
        deployment("web", "ORD", with(counts(1, 1, 1), serving())),
        workload("api", &["DFW", "ORD"], with(counts(2, 2, 1), available())),
        deployment("api", "DFW", with(counts(1, 1, 1), serving())),
        deployment("api", "ORD", with(counts(1, 1, 0), blocked("ImageUnavailable", NO_IMAGE))),
        workload("bad", &["DFW"], with(counts(1, 1, 0), unavailable)),
        deployment("bad", "DFW", with(counts(1, 1, 0), blocked("ImageUnavailable", NO_IMAGE))),
        workload("new", &["AMS"], json!({})),
        proxy(
            "web",
            json!({
                "canonicalHostname": "web.example.net",
                "conditions": [condition("Programmed", "True", "Programmed", "")],
            }),
        ),
        proxy(
            "api",
            json!({
                "canonicalHostname": "api.example.net",
                "conditions": [
                    condition("Programmed", "True", "Programmed", ""),
                    condition("CertificatesReady", "False", "Pending", ""),
                ],
            }),
        ),
    ]
}

fn row<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.as_array().unwrap().iter().find(|it| it["name"] == name).unwrap()
}

#[tokio::test]
async fn json_has_the_documented_fields() {
    let plane = Plane::with(project()).await;
    let ended = plane.run("workloads -o json").await;
    let value = ended.json();
    let web = row(&value, "web");
    let fields = [
        "name",
        "health",
        "ready",
        "upToDate",
        "placements",
        "locations",
        "image",
        "instanceType",
        "age",
        "url",
    ];
    for field in fields.into_iter().chain(["urlError", "workload"]) {
        assert!(web.get(field).is_some(), "{field}: {web}");
    }
    assert_eq!(web["url"], "https://web.example.net");
    assert_eq!(web["locations"], json!(["DFW", "ORD"]));
    assert_eq!(row(&value, "api")["url"], Value::Null, "its certificates are not there yet");
    assert_eq!(row(&value, "api")["urlError"], "not live yet");
    for (name, health) in
        [("web", "Available"), ("api", "Degraded"), ("bad", "Unavailable"), ("new", "Unknown")]
    {
        assert_eq!(row(&value, name)["health"], health, "{name}");
    }
    assert_eq!(row(&value, "new")["ready"], "?/?", "nothing was reported: not none");
    assert!(
        ended.err.contains("4 workloads: 1 Available, 1 Degraded, 1 Unavailable, 1 Unknown"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn filters_hold_in_every_format() {
    let plane = Plane::with(project()).await;
    for (flags, names) in [
        ("--health degraded", &["api"][..]),
        ("--health Unknown", &["new"]),
        ("--city ams", &["new"]),
        ("--city ORD --health available", &["web"]),
    ] {
        let value = plane.run(&format!("workloads {flags} -o json")).await.json();
        let found: Vec<&str> =
            value.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(found, names, "{flags}");
    }
    let bad = plane.run("workloads --health fine").await;
    assert!(bad.code == 2 && bad.err.contains("degraded"), "{bad:?}");
}

#[tokio::test]
async fn what_is_reported_of_an_older_generation_is_not_up_to_date() {
    let mut changed = workload("web", &["DFW"], with(counts(1, 1, 1), available()));
    changed["status"]["observedGeneration"] = json!(0);
    let plane = Plane::with([changed]).await;
    let value = plane.run("workloads -o json").await.json();
    assert_eq!((&value[0]["ready"], &value[0]["upToDate"]), (&json!("1/1"), &json!("?/1")));
}

#[tokio::test]
async fn a_right_that_is_missing_for_one_kind_leaves_the_rest_of_the_table() {
    let plane = Plane::with(project()).await;
    plane.server.fault(Fault::Status(403).on("list", "httpproxies"));
    let ended = plane.run("workloads").await;
    assert_eq!((ended.code, ended.out.lines().count()), (0, 5), "{ended:?}");
    let web = ended.out.lines().find(|line| line.starts_with("web")).unwrap();
    assert!(web.ends_with('?') && web.contains("Available"), "{web}");
    assert!(ended.err.contains("Could not list URLs: your account lacks the right"), "{ended:?}");
    let value = plane.run("workloads -o json").await.json();
    assert_eq!(row(&value, "web")["url"], Value::Null);
    assert!(row(&value, "web")["urlError"].as_str().unwrap().contains("lacks the right"));
    plane.server.fault(Fault::Status(403).on("list", "workloaddeployments"));
    let ended = plane.run("workloads").await;
    let web = ended.out.lines().find(|line| line.starts_with("web")).unwrap();
    assert!(web.contains("Available") && web.contains("2/2"), "its own status says it: {web}");
    let described = plane.run("workloads describe web").await;
    assert!(described.code == 0 && described.out.contains("DFW: ?"), "{described:?}");
}

#[tokio::test]
async fn a_platform_without_urls_has_none_to_tell() {
    let plane = Plane::with(project()).await;
    plane.server.unregister("httpproxies.networking.datumapis.com");
    let ended = plane.run("workloads").await;
    let web = ended.out.lines().find(|line| line.starts_with("web")).unwrap();
    assert!(ended.code == 0 && web.ends_with('—'), "{ended:?}");
    assert!(!ended.err.contains("URL"), "{ended:?}");
}

#[tokio::test]
async fn describe_and_status_say_what_blocks_and_who_has_to_act() {
    let plane = Plane::with(project()).await;
    let described = plane.run("workloads describe api").await;
    for words in
        ["Health      Degraded", "us, 1 in each city", "ORD: 0/1 ready", "What you can do: check the image"]
    {
        assert!(described.out.contains(words), "{words}: {described:?}");
    }
    assert!(!described.out.contains("not to be shown"), "{described:?}");
    let status = plane.run("status").await;
    assert_eq!(status.code, 0);
    for words in ["api in ORD", "bad in DFW", "見つかりません"] {
        assert!(status.out.contains(words), "{words}: {status:?}");
    }
    assert!(!status.out.contains("web in"), "{status:?}");
    let value = plane.run("status api -o json").await.json();
    assert_eq!(value["workloads"][0]["cities"][1]["problem"]["reason"], "ImageUnavailable");
    let none = plane.run("status nope").await;
    assert!(none.code == 1 && none.err.contains("no workload \"nope\""), "{none:?}");
}

#[tokio::test]
async fn a_project_without_workloads_is_told_and_answers_with_an_empty_list() {
    let plane = Plane::with([]).await;
    let table = plane.run("workloads").await;
    assert!(
        table.code == 0 && table.out.is_empty() && table.err.contains("There are no workloads"),
        "{table:?}"
    );
    assert_eq!(plane.run("workloads -o json").await.json(), json!([]));
    assert_eq!(plane.run("instances -o json").await.json(), json!([]));
}

#[tokio::test]
async fn status_says_why_a_city_has_no_deployment() {
    const NO_CELL: &str = "no cell serves \"LAX\". Action required by the user: choose cities that are served, or ask the \
                           platform operator for a cell or a location there";
    let mut refused = json!([condition("Available", "False", "NoMatchingLocations", NO_CELL)]);
    // What is stored anew is of its first generation.
    refused[0]["observedGeneration"] = json!(1);
    let plane = Plane::with(vec![workload("far", &["LAX"], with(counts(0, 0, 0), refused))]).await;
    let out = plane.run("status").await.out;
    assert!(out.contains("   ?/?     ?/?"), "zeros of no deployment are no numbers: {out}");
    assert!(out.contains("far in LAX\n  No cell serves \"LAX\"\n  What you can do: "), "{out}");
}
