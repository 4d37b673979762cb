//! Deployments against a server in memory: what is sent, and what is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fedhub_cli::args::Global;
use fedhub_cli::deploy;
use fedhub_cli::deploy::schema::{self, completed};
use fedhub_cli::exit::Exit;
use fedhub_cli::problem::Problem;
use fedhub_cli::session::Session;
use fedhub_fake_apiserver::resource::{Resource, project_plane};
use fedhub_fake_apiserver::{ApiServer, AuditEntry, Fault};
use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::ServiceExt;
use tower::util::service_fn;

use super::fixtures::{args, web};

const NETWORKING: &str = "networking.datumapis.com";

pub fn plane(kinds: &[(&str, &str)]) -> ApiServer {
    let workloads = Resource::custom("compute.datumapis.com", "v1alpha", "Workload", "workloads")
        .with_status()
        .defaulting(|it| it["spec"] = completed(schema::spec(), it["spec"].take()));
    let more = kinds
        .iter()
        .map(|(kind, plural)| Resource::custom(NETWORKING, "v1alpha", kind, plural).with_status());
    ApiServer::builder("shop").resources(project_plane()).resource(workloads).resources(more).build()
}

/// Runs `deploy` with these words; no file is saved, and no rollout waited for.
pub async fn run(server: &ApiServer, words: &[&str]) -> Result<(), Problem> {
    let by_file = words.contains(&"-f");
    let more: &[&str] = if by_file { &["--no-wait"] } else { &["--no-wait", "--no-save"] };
    let session = Session::with_client(server.client(), Global::default());
    deployed(&session, &[words, more].concat()).await
}

/// Runs `deploy` with these words and no others.
pub async fn deployed(session: &Session, words: &[&str]) -> Result<(), Problem> {
    let args = args(words).unwrap();
    let asked = deploy::asked(&args, |rest| session.command(rest)).await?;
    deploy::run(session, &args, &asked).await
}

pub fn stored(server: &ApiServer, name: &str) -> Option<Value> {
    server.get("Workload", "default", name)
}

/// What was sent but reads, in short.
fn sent(requests: &[AuditEntry]) -> Vec<String> {
    requests.iter().filter(|it| !["get", "list", "watch"].contains(&it.verb)).map(AuditEntry::short).collect()
}

pub fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

pub const NEW: [&str; 5] = ["web", "--image=ghcr.io/a/b:1", "--city=DFW,ORD", "--min=2", "--env=A=1"];

#[tokio::test]
async fn a_workload_is_made_changed_and_left_as_it_is() {
    let server = plane(&[]);
    run(&server, &NEW).await.unwrap();
    let made = stored(&server, "web").unwrap();
    assert_eq!(made["spec"]["placements"][0]["cityCodes"], json!(["DFW", "ORD"]));
    run(&server, &["web", "--image=ghcr.io/a/b:2"]).await.unwrap();
    let changed = stored(&server, "web").unwrap();
    let container = &changed["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0];
    assert_eq!((&container["image"], &container["env"][0]["name"]), (&json!("ghcr.io/a/b:2"), &json!("A")));
    let mark = server.mark();
    run(&server, &["web", "--image=ghcr.io/a/b:2", "--min=2"]).await.unwrap();
    assert_eq!(sent(&server.requests_since(mark)), [""; 0], "nothing changes");
}

#[tokio::test]
async fn every_document_is_checked_by_the_server_before_the_first_is_sent() {
    let server = plane(&[]);
    let mut good = web();
    let mut bad = web();
    good["metadata"]["name"] = json!("good");
    bad["metadata"]["name"] = json!("bad");
    bad["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]["ports"][0]["port"] =
        json!(70_000);
    let both = file(&format!("{good}\n---\n{bad}\n"));
    let path = both.path().to_str().unwrap();
    let problem = run(&server, &["-f", path]).await.unwrap_err();
    assert!(problem.sentence.contains("containers[0].ports[0].port: invalid value: 70000"), "{problem:?}");
    assert_eq!((problem.exit, server.list("Workload").len()), (Exit::Failed, 0));
    assert_eq!(sent(&server.audit()), ["create workloads/good (dry)", "create workloads/bad (dry)"]);
    bad["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]["ports"][0]["port"] = json!(7000);
    std::fs::write(&both, format!("{good}\n---\n{bad}\n")).unwrap();
    run(&server, &["-f", path]).await.unwrap();
    assert_eq!(server.list("Workload").len(), 2);
}

#[tokio::test]
async fn a_file_that_is_wrong_and_a_missing_one_send_nothing() {
    let server = plane(&[]);
    let wrong = file("kind: Pod");
    for path in [wrong.path().to_str().unwrap(), "/nowhere/web.yaml"] {
        let problem = run(&server, &["-f", path]).await.unwrap_err();
        assert_eq!((problem.exit, server.audit().len()), (Exit::Usage, 0), "{problem:?}");
    }
    let problem = run(&server, &[]).await.unwrap_err();
    assert_eq!((problem.exit, server.audit().len()), (Exit::Usage, 0), "{problem:?}");
    let remedy = problem.remedy.unwrap();
    assert!(
        remedy.contains("deploy WORKLOAD --image IMAGE --city CITY") && remedy.contains("-f workload.yaml"),
        "{remedy}"
    );
}

#[tokio::test]
async fn a_dry_run_stores_nothing() {
    let server = plane(&[("Network", "networks")]);
    let mark = server.mark();
    run(&server, &[&NEW[..], &["--dry-run=client"]].concat()).await.unwrap();
    assert_eq!(sent(&server.requests_since(mark)), [""; 0]);
    run(&server, &[&NEW[..], &["--dry-run=server"]].concat()).await.unwrap();
    assert_eq!(sent(&server.requests_since(mark)), ["create workloads/web (dry)"]);
    assert_eq!(stored(&server, "web"), None);
    let problem =
        run(&server, &["web", "--image=a", "--city=DFW", "--http-port=70000", "--dry-run=server"]).await;
    assert!(problem.unwrap_err().sentence.contains("--http-port: "));
}

/// A session in which another client does something right before the first write.
fn meddled(server: &ApiServer, meddle: impl Fn(&ApiServer) + Send + Sync + 'static) -> Session {
    let plane = server.clone();
    let meddle = Arc::new(meddle);
    let did = Arc::new(AtomicBool::new(false));
    let service = service_fn(move |request: Request<Body>| {
        let is_write = request.method() == Method::PUT && !request.uri().to_string().contains("dryRun");
        if is_write && !did.swap(true, Ordering::Relaxed) {
            meddle(&plane);
        }
        plane.service().oneshot(request)
    });
    Session::with_client(Client::new(service, "default"), Global::default())
}

#[tokio::test]
async fn another_writer_is_never_overwritten() {
    let least = |server: &ApiServer| {
        stored(server, "web").unwrap()["spec"]["placements"][0]["scaleSettings"]["minReplicas"].clone()
    };
    let patch = |patch: Value| {
        move |server: &ApiServer| drop(server.patch("Workload", "default", "web", &patch).unwrap())
    };
    let deploy =
        async |session: Session| deployed(&session, &["web", "--min=5", "--no-wait", "--no-save"]).await;
    let server = plane(&[]);
    run(&server, &NEW).await.unwrap();
    // Something else was changed: both stand.
    deploy(meddled(&server, patch(json!({"metadata": {"annotations": {"a": "b"}}})))).await.unwrap();
    let both = stored(&server, "web").unwrap();
    assert_eq!((&both["metadata"]["annotations"]["a"], least(&server)), (&json!("b"), json!(5)));
    // The same was changed: the user has seen another change than the one that it would be now.
    let server = plane(&[]);
    run(&server, &NEW).await.unwrap();
    let mut changed = both["spec"]["placements"].clone();
    changed[0]["scaleSettings"]["minReplicas"] = json!(3);
    let problem =
        deploy(meddled(&server, patch(json!({"spec": {"placements": changed}})))).await.unwrap_err();
    assert!(problem.sentence.contains("was changed by another client in the meantime"), "{problem:?}");
    assert_eq!(least(&server), 3);
    // It is another one of that name.
    let server = plane(&[]);
    run(&server, &NEW).await.unwrap();
    let problem = deploy(meddled(&server, |server| {
        let mut same = stored(server, "web").unwrap();
        server.delete("Workload", "default", "web").unwrap();
        same["metadata"] = json!({"name": "web", "namespace": "default"});
        server.put(same).unwrap();
    }))
    .await
    .unwrap_err();
    assert!(problem.sentence.contains("was changed by another client in the meantime"), "{problem:?}");
    assert_eq!(least(&server), 2);
}

#[tokio::test]
async fn writes_of_the_status_are_waited_for_and_not_for_ever() {
    let server = plane(&[]);
    run(&server, &NEW).await.unwrap();
    server.fault(Fault::Status(409).on("update", "workloads").times(3));
    run(&server, &["web", "--min=3"]).await.unwrap();
    server.fault(Fault::Status(409).on("update", "workloads"));
    let problem = run(&server, &["web", "--min=4"]).await.unwrap_err();
    assert_eq!(problem.exit, Exit::Failed, "{problem:?}");
    assert_eq!(stored(&server, "web").unwrap()["spec"]["placements"][0]["scaleSettings"]["minReplicas"], 3);
}

#[tokio::test]
async fn cities_are_not_left_where_nobody_can_be_asked_unless_yes_is_given() {
    let server = plane(&[]);
    run(&server, &NEW).await.unwrap();
    let problem = run(&server, &["web", "--city=ORD"]).await.unwrap_err();
    assert!(problem.sentence.contains("web leaves DFW"), "{problem:?}");
    assert!(problem.exit == Exit::Usage && problem.remedy.as_ref().unwrap().contains("--yes"), "{problem:?}");
    assert_eq!(stored(&server, "web").unwrap()["spec"]["placements"][0]["cityCodes"], json!(["DFW", "ORD"]));
    run(&server, &["web", "--city=ORD", "--yes"]).await.unwrap();
    assert_eq!(stored(&server, "web").unwrap()["spec"]["placements"][0]["cityCodes"], json!(["ORD"]));
}

#[tokio::test]
async fn a_missing_network_is_made_only_with_a_yes() {
    let server = plane(&[("Network", "networks")]);
    let problem = run(&server, &NEW).await.unwrap_err();
    assert!(problem.sentence.contains("the network default does not exist"), "{problem:?}");
    let remedy = problem.remedy.as_ref().unwrap();
    assert!(problem.exit == Exit::Usage && remedy.contains("--yes"), "as where a city is left: {problem:?}");
    assert_eq!((stored(&server, "web"), server.list("Network").len()), (None, 0));
    run(&server, &[&NEW[..], &["--yes"]].concat()).await.unwrap();
    assert_eq!(
        server.get("Network", "default", "default").unwrap()["spec"],
        json!({"ipam": {"mode": "Auto"}})
    );
    assert!(stored(&server, "web").is_some());
}

#[tokio::test]
async fn a_workload_that_is_being_deleted_is_not_deployed() {
    let server = plane(&[]);
    let mut leaving = web();
    leaving["metadata"]["finalizers"] = json!(["example.com/hold"]);
    server.put(leaving).unwrap();
    server.delete("Workload", "default", "web").unwrap();
    let problem = run(&server, &["web", "--min=3"]).await.unwrap_err();
    assert_eq!(problem.sentence, r#"The workload "web" is being deleted."#);
}

#[tokio::test]
async fn a_file_is_saved_once_and_kept_when_it_says_something_else() {
    let server = plane(&[]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.yaml");
    let run = async |words: &[&str]| {
        let save = format!("--save={}", path.display());
        let session = Session::with_client(server.client(), Global::default());
        deployed(&session, &[words, &["--no-wait", &save]].concat()).await.unwrap();
        std::fs::read_to_string(&path).unwrap()
    };
    let first = run(&NEW).await;
    assert!(first.contains("ghcr.io/a/b:1") && !first.contains("resourceVersion"), "{first}");
    let second = run(&["web", "--min=4"]).await;
    assert!(second != first && second.contains("minReplicas: 4"), "nobody has changed the file: {second}");
    std::fs::write(&path, format!("# by hand\n{second}")).unwrap();
    assert_eq!(run(&["web", "--min=5"]).await, format!("# by hand\n{second}"));
    assert_eq!(stored(&server, "web").unwrap()["spec"]["placements"][0]["scaleSettings"]["minReplicas"], 5);
    // What was saved can be deployed.
    std::fs::remove_file(&path).unwrap();
    run(&["web", "--min=6"]).await;
    let mark = server.mark();
    self::run(&server, &["-f", path.to_str().unwrap()]).await.unwrap();
    assert_eq!(sent(&server.requests_since(mark)), [""; 0]);
}

#[tokio::test]
async fn a_url_is_published_followed_and_removed() {
    let server = plane(&[("NetworkService", "networkservices"), ("HTTPProxy", "httpproxies")]);
    run(&server, &NEW).await.unwrap();
    assert_eq!((server.list("NetworkService").len(), server.list("HTTPProxy").len()), (0, 0));
    run(&server, &["web", "--http-port=8080"]).await.unwrap();
    let port = |port: i32| json!([{"name": "http", "port": port, "protocol": "TCP"}]);
    assert_eq!(server.get("NetworkService", "default", "web").unwrap()["spec"]["ports"], port(8080));
    assert!(server.get("HTTPProxy", "default", "web").is_some());
    // A file with another port: what is published leads there.
    let mut moved = stored(&server, "web").unwrap();
    moved["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]["ports"] = port(9090);
    run(&server, &["-f", file(&moved.to_string()).path().to_str().unwrap()]).await.unwrap();
    assert_eq!(server.get("NetworkService", "default", "web").unwrap()["spec"]["ports"], port(9090));
    server.fault(Fault::Status(409).on("update", "networkservices").times(2));
    run(&server, &["web", "--http-port=9091"]).await.unwrap();
    assert_eq!(server.get("NetworkService", "default", "web").unwrap()["spec"]["ports"], port(9091));
    let mark = server.mark();
    run(&server, &["web", "--no-http"]).await.unwrap();
    let expected = [
        "update workloads/web (dry)",
        "update workloads/web",
        "delete httpproxies/web",
        "delete networkservices/web",
    ];
    assert_eq!(sent(&server.requests_since(mark)), expected);
}

#[tokio::test]
async fn only_the_flag_makes_something_public() {
    let server = plane(&[("NetworkService", "networkservices"), ("HTTPProxy", "httpproxies")]);
    run(&server, &["-f", file(&web().to_string()).path().to_str().unwrap()]).await.unwrap();
    run(&server, &["web", "--image=ghcr.io/a/b:2"]).await.unwrap();
    assert_eq!((server.list("NetworkService").len(), server.list("HTTPProxy").len()), (0, 0));
    run(&server, &["web", "--http-port=8080"]).await.unwrap();
    assert_eq!((server.list("NetworkService").len(), server.list("HTTPProxy").len()), (1, 1));
}

/// A URL that was taken away by hand, and one of an earlier workload of that name, are nobody's wish.
#[tokio::test]
async fn what_is_deployed_anew_stays_private_and_adopts_nothing() {
    let server = plane(&[("NetworkService", "networkservices"), ("HTTPProxy", "httpproxies")]);
    let api = |kind: &str, plural: &str| {
        let kind = kube::core::GroupVersionKind::gvk(NETWORKING, "v1alpha", kind);
        let kind = kube::core::ApiResource::from_gvk_with_plural(&kind, plural);
        kube::Api::<kube::core::DynamicObject>::namespaced_with(server.client(), "default", &kind)
    };
    run(&server, &[&NEW[..], &["--http-port=8080"]].concat()).await.unwrap();
    let proxy = server.get("HTTPProxy", "default", "web").unwrap();
    api("HTTPProxy", "httpproxies").delete("web", &kube::api::DeleteParams::default()).await.unwrap();
    run(&server, &["web", "--image=ghcr.io/a/b:2"]).await.unwrap();
    let mut moved = stored(&server, "web").unwrap();
    moved["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]["ports"][0]["port"] =
        json!(9090);
    run(&server, &["-f", file(&moved.to_string()).path().to_str().unwrap()]).await.unwrap();
    assert_eq!(server.list("HTTPProxy").len(), 0, "it stays private");
    let service = server.get("NetworkService", "default", "web").unwrap();
    assert_eq!(service["spec"]["ports"][0]["port"], 9090, "the service that is there follows");
    // Both are of an earlier workload, which is about to be collected.
    for mut object in [proxy, service.clone()] {
        object["metadata"]["labels"]["compute.datumapis.com/workload-uid"] = json!("of-an-earlier-one");
        server.put(object).unwrap();
    }
    moved["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]["ports"][0]["port"] =
        json!(9191);
    let mark = server.mark();
    run(&server, &["-f", file(&moved.to_string()).path().to_str().unwrap()]).await.unwrap();
    assert_eq!(sent(&server.requests_since(mark)), ["update workloads/web (dry)", "update workloads/web"]);
    // The flag takes them over.
    run(&server, &["web", "--http-port=9192"]).await.unwrap();
    let service = server.get("NetworkService", "default", "web").unwrap();
    assert_eq!(service["spec"]["ports"][0]["port"], 9192);
    let uid = &stored(&server, "web").unwrap()["metadata"]["uid"];
    assert_eq!(&service["metadata"]["labels"]["compute.datumapis.com/workload-uid"], uid);
}

#[tokio::test]
async fn a_project_that_publishes_nothing_deploys_all_the_same() {
    let server = plane(&[]);
    run(&server, &[&NEW[..], &["--http-port=80"]].concat()).await.unwrap();
    assert!(stored(&server, "web").is_some());
}

#[tokio::test]
async fn a_url_that_cannot_be_made_fails_only_who_asked_for_it() {
    let server = plane(&[("NetworkService", "networkservices"), ("HTTPProxy", "httpproxies")]);
    server.fault(Fault::Status(403).on("get", "networkservices"));
    run(&server, &NEW).await.unwrap();
    let problem = run(&server, &["web", "--http-port=80"]).await.unwrap_err();
    assert!(problem.sentence.starts_with("Could not publish workload \"web\": "), "{problem:?}");
    assert_eq!(stored(&server, "web").unwrap()["metadata"]["generation"], 2, "the workload is deployed");
}

#[tokio::test]
async fn a_right_that_is_missing_is_said_and_nothing_is_taken_for_absent() {
    let server = plane(&[]);
    run(&server, &NEW).await.unwrap();
    for (verb, code) in [("get", 403), ("get", 401), ("update", 403)] {
        let fault = server.fault(Fault::Status(code).on(verb, "workloads"));
        let problem = run(&server, &["web", "--min=9"]).await.unwrap_err();
        assert!(problem.sentence.starts_with("Could not ") && problem.remedy.is_some(), "{problem:?}");
        server.clear_fault(fault);
    }
    assert_eq!(stored(&server, "web").unwrap()["metadata"]["generation"], 1);
}

/// What is wrong is told where there is no login, too.
#[tokio::test]
async fn standard_input_is_a_file_like_others() {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_datumctl-compute"));
    command.args(["deploy", "-f", "-", "--kubeconfig", "/nowhere"]);
    let piped = || std::process::Stdio::piped();
    let mut child = command.env_clear().stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let two = "kind: Pod\napiVersion: v1\n---\nkind: Service\napiVersion: v1\n";
    tokio::io::AsyncWriteExt::write_all(&mut input, two.as_bytes()).await.unwrap();
    drop(input);
    let output = child.wait_with_output().await.unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{told}");
    assert!(
        told.contains("standard input, document 2: it is of apiVersion \"v1\" and kind \"Service\""),
        "{told}"
    );
}
