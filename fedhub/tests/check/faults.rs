//! Faults of an installation, and the check that names each.

use fedhub_fake_apiserver::{ApiServer, Fault, resource};
use jiff::SignedDuration;
use serde_json::json;

use super::planes::{Planes, cluster, wd};

/// What goes wrong: the check, the plane, its state, words of what is found, and how it is provoked.
type Case = (&'static str, &'static str, &'static str, &'static str, fn(&Planes));

/// `{"exp":1}`
const OVER: &str = "e30.eyJleHAiOjF9.c2ln";

fn remove(planes: &Planes, kind: &str, name: &str) {
    assert!(planes.hub.server.delete(kind, "", name).unwrap(), "{kind} {name} is held");
}

const INTERPRETER: (&str, &str) = ("ResourceInterpreterCustomization", "fedhub-workloaddeployment");

const CASES: &[Case] = &[
    ("rights", "hub", "failed", "may not update namespaces", |p| {
        p.hub.quirks().denied = vec!["update namespaces"];
    }),
    ("rights", "project-a", "failed", "may not list/watch instances.compute.datumapis.com", |p| {
        p.project.quirks().denied = vec!["list instances", "watch instances"];
    }),
    ("rights", "management", "failed", "may not create leases.coordination.k8s.io in fedhub-system", |p| {
        p.management.quirks().denied = vec!["create leases"];
    }),
    ("crds", "project-a", "failed", "no CRD of compute.datumapis.com", |p| {
        p.project.quirks().without = Some("compute.datumapis.com");
    }),
    ("crds", "hub", "failed", "instances.compute.datumapis.com would prune status.conditions", |p| {
        p.hub.quirks().pruned = Some(("Instance", "/properties/status/properties", "conditions"));
    }),
    ("cities", "hub", "failed", "more than one cell in a city: DFW has cell-2 and cell-dfw", |p| {
        p.hub.server.put(cluster("cell-2", "DFW")).unwrap();
    }),
    ("cities", "hub", "warning", "cities in use without a cell: ORD (1 WDs)", |p| {
        p.hub.server.put(wd("ns-1", "ORD")).unwrap();
    }),
    ("credentials", "hub", "failed", "expired: token until 1970-01-01T00:00:01Z", |p| {
        p.give_token("hub", OVER);
    }),
    ("clock", "project-a", "warning", "s ahead of this machine's", |p| {
        p.project.quirks().ahead = SignedDuration::from_secs(60);
    }),
    ("clock", "hub", "warning", "s behind this machine's", |p| {
        p.hub.quirks().ahead = SignedDuration::from_secs(-60);
    }),
    ("reachable", "project-a", "failed", "https://127.0.0.1", |p| {
        p.project.server.fault(Fault::Disconnect);
    }),
    ("reachable", "hub", "failed", "answered with 401", |p| {
        p.hub.server.fault(Fault::Status(401));
    }),
    ("kubeconfig", "project-a", "failed", "exec", |p| {
        let exec = r#"{"users": [{"name": "u", "user": {"exec": {"command": "sh"}}}]}"#;
        p.put_secret("fedhub-system", "project-a", exec);
    }),
    ("discovery", "management", "failed", "403", |p| {
        p.management.server.fault(Fault::Status(403).on("list", "secrets"));
    }),
    ("karmada", "hub", "failed", "does not serve propagationpolicies of policy.karmada.io/v1alpha1", |p| {
        p.hub.quirks().without = Some("policy.karmada.io");
    }),
    ("interpreter", "hub", "failed", "Karmada carries no status back", |p| {
        remove(p, INTERPRETER.0, INTERPRETER.1);
    }),
    ("interpreter", "hub", "failed", "differs from this version's in retention", |p| {
        let changed =
            json!({"spec": {"customizations": {"retention": {"luaScript": "function Retain(d) end"}}}});
        p.hub.server.patch(INTERPRETER.0, "", INTERPRETER.1, &changed).unwrap();
    }),
    (
        "admission-policies",
        "hub",
        "failed",
        "missing: ValidatingAdmissionPolicyBinding fedhub-cells-own-instances",
        |p| {
            remove(p, "ValidatingAdmissionPolicyBinding", "fedhub-cells-own-instances");
        },
    ),
    ("admission-policies", "hub", "skipped", "403", |p| {
        p.hub.server.fault(Fault::Status(403).on("get", "validatingadmissionpolicies"));
    }),
    ("cell-identities", "hub", "failed", "has the city ORD, its label DFW", |p| p.enter("ORD/uid-cell-dfw")),
    ("cell-identities", "hub", "failed", "the entry of cell-gone has no Cluster", |p| {
        let entries = json!({"data": {"cell-gone": "LHR/uid-cell-gone"}});
        p.hub.server.patch("ConfigMap", "fedhub-cells", "fedhub-cells", &entries).unwrap();
    }),
    ("cell-identities", "hub", "failed", "the UID uid-cell-dfw, its spec.id \"uid-of-another\"", |p| {
        p.hub.server.patch("Cluster", "", "cell-dfw", &json!({"spec": {"id": "uid-of-another"}})).unwrap();
    }),
    ("cell-identities", "hub", "failed", "cell-dfw and cell-ord have one UID, uid-cell-dfw", |p| {
        p.hub.server.put(cluster("cell-ord", "ORD")).unwrap();
        let entries = json!({"data": {"cell-ord": "ORD/uid-cell-dfw"}});
        p.hub.server.patch("ConfigMap", "fedhub-cells", "fedhub-cells", &entries).unwrap();
    }),
    ("plane-identities", "project-a", "failed", "uid-of-another is remembered", |p| {
        p.remember("uid-of-another");
    }),
];

fn code(state: &str) -> i32 {
    match state {
        "failed" => 3,
        "warning" => 4,
        _ => 0,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_each_fault_has_its_check_with_a_remedy_and_nothing_is_written() {
    for (check, plane, state, found, provoke) in CASES {
        let planes = Planes::installed().await;
        provoke(&planes);
        let marks = planes.servers().map(ApiServer::mark);
        let checked = planes.check(&["--json", "--timeout=30s"]).await;
        let [shown, words, remedy] =
            checked.of(check, plane).unwrap_or_else(|| panic!("{check} of {plane}: {}", checked.text));
        assert_eq!(shown, *state, "{check} of {plane}: {}", checked.text);
        assert!(words.contains(found), "{check} of {plane}: {words}");
        assert!(!remedy.is_empty(), "{check} of {plane}");
        assert_eq!(checked.code, code(state), "{check} of {plane}: {}", checked.text);
        for (server, mark) in planes.servers().into_iter().zip(marks) {
            let requests = server.requests_since(mark);
            let other: Vec<_> = requests.iter().filter(|it| !matches!(it.verb, "get" | "list")).collect();
            assert!(other.is_empty(), "{check}: {other:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_an_installation_in_order_has_no_finding_but_ok() {
    let planes = Planes::installed().await;
    let checked = planes.check(&["--json", "--timeout=30s"]).await;
    assert_eq!((checked.code, &checked.json["summary"]["skipped"]), (0, &json!(0)), "{}", checked.text);
    for check in ["crds", "rights", "clock", "credentials", "plane-identities"] {
        assert_eq!(checked.of(check, "project-a").map(|it| it[0]), Some("ok"), "{check}: {}", checked.text);
    }
    let checked = planes.check(&["--timeout=30s"]).await;
    assert!(checked.text.contains("0 warning, 0 failed"), "{}", checked.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_the_crd_of_the_catalogue_is_missed_where_the_catalogue_is() {
    let planes = Planes::installed().await;
    planes.management.server.register(resource::project());
    let management = format!("--discovery-kubeconfig={}", planes.file("management").display());
    for (flags, source) in [
        (&["--instance-types=management"][..], "management"),
        (&["--instance-types=discovery", "--discovery=milo"], "management"),
        (&["--instance-types=discovery", "--discovery=milo", &management], "discovery"),
    ] {
        let flags = [&["--json", "--timeout=30s"], flags].concat();
        planes.management.server.unregister("instancetypes.compute.datumapis.com");
        let checked = planes.check(&flags).await;
        let [state, found, remedy] = checked.of("crds", source).unwrap();
        assert!(state == "failed" && found.contains("instancetypes.compute.datumapis.com"), "{found}");
        assert!(remedy.contains("fedhub crds"), "{remedy}");
        assert_eq!(checked.of("crds", "hub").map(|it| it[0]), Some("ok"), "{}", checked.text);
        planes.management.server.register(resource::instance_types());
        let checked = planes.check(&flags).await;
        assert_eq!(checked.of("crds", source).map(|it| it[0]), Some("ok"), "{}", checked.text);
        planes.hub.server.unregister("instancetypes.compute.datumapis.com");
        let checked = planes.check(&flags).await;
        let [state, found, _] = checked.of("crds", "hub").unwrap();
        assert_eq!((state, found), ("failed", "instancetypes.compute.datumapis.com is missing"));
        planes.hub.server.register(resource::instance_types());
    }
    planes.hub.server.unregister("instancetypes.compute.datumapis.com");
    let checked = planes.check(&["--json", "--timeout=30s"]).await;
    assert_eq!(checked.of("crds", "hub").map(|it| it[0]), Some("ok"), "there is no catalogue");
    assert_eq!(checked.of("crds", "management"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_a_cell_is_checked_with_its_own_rights_and_identity() {
    let planes = Planes::installed().await;
    let checked = planes.check_cell(&["--json", "--cell-city=DFW", "--timeout=30s"]).await;
    assert_eq!(checked.code, 0, "{}", checked.text);
    assert_eq!(checked.of("rights", "cell").map(|it| it[0]), Some("ok"));
    assert_eq!(checked.of("discovery", "management"), None);
    let wrong = planes.check_cell(&["--json", "--cell-city=ORD", "--timeout=30s"]).await;
    assert_eq!(wrong.of("cities", "hub").map(|it| it[0]), Some("failed"), "{}", wrong.text);
    planes.enter("DFW/uid-of-another");
    planes.cell.quirks().denied = vec!["patch workloaddeployments"];
    let wrong = planes.check_cell(&["--json", "--timeout=30s"]).await;
    assert_eq!(wrong.of("rights", "cell").map(|it| it[0]), Some("failed"), "{}", wrong.text);
    let [state, found, _] = wrong.of("cell-identities", "hub").unwrap();
    assert!(state == "failed" && found.contains("this cell's kube-system has uid-cell-dfw"), "{found}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_before_an_installation_nothing_of_ours_is_missed() {
    let planes = Planes::bare().await;
    planes.project.quirks().without = Some("compute.datumapis.com");
    let checked = planes.check(&["--pre", "--json", "--timeout=30s"]).await;
    assert_eq!(checked.code, 0, "{}", checked.text);
    for check in ["crds", "interpreter", "admission-policies", "cell-identities"] {
        assert!(!checked.text.contains(&format!("\"{check}\"")), "{check}: {}", checked.text);
    }
    let checked = planes.check(&["--json", "--timeout=30s"]).await;
    assert_eq!(checked.of("interpreter", "hub").map(|it| it[0]), Some("failed"), "{}", checked.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_the_planes_of_projects_are_checked_behind_their_server() {
    let planes = Planes::installed().await;
    planes.management.server.register(resource::project());
    let project = |name: &str, ready: &str| {
        json!({
            "apiVersion": "resourcemanager.miloapis.com/v1alpha1", "kind": "Project", "metadata": {"name": name},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        })
    };
    for project in [project("project-a", "True"), project("project-b", "False")] {
        planes.management.server.put(project).unwrap();
    }
    planes.management.quirks().project = Some(("project-a", planes.project.server.service()));
    let discovery = format!("--discovery-kubeconfig={}", planes.file("management").display());
    for more in [
        &["--discovery=milo", "--json", "--timeout=30s"][..],
        &["--discovery=milo", "--json", "--timeout=30s", &discovery],
    ] {
        let checked = planes.check(more).await;
        assert_eq!(checked.code, 0, "{}", checked.text);
        for check in ["reachable", "rights", "crds", "plane-identities"] {
            assert_eq!(
                checked.of(check, "project-a").map(|it| it[0]),
                Some("ok"),
                "{check}: {}",
                checked.text
            );
        }
        assert_eq!(checked.of("reachable", "project-b"), None, "it is not ready: {}", checked.text);
    }
    planes.management.quirks().denied = vec!["list projects"];
    let checked = planes.check(&["--discovery=milo", "--json", "--timeout=30s", &discovery]).await;
    let [state, found, remedy] = checked.of("rights", "discovery").unwrap();
    assert!(state == "failed" && found.contains("projects.resourcemanager.miloapis.com"), "{found}");
    assert!(remedy.contains("deploy/components/milo/cluster-role.yaml"), "{remedy}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_the_project_planes_of_a_cell_are_checked_for_claims() {
    let planes = Planes::installed().await;
    planes.put_secret("fedhub-cells", "project-a", &planes.secret_content());
    let quota = format!("--quota-kubeconfig={}", planes.file("management").display());
    let flags = ["--json", "--timeout=30s", "--discovery=kubeconfigs", &quota];
    let checked = planes.check_cell(&flags).await;
    assert_eq!(checked.code, 0, "{}", checked.text);
    planes.project.quirks().denied = vec!["patch resourceclaims"];
    let checked = planes.check_cell(&flags).await;
    let [state, found, _] = checked.of("rights", "project-a").unwrap();
    assert!(state == "failed" && found == "may not patch resourceclaims.quota.miloapis.com", "{found}");
    assert_eq!(checked.of("crds", "project-a"), None, "a cell has nothing to do with them: {}", checked.text);
}
