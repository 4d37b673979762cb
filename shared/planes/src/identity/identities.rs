//! Who planes are: what is known of it, and what is asked of a plane.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fedhub_core::names::PlaneName;
use fedhub_core::{errors, hash};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, ResourceExt};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::entry::Seen;
use super::known::Known;
use super::verdict::{Refusal, Verdict};
use crate::Plane;
use crate::backoff::Failure;

/// How long a plane may take to say who it is, and how long the memory is waited for before that is called trouble.
/// Longer than any time-out to headers: this is for bodies that do not end.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a shutdown waits until what is new is stored.
const CLOSE: Duration = Duration::from_secs(3);

/// What is known of the identities of planes, and where it is stored.
pub struct Identities {
    known: Mutex<Known>,
    /// The namespace of the `ConfigMap`s.
    pub(super) namespace: String,
    /// Whether what is stored was read: without it nobody can be recognised. Else why not.
    pub(super) loaded: watch::Sender<Result<(), String>>,
    /// Somebody was accepted who is not stored yet.
    pub(super) news: tokio::sync::Notify,
    /// An entry is gone or says something else: planes that are refused ask again.
    pub(super) lost: watch::Sender<()>,
    /// To be cancelled when what is new is to be stored at once, for the last time.
    pub(super) closing: CancellationToken,
    /// That is done.
    pub(super) closed: CancellationToken,
}

/// Why a plane is not worked on.
pub(crate) struct Doubt {
    /// The metric label.
    pub(super) label: &'static str,
    pub(super) reason: String,
    /// It answered, and is not the one: the reason of the Event that says so. Else nobody knows.
    pub(super) refused: Option<&'static str>,
    /// Its server answered that there is no such plane, or one that has nothing to be known by.
    pub(super) unserved: bool,
    pub(super) failure: Failure,
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

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn release(&self, name: &PlaneName) {
        self.known().release(name);
    }

    /// Asks a plane who it is, and decides.
    pub(super) async fn judge(&self, name: &PlaneName, plane: &Plane) -> Result<(), Doubt> {
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
        let entry =
            |name: &PlaneName| format!("the key {name} of ConfigMap {}/{}", self.namespace, shard(name));
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
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        if self.loaded.borrow().is_ok() && tokio::time::timeout(CLOSE, self.closed.cancelled()).await.is_err()
        {
            tracing::warn!(
                "identities of planes and the hub's version are not stored: the management plane does not answer"
            );
        }
    }

    /// Something is to be remembered that is not.
    pub(crate) fn remember(&self) {
        self.news.notify_one();
    }

    /// Waits until the memory was read.
    pub(crate) async fn loaded(&self) -> Result<(), Doubt> {
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

/// The `ConfigMap` that remembers a plane: one of sixteen, so that ten thousand planes stay far below the limit on an
/// object's size.
pub(super) fn shard(plane: &PlaneName) -> String {
    format!("fedhub-plane-identities-{:x}", hash::text(plane.as_str()) & 0xf)
}
