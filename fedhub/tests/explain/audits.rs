//! `fedhub audit`: what is changed on the planes is named, nothing is written but what an operator asks for,
//! and nothing is said of a plane that was not read.

use fedhub_fake_apiserver::{ApiServer, Fault};
use serde_json::{Value, json};

use super::objects::{SPACE, put_identity};
use super::planes::{Planes, Ran};

const WD: &str = "WorkloadDeployment";
const PROTECTED: &str = "resourcetemplate.karmada.io/deletion-protected";

/// What is changed, what it is found as, and the object.
type Case = (&'static str, [&'static str; 3], fn(&Planes));

async fn planes() -> Planes {
    Planes::in_sync().await
}

async fn audit(planes: &Planes, more: &[&str]) -> Ran {
    let hub = format!("--hub-kubeconfig={}", planes.file("hub").display());
    let management = format!("--management-kubeconfig={}", planes.file("management").display());
    let flags: Vec<&str> = ["audit", &hub, &management].iter().chain(more).copied().collect();
    planes.run(&flags).await
}

fn remove(server: &ApiServer, kind: &str, namespace: &str, name: &str) {
    assert!(server.delete(kind, namespace, name).unwrap(), "{kind} {name} is held");
}

fn patch(server: &ApiServer, kind: &str, of: [&str; 2], patch: &Value) {
    server.patch(kind, of[0], of[1], patch).unwrap();
}

/// The project WD is gone although its finalizer never ran.
fn orphan(planes: &Planes) {
    patch(&planes.project, WD, ["shop", "web"], &json!({"metadata": {"finalizers": null}}));
    remove(&planes.project, WD, "shop", "web");
}

const CASES: &[Case] = &[
    ("hub-wd-missing", [WD, SPACE, "web"], |p| remove(&p.hub, WD, SPACE, "web")),
    ("hub-wd-differs", [WD, SPACE, "web"], |p| {
        patch(&p.hub, WD, [SPACE, "web"], &json!({"metadata": {"labels": {PROTECTED: null}}}));
    }),
    ("schema-differs", [WD, SPACE, "web"], |p| {
        patch(&p.hub, WD, [SPACE, "web"], &json!({"spec": {"added": 1}}));
    }),
    ("wd-mark-differs", [WD, "shop", "web"], |p| {
        patch(&p.project, WD, ["shop", "web"], &json!({"metadata": {"finalizers": null}}));
    }),
    ("status-not-mirrored", [WD, "shop", "web"], |p| {
        p.hub.patch_status(WD, SPACE, "web", &json!({"readyReplicas": 7})).unwrap();
    }),
    ("policy-missing", ["PropagationPolicy", SPACE, "city-dfw"], |p| {
        remove(&p.hub, "PropagationPolicy", SPACE, "city-dfw");
    }),
    ("policy-differs", ["PropagationPolicy", SPACE, "city-dfw"], |p| {
        patch(&p.hub, "PropagationPolicy", [SPACE, "city-dfw"], &json!({"spec": {"priority": 5}}));
    }),
    ("orphan", [WD, SPACE, "web"], orphan),
    ("projection-missing", ["Instance", "shop", "web-0"], |p| {
        remove(&p.project, "Instance", "shop", "web-0");
    }),
    ("projection-differs", ["Instance", "shop", "web-0"], |p| {
        let labels = json!({"compute.datumapis.com/workload-deployment-uid": "other"});
        patch(&p.project, "Instance", ["shop", "web-0"], &json!({"metadata": {"labels": labels}}));
    }),
    ("projection-ownerless", ["Instance", "shop", "web-0"], |p| {
        patch(&p.project, "Instance", ["shop", "web-0"], &json!({"metadata": {"ownerReferences": null}}));
    }),
    ("projection-left", ["Instance", "shop", "web-0"], |p| remove(&p.hub, "Instance", SPACE, "web-0")),
    ("wrong-city", [WD, SPACE, "web"], |p| {
        let label = json!({"topology.datum.net/city-code": "ORD"});
        patch(&p.hub, WD, [SPACE, "web"], &json!({"metadata": {"labels": label}}));
    }),
];

fn reads_only(planes: &Planes, since: [fedhub_fake_apiserver::Mark; 4], what: &str) {
    for (server, mark) in planes.servers().into_iter().zip(since) {
        let requests = server.requests_since(mark);
        let other: Vec<_> = requests.iter().filter(|it| !matches!(it.verb, "get" | "list")).collect();
        assert!(other.is_empty(), "{what}: {other:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_the_audit_names_each_change_and_only_reads() {
    for (finding, object, provoke) in CASES {
        let planes = planes().await;
        let marks = planes.servers().map(ApiServer::mark);
        let clean = audit(&planes, &["--json"]).await;
        assert_eq!((clean.code, &clean.json["findings"]), (0, &json!([])), "{finding}: {}", clean.text);
        provoke(&planes);
        let found = audit(&planes, &["--json", "--grace=0s"]).await;
        let findings = found.json["findings"].as_array().cloned().unwrap_or_default();
        assert_eq!((found.code, findings.len()), (3, 1), "{finding}: {}", found.text);
        assert_eq!(findings[0]["finding"], *finding, "{}", found.text);
        let subject = &findings[0]["object"];
        let named = ["kind", "namespace", "name"].map(|field| subject[field].as_str().unwrap());
        assert_eq!(named, *object, "{}", found.text);
        assert_eq!(findings[0]["plane"], "project-a");
        reads_only(&planes, marks, finding);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_a_plane_that_is_not_read_is_named_and_has_no_orphans() {
    let planes = planes().await;
    orphan(&planes);
    let unread = async |cause: &str, more: &[&str]| {
        let flags: Vec<&str> = ["--json", "--timeout=3s"].iter().chain(more).copied().collect();
        let ran = audit(&planes, &flags).await;
        assert_eq!((ran.code, &ran.json["findings"]), (1, &json!([])), "{cause}: {}", ran.text);
        assert_eq!(ran.json["unread"][0]["cause"], cause, "{}", ran.text);
        let reclaimed = audit(&planes, &["--reclaim", "--yes", "--timeout=3s"]).await;
        assert_eq!(reclaimed.code, 1, "{cause}: {}", reclaimed.text);
        assert!(planes.hub.get(WD, SPACE, "web").is_some(), "{cause}");
    };
    for (cause, fault) in [
        ("plane-unreachable", Fault::Hang.into()),
        ("plane-unreachable", Fault::Status(500).on("list", "workloaddeployments")),
        ("plane-forbidden", Fault::Status(403).on("list", "workloaddeployments")),
        ("plane-forbidden", Fault::Status(403).on("list", "instances")),
        ("plane-credentials-refused", Fault::Status(401).into()),
    ] {
        let id = planes.project.fault(fault);
        unread(cause, &[]).await;
        planes.project.clear_fault(id);
    }
    put_identity(&planes, "uid-of-another");
    unread("plane-identity-refused", &["--plane=project-a"]).await;
    // Another name's cluster.
    put_identity(&planes, "uid-project-a");
    planes
        .management
        .patch(
            "Secret",
            "fedhub-system",
            "project-a",
            &json!({
                "metadata": {"annotations": {"federation.datumapis.com/plane-name": "twin"}},
            }),
        )
        .unwrap();
    let ran = audit(&planes, &["--json"]).await;
    let causes = [0, 1].map(|n| ran.json["unread"][n]["cause"].clone());
    assert_eq!(causes, ["plane-not-known", "plane-identity-refused"], "{}", ran.text);
    assert_eq!((ran.code, &ran.json["findings"]), (1, &json!([])), "{}", ran.text);
    remove(&planes.management, "Secret", "fedhub-system", "project-a");
    unread("plane-not-known", &[]).await;
}

/// I4: a list that comes back empty proves nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_what_a_list_lacks_is_no_orphan_where_a_read_finds_it() {
    let planes = planes().await;
    planes.project.fault(Fault::EmptyList);
    let ran = audit(&planes, &["--json", "--grace=0s"]).await;
    assert_eq!((ran.code, &ran.json["findings"]), (0, &json!([])), "{}", ran.text);
    let ran = audit(&planes, &["--reclaim", "--yes"]).await;
    assert!(ran.code == 0 && ran.text.contains("no orphans"), "{}", ran.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_the_audit_of_one_plane_reads_nothing_of_others() {
    let planes = planes().await;
    let other = json!({
        "meta.datumapis.com/upstream-cluster-name": "cluster-other", "meta.datumapis.com/upstream-namespace": "shop",
    });
    for (name, labels) in [("ns-uid-other", other), ("ns-uid-nobody", json!({}))] {
        let metadata = json!({"name": name, "labels": labels});
        planes.hub.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).unwrap();
    }
    patch(&planes.hub, WD, [SPACE, "web"], &json!({"metadata": {"labels": {PROTECTED: null}}}));
    let mark = planes.hub.mark();
    let ran = audit(&planes, &["--json", "--grace=0s", "--plane=project-a"]).await;
    assert_eq!(
        (ran.code, &ran.json["findings"][0]["finding"]),
        (3, &json!("hub-wd-differs")),
        "{}",
        ran.text
    );
    for request in planes.hub.requests_since(mark) {
        let is_plain = ["namespaces", "clusters"].contains(&&*request.resource);
        assert!(is_plain || request.namespace.as_deref() == Some(SPACE), "{request:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_the_audit_has_formats_scopes_and_exit_codes() {
    let planes = planes().await;
    orphan(&planes);
    for (format, expected) in [("table", "orphan"), ("wide", "STATE"), ("yaml", "finding: orphan")] {
        let ran = audit(&planes, &["-o", format]).await;
        assert!(ran.code == 3 && ran.text.contains(expected), "{}", ran.text);
        assert!(!ran.text.contains('\u{1b}'), "no colours where no terminal is");
    }
    let other = audit(&planes, &["--plane=other"]).await;
    assert!(other.code == 1 && other.text.contains("plane-not-known"), "{}", other.text);
    assert!(!other.text.contains("orphan "), "{}", other.text);
    // Nothing of it is older than that.
    let settling = audit(&planes, &["--json", "--grace=100000h"]).await;
    assert_eq!(
        (settling.code, &settling.json["findings"][0]["state"]),
        (0, &json!("settling")),
        "{}",
        settling.text
    );
    let cell = planes.cell_flag();
    let cells = audit(&planes, &["--json", "--grace=0s", &cell]).await;
    assert_eq!(cells.json["findings"][0]["finding"], "orphan", "{}", cells.text);
    for flags in [&["--yes"][..], &["--reclaim", "--json"], &["--plane=a_b"], &["--reclaim"]] {
        assert_eq!(audit(&planes, flags).await.code, 2, "{flags:?}");
    }
    planes.hub.fault(Fault::Status(403).on("list", "propagationpolicies"));
    let ran = audit(&planes, &[]).await;
    assert!(
        ran.code == 1 && ran.text.contains("failed to list propagationpolicies on the hub"),
        "{}",
        ran.text
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f11_an_orphan_is_deleted_as_it_was_read_and_only_when_asked_for() {
    let planes = planes().await;
    orphan(&planes);
    let before = planes.hub.get(WD, SPACE, "web").unwrap();
    assert_eq!(audit(&planes, &["--reclaim"]).await.code, 2, "there is no terminal");
    assert_eq!(planes.hub.get(WD, SPACE, "web").as_ref(), Some(&before));

    let mark = planes.hub.mark();
    let ran = audit(&planes, &["--reclaim", "--yes"]).await;
    assert!(ran.code == 0 && ran.text.contains("ns-uid-shop/web of project-a/shop: deleted"), "{}", ran.text);
    assert!(planes.hub.get(WD, SPACE, "web").is_none());
    let writes = planes.hub.writes_since(mark);
    let [patch, delete] = &writes[..] else { panic!("{writes:?}") };
    let patched = patch.body.as_ref().unwrap();
    assert_eq!(patched["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    assert_eq!(patched["metadata"]["labels"], json!({PROTECTED: null}));
    let only = &delete.body.as_ref().unwrap()["preconditions"];
    assert_eq!(only["uid"], before["metadata"]["uid"]);
    assert!(only["resourceVersion"].as_str().is_some_and(|it| it != before["metadata"]["resourceVersion"]));
    let again = audit(&planes, &["--reclaim", "--yes"]).await;
    assert!(again.code == 0 && again.text.contains("no orphans"), "{}", again.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f11_an_orphan_that_changed_or_is_not_proven_stays_and_the_others_go() {
    let planes = planes().await;
    orphan(&planes);
    let mut second = planes.hub.get(WD, SPACE, "web").unwrap();
    second["metadata"]["name"] = json!("second");
    second["metadata"]["uid"] = json!("uid-second");
    second["metadata"]["annotations"]["federation.datumapis.com/source"] = json!("project-a/shop/second");
    planes.hub.put(second).unwrap();
    // As fedhub's own credentials are refused.
    planes.hub.fault(Fault::Status(403).on("patch", "workloaddeployments").times(2));
    let ran = audit(&planes, &["--reclaim", "--yes"]).await;
    assert!(ran.code == 3 && !ran.text.contains(": deleted"), "{}", ran.text);
    assert_eq!(ran.text.matches("use an operator's own kubeconfig").count(), 2, "{}", ran.text);
    for (verb, kept) in [("patch", "it changed meanwhile"), ("delete", "its deletion protection is off")] {
        planes.hub.fault(Fault::Status(409).on(verb, "workloaddeployments").times(1));
        let ran = audit(&planes, &["--reclaim", "--yes"]).await;
        assert!(ran.code == 3 && ran.text.contains(kept), "{}", ran.text);
        assert_eq!(ran.text.matches(": deleted").count(), usize::from(verb == "patch"), "{}", ran.text);
    }
    // Of a plane whose identity is not remembered nothing is proven.
    planes.management.delete("ConfigMap", "fedhub-system", "fedhub-plane-identities-7").unwrap();
    let ran = audit(&planes, &["--reclaim", "--yes"]).await;
    assert!(ran.code == 3 && ran.text.contains("fedhub remembers no identity"), "{}", ran.text);
    assert_eq!(planes.hub.names(WD).len(), 1);
}
