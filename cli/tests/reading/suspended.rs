//! A workload that is suspended, and a rollout that comes no further, are shown wherever a workload is.

use serde_json::{Value, json};

use crate::reading::plane::Plane;
use crate::reading::support::{condition, counts, deployment, with, workload};

fn not_available(reason: &str, message: &str) -> Value {
    let both = ["Available", "ReplicasReady"].map(|kind| condition(kind, "False", reason, message));
    let federated = condition("Federated", "True", "Applied", "");
    json!([both[0], both[1], federated])
}

/// `web`, of whose one wanted Instance none is ready, and whose `Progressing` says this.
fn web(reason: &str, message: &str, progressing: (&str, &str, &str)) -> Vec<Value> {
    let (status, why, words) = progressing;
    let mut progressing = condition("Progressing", status, why, words);
    progressing["observedGeneration"] = json!(1);
    let available = condition("Available", "False", reason, message);
    let web = workload("web", &["DFW"], with(counts(1, 1, 0), json!([available, progressing])));
    vec![web, deployment("web", "DFW", with(counts(1, 1, 0), not_available(reason, message)))]
}

#[tokio::test]
async fn w11_a_suspended_workload_is_shown_as_such_and_nobody_is_told_that_it_passes() {
    let words = "The deployment is suspended: its instances are kept, but do not run. No action required";
    let mut objects = web("Suspended", words, ("False", "RolloutComplete", ""));
    objects[0]["spec"]["suspend"] = json!(true);
    objects[1]["status"]["suspended"] = json!(true);
    let plane = Plane::with(objects).await;
    let status = plane.run("status").await;
    let sentence = "The workload \"web\" is suspended: its instances are kept, and do not run.";
    assert!(status.code == 0 && status.out.contains(sentence), "{status:?}");
    let described = plane.run("workloads describe web").await;
    assert!(described.out.contains("its instances are kept, and do not run"), "{described:?}");
    assert!(described.out.contains("It runs again once it is resumed"), "{described:?}");
    assert!(!described.out.contains("passes by itself"), "{described:?}");
    assert_eq!(plane.run("status -o json").await.json()["workloads"][0]["suspended"], true);
    assert_eq!(plane.run("workloads -o json").await.json()[0]["suspended"], true);
    let rollout = plane.run("rollout status web --watch=false").await;
    assert_ne!(rollout.code, 0, "{rollout:?}");
    assert!(rollout.out.contains("suspended"), "{rollout:?}");
}

#[tokio::test]
async fn w3_a_rollout_that_comes_no_further_is_told_with_who_acts() {
    let words = "1 of 1 instances are on the newest template, 0 of them ready. It has made no progress for 10 minutes. \
        Action required by the user: see what the workload's deployments say holds the rollout up";
    let plane = Plane::with(web(
        "InstancesProvisioning",
        "0/1 instances are ready. No action required",
        ("False", "ProgressDeadlineExceeded", words),
    ))
    .await;
    for command in ["status", "workloads describe web", "rollout status web --watch=false"] {
        let shown = plane.run(command).await;
        assert!(shown.out.contains("made no progress for 10 minutes"), "{command}: {shown:?}");
        assert!(shown.out.contains("What you can do: see what its cities say"), "{command}: {shown:?}");
        assert!(!shown.out.contains("deployments"), "{command}: {shown:?}");
    }
    let value = plane.run("status -o json").await.json();
    assert_eq!(value["workloads"][0]["progressDeadlineExceeded"], true);
    let rollout = plane.run("rollout status web --watch=false -o json").await;
    assert_eq!(rollout.json()["state"], "blocked", "{rollout:?}");
}
