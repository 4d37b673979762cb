//! The identities of planes: what is known, and what a plane is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fedhub_api::reason::Reason;
use fedhub_core::errors::{self, ApiError};
use fedhub_core::names::PlaneName;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, ResourceExt};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::decision::IdentityVerdict;
use super::entry::ObservedUids;
use super::known_identities::KnownIdentities;
use super::pruning::{Sighting, is_long};
use crate::Plane;
use crate::registry::services::entitlement::Grant;
use crate::transport::backoff::AttemptFailure;

/// How long a plane may take to say who it is, and how long the memory is waited for before that is a
/// failure. Longer than any time-out to headers: this is for bodies that do not end.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a shutdown waits until what is new is stored.
const CLOSE: Duration = Duration::from_secs(3);

/// The identities of planes, as far as they are known, and where they are stored.
pub struct Identities {
    known: Mutex<KnownIdentities>,
    /// The namespace of the `ConfigMap`s.
    pub(super) namespace: String,
    /// Whether the stored identities were read, or why not: without them no plane can be recognised.
    pub(super) loaded: watch::Sender<Result<(), String>>,
    /// Notified when a plane was accepted that is not stored yet.
    pub(super) news: tokio::sync::Notify,
    /// When Projects whose planes are remembered were found to be gone.
    pub(super) gone_since: Mutex<BTreeMap<PlaneName, Timestamp>>,
    /// The answer of the server of Projects, until it is stored.
    pub(super) sighting: Mutex<Option<Sighting>>,
    /// An entry is gone or says something else: planes that are refused ask again.
    pub(super) lost: watch::Sender<()>,
    /// Cancelled when what is new has to be stored at once, for the last time.
    pub(super) closing: CancellationToken,
    /// Cancelled when that is stored.
    pub(super) closed: CancellationToken,
}

/// The reason why a plane is not recognised, so that it is not worked on.
pub(crate) struct IdentityError {
    /// The metric label.
    pub(super) label: &'static str,
    pub(super) reason: String,
    /// The reason of the Event, where the plane answered and is another one; `None` where it is not known.
    pub(super) refused: Option<Reason>,
    /// Its server answered that there is no such plane, or one that has nothing to be known by.
    pub(super) unserved: bool,
    pub(super) failure: AttemptFailure,
}

impl Identities {
    /// A memory in `namespace` of the management plane, which [`Self::run`] has to read first.
    pub fn new(namespace: &str) -> Arc<Self> {
        let unread = Err("not read yet".to_owned());
        Arc::new(Self {
            known: Mutex::default(),
            namespace: namespace.to_owned(),
            loaded: watch::channel(unread).0,
            news: tokio::sync::Notify::new(),
            gone_since: Mutex::default(),
            sighting: Mutex::default(),
            lost: watch::channel(()).0,
            closing: CancellationToken::new(),
            closed: CancellationToken::new(),
        })
    }

    pub(super) fn known(&self) -> MutexGuard<'_, KnownIdentities> {
        self.known.lock()
    }

    pub(crate) fn release(&self, name: &PlaneName) {
        self.known().release(name);
    }

    /// Returns the remembered grant of the service to the project of that name (W9).
    pub(crate) fn grant(&self, name: &PlaneName) -> Option<Grant> {
        self.known().grant(name)
    }

    /// Like [`Self::grant`], but as it is stored by now.
    pub(crate) fn stored_grant(&self, name: &PlaneName) -> Option<Grant> {
        self.known().stored_grant(name)
    }

    /// Notes the grant of the service to remember for a project.
    pub(crate) fn note_grant(&self, name: &PlaneName, grant: Option<Grant>) {
        if self.known().note_grant(name, grant) {
            self.news.notify_one();
        }
    }

    /// Reads the identity of a plane, and decides.
    pub(super) async fn judge(&self, name: &PlaneName, plane: &Plane) -> Result<(), IdentityError> {
        let seen = match tokio::time::timeout(PATIENCE, self.look(name, &plane.client())).await {
            Ok(seen) => seen?,
            Err(_) => {
                return Err(IdentityError {
                    failure: AttemptFailure::Unreachable,
                    ..unknown(
                        "transient",
                        format!("failed to get namespaces: no complete response within {PATIENCE:?}"),
                    )
                });
            }
        };
        match self.known().judge(name, &seen, plane.origin.project.as_deref()) {
            IdentityVerdict::Accept => {
                self.news.notify_one();
                Ok(())
            }
            IdentityVerdict::Nameless => Err(IdentityError {
                unserved: true,
                ..unknown(
                    "no_identity",
                    "plane has neither a namespace kube-system nor default, which identify a plane: it may not be served yet".to_owned(),
                )
            }),
            IdentityVerdict::Refuse(refusal) => {
                let reason = refusal.message(name, &self.namespace);
                Err(IdentityError { refused: Some(refusal.event()), ..unknown(refusal.label(), reason) })
            }
        }
    }

    async fn look(&self, name: &PlaneName, client: &kube::Client) -> Result<ObservedUids, IdentityError> {
        let mut seen = ObservedUids { kube_system: uid(client, "kube-system").await?, default: None };
        let settled =
            seen.kube_system.is_some() && self.known().identity(name) == seen.kube_system.as_deref();
        if !settled {
            seen.default = uid(client, "default").await?;
        }
        Ok(seen)
    }

    /// Stores what is new, if this process still leads: the highest resourceVersion of the hub above all,
    /// which else waits for up to a minute. Nothing is stored after it.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        if self.loaded.borrow().is_ok() && tokio::time::timeout(CLOSE, self.closed.cancelled()).await.is_err()
        {
            tracing::warn!(
                "failed to store plane identities and the hub's version: the management plane did not answer in time"
            );
        }
    }

    /// The planes of Projects that are remembered, less those of Projects that are known to be gone, and not
    /// long gone yet.
    pub(crate) fn to_ask_about(&self, now: Timestamp) -> BTreeSet<PlaneName> {
        let gone = self.gone_since.lock();
        let known = self.known();
        let mut planes: BTreeSet<_> = known.of_projects().cloned().collect();
        planes.retain(|plane| gone.get(plane).is_none_or(|since| is_long(*since, now)));
        planes
    }

    /// Notes what the server of Projects said about them, to be stored.
    pub(crate) fn note_sighting(&self, sighting: Sighting) {
        *self.sighting.lock() = Some(sighting);
        self.news.notify_one();
    }

    /// Wakes the task that stores what has to be remembered.
    pub(crate) fn remember(&self) {
        self.news.notify_one();
    }

    /// Waits until the memory was read.
    pub(crate) async fn loaded(&self) -> Result<(), IdentityError> {
        let mut loaded = self.loaded.subscribe();
        if tokio::time::timeout(PATIENCE, loaded.wait_for(Result::is_ok)).await.is_ok() {
            return Ok(());
        }
        let error = loaded.borrow().clone().err().unwrap_or_default();
        Err(unknown(
            "not_engaged",
            format!(
                "plane cannot be identified: failed to read plane identities on the management plane: {error}"
            ),
        ))
    }
}

fn unknown(label: &'static str, reason: String) -> IdentityError {
    IdentityError { label, reason, refused: None, unserved: false, failure: AttemptFailure::Refused }
}

async fn uid(client: &kube::Client, namespace: &str) -> Result<Option<String>, IdentityError> {
    let api: Api<Namespace> = Api::all(client.clone());
    match api.get_metadata_opt(namespace).await {
        Ok(found) => Ok(found.and_then(|namespace| namespace.uid()).filter(|uid| !uid.is_empty())),
        Err(error) => {
            let error = ApiError::from(error);
            let cause = errors::chain(&error);
            let reason = format!("failed to get namespaces/{namespace}, which identifies a plane: {cause}");
            let label = error.category().label();
            let unserved = error.code() == Some(404);
            Err(IdentityError {
                unserved,
                failure: AttemptFailure::from_error(&error),
                ..unknown(label, reason)
            })
        }
    }
}
