//! Processes that take part in the election over one simulated management plane and write to one hub.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fedhub_api::facts::Change;
use fedhub_core::clock::Clock;
use fedhub_core::errors::Error;
use fedhub_core::fence::Term;
use fedhub_core::metrics::Metrics;
use fedhub_core::object::{Key, Kind, Object, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, Queue, QueueConfig, run_workers};
use fedhub_fake_apiserver::ApiServer;
use fedhub_lease::{Leadership, LeaseConfig, WarmUp, follow};
use fedhub_planes::Listener;
use fedhub_planes::{Pauses, Plane, Planes, Settings};
pub use fedhub_testing::{quiet, until};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

pub const SPACE: &str = "fedhub-system";
pub const DURATION: Duration = Duration::from_secs(15);

pub fn config(identity: &str) -> LeaseConfig {
    LeaseConfig {
        namespace: SPACE.to_owned(),
        name: "fedhub".to_owned(),
        identity: identity.to_owned(),
        duration: DURATION,
        renew: Duration::from_secs(5),
        warm_up: Duration::from_secs(10),
    }
}

/// A management plane with the namespace of the process.
pub fn management() -> ApiServer {
    let server = ApiServer::management("management");
    server.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})).unwrap();
    server
}

/// The Lease's spec.
pub fn spec(management: &ApiServer) -> Value {
    management.get("Lease", SPACE, "fedhub").map(|lease| lease["spec"].clone()).unwrap_or_default()
}

pub fn holder(management: &ApiServer) -> String {
    spec(management)["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

/// Writes a namespace on the hub in each pass, named by the key; a key `slow` takes its time before.
struct Writes {
    planes: Arc<Planes>,
    queue: Arc<Queue>,
    /// What is to be written: looked at again whenever the registry says so, as at the beginning of a term.
    wanted: Mutex<BTreeSet<String>>,
}

impl Writes {
    fn enqueue(&self, name: &str) {
        let key =
            Key { plane: PlaneId::Hub, kind: Kind::Namespace, namespace: Box::default(), name: name.into() };
        self.queue.add(key, &PlaneId::Hub);
    }
}

impl Listener for Writes {
    fn changed(&self, _: &Plane, _: Kind, _: &Change) {}

    fn synced(&self, _: &Plane, _: Kind) {
        self.wanted.lock().unwrap().iter().for_each(|name| self.enqueue(name));
    }

    fn left(&self, _: &Plane) {}
}

impl Controller for Writes {
    fn name(&self) -> &'static str {
        "writes"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        if job.key.name.starts_with("slow") {
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
        self.planes.hub().create(&job.pass, Kind::Namespace, &namespace(&job.key.name), "test").await?;
        self.wanted.lock().unwrap().remove(&*job.key.name);
        Ok(Outcome::Updated)
    }
}

pub fn namespace(name: &str) -> Object {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    serde_json::from_value(object).unwrap()
}

/// One process.
pub struct Replica {
    pub planes: Arc<Planes>,
    pub queue: Arc<Queue>,
    pub metrics: Metrics,
    pub terms: watch::Receiver<Option<Term>>,
    writes: Arc<Writes>,
    leadership: Leadership,
    tasks: TaskTracker,
}

impl Replica {
    pub fn start(management: &ApiServer, hub: &ApiServer, identity: &str) -> Self {
        Self::over(management.client(), hub, identity)
    }

    /// With this client of the management plane.
    pub fn over(management: kube::Client, hub: &ApiServer, identity: &str) -> Self {
        Self::honouring(management, hub, identity, Pauses::never())
    }

    /// One that honours these pauses.
    pub fn honouring(management: kube::Client, hub: &ApiServer, identity: &str, pauses: Arc<Pauses>) -> Self {
        let clock = Clock::from_tokio(hub.clock().now());
        let metrics = Metrics::new().unwrap();
        let leadership = Leadership::start(management, config(identity), clock.clone(), &metrics);
        let planes = Planes::with(
            hub.client_as(identity),
            metrics.clone(),
            clock,
            Settings { seed: 7, fence: leadership.fence(), pauses, ..Settings::default() },
        );
        let queue = Arc::new(Queue::new(QueueConfig::default()));
        let terms = leadership.terms();
        tokio::spawn(follow(terms.clone(), vec![planes.clone()], vec![queue.clone()]));
        let writes =
            Arc::new(Writes { planes: planes.clone(), queue: queue.clone(), wanted: Mutex::default() });
        planes.listen(writes.clone());
        planes.listen(Arc::new(WarmUp { planes: planes.clone(), warm: leadership.warm() }));
        planes.start();
        let tasks = TaskTracker::new();
        run_workers(&writes, &queue, &metrics, 16, &tasks);
        Self { planes, queue, metrics, terms, writes, leadership, tasks }
    }

    pub fn add(&self, name: &str) {
        self.writes.wanted.lock().unwrap().insert(name.to_owned());
        self.writes.enqueue(name);
    }

    pub fn leads(&self) -> bool {
        self.planes.leads()
    }

    pub fn epoch(&self) -> Option<i32> {
        self.terms.borrow().map(|term| term.epoch)
    }

    pub fn passes(&self, outcome: &str) -> u64 {
        self.metrics.reconciles.with_label_values(&["writes", outcome]).get()
    }

    /// SIGTERM: passes end, then the Lease is released.
    pub async fn stop(self) {
        self.leadership.retire();
        self.queue.close();
        self.tasks.close();
        self.tasks.wait().await;
        self.leadership.release().await;
        self.planes.stop().await;
    }
}

/// A line to a server that can be cut: requests are swallowed then.
#[derive(Clone, Default)]
pub struct Line(Arc<AtomicBool>);

impl Line {
    pub fn to(&self, server: &ApiServer) -> kube::Client {
        let line = self.clone();
        let server = server.service();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let line = line.clone();
            let server = server.clone();
            async move {
                if line.0.load(Ordering::Relaxed) {
                    std::future::pending::<()>().await;
                }
                server.oneshot(request).await
            }
        });
        kube::Client::new(service, "default")
    }

    pub fn cut(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn mend(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
