//! `fedhub planes withdraw`: what it reads before it writes, and what becomes of that (I4).

use fedhub_core::hash;
use fedhub_fake_apiserver::Fault;
use fedhub_testing::{entitle, serve_entitlements, withdraw};
use serde_json::{Value, json};

use super::planes::{Planes, Ran};

const HOME: &str = "fedhub-system";

/// The planes, whose project was granted the service.
async fn granted() -> Planes {
    let planes = Planes::in_sync().await;
    serve_entitlements(&planes.project);
    entitle(&planes.project, &json!({"phase": "Active"}));
    planes.management.delete("ConfigMap", HOME, "fedhub-plane-identities-7").unwrap();
    let remembered = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "namespace": HOME, "name": shard(),
            "labels": {"federation.datumapis.com/remembers": "plane-identities"},
        },
        "data": {"project-a": "uid-project-a//granted"},
    });
    planes.management.put(remembered).unwrap();
    planes
}

fn shard() -> String {
    format!("fedhub-plane-identities-{:x}", hash::text("project-a") & 0xf)
}

fn remembered(planes: &Planes) -> Value {
    planes.management.get("ConfigMap", HOME, &shard()).unwrap()["data"]["project-a"].clone()
}

async fn withdrawn(planes: &Planes, project: &str) -> Ran {
    let management = format!("--management-kubeconfig={}", planes.file("management").display());
    planes.run(&["planes", "withdraw", project, &management, "--yes"]).await
}

#[tokio::test]
async fn i4_u4_a_service_is_not_withdrawn_where_a_read_does_not_show_that_its_entitlement_is_missing() {
    let planes = granted().await;
    let ran = withdrawn(&planes, "project-a").await;
    assert_eq!(ran.code, 1, "{}", ran.text);
    assert!(ran.text.contains("project-a has an entitlement to the service: it is active"), "{}", ran.text);
    withdraw(&planes.project);
    for (server, fault, verb, resource, words) in [
        (&planes.management, Fault::Status(500), "list", "configmaps", "failed to list configmaps"),
        (&planes.management, Fault::Status(500), "get", "secrets", "failed to look for plane project-a"),
        (&planes.project, Fault::Status(403), "get", "namespaces", "plane project-a cannot be read"),
        (
            &planes.project,
            Fault::Status(500),
            "list",
            "serviceentitlements",
            "failed to list serviceentitlements on project project-a",
        ),
        // A kind that is not served shows no absence.
        (
            &planes.project,
            Fault::Status(404),
            "list",
            "serviceentitlements",
            "failed to list serviceentitlements on project project-a",
        ),
        (
            &planes.project,
            Fault::Garbage,
            "list",
            "workloaddeployments",
            "failed to list workloaddeployments on project project-a",
        ),
    ] {
        let fault = server.fault(fault.on(verb, resource));
        let ran = withdrawn(&planes, "project-a").await;
        assert!(ran.code == 1 && ran.text.contains(words), "{verb} {resource}: {} {}", ran.code, ran.text);
        server.clear_fault(fault);
    }
    // Another cluster answers for the name.
    planes.project.delete("Namespace", "", "kube-system").unwrap();
    let other = json!({"name": "kube-system", "uid": "uid-another"});
    planes.project.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": other})).unwrap();
    let ran = withdrawn(&planes, "project-a").await;
    assert!(ran.code == 1 && ran.text.contains("cannot be read"), "{}", ran.text);
    let ran = withdrawn(&planes, "project-b").await;
    assert!(ran.code == 1 && ran.text.contains("remembers no plane project-b"), "{}", ran.text);
    assert_eq!(remembered(&planes), "uid-project-a//granted");
}

#[tokio::test]
async fn i4_u4_a_service_whose_entitlement_is_missing_is_withdrawn_and_says_what_that_ends() {
    let planes = granted().await;
    withdraw(&planes.project);
    let before = planes.project.mark();
    let ran = withdrawn(&planes, "project-a").await;
    assert_eq!(ran.code, 0, "{}", ran.text);
    assert!(ran.text.contains("1 WorkloadDeployments, 1 of them federated"), "{}", ran.text);
    assert_eq!(remembered(&planes), "uid-project-a//withdrawn");
    assert!(planes.project.writes_since(before).is_empty(), "the project's plane is only read");
    let ran = withdrawn(&planes, "project-a").await;
    assert!(ran.code == 0 && ran.text.contains("withdrawn already"), "{}", ran.text);
}
