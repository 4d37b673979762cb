//! Hundreds of planes behind one server that begins the storage of each with the first request for it: they
//! become Ready together, or the server is killed (I8).

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_core::fence::Fence;
use fedhub_core::object::Kind;
use fedhub_fake_apiserver::{ApiServer, resource};
use fedhub_planes::transport::{
    Connection, HeaderTimeoutLayer, HealthLayer, RetryAfterLayer, ServerHealth, WatchStarts,
};
use fedhub_planes::{Identities, Planes, Settings, Watched};
use fedhub_testing::gap;
use http::{Request, Response};
use http_body_util::{Either, Full};
use hyper::body::Bytes;
use kube::client::Body;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::{BoxError, ServiceBuilder, ServiceExt, service_fn};

use crate::planes::support::*;

const PLANES: usize = 300;
/// How long after the last plane is served all are in sync, at most.
const SOON: Duration = Duration::from_secs(15);
/// How long a request takes that nothing is wrong with.
const TAKES: Duration = Duration::from_millis(20);

/// What the server answers, from when it serves.
#[derive(Clone, Copy, Default)]
struct Shape {
    /// For so long it has not loaded its definitions: 404 for every custom resource.
    loading: Duration,
    /// For so long it rejects everything (503).
    unavailable: Duration,
    /// The first requests for a plane take so long.
    first: Duration,
    /// So long from the first request for a resource of a plane, its storage is initializing (429).
    initializing: Duration,
    /// The planes have no namespace for so long.
    namespace: Duration,
}

impl Shape {
    /// How long it takes whoever asks for everything of all planes at once.
    fn served(&self) -> Duration {
        let Self { loading, unavailable, first, initializing, namespace } = *self;
        loading.max(unavailable).max(namespace) + first + initializing * 2
    }
}

/// The server that all planes are behind.
#[derive(Clone)]
struct Server {
    health: ServerHealth,
    state: Arc<Mutex<Serving>>,
}

struct Serving {
    shape: Shape,
    since: Instant,
    touched: HashMap<(String, String), Instant>,
}

/// What becomes of a request.
enum Fate {
    Served,
    Refused(u16, &'static str),
    Lost,
}

impl Server {
    fn serving(shape: Shape) -> Self {
        let serving = Serving { shape, since: Instant::now(), touched: HashMap::new() };
        Self { health: ServerHealth::new("milo"), state: Arc::new(Mutex::new(serving)) }
    }

    /// It is killed, and serves again after so long.
    fn restart(&self, away: Duration, shape: Shape) {
        *self.state.lock().unwrap() =
            Serving { shape, since: Instant::now() + away, touched: HashMap::new() };
    }

    /// The way to a plane.
    fn connection(&self, plane: &ApiServer) -> Connection {
        let starts = WatchStarts::default();
        let server = self.clone();
        let plane = plane.clone();
        let answers = service_fn(move |request: Request<Body>| {
            let server = server.clone();
            let plane = plane.clone();
            async move {
                let path = request.uri().path().to_owned();
                match server.fate(plane.name(), &path).await {
                    Fate::Served => {
                        let answer = plane.service().oneshot(request).await?;
                        Ok::<_, BoxError>(answer.map(Either::Left))
                    }
                    Fate::Refused(code, words) => Ok(refusal(code, words).map(Either::Right)),
                    Fate::Lost => Err("connection reset".into()),
                }
            }
        });
        let stack = ServiceBuilder::new()
            .layer(RetryAfterLayer::default())
            .layer(HealthLayer::new(self.health.clone(), starts.clone()))
            .layer(HeaderTimeoutLayer::new(HEADERS))
            .service(answers);
        Connection::new(kube::Client::new(stack, "default"), self.health.clone(), starts)
    }

    /// When a resource of a plane, or any, was touched first, and what the server is like.
    fn touch(&self, plane: &str, resource: &str) -> (Instant, Shape, Instant) {
        let mut state = self.state.lock().unwrap();
        let touched = state.touched.entry((plane.to_owned(), resource.to_owned()));
        let first = *touched.or_insert_with(Instant::now);
        (first, state.shape, state.since)
    }

    async fn fate(&self, plane: &str, path: &str) -> Fate {
        tokio::time::sleep(TAKES).await;
        if self.state.lock().unwrap().since > Instant::now() {
            return Fate::Lost;
        }
        let (first, shape, since) = self.touch(plane, "");
        if since.elapsed() < shape.unavailable {
            return Fate::Refused(503, "ServiceUnavailable");
        }
        if since.elapsed() < shape.loading && path.starts_with("/apis/") {
            return Fate::Refused(404, "404 page not found");
        }
        tokio::time::sleep_until(first + shape.first).await;
        let segments: Vec<_> = path.split('/').skip(1).collect();
        let of_core = segments.get(2);
        let of_group = segments.get(3);
        if let Some(resource) = if segments[0] == "api" { of_core } else { of_group } {
            let (touched, ..) = self.touch(plane, resource);
            if touched.elapsed() < shape.initializing {
                return Fate::Refused(429, "storage is (re)initializing");
            }
        }
        if path.starts_with("/api/v1/namespaces/") && since.elapsed() < shape.namespace {
            return Fate::Refused(404, "NotFound");
        }
        Fate::Served
    }
}

fn refusal(code: u16, words: &str) -> Response<Full<Bytes>> {
    let seconds = u32::from(code == 429);
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": words, "reason": words, "code": code,
        "details": {"retryAfterSeconds": seconds},
    });
    let answer = Response::builder().status(code).header("content-type", "application/json");
    let answer = if seconds > 0 { answer.header("retry-after", seconds.to_string()) } else { answer };
    answer.body(Full::from(body.to_string())).unwrap()
}

/// A registry that knows planes by their identity and watches what a Milo's planes have.
async fn registry_of_milo(stop: &CancellationToken) -> Arc<Planes> {
    let hub = ApiServer::hub("hub");
    let management = ApiServer::builder("management").resources(resource::base()).build();
    let identities = Identities::new(HOME);
    let optional = [Kind::Workload, Kind::LocationBinding, Kind::Network, Kind::ServiceEntitlement];
    let required = [Kind::WorkloadDeployment, Kind::Instance].map(Watched::all);
    let project_kinds = required.into_iter().chain(optional.map(|kind| Watched::all(kind).if_served()));
    let settings = Settings {
        seed: 7,
        identities: Some(identities.clone()),
        project_kinds: project_kinds.collect(),
        ..Settings::default()
    };
    let planes = Planes::with(client(&hub), metrics(), Clock::from_tokio(hub.clock().now()), settings);
    tokio::spawn(identities.run(client(&management), planes.clone(), Fence::open(), stop.clone()));
    planes.start();
    until("the hub", || planes.hub().synced()).await;
    planes
}

/// How long all planes take from now to be engaged.
async fn all_engaged(planes: &Planes) -> Duration {
    let start = Instant::now();
    while planes.states()[1].1 < i64::try_from(PLANES).unwrap() {
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(start.elapsed() < Duration::from_mins(10), "{:?}", planes.states());
    }
    start.elapsed()
}

fn planes_of_milo() -> Vec<ApiServer> {
    (0..PLANES)
        .map(|n| {
            let server = ApiServer::project_plane(&format!("p{n}"));
            server
                .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}))
                .unwrap();
            server
        })
        .collect()
}

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[tokio::test(start_paused = true)]
async fn i8_planes_that_become_ready_together_are_engaged_soon_after_the_server_has_their_storage() {
    let nothing = Shape::default();
    for (what, shape) in [
        ("in order", nothing),
        ("its storage says 429", Shape { initializing: seconds(1), ..nothing }),
        ("its storage says 429 for long", Shape { initializing: seconds(5), ..nothing }),
        ("its storage is begun slowly", Shape { first: seconds(5), ..nothing }),
        ("its storage is begun more slowly than is waited for", Shape { first: seconds(20), ..nothing }),
        ("its namespaces come late", Shape { namespace: seconds(60), ..nothing }),
        (
            "all of it",
            Shape { first: seconds(5), initializing: seconds(2), namespace: seconds(5), ..nothing },
        ),
    ] {
        let stop = CancellationToken::new();
        let planes = registry_of_milo(&stop).await;
        let server = Server::serving(shape);
        let servers = planes_of_milo();
        for plane in &servers {
            planes.engage(&plane_name(plane.name()), server.connection(plane));
        }
        let took = all_engaged(&planes).await;
        assert!(took <= shape.served() + SOON, "{what}: {took:?}, served after {:?}", shape.served());
        stop.cancel();
        planes.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i8_planes_behind_a_server_that_was_killed_are_engaged_soon_after_it_serves_them() {
    let nothing = Shape::default();
    let initializing = Shape { initializing: seconds(1), ..nothing };
    let stop = CancellationToken::new();
    let planes = registry_of_milo(&stop).await;
    let server = Server::serving(nothing);
    let servers = planes_of_milo();
    for plane in &servers {
        planes.engage(&plane_name(plane.name()), server.connection(plane));
    }
    all_engaged(&planes).await;
    for (what, shape) in [
        ("at once", nothing),
        ("with its storage to begin", initializing),
        ("after half a minute of 404", Shape { loading: seconds(35), ..initializing }),
        ("after a minute of 503", Shape { unavailable: seconds(60), ..initializing }),
        ("after minutes of 503", Shape { unavailable: seconds(200), ..initializing }),
    ] {
        let away = seconds(10);
        server.restart(away, shape);
        for plane in &servers {
            gap(plane);
        }
        quiet(9).await;
        assert_eq!(planes.states()[1], ("engaged", 0), "{what}");
        let took = seconds(9) + all_engaged(&planes).await;
        assert!(took <= away + shape.served() + SOON, "{what}: {took:?}");
        quiet(60).await;
    }
    stop.cancel();
    planes.stop().await;
}

/// A server that answers nothing is not asked by more than the places and those that stand aside.
#[tokio::test(start_paused = true)]
async fn i8_lists_that_are_not_answered_are_limited_too() {
    let planes = {
        let settings = Settings { seed: 7, max_concurrent_lists: 4, ..Settings::default() };
        let hub = ApiServer::hub("hub");
        Planes::with(client(&hub), metrics(), Clock::from_tokio(hub.clock().now()), settings)
    };
    let under_way = Arc::new(Mutex::new([0_usize; 2]));
    for n in 0..200 {
        let under_way = under_way.clone();
        let service = service_fn(move |_: Request<Body>| {
            let under_way = under_way.clone();
            async move {
                {
                    let [now, most] = &mut *under_way.lock().unwrap();
                    *now += 1;
                    *most = (*most).max(*now);
                }
                tokio::time::sleep(seconds(5)).await;
                under_way.lock().unwrap()[0] -= 1;
                Ok::<_, Infallible>(refusal(503, "ServiceUnavailable"))
            }
        });
        planes.engage(&plane_name(&format!("slow{n}")), kube::Client::new(service, "default"));
    }
    quiet(60).await;
    assert_eq!(under_way.lock().unwrap()[1], 4 + 4 * 16);
    planes.stop().await;
}
