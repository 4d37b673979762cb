//! A paused rollout is shown wherever a workload is.

use serde_json::{Value, json};

use crate::reading::plane::Plane;
use crate::reading::support::{
    condition, counts, deployment, instance, ready, serving, template, with, workload,
};

/// A paused `web`, whose image is another one where something is held back.
fn web(status: &str, message: &str, image: Option<&str>) -> Vec<Value> {
    let mut progressing = condition("Progressing", status, "RolloutPaused", message);
    // That of an object that was just put on a server.
    progressing["observedGeneration"] = json!(1);
    let conditions = json!([condition("Available", "True", "AvailablePlacementFound", ""), progressing]);
    let mut web = workload("web", &["DFW"], with(counts(1, 1, 1), conditions));
    web["metadata"]["annotations"] = json!({"compute.datumapis.com/rollout-paused": "true"});
    if let Some(image) = image {
        web["spec"]["template"] = template(image);
    }
    vec![web, deployment("web", "DFW", with(counts(1, 1, 1), serving())), instance("web", "DFW", 0, ready())]
}

#[tokio::test]
async fn a_pause_that_holds_changes_back_is_shown_with_how_to_end_it() {
    let message = "The rollout is paused, which holds back a new template in \"DFW\"";
    let plane = Plane::with(web("Unknown", message, Some("web:2"))).await;
    let sentence = "The rollout of \"web\" is paused, which holds back a new template in \"DFW\".";
    let status = plane.run("status").await;
    assert!(status.code == 0 && status.out.contains(sentence), "{status:?}");
    let described = plane.run("workloads describe web").await;
    let words = "Rollout     paused, which holds back a new template in \"DFW\"";
    assert!(described.code == 0 && described.out.contains(words), "{described:?}");
    let explained = plane.run("explain web").await;
    assert_eq!(explained.code, 4, "{explained:?}");
    for words in [
        sentence,
        "`datumctl compute rollout resume web",
        "DFW (us): Paused, 1/1 ready",
        "Keeps its template",
    ] {
        assert!(explained.out.contains(words), "{words}: {explained:?}");
    }
    assert!(explained.err.contains("datumctl compute rollout resume web"), "{explained:?}");
    let elsewhere = plane.run("explain web --namespace default").await;
    for told in [&elsewhere.out, &elsewhere.err] {
        let advised = told.split("rollout resume web").nth(1).unwrap().split('`').next().unwrap();
        assert!(advised.contains(" --namespace default"), "{elsewhere:?}");
    }
    let value = plane.run("explain web -o json").await.json();
    assert_eq!((&value["outcome"], &value["paused"]), (&json!("paused"), &json!(true)));
    assert_eq!(plane.run("status -o json").await.json()["workloads"][0]["paused"], true);
    assert_eq!(plane.run("workloads -o json").await.json()[0]["paused"], true);
    assert_eq!(plane.run("workloads describe web -o json").await.json()["paused"], true);
}

#[tokio::test]
async fn a_pause_that_holds_nothing_back_is_shown_and_nothing_is_the_matter() {
    let message = "The rollout is paused. All instances are on the newest template";
    let plane = Plane::with(web("False", message, None)).await;
    let explained = plane.run("explain web").await;
    assert_eq!(explained.code, 0, "{explained:?}");
    for words in ["\"web\" is as it should be.", "The rollout of \"web\" is paused."] {
        assert!(explained.out.contains(words), "{words}: {explained:?}");
    }
    let status = plane.run("rollout status web --timeout 5s").await;
    assert_eq!(status.code, 0, "{status:?}");
    let value = plane.run("rollout status web --watch=false -o json").await.json();
    assert_eq!((&value["state"], &value["paused"]), (&json!("done"), &json!(true)));
}
