//! `admission`: reviews of Workloads at a steady pace, from the request to the answer: creates and updates,
//! each by the mutating and by the validating webhook.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

use super::Options;
use super::environment::{Environment, PROJECT};
use super::figure::Figure;
use super::judge::Bar;
use super::process::Process;
use super::race::{Race, digits};
use super::report::Findings;
use super::stats::{percentile, rounded};
use crate::Error;
use crate::topology::{Holder, ports, ports_directory};

/// Seconds of a lap.
const SECONDS: usize = 20;
/// Reviews in a second.
const PACE: u16 = 200;
/// The limit of an answer, in milliseconds.
const BAR: f64 = 10.0;
/// The role that lets fedhub ask about users.
const ROLE: &str = "bench-admission";
/// The webhooks of a Workload, each of which an API server asks about each write.
const PATHS: [&str; 2] = [
    "/planes/project-a/mutate-compute-datumapis-com-v1alpha-workload",
    "/planes/project-a/validate-compute-datumapis-com-v1alpha-workload",
];

/// In turns a lap with one user, whose right is remembered, one in which the plane is asked about each, and
/// one in which a bare client asks the plane that.
pub async fn run(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    allow(&environment.project).await?;
    let layout = environment.planes().layout();
    let name = "fedhub-bench/admission".to_owned();
    let port = ports::reserve(&ports_directory(), layout, std::slice::from_ref(&name))?[&name];
    let file = |name: &str| layout.pki().join(name).display().to_string();
    let flags = [
        "--leader-elect=false".to_owned(),
        "--enable-webhooks".to_owned(),
        // The client is no API server, and shows nothing.
        "--webhook-trust-network".to_owned(),
        format!("--webhook-address=127.0.0.1:{port}"),
        format!("--webhook-tls-cert={}", file("server.crt")),
        format!("--webhook-tls-key={}", file("server.key")),
    ];
    let mut process = environment.spawn(0, &flags)?;
    process.ready(crate::topology::planes::projects().count()).await?;
    process.settled().await?;
    let client = server(environment, port).await?;
    let count = options.scaled(SECONDS * usize::from(PACE));
    // The first connections, and the first answers of the plane.
    let one = |_| "one".to_owned();
    lap(&client, usize::from(PACE), one).await?;
    let plane = environment.as_fedhub(PROJECT).await?;
    let (race, figures) = Race::run(
        options,
        async |turn| {
            let remembered = lap(&client, count, one).await?;
            let asked = lap(&client, count, |write| format!("user-{turn}-{write}")).await?;
            Ok([remembered, asked])
        },
        async |turn| bare(&plane, count, turn).await,
        |race: &Race<[Vec<f64>; 2], Vec<f64>>, error| {
            let judged = |what, kind: usize| {
                Figure::ratio(what, "ms (p99)", &race.each(|laps| tail(&laps[kind])))
                    .within(Bar::at_most(BAR), error)
            };
            let beyond = race.ours.iter().zip(&race.bare).map(|(laps, bare)| tail(&laps[1]) - tail(bare));
            vec![
                judged("the right is remembered", 0),
                judged("the plane is asked about each user", 1),
                Figure::mean(
                    "that, beyond a bare client's question",
                    "ms (p99)",
                    &beyond.collect::<Vec<_>>(),
                ),
            ]
        },
    )
    .await?;
    let details = json!({
        "per_second": PACE, "reviews_of_a_lap": count,
        "remembered": summary(race.ours.iter().map(|laps| &laps[0])),
        "asked": summary(race.ours.iter().map(|laps| &laps[1])),
        "bare_access_review": summary(race.bare.iter()),
    });
    let cpu = Figure::exact("a review", "ms of CPU", cpu(&process, &client, count).await?);
    process.stop().await?;
    Ok(Findings { figures: figures.into_iter().chain([cpu]).collect(), details })
}

/// Lets fedhub ask the plane about users, as `deploy/components/webhooks-project-plane` does, and everybody
/// use networks.
async fn allow(project: &Client) -> Result<(), Error> {
    let role = json!({
        "metadata": { "name": ROLE },
        "rules": [
            { "apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"] },
            { "apiGroups": ["networking.datumapis.com"], "resources": ["networks"], "verbs": ["use"] },
        ],
    });
    let binding = json!({
        "metadata": { "name": ROLE },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ROLE },
        "subjects": [
            { "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": Holder::Fedhub.user() },
            { "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "bench" },
        ],
    });
    let manifest = |error: serde_json::Error| Error::Benchmark(error.to_string());
    let (role, binding): (ClusterRole, ClusterRoleBinding) =
        (serde_json::from_value(role).map_err(manifest)?, serde_json::from_value(binding).map_err(manifest)?);
    let failed = || Error::api(format!("create {ROLE} on {PROJECT}"));
    let params = PostParams::default();
    Api::all(project.clone()).create(&params, &role).await.map_err(failed())?;
    Api::all(project.clone()).create(&params, &binding).await.map_err(failed())?;
    Ok(())
}

/// A client of the server, as an API server is one: HTTP/1.1, with connections that stay.
async fn server(environment: &Environment, port: u16) -> Result<Client, Error> {
    let named = |what: &str, value: Value| json!([{ "name": "bench", what: value }]);
    let kubeconfig = json!({
        "current-context": "bench",
        "contexts": named("context", json!({ "cluster": "bench", "user": "bench" })),
        "users": named("user", json!({})),
        "clusters": named("cluster", json!({
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority": environment.planes().layout().pki().join("ca.crt"),
        })),
    });
    let broken = |error: &dyn std::error::Error| Error::Benchmark(error.to_string());
    let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).map_err(|error| broken(&error))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| broken(&error))?;
    config.default_retry = false;
    Client::try_from(config).map_err(Error::api("client of the webhooks".to_owned()))
}

/// Sends `count` reviews at the pace, and returns how long each took, in milliseconds. Both webhooks of a
/// write have one user.
async fn lap(client: &Client, count: usize, user: impl Fn(usize) -> String) -> Result<Vec<f64>, Error> {
    let review = |at: usize| {
        let client = client.clone();
        let user = user(at / PATHS.len());
        let request =
            http::Request::post(PATHS[at % PATHS.len()]).body(review(&user, at).to_string().into_bytes());
        async move {
            let request = request.map_err(|error| Error::Benchmark(error.to_string()))?;
            let answer: Value = client.request(request).await.map_err(Error::api("review".to_owned()))?;
            if answer["response"]["allowed"] != true {
                return Err(Error::Benchmark(format!("a review was not allowed: {}", answer["response"])));
            }
            Ok(())
        }
    };
    paced(count, review).await
}

/// Asks the plane itself about `count` users at the pace.
async fn bare(plane: &Client, count: usize, turn: usize) -> Result<Vec<f64>, Error> {
    let api: Api<SubjectAccessReview> = Api::all(plane.clone());
    let question = |at: usize| {
        let api = api.clone();
        let review = serde_json::from_value(json!({ "spec": {
            "user": format!("bare-{turn}-{at}"), "groups": ["bench", "system:authenticated"],
            "resourceAttributes": {
                "group": "networking.datumapis.com", "version": "v1alpha", "resource": "networks", "verb": "use",
                "namespace": "default", "name": "default",
            },
        } }));
        async move {
            let review = review.map_err(|error| Error::Benchmark(error.to_string()))?;
            let asked = api.create(&PostParams::default(), &review).await;
            asked.map(drop).map_err(Error::api("create a SubjectAccessReview".to_owned()))
        }
    };
    paced(count, question).await
}

/// Does so much at the pace, and returns what each took, in milliseconds. What is sent is prepared before its
/// turn.
async fn paced<F, D>(count: usize, act: F) -> Result<Vec<f64>, Error>
where
    F: Fn(usize) -> D,
    D: Future<Output = Result<(), Error>>,
{
    let mut turns = interval(Duration::from_secs(1) / u32::from(PACE));
    turns.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let turns = Arc::new(tokio::sync::Mutex::new(turns));
    let one = |at: usize| {
        let act = act(at);
        let turns = turns.clone();
        async move {
            turns.lock().await.tick().await;
            let began = Instant::now();
            act.await?;
            Ok(began.elapsed().as_secs_f64() * 1e3)
        }
    };
    stream::iter((0..count).map(one)).buffered(64).try_collect().await
}

/// The CPU time of fedhub for a review, in milliseconds.
async fn cpu(process: &Process, client: &Client, count: usize) -> Result<f64, Error> {
    let before = process.cpu()?;
    lap(client, count.min(2_000), |_| "one".to_owned()).await?;
    let used = process.cpu()?.saturating_sub(before);
    Ok(rounded(used.as_secs_f64() * 1e3 / super::stats::number(count.min(2_000)), 3))
}

/// The p99 of a lap.
fn tail(lap: &[f64]) -> f64 {
    percentile(lap, 99).unwrap_or(f64::NAN)
}

/// Percentiles of each lap.
fn summary<'a>(laps: impl Iterator<Item = &'a Vec<f64>> + Clone) -> Value {
    let at = |percent| {
        let each = laps.clone().filter_map(|lap| percentile(lap, percent)).collect::<Vec<_>>();
        digits(&each, 2)
    };
    json!({ "p50_ms": at(50), "p99_ms": at(99), "max_ms": at(100) })
}

/// A review of a write: by turns both webhooks of a create, and both of an update.
fn review(user: &str, at: usize) -> Value {
    let is_update = at / PATHS.len() % 2 == 1;
    let mut containers = Vec::new();
    for n in 0..3 {
        let variables: Vec<_> =
            (0..20).map(|v| json!({ "name": format!("VAR_{v}"), "value": "value" })).collect();
        containers.push(json!({
            "name": format!("app-{n}"), "image": "docker.io/library/nginx:1.29", "env": variables,
            "ports": [{ "name": "http", "port": 8080 + n }],
        }));
    }
    let object = workload(&containers);
    let old = is_update.then(|| {
        containers[0]["image"] = json!("docker.io/library/nginx:1.28");
        workload(&containers)
    });
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": format!("{at}"), "name": "web", "namespace": "default",
            "operation": if is_update { "UPDATE" } else { "CREATE" },
            "kind": { "group": "compute.datumapis.com", "version": "v1alpha", "kind": "Workload" },
            "resource": { "group": "compute.datumapis.com", "version": "v1alpha", "resource": "workloads" },
            "userInfo": { "username": user, "uid": "1", "groups": ["bench", "system:authenticated"] },
            "object": object, "oldObject": old,
        },
    })
}

fn workload(containers: &[Value]) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Workload",
        "metadata": { "name": "web", "namespace": "default" },
        "spec": {
            "template": { "spec": {
                "runtime": {
                    "resources": { "instanceType": "datumcloud/d1-standard-2" },
                    "sandbox": { "containers": containers },
                },
                "networkInterfaces": [{ "name": "eth0", "network": { "name": "default" } }],
            } },
            "placements": [{ "name": "dfw", "cityCodes": ["DFW", "ORD"], "scaleSettings": { "minReplicas": 1 } }],
        },
    })
}
