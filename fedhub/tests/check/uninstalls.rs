//! `fedhub uninstall`: what it writes, and what it leaves alone.

use std::time::Duration;

use fedhub_fake_apiserver::{Fault, Resource};
use serde_json::{Value, json};

use super::planes::{Checked, Planes, wd};

const FINALIZER: &str = "compute.datumapis.com/federator";

/// An installation with WDs on its project plane, one of them with a finalizer of somebody else, too, and one
/// that is being deleted.
async fn planes() -> Planes {
    let planes = Planes::installed().await;
    for (name, finalizers) in [
        ("web", vec![FINALIZER]),
        ("shared", vec!["example.com/other", FINALIZER]),
        ("leaving", vec![FINALIZER]),
        ("free", vec![]),
    ] {
        let mut deployment = wd("shop", "DFW");
        deployment["metadata"]["name"] = json!(name);
        deployment["metadata"]["finalizers"] = json!(finalizers);
        planes.project.server.put(deployment).unwrap();
    }
    assert!(!planes.project.server.delete("WorkloadDeployment", "shop", "leaving").unwrap(), "it is held");
    // Released, as fedhub does when it ends.
    lease(&planes, 1, "2026-01-01T00:00:00.000000Z");
    let released = json!({"spec": {"holderIdentity": ""}});
    planes.management.server.patch("Lease", "fedhub-system", "fedhub", &released).unwrap();
    planes
}

fn lease(planes: &Planes, seconds: i64, renewed: &str) {
    planes
        .management
        .server
        .put(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"namespace": "fedhub-system", "name": "fedhub"},
            "spec": {"holderIdentity": "fedhub-0", "leaseDurationSeconds": seconds, "renewTime": renewed},
        }))
        .unwrap();
}

async fn uninstall(planes: &Planes, flags: &str) -> Checked {
    let management = format!("--management-kubeconfig={}", planes.file("management").display());
    let words = ["uninstall".to_owned(), "--json".to_owned(), management];
    planes.command(words.into_iter().chain(flags.split(' ').map(str::to_owned)).collect()).await
}

/// The results of a plane's objects, by name.
fn results<'a>(checked: &'a Checked, plane: &str) -> Vec<(&'a str, &'a str)> {
    let lines = checked.json["planes"].as_array().unwrap_or_else(|| panic!("{}", checked.text));
    let line = lines.iter().find(|line| line["plane"] == plane).unwrap();
    let objects = line["objects"].as_array().unwrap().iter();
    objects.map(|it| (it["name"].as_str().unwrap(), it["result"].as_str().unwrap())).collect()
}

fn finalizers(planes: &Planes, name: &str) -> Value {
    planes.project.server.get("WorkloadDeployment", "shop", name).unwrap()["metadata"]["finalizers"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i3_fedhub_s_finalizers_go_but_not_from_what_is_being_deleted() {
    let planes = planes().await;
    let mark = planes.project.server.mark();
    let planned = uninstall(&planes, "--plan").await;
    let left = ("leaving", "left");
    assert_eq!(results(&planned, "project-a"), [left, ("shared", "planned"), ("web", "planned")]);
    assert_eq!(planned.code, 3, "{}", planned.text);
    assert!(planes.project.server.writes_since(mark).is_empty(), "a plan writes nothing");

    // A plane that does not answer, and another writer who is first once.
    planes.put_secret("fedhub-system", "silent", "nonsense: [");
    planes.project.server.fault(Fault::Status(409).on("patch", "workloaddeployments").times(1));
    let done = uninstall(&planes, "--run --yes").await;
    assert_eq!(results(&done, "project-a"), [left, ("shared", "done"), ("web", "done")], "{}", done.text);
    assert_eq!(done.code, 3, "{}", done.text);
    assert!(done.text.contains("plane-secret-invalid"), "{}", done.text);
    assert_eq!(finalizers(&planes, "shared"), json!(["example.com/other"]));
    assert_eq!(finalizers(&planes, "leaving"), json!([FINALIZER]));
    assert!(planes.management.server.delete("Secret", "fedhub-system", "silent").unwrap());

    let abandoned = uninstall(&planes, "--run --yes --abandon-deletions").await;
    assert_eq!(
        (abandoned.code, results(&abandoned, "project-a")),
        (0, vec![("leaving", "done")]),
        "{}",
        abandoned.text
    );
    assert!(planes.project.server.get("WorkloadDeployment", "shop", "leaving").is_none());
    let again = uninstall(&planes, "--run --yes").await;
    assert_eq!((again.code, results(&again, "project-a")), (0, vec![]), "{}", again.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i3_nothing_is_written_while_a_fedhub_renews_its_lease_or_on_another_cluster() {
    let planes = planes().await;
    lease(&planes, 30, "2026-01-01T00:00:00.000000Z");
    let renewing = async {
        // As often as a leader does, until the command has seen it.
        let mut second = 1;
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            lease(&planes, 30, &format!("2026-01-01T00:00:{second:02}.000000Z"));
            second = (second + 1) % 60;
        }
    };
    let mark = planes.project.server.mark();
    let refused = async { [uninstall(&planes, "--plan").await, uninstall(&planes, "--run --yes").await] };
    let refused = tokio::select! {
        refused = refused => refused,
        () = renewing => unreachable!(),
    };
    for refused in &refused {
        let runs = refused.text.contains("fedhub runs on the management plane");
        assert!(refused.code == 1 && runs, "{}", refused.text);
    }
    assert_eq!(results(&refused[0], "project-a").len(), 3, "a plan is shown all the same");
    // Another cluster answers than the one that fedhub remembers. Nobody renews the Lease any more.
    lease(&planes, 1, "2026-01-01T00:01:00.000000Z");
    planes.remember("uid-another");
    let other = uninstall(&planes, "--run --yes").await;
    assert!(other.code == 3 && other.text.contains("plane-identity-refused"), "{}", other.text);
    assert!(planes.project.server.writes_since(mark).is_empty());
    planes.remember("uid-project-a");
    let done = uninstall(&planes, "--run --yes --abandon-deletions").await;
    assert_eq!(done.code, 0, "the Lease has ended: {}", done.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i6_the_hub_is_emptied_last_and_only_of_what_is_fedhub_s() {
    let planes = planes().await;
    let hub = &planes.hub.server;
    let labels = json!({"meta.datumapis.com/upstream-cluster-name": "cluster-project-a", "meta.datumapis.com/upstream-namespace": "shop"});
    hub.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns-1", "labels": labels}}))
        .unwrap();
    let mut deployment = wd("ns-1", "DFW");
    deployment["metadata"]["annotations"] = json!({"federation.datumapis.com/source": "project-a/shop/web"});
    deployment["metadata"]["labels"]["resourcetemplate.karmada.io/deletion-protected"] = json!("Always");
    hub.put(deployment).unwrap();
    hub.put(wd("foreign", "DFW")).unwrap();
    let labels = json!({"topology.datum.net/city-code": "DFW"});
    hub.put(json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"namespace": "ns-1", "name": "city-dfw", "labels": labels}, "spec": {"resourceSelectors": []},
    }))
    .unwrap();
    let kubeconfig = format!("--hub=empty --hub-kubeconfig={}", planes.file("hub").display());
    let run = format!("--run --yes --yes-empty-hub {kubeconfig}");
    let mark = hub.mark();
    let waits = uninstall(&planes, &run).await;
    assert!(waits.code == 3 && waits.text.contains("something remains on other planes"), "{}", waits.text);
    assert!(hub.writes_since(mark).is_empty(), "not before the finalizers are off");
    let done = uninstall(&planes, &format!("{run} --abandon-deletions")).await;
    assert_eq!(
        (done.code, results(&done, "hub")),
        (0, vec![("city-dfw", "done"), ("web", "done")]),
        "{}",
        done.text
    );
    assert!(hub.get("WorkloadDeployment", "ns-1", "web").is_none());
    assert!(hub.get("WorkloadDeployment", "foreign", "web").is_some());
    let first = hub.writes_since(mark).into_iter().next().unwrap();
    assert_eq!(first.resource, "propagationpolicies", "Karmada is told first: {first:?}");
    assert_eq!(first.body.unwrap()["spec"], json!({"preserveResourcesOnDeletion": true}));
}

/// Without a Lease it is unknown whether a fedhub runs, unless a Deployment has leader election off and Pods.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i3_a_fedhub_without_a_lease_is_asked_for() {
    let planes = planes().await;
    let management = &planes.management.server;
    management.register(Resource::builtin("apps", "v1", "Deployment", "deployments"));
    let deployment = |replicas: u32| {
        let container = json!({"name": "fedhub", "image": "fedhub", "args": ["run", "--leader-elect=false"]});
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "fedhub-system", "name": "fedhub"},
            "spec": {
                "replicas": replicas, "selector": {},
                "template": {"metadata": {}, "spec": {"containers": [container]}},
            },
        })
    };
    management.put(deployment(1)).unwrap();
    let mark = planes.project.server.mark();
    let planned = uninstall(&planes, "--plan").await;
    assert!(planned.code == 1 && planned.text.contains("without leader election"), "{}", planned.text);
    let refused = uninstall(&planes, "--run --yes --yes-stopped").await;
    assert!(refused.code == 1 && refused.text.contains("without leader election"), "{}", refused.text);
    management.put(deployment(0)).unwrap();
    assert!(management.delete("Lease", "fedhub-system", "fedhub").unwrap());
    let planned = uninstall(&planes, "--plan").await;
    assert!(planned.text.contains("neither a Lease fedhub-system/fedhub"), "{}", planned.text);
    let asked = uninstall(&planes, "--run --yes").await;
    assert!(asked.code == 1 && asked.text.contains("--yes-stopped"), "{}", asked.text);
    assert!(planes.project.server.writes_since(mark).is_empty());
    let done = uninstall(&planes, "--run --yes --yes-stopped --abandon-deletions").await;
    assert_eq!(done.code, 0, "{}", done.text);
}
