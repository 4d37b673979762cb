//! The commands find project planes as each discovery of `fedhub run` does.

use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use super::objects::{SPACE, put_identity};
use super::planes::{Planes, Ran};

const WD: &str = "WorkloadDeployment";

/// A discovery, the flags of a command for it, and the name of the plane that it finds.
struct Discovery {
    flags: Vec<String>,
    plane: &'static str,
    planes: Planes,
}

impl Discovery {
    async fn kubeconfigs() -> Self {
        let planes = Planes::in_sync().await;
        Self { flags: Vec::new(), plane: "project-a", planes }
    }

    /// The plane behind a server with Projects; no Secret leads to it.
    async fn milo() -> Self {
        let Self { planes, plane, .. } = Self::kubeconfigs().await;
        assert!(planes.management.delete("Secret", "fedhub-system", "project-a").unwrap());
        planes.put_projects(&[("project-a", "True"), ("not-yet", "False")]).await;
        // fedhub's own credentials, which are to do, list Projects.
        planes.management.fault(Fault::Status(403).on("get", "projects"));
        let server = format!("--discovery-kubeconfig={}", planes.file("milo").display());
        Self { flags: vec!["--discovery=milo".to_owned(), server], plane, planes }
    }

    /// The management plane is the project plane, and the cell.
    async fn single() -> Self {
        let Self { planes, .. } = Self::kubeconfigs().await;
        planes.make_single();
        Self { flags: vec!["--discovery=single".to_owned()], plane: "single", planes }
    }

    async fn run(&self, command: &[&str]) -> Ran {
        let management = format!("--management-kubeconfig={}", self.planes.file("management").display());
        let hub = format!("--hub-kubeconfig={}", self.planes.file("hub").display());
        let has_hub = !matches!(command[0], "planes" | "pause" | "resume");
        let flags = command.iter().copied().chain(self.flags.iter().map(String::as_str));
        let flags = flags.chain([management.as_str()]).chain(has_hub.then_some(hub.as_str()));
        self.planes.run(&flags.collect::<Vec<_>>()).await
    }
}

async fn all() -> [Discovery; 3] {
    [Discovery::kubeconfigs().await, Discovery::milo().await, Discovery::single().await]
}

/// The value of a field of each object of a list.
fn each<'a>(list: &'a Value, field: &str) -> Vec<&'a Value> {
    list.as_array().into_iter().flatten().map(|it| &it[field]).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_planes_are_listed_as_each_discovery_finds_them() {
    for it in all().await {
        let ran = it.run(&["planes", "--json"]).await;
        assert_eq!(ran.code, 0, "{}", ran.text);
        let plane = &ran.json["planes"][0];
        assert_eq!(each(&ran.json["planes"], "name"), [it.plane], "{}", ran.text);
        assert_eq!(
            (&plane["workloadDeployments"], &plane["federated"]),
            (&json!(1), &json!(1)),
            "{}",
            ran.text
        );
        let secret = if it.flags.is_empty() { json!("project-a") } else { json!(null) };
        assert_eq!(plane["secret"], secret, "{}", ran.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_a_wd_is_explained_as_each_discovery_finds_its_plane() {
    for it in all().await {
        let explain = ["explain", "wd", "web", "-n", "shop", "--json", "--plane"];
        let ran = it.run(&explain.iter().copied().chain([it.plane]).collect::<Vec<_>>()).await;
        assert_eq!((ran.code, &ran.json["cause"]), (0, &json!("in-sync")), "{}", ran.text);
        let ran = it.run(&explain.iter().copied().chain(["nowhere"]).collect::<Vec<_>>()).await;
        assert_eq!((ran.code, &ran.json["cause"]), (3, &json!("plane-not-known")), "{}", ran.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_the_audit_compares_the_planes_that_each_discovery_finds() {
    for it in all().await {
        let ran = it.run(&["audit", "--json"]).await;
        assert_eq!((ran.code, &ran.json["planesRead"]), (0, &json!(1)), "{}", ran.text);
        assert!(it.planes.hub.delete(WD, SPACE, "web").unwrap());
        let ran = it.run(&["audit", "--json"]).await;
        let findings = each(&ran.json["findings"], "finding");
        assert!(ran.code == 3 && findings.contains(&&json!("hub-wd-missing")), "{}", ran.text);
        assert!(each(&ran.json["findings"], "plane").iter().all(|plane| **plane == it.plane), "{}", ran.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_a_snapshot_has_the_planes_that_each_discovery_finds() {
    for it in all().await {
        let file = it.planes.file("snapshot");
        let ran = it.run(&["snapshot", "--file", file.to_str().unwrap()]).await;
        assert_eq!(ran.code, 0, "{}", ran.text);
        let from = format!("--from={}", file.display());
        let explain = ["explain", "wd", "web", "-n", "shop", "--json", "--plane", it.plane, &from];
        let explained = it.planes.run(&explain).await;
        assert_eq!(explained.json["cause"], "in-sync", "{}", explained.text);
    }
}

/// Finalizers go from the plane that discovery finds, and from no WD of a cell.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i3_uninstall_releases_the_planes_that_each_discovery_finds() {
    for it in all().await {
        assert!(it.planes.management.delete("Lease", "fedhub-system", "fedhub").unwrap());
        let ran = it.run(&["uninstall", "--run", "--yes", "--json"]).await;
        assert!(ran.code == 1 && ran.text.contains("--yes-stopped"), "no Lease says so: {}", ran.text);
        let ran = it.run(&["uninstall", "--run", "--yes", "--yes-stopped", "--json"]).await;
        assert_eq!(ran.code, 0, "{}", ran.text);
        let objects = &ran.json["planes"][0]["objects"];
        assert_eq!(ran.json["planes"][0]["plane"], it.plane, "{}", ran.text);
        assert_eq!(each(objects, "name"), ["web"], "{}", ran.text);
        assert_eq!(each(objects, "namespace"), ["shop"], "{}", ran.text);
    }
}

/// A Project that is not Ready is one that fedhub works on if it did before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_a_project_that_is_not_ready_is_not_forgotten() {
    let it = Discovery::milo().await;
    it.planes.put_projects(&[("project-a", "False")]).await;
    let ran = it.run(&["planes", "--json"]).await;
    assert_eq!(each(&ran.json["planes"], "name"), ["project-a"], "{}", ran.text);
    put_identity(&it.planes, "");
    let ran = it.run(&["planes", "--json"]).await;
    assert_eq!(ran.json["planes"], json!([]), "{}", ran.text);
}

/// Who has the wrong discovery is told so, and does not take nothing for all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_a_discovery_that_finds_nothing_is_doubted() {
    let mut it = Discovery::milo().await;
    it.flags = Vec::new();
    let ran = it.run(&["planes", "--json"]).await;
    assert!(ran.text.contains("is --discovery that of fedhub run?"), "{}", ran.text);
    assert!(it.planes.management.delete("Lease", "fedhub-system", "fedhub").unwrap());
    let ran = it.run(&["uninstall", "--plan", "--json"]).await;
    assert!(ran.code == 3 && ran.text.contains("project-a"), "finalizers are left there: {}", ran.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i12_a_pause_of_a_name_that_no_plane_has_is_refused() {
    for it in all().await {
        let paused = |it: &Discovery| it.planes.management.get("ConfigMap", "fedhub-system", "fedhub-paused");
        let ran = it.run(&["pause", "--plane", "misspelt"]).await;
        assert!(ran.code == 1 && ran.text.contains("no plane is named misspelt"), "{}", ran.text);
        assert!(paused(&it).is_none());
        // fedhub remembers none of the name: discovery is asked.
        put_identity(&it.planes, "");
        let ran = it.run(&["pause", "--plane", it.plane]).await;
        assert_eq!(ran.code, 0, "{}", ran.text);
        let ran = it.run(&["pause", "--plane", "to-come", "--force"]).await;
        assert_eq!(ran.code, 0, "{}", ran.text);
        let data = paused(&it).unwrap()["data"].clone();
        assert!(data.get(it.plane).is_some() && data.get("to-come").is_some(), "{data}");
    }
}

/// What differs on a paused plane is left as it is on purpose.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i12_the_audit_says_of_a_paused_plane_that_it_is_paused() {
    let it = Discovery::kubeconfigs().await;
    assert!(it.planes.hub.delete(WD, SPACE, "web").unwrap());
    assert_eq!(it.run(&["audit", "--json"]).await.code, 3);
    assert_eq!(it.run(&["pause", "--plane", "project-a", "--reason", "maintenance"]).await.code, 0);
    let ran = it.run(&["audit", "--json"]).await;
    assert_eq!(
        (ran.code, each(&ran.json["paused"], "plane")),
        (0, vec![&json!("project-a")]),
        "{}",
        ran.text
    );
    assert!(each(&ran.json["findings"], "state").iter().all(|state| **state == "paused"), "{}", ran.text);
    let ran = it.run(&["audit"]).await;
    assert!(ran.text.contains("maintenance") && !ran.text.contains("hub-wd-missing"), "{}", ran.text);
}
