//! Kubernetes Events, few and stable: one for each turn of affairs, never one per retry (F10).

mod recorder;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fedhub_api::facts::Known;
use fedhub_api::reason::{AnyReason, Reason};
use fedhub_api::transitions::Transition;
use fedhub_core::errors::{self, ApiError};
use fedhub_core::message::bounded;
use fedhub_core::metrics::Metrics;
use fedhub_core::object::{Kind, Object, PlaneId};
pub use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::Event;
pub use kube::runtime::events::EventType;
use parking_lot::Mutex;
use prometheus::IntCounterVec;
use tokio::sync::Semaphore;

use crate::registry::plane::write_state::{WriteState, WriteSwitch};
use crate::transport::Connection;
use recorder::EitherGroup;

/// How many forbidden requests are distinguished at most.
const FORBIDDEN_MAX: usize = 1024;

/// How many Events of one plane may wait to be written; what comes beyond is not stored.
const WAITING: usize = 1024;

/// How many Events of one plane are written at once: they are not to take the plane from the work that they
/// tell of.
const AT_ONCE: usize = 2;

/// The longest reason that a server takes, in bytes.
const REASON_MAX: usize = 128;

/// How long one may wait: a plane that hangs is not asked for the Events of an hour.
const PATIENCE: Duration = Duration::from_mins(1);

/// Writes Events to one plane.
#[derive(Clone)]
pub struct Events {
    recorder: Arc<EitherGroup>,
    refused: Refused,
    /// Says whether the plane takes no writes for now.
    silent: Option<WriteSwitch>,
    /// Counts the Events that were not stored, by reason.
    dropped: Option<IntCounterVec>,
    room: Arc<Semaphore>,
    turn: Arc<Semaphore>,
}

/// Why Events were refused so far: each reason is logged as a warning once.
#[derive(Clone, Default)]
pub struct Refused(Arc<Mutex<BTreeSet<&'static str>>>);

impl Refused {
    /// Returns whether that is news.
    fn note(&self, reason: &'static str) -> bool {
        self.0.lock().insert(reason)
    }
}

impl Events {
    /// Events of `controller` on the plane of `connection`.
    pub fn new(connection: impl Into<Connection>, controller: &'static str) -> Self {
        let recorder = Arc::new(EitherGroup::new(connection.into(), controller));
        let room = Arc::new(Semaphore::new(WAITING));
        let turn = Arc::new(Semaphore::new(AT_ONCE));
        Self { recorder, refused: Refused::default(), silent: None, dropped: None, room, turn }
    }

    /// Shares `refused`, so that no reason is warned about that another publisher has warned about.
    #[must_use]
    pub fn sharing(self, refused: &Refused) -> Self {
        Self { refused: refused.clone(), ..self }
    }

    /// Counts the Events that are not stored.
    #[must_use]
    pub fn counting(self, metrics: &Metrics) -> Self {
        Self { dropped: Some(metrics.events_not_stored.clone()), ..self }
    }

    fn dropped(&self, reason: &str) {
        if let Some(dropped) = &self.dropped {
            dropped.with_label_values(&[reason]).inc();
        }
    }

    /// Publishes no Events while the plane takes no writes.
    #[must_use]
    pub(crate) fn unless(self, silent: WriteSwitch) -> Self {
        Self { silent: Some(silent), ..self }
    }

    /// Publishes an Event for the users of `about`. A failure is logged and no more: an Event is never a
    /// reason to hold up the work.
    pub async fn say(
        &self,
        about: &ObjectReference,
        type_: EventType,
        reason: impl Into<AnyReason>,
        note: String,
    ) {
        self.publish(about, None, type_, &reason.into(), note).await;
    }

    /// Publishes an Event in the background. It is not stored if very many are waiting.
    pub fn send(&self, about: ObjectReference, type_: EventType, reason: impl Into<AnyReason>, note: String) {
        self.spawn(about, None, type_, reason.into(), note);
    }

    /// Publishes the Event of a transition, which nothing waits for.
    pub fn transition(&self, about: ObjectReference, transition: Transition) {
        self.send(about, transition.type_, transition.reason, transition.note);
    }

    fn spawn(
        &self,
        about: ObjectReference,
        related: Option<ObjectReference>,
        type_: EventType,
        reason: AnyReason,
        note: String,
    ) {
        let Ok(place) = self.room.clone().try_acquire_owned() else {
            self.dropped("queue_full");
            tracing::debug!(%reason, "event dropped: queue is full");
            return;
        };
        let events = self.clone();
        tokio::spawn(async move {
            let Ok(turn) = tokio::time::timeout(PATIENCE, events.turn.acquire()).await else {
                events.dropped("timed_out");
                tracing::debug!(%reason, "event dropped: waited too long in the queue");
                return;
            };
            events.publish(&about, related, type_, &reason, note).await;
            drop((turn, place));
        });
    }

    async fn publish(
        &self,
        about: &ObjectReference,
        related: Option<ObjectReference>,
        type_: EventType,
        reason: &AnyReason,
        note: String,
    ) {
        match self.silent.as_ref().map_or(WriteState::Active, WriteSwitch::state) {
            WriteState::Active => {}
            WriteState::Suspended => return self.dropped("suspended"),
            WriteState::Paused => return self.dropped("paused"),
        }
        // Conditions may have longer ones.
        let reason = reason.as_str();
        let reason = &reason[..reason.floor_char_boundary(REASON_MAX)];
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(bounded(&note).to_owned()),
            action: reason.to_owned(),
            secondary: related,
        };
        let Err(error) = self.recorder.publish(&event, about).await else { return };
        let error = ApiError::from(error);
        let category = error.category().label();
        self.dropped(category);
        let namespace = about.namespace.as_deref().unwrap_or_default();
        let error = errors::chain(&error);
        if self.refused.note(category) {
            tracing::warn!(
                reason,
                category,
                namespace,
                error,
                "failed to store Event, logging similar failures at debug level"
            );
        } else {
            tracing::debug!(reason, category, namespace, error, "failed to store Event");
        }
    }
}

/// Writes Events for the platform's operators, to the management plane. They are about the process's own
/// Lease, and name the object that they are of as the related one. Clones are the same: each of thousands of
/// planes has one.
#[derive(Clone)]
pub struct OperatorEvents(Arc<ToOperators>);

struct ToOperators {
    events: Events,
    about: ObjectReference,
    /// The messages that are published once: those of requests that are forbidden.
    said: Mutex<BTreeSet<String>>,
}

impl OperatorEvents {
    /// Events about the Lease of that name, on the plane of `client`.
    pub fn new(client: Client, namespace: &str, lease: &str, metrics: &Metrics) -> Self {
        let about = ObjectReference {
            api_version: Some("coordination.k8s.io/v1".to_owned()),
            kind: Some("Lease".to_owned()),
            name: Some(lease.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectReference::default()
        };
        let events = Events::new(client, "fedhub").counting(metrics);
        Self(Arc::new(ToOperators { events, about, said: Mutex::default() }))
    }

    /// Publishes an Event for operators. Does not wait: the management plane is not the one that is worked
    /// on.
    pub fn warn(&self, reason: Reason, related: Option<ObjectReference>, note: String) {
        self.0.events.spawn(self.0.about.clone(), related, EventType::Warning, reason.into(), note);
    }

    /// A request was forbidden. Said once for each verb, resource and plane.
    pub fn forbidden(&self, verb: &str, resource: &str, plane: &PlaneId) {
        let what = format!("{verb} {resource} on the {plane}");
        let mut said = self.0.said.lock();
        if said.len() < FORBIDDEN_MAX && said.insert(what.clone()) {
            drop(said);
            // One Event counts all notices of the same object and reason: each needs a related object of its
            // own.
            let related = ObjectReference { name: Some(what.clone()), ..ObjectReference::default() };
            self.warn(
                Reason::Forbidden,
                Some(related),
                format!(
                    "fedhub is not allowed to {what}: its RBAC rules on that plane lack the verb, or an admission policy refuses \
                     the object; the log has the plane's answer"
                ),
            );
        }
    }
}

/// A reference to an object, which may be a stub of it.
pub fn reference_to(kind: Kind, object: &Object) -> ObjectReference {
    let resource = kind.resource();
    ObjectReference {
        api_version: Some(resource.api_version.clone()),
        kind: Some(resource.kind.clone()),
        name: object.metadata.name.clone(),
        namespace: object.metadata.namespace.clone(),
        uid: object.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

/// A reference to what a store knows.
pub fn reference(kind: Kind, about: &Known) -> ObjectReference {
    let resource = kind.resource();
    ObjectReference {
        api_version: Some(resource.api_version.clone()),
        kind: Some(resource.kind.clone()),
        name: Some(about.name.to_string()),
        namespace: Some(about.namespace.to_string()),
        uid: Some(about.digest.uid.to_string()),
        ..ObjectReference::default()
    }
}

#[cfg(test)]
mod tests {
    use fedhub_fake_apiserver::{ApiServer, Fault};

    use super::*;

    #[tokio::test]
    async fn a_refused_event_is_warned_of_once_for_each_reason() {
        let server = ApiServer::project_plane("alpha");
        let shared = Refused::default();
        let about = ObjectReference { namespace: Some("default".to_owned()), ..ObjectReference::default() };
        let warned = |refused: &Refused| refused.0.lock().iter().copied().collect::<Vec<_>>();
        for fault in [Fault::Status(403), Fault::Status(403), Fault::Status(500)] {
            let id = server.fault(fault);
            let events = Events::new(server.client(), "fedhub").sharing(&shared);
            events.say(&about, EventType::Normal, AnyReason::parse("Any"), "note".to_owned()).await;
            server.clear_fault(id);
        }
        assert_eq!(warned(&shared), ["forbidden", "transient"]);
        assert!(!shared.note("forbidden") && shared.note("throttled"));
    }

    #[tokio::test(start_paused = true)]
    async fn u3_what_a_plane_has_no_room_or_no_time_for_is_counted() {
        let server = ApiServer::project_plane("alpha");
        let about = ObjectReference { namespace: Some("default".to_owned()), ..ObjectReference::default() };
        let metrics = Metrics::new().unwrap();
        let events = Events::new(server.client(), "fedhub").counting(&metrics);
        let id = server.fault(Fault::Hang);
        for _ in 0..WAITING + 10 {
            events.send(about.clone(), EventType::Normal, AnyReason::parse("Any"), "note".to_owned());
        }
        let dropped = |reason| metrics.events_not_stored.with_label_values(&[reason]).get();
        assert_eq!(dropped("queue_full"), 10);
        tokio::time::sleep(2 * PATIENCE).await;
        assert_eq!(dropped("timed_out"), (WAITING - AT_ONCE) as u64);
        server.clear_fault(id);
    }

    #[tokio::test]
    async fn u3_a_reason_that_is_too_long_for_an_event_is_cut() {
        let server = ApiServer::project_plane("alpha");
        let about = ObjectReference { namespace: Some("default".to_owned()), ..ObjectReference::default() };
        let events = Events::new(server.client(), "fedhub");
        events.say(&about, EventType::Normal, AnyReason::parse(&"Long".repeat(100)), "note".to_owned()).await;
        let told = server.list("events.events.k8s.io");
        assert_eq!(told[0]["reason"].as_str().unwrap().len(), REASON_MAX);
    }
}
