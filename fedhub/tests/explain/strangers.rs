//! `fedhub explain` and hub namespaces of other tenants: what a tenant writes leads to none of them (I6,
//! I14).

use fedhub_fake_apiserver::Mark;
use serde_json::{Value, json};

use super::objects::SPACE;
use super::planes::{Planes, Ran};

/// The hub namespace of another tenant, with a WD of the same name.
const STRANGE: &str = "ns-uid-strange";

/// What no output may have of the other tenant.
const SECRET: &str = "what-another-tenant-runs";

async fn explain(planes: &Planes) -> Ran {
    planes.explain(["wd", "web"], &["--json", &planes.cell_flag()]).await
}

/// Another tenant's WD, copy and WD in the cell, under the names of ours.
fn put_stranger(planes: &Planes, labels: &Value) {
    let metadata = json!({"name": STRANGE, "uid": "uid-of-strange-space", "labels": labels});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
    planes.hub.put(namespace).unwrap();
    for (server, kind, name) in [
        (&planes.hub, "WorkloadDeployment", "web"),
        (&planes.hub, "Instance", "web-0"),
        (&planes.cell, "WorkloadDeployment", "web"),
        (&planes.cell, "Instance", "web-0"),
    ] {
        let mut theirs = server.get(kind, SPACE, name).unwrap();
        theirs["metadata"] = json!({
            "namespace": STRANGE, "name": name, "uid": format!("uid-{SECRET}"), "labels": theirs["metadata"]["labels"],
        });
        let condition = json!({"type": "Ready", "status": "False", "reason": "Theirs", "message": SECRET});
        theirs["status"] = json!({"conditions": [condition]});
        server.put(theirs).unwrap();
    }
}

fn theirs() -> Value {
    json!({
        "meta.datumapis.com/upstream-cluster-name": "cluster-project-b",
        "meta.datumapis.com/upstream-namespace": "shop",
    })
}

fn name(planes: &Planes, space: &str) {
    let mark = json!({"metadata": {"annotations": {"compute.datumapis.com/federation-namespace": space}}});
    planes.project.patch("WorkloadDeployment", "shop", "web", &mark).unwrap();
}

/// Makes the plane show another UID of the project namespace, with the same objects in it. In the in-memory
/// server an object keeps its UID, and a namespace goes with what is in it.
fn show_as_the_namespace(planes: &Planes, uid: &str) {
    let names = [("WorkloadDeployment", "web"), ("Instance", "web-0")];
    let objects: Vec<_> =
        names.iter().filter_map(|(kind, name)| planes.project.get(kind, "shop", name)).collect();
    planes.project.delete("Namespace", "", "shop").unwrap();
    for (kind, name) in names {
        let _gone = planes.project.patch(kind, "shop", name, &json!({"metadata": {"finalizers": null}}));
    }
    let metadata = json!({"name": "shop", "uid": uid});
    planes.project.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).unwrap();
    for object in objects {
        planes.project.put(object).unwrap();
    }
}

/// That no object of the other tenant was asked for.
fn untouched(planes: &Planes, marks: [Mark; 2]) {
    for (server, mark) in [&planes.hub, &planes.cell].into_iter().zip(marks) {
        let requests = server.requests_since(mark);
        let touched: Vec<_> = requests.iter().filter(|it| it.namespace.as_deref() == Some(STRANGE)).collect();
        assert!(touched.is_empty(), "{touched:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_an_annotation_leads_to_no_other_tenants_hub_namespace() {
    let another_namespace = json!({
        "meta.datumapis.com/upstream-cluster-name": "cluster-project-a",
        "meta.datumapis.com/upstream-namespace": "another",
    });
    for labels in [theirs(), another_namespace, json!({})] {
        let planes = Planes::in_sync().await;
        put_stranger(&planes, &labels);
        name(&planes, STRANGE);
        let marks = [planes.hub.mark(), planes.cell.mark()];
        let ran = explain(&planes).await;
        assert!(!ran.text.contains(SECRET), "{labels}: {}", ran.text);
        assert_eq!(ran.json["cause"], "namespace-recreated", "it is said: {}", ran.text);
        assert!(ran.text.contains(SPACE), "its own is shown: {}", ran.text);
        untouched(&planes, marks);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_the_uid_that_a_plane_shows_leads_to_no_other_tenants_hub_namespace() {
    let planes = Planes::in_sync().await;
    put_stranger(&planes, &theirs());
    name(&planes, STRANGE);
    show_as_the_namespace(&planes, "uid-strange");
    let marks = [planes.hub.mark(), planes.cell.mark()];
    let ran = explain(&planes).await;
    assert!(!ran.text.contains(SECRET), "{}", ran.text);
    assert_eq!(ran.json["cause"], "hub-identity-refused", "{}", ran.text);
    untouched(&planes, marks);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_a_former_hub_namespace_of_its_own_is_followed() {
    let planes = Planes::in_sync().await;
    show_as_the_namespace(&planes, "uid-of-shop-made-anew");
    let ran = explain(&planes).await;
    assert_eq!((ran.code, &ran.json["cause"]), (0, &json!("in-sync")), "{}", ran.text);
}
