//! Whose the approvals of a rollout are.

use fedhub_core::names::APPROVED;

use super::*;

fn rollout(approved: &Value) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadRollout",
        "metadata": {"name": "web", "namespace": "shop", "annotations": {APPROVED: approved.to_string()}},
        "spec": {"workloadRef": {"name": "web"}, "waves": [{"name": "canary", "approval": "After"}]},
        "status": {"targetRevision": 7},
    })
}

/// Whoever is named: only the API server knows who asks.
#[tokio::test(start_paused = true)]
async fn r1_w4_an_approval_is_written_down_as_its_user_s() {
    let world = world(Discovery::Kubeconfigs).await;
    let mutates = MUTATE.replace("-workload", "-workloadrollout");
    let mut forged = rollout(&json!([{"wave": "canary", "gate": "After", "by": "ann"}]));
    let before = rollout(&json!([]));
    let asked = review("WorkloadRollout", user("dev"), Some(&before), &forged);
    let completed = world.ask(&mutates, &asked).await.unwrap();
    let bytes: Vec<u8> = serde_json::from_value(completed["patch"].clone()).unwrap();
    let patch: json_patch::Patch = serde_json::from_slice(&bytes).unwrap();
    json_patch::patch(&mut forged, &patch).unwrap();
    let eves = json!([{"wave": "canary", "gate": "After", "by": "eve", "revision": 7}]);
    let stored = forged["metadata"]["annotations"][APPROVED].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(stored).unwrap(), eves);
    let eves = rollout(&eves);
    // What is stored is not written again.
    let again = review("WorkloadRollout", user("dev"), Some(&eves), &eves);
    assert!(world.ask(&mutates, &again).await.unwrap().get("patch").is_none());
    let judges = VALIDATE.replace("-workload", "-workloadrollout");
    let asked = review("WorkloadRollout", user("dev"), Some(&before), &eves);
    assert_eq!(world.ask(&judges, &asked).await.unwrap()["allowed"], true);
    let unknown = rollout(&json!([{"wave": "canry", "gate": "After"}]));
    let refused = world.ask(&judges, &review("WorkloadRollout", user("dev"), None, &unknown)).await.unwrap();
    assert_eq!(refused["status"]["details"]["causes"][0]["reason"], "FieldValueNotFound", "{refused}");
    assert!(world.plane.asked.lock().is_empty(), "no plane is asked about a rollout");
}
