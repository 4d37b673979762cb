//! The identity of a plane (specification, section 2): the UID of its namespace `kube-system`, else of `default`.
//!
//! A name stands for one cluster, and a cluster has one name. What is seen is compared with what is remembered on the
//! management plane before anything of a plane is listed, and again whenever its watches start anew: another cluster
//! behind the same address or in the same kubeconfig is not worked on (I4).

pub mod hub;
mod known;
mod memory;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::runtime::events::EventType;
use kube::{Api, ResourceExt};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use known::{Entry, Known, Refusal, Seen, Verdict};

use crate::engine::backoff::{Attempt, Backoffs, Failure};
use crate::errors;
use crate::names::PlaneName;
use crate::object::{Kind, PlaneId};
use crate::planes::{Plane, Planes};

/// How long a plane may take to say who it is, and how long the memory is waited for before that is called trouble.
/// Longer than any time-out to headers: this is for bodies that do not end.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the server of a plane has to say that there is none before that is believed.
const UNSERVED: Duration = Duration::from_mins(2);
/// How long a shutdown waits until what is new is stored.
const CLOSE: Duration = Duration::from_secs(3);

/// What is known of the identities of planes, and where it is stored.
pub struct Identities {
    known: Mutex<Known>,
    /// The namespace of the `ConfigMap`s.
    namespace: String,
    /// Whether what is stored was read: without it nobody can be recognised. Else why not.
    loaded: watch::Sender<Result<(), String>>,
    /// Somebody was accepted who is not stored yet.
    news: tokio::sync::Notify,
    /// An entry is gone or says something else: planes that are refused ask again.
    lost: watch::Sender<()>,
    /// To be cancelled when what is new is to be stored at once, for the last time.
    closing: CancellationToken,
    /// That is done.
    closed: CancellationToken,
}

/// Why a plane is not worked on.
pub(super) struct Doubt {
    /// The metric label.
    label: &'static str,
    reason: String,
    /// It answered, and is not the one: the reason of the Event that says so. Else nobody knows.
    refused: Option<&'static str>,
    /// Its server answered that there is no such plane, or one that has nothing to be known by.
    unserved: bool,
    failure: Failure,
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
            lost: watch::channel(()).0,
            closing: CancellationToken::new(),
            closed: CancellationToken::new(),
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn release(&self, name: &PlaneName) {
        self.known().release(name);
    }

    /// Asks a plane who it is, and decides.
    async fn judge(&self, name: &PlaneName, plane: &Plane) -> Result<(), Doubt> {
        let seen = match tokio::time::timeout(PATIENCE, self.look(name, &plane.client())).await {
            Ok(seen) => seen?,
            Err(_) => {
                return Err(Doubt {
                    failure: Failure::Unreachable,
                    ..unknown("transient", format!("cannot get namespaces: no end within {PATIENCE:?}"))
                });
            }
        };
        match self.known().judge(name, &seen, plane.origin.project.as_deref()) {
            Verdict::Accept => {
                self.news.notify_one();
                Ok(())
            }
            Verdict::Nameless => Err(Doubt {
                unserved: true,
                ..unknown(
                    "no_identity",
                    "it shows neither a namespace kube-system nor one called default, by which a plane is known: it may not be served yet".to_owned(),
                )
            }),
            Verdict::Refuse(refusal) => {
                let reason = self.words(name, &refusal);
                Err(Doubt { refused: Some(refusal.event()), ..unknown(refusal.label(), reason) })
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

    /// Stores what is new, if this process still leads: the highest resourceVersion of the hub above all, which else
    /// waits for up to a minute. Nothing is stored after it.
    pub(super) async fn close(&self) {
        self.closing.cancel();
        if self.loaded.borrow().is_ok() && tokio::time::timeout(CLOSE, self.closed.cancelled()).await.is_err()
        {
            tracing::warn!(
                "identities of planes and the hub's version are not stored: the management plane does not answer"
            );
        }
    }

    /// Something is to be remembered that is not.
    pub(super) fn remember(&self) {
        self.news.notify_one();
    }

    /// Waits until the memory was read.
    pub(super) async fn loaded(&self) -> Result<(), Doubt> {
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
    Doubt { label, reason, refused: None, unserved: false, failure: Failure::Refused }
}

async fn uid(client: &kube::Client, namespace: &str) -> Result<Option<String>, Doubt> {
    let api: Api<Namespace> = Api::all(client.clone());
    match api.get_metadata_opt(namespace).await {
        Ok(found) => Ok(found.and_then(|namespace| namespace.uid()).filter(|uid| !uid.is_empty())),
        Err(error) => {
            let cause = errors::chain(&error);
            let reason = format!("cannot get namespaces/{namespace}, by which a plane is known: {cause}");
            let label = errors::category(&error).label();
            let unserved = matches!(&error, kube::Error::Api(status) if status.code == 404);
            Err(Doubt { unserved, failure: Failure::of(&error), ..unknown(label, reason) })
        }
    }
}

/// What a plane is held to be.
#[derive(Default)]
pub(super) struct Recognition {
    /// When it last said who it is. Held while it is asked: the watches of a plane ask once.
    asked: tokio::sync::Mutex<Option<Instant>>,
    recognised: std::sync::atomic::AtomicBool,
    /// Since when its server says that there is no such plane.
    unserved: Mutex<Option<Instant>>,
    /// The refusal that an Event says already.
    said: Mutex<Option<String>>,
}

impl Recognition {
    /// Of a plane that is not asked.
    pub(super) fn certain() -> Self {
        Self { asked: tokio::sync::Mutex::default(), recognised: true.into(), ..Self::default() }
    }

    pub(super) fn holds(&self) -> bool {
        self.recognised.load(std::sync::atomic::Ordering::Acquire)
    }

    /// Whether the server has said for a while that there is no such plane: one that starts up may say so, too.
    pub(super) fn is_unserved(&self) -> bool {
        let since = *self.unserved.lock().unwrap_or_else(PoisonError::into_inner);
        since.is_some_and(|since| since.elapsed() >= UNSERVED)
    }

    fn answered(&self, unserved: bool) {
        let mut since = self.unserved.lock().unwrap_or_else(PoisonError::into_inner);
        *since = if unserved { since.or_else(|| Some(Instant::now())) } else { None };
    }

    /// Whether no Event says that refusal yet. From now on one does.
    fn is_news(&self, refusal: &str) -> bool {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.replace(refusal.to_owned()).as_deref() != Some(refusal)
    }

    fn set(&self, recognised: bool) {
        self.recognised.store(recognised, std::sync::atomic::Ordering::Release);
    }
}

impl Planes {
    /// Returns when the plane is the one that its name stands for, and its watch of `kind` may go on. One that turns
    /// out to be another cluster than before is engaged anew, with nothing known of it, and waits there until an operator
    /// says so; `waits` are those between two questions.
    pub(crate) async fn recognise(self: &Arc<Self>, plane: &Plane, kind: Kind, waits: &mut Backoffs) {
        let (Some(identities), PlaneId::Project(name)) = (&self.identities, &plane.id) else { return };
        let mut lost = identities.lost.subscribe();
        loop {
            let attempt = plane.attempt();
            lost.mark_unchanged();
            let Err(doubt) = self.ask(identities, plane, name).await else {
                plane.recognition.answered(false);
                waits.succeeded(Attempt::Identity);
                return;
            };
            self.metrics.watch_restarts.with_label_values(&[plane.id.kind(), doubt.label]).inc();
            plane.recognition.answered(doubt.unserved);
            if plane.recognition.is_unserved() {
                self.listeners().iter().for_each(|listener| listener.unserved(plane));
            }
            if doubt.refused.is_some() && plane.recognition.holds() {
                plane.recognition.set(false);
                tracing::warn!(plane = %name, cause = doubt.reason, "another cluster answers: nothing that was known of the plane counts");
                self.anew(plane);
                return std::future::pending().await;
            }
            let wait = waits.after(Attempt::Identity, doubt.failure, plane.is_starting());
            if let Some(event) = doubt.refused {
                self.say_refused(plane, event, &doubt.reason);
                if plane.unhealthy(kind, doubt.reason.clone()) {
                    tracing::warn!(plane = %name, reason = doubt.label, error = doubt.reason, retry_in = ?wait, "plane refused: nothing is done there");
                }
            } else {
                let reason = doubt.failure.reason(doubt.label);
                self.failed(plane, kind, reason, doubt.reason, Some(wait));
            }
            tokio::select! {
                () = plane.wait(wait, doubt.failure, &attempt, waits) => {}
                _ = lost.changed(), if doubt.refused.is_some() => {}
            }
        }
    }

    /// An Event on the Project or the Secret says that its plane is refused: the leader's, one for each refusal.
    fn say_refused(&self, plane: &Plane, event: &'static str, reason: &str) {
        let Some((about, events)) = plane.origin.about.as_ref().filter(|_| self.leads()) else { return };
        if plane.recognition.is_news(reason) {
            events.send(about.clone(), EventType::Warning, event, reason.to_owned());
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
        let _turn = self.turn_to_list(plane).await;
        identities.judge(name, plane).await?;
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
