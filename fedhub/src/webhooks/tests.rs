//! Reviews over in-memory planes, one of which says who may use which network.

mod approvals;
mod bounds;
mod callers;
mod routes;

use std::sync::atomic::{AtomicBool, Ordering};

use fedhub_core::names::{EXPECTED_REFERENCED_DATA, PlaneName};
use fedhub_fake_apiserver::{ApiServer, until};
use fedhub_testing::{Messages, assert_messages};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::*;
use crate::secure::tests::authority::{authority, signed_as};
use crate::status::tests::process;

/// A certificate with these URIs. That the CA vouches for it is the handshake's business.
fn certificate(uris: &[&str]) -> CertificateDer<'static> {
    let (pem, _) = signed_as(&authority(), uris);
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// The certificate of whoever may ask at a route.
fn needed_at(route: &Route, discovery: Discovery) -> CertificateDer<'static> {
    let uri = identity::needed(route.plane.as_ref(), discovery);
    certificate(&uri.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A project plane that answers reviews, in front of one that serves objects.
#[derive(Clone)]
struct Reviewer {
    behind: kube::Client,
    asked: Arc<Mutex<Vec<Value>>>,
    fails: Arc<AtomicBool>,
    hangs: Arc<AtomicBool>,
}

impl Reviewer {
    fn new(behind: &ApiServer) -> Self {
        let fails = Arc::default();
        let hangs = Arc::default();
        Self { behind: behind.client(), asked: Arc::default(), fails, hangs }
    }

    fn client(&self) -> kube::Client {
        let this = self.clone();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let this = this.clone();
            async move { this.answer(request).await }
        });
        kube::Client::new(service, "default")
    }

    async fn answer(
        &self,
        request: http::Request<kube::client::Body>,
    ) -> Result<Response<kube::client::Body>, tower::BoxError> {
        if !request.uri().path().ends_with("reviews") {
            return Ok(self.behind.send(request).await?);
        }
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let (code, answer) = if self.fails.load(Ordering::SeqCst) {
            (
                500,
                json!({"kind": "Status", "status": "Failure", "message": "etcd", "reason": "", "code": 500}),
            )
        } else {
            let review = request.into_body().collect_bytes().await?;
            let mut review: Value = serde_json::from_slice(&review)?;
            self.asked.lock().push(review.clone());
            let may = review["spec"]["extra"]["team"] == json!(["net"]);
            review["status"] = match review["kind"].as_str() {
                Some("SelfSubjectReview") => {
                    json!({"userInfo": {"username": "system:serviceaccount:fedhub-system:fedhub"}})
                }
                _ => json!({"allowed": may}),
            };
            (201, review)
        };
        Ok(Response::builder()
            .status(code)
            .body(kube::client::Body::from(answer.to_string().into_bytes()))?)
    }
}

struct World {
    webhooks: Webhooks,
    plane: Reviewer,
    planes: Arc<Planes>,
    _servers: [ApiServer; 2],
}

async fn world(discovery: Discovery) -> World {
    let hub = ApiServer::hub("hub");
    let project = ApiServer::project_plane("project-a");
    let (status, _term) = process(&hub);
    let planes = status.roles()[0].registries[0].clone();
    let plane = Reviewer::new(&project);
    let name = if discovery == Discovery::Single { "single" } else { "project-a" };
    planes.engage(&PlaneName::new(name).unwrap(), plane.client());
    until("the plane to be engaged", || planes.engaged(&PlaneName::new(name).unwrap()).is_some()).await;
    let webhooks = Webhooks::new(discovery, planes.clone(), None, Metrics::new().unwrap());
    World { webhooks, plane, planes, _servers: [hub, project] }
}

fn user(team: &str) -> Value {
    json!({"username": "eve", "uid": "7", "groups": ["dev", "system:authenticated"], "extra": {"team": [team]}})
}

fn workload() -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Workload",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "template": {"spec": {
                "runtime": {
                    "resources": {"instanceType": "datumcloud/d1-standard-2"},
                    "sandbox": {"containers": [{"name": "app", "image": "ghcr.io/example/web:1"}]},
                },
                "networkInterfaces": [{"name": "eth0", "network": {"name": "default"}}],
            }},
            "placements": [{"name": "dfw", "cityCodes": ["DFW"], "scaleSettings": {"minReplicas": 1}}],
        },
    })
}

fn review(kind: &str, user: Value, old: Option<&Value>, new: &Value) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "1",
            "kind": {"group": "compute.datumapis.com", "version": "v1alpha", "kind": kind},
            "resource": {"group": "compute.datumapis.com", "version": "v1alpha", "resource": plural},
            "name": "web", "namespace": "shop",
            "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
            "userInfo": user, "object": new, "oldObject": old,
        },
    })
}

impl World {
    /// The response to a review at that path, or the text of another answer.
    async fn ask(&self, path: &str, review: &Value) -> Result<Value, (u16, String)> {
        let route = Route::from_path(path, self.webhooks.discovery).map_err(|fault| (404, fault))?;
        let caller = Caller {
            address: [127, 0, 0, 1].into(),
            certificate: Some(needed_at(&route, self.webhooks.discovery)),
        };
        let answer = self.webhooks.respond(&caller, &route, Body::from(review.to_string())).await;
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        match code {
            200 => Ok(serde_json::from_slice::<Value>(&body).unwrap()["response"].take()),
            code => Err((code, String::from_utf8(body.to_vec()).unwrap())),
        }
    }

    async fn create(&self, path: &str, user: Value, new: &Value) -> Value {
        self.ask(path, &review("Workload", user, None, new)).await.unwrap()
    }

    fn counted(&self, operation: &str, verdict: &str) -> u64 {
        let of = ["validate", "Workload", operation, verdict];
        self.webhooks.metrics.admission_requests.with_label_values(&of).get()
    }
}

const VALIDATE: &str = "/planes/project-a/validate-compute-datumapis-com-v1alpha-workload";
const MUTATE: &str = "/planes/project-a/mutate-compute-datumapis-com-v1alpha-workload";

#[tokio::test(start_paused = true)]
async fn w4_the_plane_is_asked_about_the_whole_user_and_only_what_it_allows_is_remembered() {
    let world = world(Discovery::Kubeconfigs).await;
    let asked = || world.plane.asked.lock().len();
    let refused = world.create(VALIDATE, user("other"), &workload()).await;
    assert_eq!((&refused["allowed"], &refused["status"]["code"], asked()), (&json!(false), &json!(422), 1));
    let spec = world.plane.asked.lock()[0]["spec"].clone();
    assert_eq!(
        spec,
        json!({
            "user": "eve", "uid": "7", "groups": ["dev", "system:authenticated"], "extra": {"team": ["other"]},
            "resourceAttributes": {
                "group": "networking.datumapis.com", "version": "v1alpha", "resource": "networks",
                "verb": "use", "namespace": "shop", "name": "default",
            },
        })
    );
    // A denial is asked about again: the right may have been given since.
    world.create(VALIDATE, user("other"), &workload()).await;
    assert_eq!(asked(), 2);
    for _ in 0..3 {
        let allowed = world.create(VALIDATE, user("net"), &workload()).await;
        assert_eq!((&allowed["allowed"], &allowed["uid"]), (&json!(true), &json!("1")));
    }
    assert_eq!(asked(), 3);
    // Another group is another user, whatever the name.
    let mut other = user("net");
    other["groups"] = json!(["dev"]);
    world.create(VALIDATE, other, &workload()).await;
    assert_eq!(asked(), 4);
    tokio::time::advance(Duration::from_secs(10)).await;
    world.create(VALIDATE, user("net"), &workload()).await;
    assert_eq!(asked(), 5, "an answer stands for ten seconds at most");
    assert_eq!((world.counted("create", "allowed"), world.counted("create", "refused")), (5, 2));
}

#[tokio::test(start_paused = true)]
async fn w4_what_cannot_be_asked_is_refused_in_time() {
    let world = world(Discovery::Kubeconfigs).await;
    let mut messages = Vec::new();
    let other = VALIDATE.replace("project-a", "project-b");
    let unknown = world.create(&other, user("net"), &workload()).await;
    messages.push(("a plane that is not engaged", unknown.clone()));
    world.plane.fails.store(true, Ordering::SeqCst);
    messages.push(("a plane that fails", world.create(VALIDATE, user("net"), &workload()).await));
    world.plane.fails.store(false, Ordering::SeqCst);
    world.plane.hangs.store(true, Ordering::SeqCst);
    let began = Instant::now();
    messages.push(("a plane that hangs", world.create(VALIDATE, user("net"), &workload()).await));
    assert!(
        began.elapsed() <= ANSWERS_WITHIN + Duration::from_millis(10)
            && ANSWERS_WITHIN < Duration::from_secs(10)
    );
    for (label, response) in &messages {
        assert_eq!(
            (&response["allowed"], &response["status"]["code"]),
            (&json!(false), &json!(503)),
            "{label}"
        );
    }
    // What is at fault anyway is refused for that, and what asks for nothing new needs no plane.
    let mut broken = workload();
    broken["spec"]["placements"][0]["cityCodes"] = json!([]);
    let refused = world.create(&other, user("net"), &broken).await;
    assert_eq!(refused["status"]["code"], 422);
    let scaled = {
        let mut scaled = workload();
        scaled["spec"]["placements"][0]["scaleSettings"]["minReplicas"] = json!(2);
        scaled
    };
    let update = review("Workload", user("other"), Some(&workload()), &scaled);
    assert_eq!(world.ask(&other, &update).await.unwrap()["allowed"], true);
    let shown =
        messages.iter().map(|(label, response)| (*label, response["status"]["message"].as_str().unwrap()));
    let mut all = Messages::default();
    all.section("Refused for want of an answer", shown);
    assert_messages!("webhooks", all);
}

#[tokio::test(start_paused = true)]
async fn i8_a_plane_that_hangs_keeps_no_other_from_its_answers() {
    let world = world(Discovery::Kubeconfigs).await;
    world.plane.hangs.store(true, Ordering::SeqCst);
    let began = Instant::now();
    let user = user("net");
    let workload = workload();
    let hanging = (0..70).map(|_| world.create(VALIDATE, user.clone(), &workload));
    let others = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let completed = world.create(MUTATE, user.clone(), &workload).await;
        (completed["allowed"].clone(), began.elapsed())
    };
    let (answers, (allowed, after)) = tokio::join!(futures::future::join_all(hanging), others);
    assert_eq!(allowed, true);
    assert!(after < Duration::from_secs(2), "it waited for a plane that hangs: {after:?}");
    let overloaded: Vec<_> = answers
        .iter()
        .map(|answer| answer["status"]["message"].as_str().unwrap().to_owned())
        .filter(|it| it.starts_with("too many requests"))
        .collect();
    assert_eq!(overloaded.len(), 54, "as many wait as may, and the others are refused at once");
}

#[tokio::test(start_paused = true)]
async fn w4_every_fault_is_a_cause_and_warnings_come_along() {
    let world = world(Discovery::Kubeconfigs).await;
    let mut broken = workload();
    broken["spec"]["placements"][0]["cityCodes"] = json!(["New York"]);
    broken["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]["image"] = json!("web");
    let refused = world.create(VALIDATE, user("other"), &broken).await;
    let causes = refused["status"]["details"]["causes"].as_array().unwrap();
    let fields: Vec<_> = causes.iter().map(|cause| cause["field"].as_str().unwrap()).collect();
    // The rule and the right, in one answer.
    assert_eq!(
        fields,
        ["spec.placements[0].cityCodes[0]", "spec.template.spec.networkInterfaces[0].network.name"]
    );
    assert_eq!(causes[0]["reason"], "FieldValueInvalid");
    let message = refused["status"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("Workload.compute.datumapis.com \"web\" is invalid: [spec.placements[0]"),
        "{message}"
    );
    assert_eq!(refused["warnings"].as_array().map(Vec::len), Some(1), "{refused}");
    let many: Vec<_> = (0..300).map(|n| json!({"name": format!("={n}")})).collect();
    broken["spec"]["placements"][0]["cityCodes"] = json!(["DFW"]);
    broken["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]["env"] = json!(many);
    let refused = world.create(VALIDATE, user("net"), &broken).await;
    let causes = refused["status"]["details"]["causes"].as_array().unwrap();
    assert_eq!(
        (causes.len(), &causes[MOST_SHOWN]["message"]),
        (MOST_SHOWN + 1, &json!("and 200 more faults"))
    );
}

/// The name is made while the request is under way: the request does not know it.
#[tokio::test(start_paused = true)]
async fn w4_an_object_of_a_generated_name_is_called_by_it() {
    let world = world(Discovery::Kubeconfigs).await;
    for (metadata, called) in [
        (json!({"generateName": "web-", "name": "web-x7k2p", "namespace": "shop"}), "web-x7k2p"),
        (json!({"generateName": "web-", "namespace": "shop"}), "web-"),
    ] {
        let mut broken = workload();
        broken["metadata"] = metadata;
        broken["spec"]["placements"][0]["cityCodes"] = json!([]);
        let mut asked = review("Workload", user("net"), None, &broken);
        asked["request"]["name"] = json!("");
        let refused = world.ask(VALIDATE, &asked).await.unwrap();
        let message = refused["status"]["message"].as_str().unwrap();
        assert!(message.contains(&format!(" \"{called}\" is invalid")), "{message}");
        assert_eq!(refused["status"]["details"]["name"], called);
    }
}

const MOST_SHOWN: usize = 100;

#[tokio::test(start_paused = true)]
async fn w4_only_fedhub_and_masters_change_what_a_cell_awaits() {
    let world = world(Discovery::Kubeconfigs).await;
    let path = VALIDATE.replace("-workload", "-workloaddeployment");
    let wd = |value: &str| json!({"metadata": {"name": "web", "namespace": "shop", "annotations": {EXPECTED_REFERENCED_DATA: value}}});
    let of = |name: &str, groups: Value| json!({"username": name, "groups": groups});
    for (user, is_allowed) in [
        (of("eve", json!([])), false),
        (of("system:serviceaccount:fedhub-system:fedhub", json!([])), true),
        (of("system:serviceaccount:shop:fedhub", json!([])), false),
        (of("admin", json!(["system:masters"])), true),
    ] {
        let asked = review("WorkloadDeployment", user.clone(), Some(&wd("[]")), &wd("[\"Secret/db\"]"));
        assert_eq!(world.ask(&path, &asked).await.unwrap()["allowed"], is_allowed, "{user}");
    }
    assert_eq!(world.plane.asked.lock().len(), 1, "who fedhub is stands for a while");
    let same = review("WorkloadDeployment", of("eve", json!([])), Some(&wd("[]")), &wd("[]"));
    assert_eq!(world.ask(&path, &same).await.unwrap()["allowed"], true);
}

/// fedhub writes WDs of Workloads that were reviewed before, or stored before anything was: whatever name it
/// has on a plane.
#[tokio::test(start_paused = true)]
async fn w4_a_deployment_of_a_users_is_reviewed_and_one_of_fedhubs_is_not() {
    let world = world(Discovery::Kubeconfigs).await;
    let path = VALIDATE.replace("-workload", "-workloaddeployment");
    let wd = |image: &str| {
        let mut template = workload()["spec"]["template"].take();
        template["spec"]["runtime"]["sandbox"]["containers"][0]["image"] = json!(image);
        json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {
            "cityCode": "DFW", "placementName": "dfw", "scaleSettings": {"minReplicas": 1},
            "workloadRef": {"name": "web", "uid": "1"}, "template": template,
        }})
    };
    let fedhub = json!({"username": "system:serviceaccount:fedhub-system:fedhub", "groups": []});
    for (user, image, is_allowed) in [
        (user("net"), "ghcr.io/example/web:1", true),
        (user("other"), "ghcr.io/example/web:1", false),
        (user("net"), "no image", false),
        (fedhub.clone(), "ghcr.io/example/web:1", true),
        (fedhub, "no image", true),
    ] {
        let asked = review("WorkloadDeployment", user.clone(), None, &wd(image));
        assert_eq!(world.ask(&path, &asked).await.unwrap()["allowed"], is_allowed, "{user} {image}");
    }
    // Whether it is fedhub cannot be told: nobody is refused for good.
    world.plane.fails.store(true, Ordering::SeqCst);
    tokio::time::advance(Duration::from_secs(10)).await;
    let asked = review("WorkloadDeployment", user("net"), None, &wd("no image"));
    assert_eq!(world.ask(&path, &asked).await.unwrap()["status"]["code"], 503);
}

#[tokio::test(start_paused = true)]
async fn w4_a_workload_is_completed() {
    let world = world(Discovery::Kubeconfigs).await;
    let mut bare = workload();
    bare["spec"]["template"]["spec"]["runtime"].as_object_mut().unwrap().remove("resources");
    let completed = world.create(MUTATE, user("other"), &bare).await;
    assert_eq!((&completed["allowed"], &completed["patchType"]), (&json!(true), &json!("JSONPatch")));
    let bytes: Vec<u8> = serde_json::from_value(completed["patch"].clone()).unwrap();
    let patch: json_patch::Patch = serde_json::from_slice(&bytes).unwrap();
    json_patch::patch(&mut bare, &patch).unwrap();
    assert_eq!(bare, workload());
    let whole = world.create(MUTATE, user("other"), &workload()).await;
    assert!(whole["allowed"] == true && whole.get("patch").is_none(), "{whole}");
    assert!(world.plane.asked.lock().is_empty(), "no review is created before the object is whole");
}
