//! The identity of a plane (specification, section 2): the UID of its namespace `kube-system`, else of `default`.
//!
//! A name stands for one cluster, and a cluster has one name. What is seen is compared with what is remembered on the
//! management plane before anything of a plane is listed, and again whenever its watches start anew: another cluster
//! behind the same address or in the same kubeconfig is not worked on (I4).

mod known;
mod memory;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, ResourceExt};
use tokio::sync::watch;
use tokio::time::Instant;

pub use known::{Known, Refusal, Seen, Verdict};

use crate::errors;
use crate::names::PlaneName;
use crate::object::{Kind, PlaneId};
use crate::planes::{Plane, Planes};

/// How long a plane may take to say who it is, and how long the memory is waited for before that is called trouble.
/// Longer than any time-out to headers: this is for bodies that do not end.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is known of the identities of planes, and where it is stored.
pub struct Identities {
    known: Mutex<Known>,
    /// The namespace of the `ConfigMap`s.
    namespace: String,
    /// Whether what is stored was read: without it nobody can be recognised. Else why not.
    loaded: watch::Sender<Result<(), String>>,
    /// Somebody was accepted who is not stored yet.
    news: tokio::sync::Notify,
}

/// Why a plane is not worked on.
struct Doubt {
    /// The metric label.
    label: &'static str,
    reason: String,
    /// It answered, and is not the one. Else nobody knows.
    refused: bool,
}

impl Identities {
    /// A memory in `namespace` of the management plane, which [`Self::run`] has to read first.
    pub fn new(namespace: &str) -> Arc<Self> {
        let unread = Err("they were not read yet".to_owned());
        Arc::new(Self {
            known: Mutex::default(),
            namespace: namespace.to_owned(),
            loaded: watch::channel(unread).0,
            news: tokio::sync::Notify::new(),
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn release(&self, name: &PlaneName) {
        self.known().release(name);
    }

    /// Asks a plane who it is, and decides.
    async fn judge(&self, name: &PlaneName, client: &kube::Client) -> Result<(), Doubt> {
        let seen = match tokio::time::timeout(PATIENCE, self.look(name, client)).await {
            Ok(seen) => seen?,
            Err(_) => {
                return Err(unknown(
                    "transient",
                    format!("cannot get namespaces: no end within {PATIENCE:?}"),
                ));
            }
        };
        match self.known().judge(name, &seen) {
            Verdict::Accept => {
                self.news.notify_one();
                Ok(())
            }
            Verdict::Nameless => Err(unknown(
                "no_identity",
                "it shows neither a namespace kube-system nor one called default, by which a plane is known: it may not be served yet".to_owned(),
            )),
            Verdict::Refuse(refusal) => {
                Err(Doubt { label: refusal.label(), reason: self.words(name, &refusal), refused: true })
            }
        }
    }

    async fn look(&self, name: &PlaneName, client: &kube::Client) -> Result<Seen, Doubt> {
        let mut seen = Seen { kube_system: uid(client, "kube-system").await?, default: None };
        let settled =
            seen.kube_system.is_some() && self.known().identity(name) == seen.kube_system.as_deref();
        if !settled {
            seen.default = uid(client, "default").await?;
        }
        Ok(seen)
    }

    fn words(&self, name: &PlaneName, refusal: &Refusal) -> String {
        let entry = |name: &PlaneName| {
            format!("the key {name} of ConfigMap {}/{}", self.namespace, memory::shard(name))
        };
        match refusal {
            Refusal::AnotherIdentity { known, seen } => format!(
                "this is another cluster: its identity is {seen}, and {known} is remembered for plane {name}; \
                 if it is to take that one's place, remove {}",
                entry(name)
            ),
            Refusal::IdentityTaken { by, identity } => format!(
                "this is the cluster of plane {by} (identity {identity}), which must not have two names; \
                 if {name} is the right one, take {by} away and remove {}",
                entry(by)
            ),
        }
    }

    /// Waits until the memory was read.
    async fn loaded(&self) -> Result<(), Doubt> {
        let mut loaded = self.loaded.subscribe();
        if tokio::time::timeout(PATIENCE, loaded.wait_for(Result::is_ok)).await.is_ok() {
            return Ok(());
        }
        let why = loaded.borrow().clone().err().unwrap_or_default();
        Err(unknown(
            "not_engaged",
            format!(
                "who it is cannot be told: the identities of planes cannot be read on the management plane: {why}"
            ),
        ))
    }
}

fn unknown(label: &'static str, reason: String) -> Doubt {
    Doubt { label, reason, refused: false }
}

async fn uid(client: &kube::Client, namespace: &str) -> Result<Option<String>, Doubt> {
    let api: Api<Namespace> = Api::all(client.clone());
    match api.get_metadata_opt(namespace).await {
        Ok(found) => Ok(found.and_then(|namespace| namespace.uid()).filter(|uid| !uid.is_empty())),
        Err(error) => Err(unknown(
            errors::category(&error).label(),
            format!(
                "cannot get namespaces/{namespace}, by which a plane is known: {}",
                errors::chain(&error)
            ),
        )),
    }
}

/// The plane may be another cluster than its name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plane is not recognised")]
pub struct Unrecognised;

/// What a plane is held to be.
#[derive(Default)]
pub(super) struct Recognition {
    /// When it last said who it is. Held while it is asked: the watches of a plane ask once.
    asked: tokio::sync::Mutex<Option<Instant>>,
    recognised: std::sync::atomic::AtomicBool,
}

impl Recognition {
    /// Of a plane that is not asked.
    pub(super) fn certain() -> Self {
        Self { asked: tokio::sync::Mutex::default(), recognised: true.into() }
    }

    pub(super) fn holds(&self) -> bool {
        self.recognised.load(std::sync::atomic::Ordering::Acquire)
    }

    fn set(&self, recognised: bool) {
        self.recognised.store(recognised, std::sync::atomic::Ordering::Release);
    }
}

impl Planes {
    /// Returns when the plane is the one that its name stands for, and its watch of `kind` may go on. One that turns
    /// out to be another cluster than before is engaged anew, with nothing known of it, and waits there until an operator
    /// says so; `waits` are the pauses between two questions.
    pub(crate) async fn recognise(
        self: &Arc<Self>,
        plane: &Plane,
        kind: Kind,
        waits: &mut impl Iterator<Item = Duration>,
    ) {
        let (Some(identities), PlaneId::Project(name)) = (&self.identities, &plane.id) else { return };
        loop {
            let Err(doubt) = self.ask(identities, plane, name).await else { return };
            let before = plane.health();
            self.metrics.watch_restarts.with_label_values(&[plane.id.kind(), doubt.label]).inc();
            if doubt.refused && plane.recognition.holds() {
                plane.recognition.set(false);
                tracing::warn!(plane = %name, cause = doubt.reason, "another cluster answers: nothing that was known of the plane counts");
                self.anew(plane);
                return std::future::pending().await;
            }
            plane.unhealthy(kind, doubt.reason.clone());
            let wait = waits.next().unwrap_or(PATIENCE);
            if plane.health() == before {
                tracing::debug!(plane = %name, reason = doubt.label, cause = doubt.reason, retry_in = ?wait, "still not recognised");
            } else {
                tracing::warn!(plane = %name, reason = doubt.label, cause = doubt.reason, retry_in = ?wait, "the plane is not recognised: nothing is done there");
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Asks, unless another watch of the plane had an answer since this began to wait.
    async fn ask(&self, identities: &Identities, plane: &Plane, name: &PlaneName) -> Result<(), Doubt> {
        let since = Instant::now();
        identities.loaded().await?;
        let mut asked = plane.recognition.asked.lock().await;
        if plane.recognition.holds() && asked.is_some_and(|asked| asked >= since) {
            return Ok(());
        }
        // As with lists, thousands of planes must not be asked at once.
        let _turn = self.turn_to_list(&plane.id).await;
        identities.judge(name, &plane.client).await?;
        plane.recognition.set(true);
        *asked = Some(Instant::now());
        Ok(())
    }

    /// Has planes judged anew of which something else is remembered now than what they were accepted by.
    fn judge_anew(self: &Arc<Self>, names: &[PlaneName]) {
        for plane in names.iter().filter_map(|name| self.project(name)) {
            tracing::info!(plane = %plane.id, "its identity is judged anew");
            plane.recognition.set(false);
            self.anew(&plane);
        }
    }
}
