//! What the CRDs of `deploy/` say of single values.

use serde_json::{Value, json};

use super::{WDS, ask, plane, wd};

fn condition(field: &str, value: Value) -> Value {
    let mut condition = json!({"type": "Available", "status": "False", "reason": "Odd", "message": "",
                               "lastTransitionTime": "2026-01-01T00:00:00Z"});
    condition[field] = value;
    json!({"status": {"conditions": [condition]}})
}

#[tokio::test(start_paused = true)]
async fn values_that_a_schema_refuses_are_not_stored() {
    let server = plane();
    assert_eq!(ask(&server, "POST", WDS, wd("a")).await.0, 201);
    let main = format!("{WDS}/a");
    let status = format!("{WDS}/a/status");
    let long = "ü".repeat(32_769);
    for (path, patch, says) in [
        (
            &status,
            condition("message", json!(long)),
            "conditions[0].message: Too long: may not be more than 32768",
        ),
        (&status, condition("reason", json!("")), "should be at least 1 chars long"),
        (&status, condition("reason", json!("no word")), "should match"),
        (&status, condition("status", json!("Perhaps")), "Unsupported value: \"Perhaps\""),
        (&status, condition("observedGeneration", json!(-1)), "should be greater than or equal to 0"),
        (
            &main,
            json!({"spec": {"replicas": -1}}),
            "spec.replicas in body should be greater than or equal to 0",
        ),
        (&main, json!({"spec": {"networkAttachment": "Odd"}}), "spec.networkAttachment: Unsupported value"),
    ] {
        let (code, answer) = ask(&server, "PATCH", path, patch).await;
        let message = answer["message"].as_str().unwrap_or_default();
        assert_eq!((code, message.contains(says)), (422, true), "{says}: {message}");
    }
    let fits = condition("message", json!("ü".repeat(32_768)));
    assert_eq!(ask(&server, "PATCH", &status, fits).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_stood_before_its_rule_may_stay() {
    let server = plane();
    let mut old = wd("a");
    old["spec"]["networkAttachment"] = json!("Odd");
    server.put(old).unwrap();
    let path = format!("{WDS}/a");
    assert_eq!(ask(&server, "PATCH", &path, json!({"spec": {"placementName": "p"}})).await.0, 200);
    assert_eq!(ask(&server, "PATCH", &path, json!({"spec": {"networkAttachment": "Odder"}})).await.0, 422);
}
