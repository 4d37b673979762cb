//! Events of the group that a plane serves: a root server may have those of the core group alone.

use std::collections::HashMap;
use std::fmt::Debug;
use std::time::Duration;

use fedhub_core::hash::KeyedHasher;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Event as CoreEvent, EventSource, ObjectReference};
use k8s_openapi::api::events::v1::Event as GroupEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::ObjectMeta;
use kube::runtime::events::{Event, EventType};
use kube::{Api, Resource, ResourceExt};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::transport::Connection;

/// How long a plane is held to serve no `events.k8s.io` once it said so.
const UNSERVED: Duration = Duration::from_mins(10);
/// How long an Event is counted on; servers keep it for longer.
const COUNTED: Duration = Duration::from_mins(6);
/// How many Events of a plane are counted on at most.
const MOST: usize = 16_384;

/// Writes Events to one plane: those of `events.k8s.io`, and of the core group where it does not serve that.
/// Keeps no client, as kube's recorder does: each would hold room for requests for as long as the plane is
/// known.
pub(super) struct EitherGroup {
    connection: Connection,
    controller: &'static str,
    /// How long the plane is assumed not to serve `events.k8s.io`.
    unserved: Mutex<Option<Instant>>,
    /// The Events whose count is raised, by the hash [`of`] their subject. Kept small: there is one for every
    /// state of thousands of objects.
    written: Mutex<HashMap<u64, Written>>,
}

struct Written {
    name: Box<str>,
    count: i32,
    last: Instant,
}

impl EitherGroup {
    pub(super) fn new(connection: Connection, controller: &'static str) -> Self {
        Self { connection, controller, unserved: Mutex::default(), written: Mutex::default() }
    }

    pub(super) async fn publish(&self, event: &Event, about: &ObjectReference) -> kube::Result<()> {
        if self.unserved().is_some_and(|until| Instant::now() < until) {
            return self.in_core(event, about).await;
        }
        match self.in_its_group(event, about).await {
            Err(error) if is_of_the_group(&error) => {
                self.in_core(event, about).await?;
                *self.unserved() = Some(Instant::now() + UNSERVED);
                Ok(())
            }
            answer => answer,
        }
    }

    fn unserved(&self) -> MutexGuard<'_, Option<Instant>> {
        self.unserved.lock()
    }

    async fn in_its_group(&self, event: &Event, about: &ObjectReference) -> kube::Result<()> {
        let now = Timestamp::now();
        let first = GroupEvent {
            metadata: self.metadata(about, now),
            regarding: Some(about.clone()),
            related: event.secondary.clone(),
            type_: Some(type_name(event.type_).to_owned()),
            reason: Some(event.reason.clone()),
            action: Some(event.action.clone()),
            note: event.note.clone(),
            event_time: Some(MicroTime(now)),
            reporting_controller: Some(self.controller.to_owned()),
            reporting_instance: Some(self.controller.to_owned()),
            ..GroupEvent::default()
        };
        // All else of it is immutable.
        let more = |count| json!({ "series": { "count": count, "lastObservedTime": MicroTime(now) } });
        self.write("events.k8s.io", event, about, first, more).await
    }

    async fn in_core(&self, event: &Event, about: &ObjectReference) -> kube::Result<()> {
        let now = Timestamp::now();
        let first = CoreEvent {
            metadata: self.metadata(about, now),
            involved_object: about.clone(),
            related: event.secondary.clone(),
            type_: Some(type_name(event.type_).to_owned()),
            reason: Some(event.reason.clone()),
            action: Some(event.action.clone()),
            message: event.note.clone(),
            count: Some(1),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            source: Some(EventSource { component: Some(self.controller.to_owned()), host: None }),
            reporting_component: Some(self.controller.to_owned()),
            ..CoreEvent::default()
        };
        self.write(
            "",
            event,
            about,
            first,
            |count| json!({ "count": count, "lastTimestamp": Time(now), "message": event.note }),
        )
        .await
    }

    /// Creates the `first` Event of its kind, or sets the count of the one that exists.
    async fn write<K>(
        &self,
        group: &'static str,
        event: &Event,
        about: &ObjectReference,
        first: K,
        more: impl Fn(i32) -> Value,
    ) -> kube::Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + Serialize + DeserializeOwned,
    {
        let of = of(group, event, about);
        let api: Api<K> = Api::namespaced(self.connection.client(), namespace(about));
        if let Some((name, count)) = self.counted(of) {
            match api.patch(&name, &PatchParams::default(), &Patch::Merge(&more(count))).await {
                Ok(_) => {
                    self.wrote(of, &name, count);
                    return Ok(());
                }
                // The server has dropped it meanwhile.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        api.create(&PostParams::default(), &first).await?;
        self.wrote(of, &first.name_any(), 1);
        Ok(())
    }

    /// The Event that is there for that already, and how often it has been said with this.
    fn counted(&self, of: u64) -> Option<(Box<str>, i32)> {
        let written = self.written();
        let known = written.get(&of).filter(|written| written.last.elapsed() < COUNTED)?;
        Some((known.name.clone(), known.count.saturating_add(1)))
    }

    fn wrote(&self, of: u64, name: &str, count: i32) {
        let mut written = self.written();
        if written.len() == written.capacity() || written.len() >= MOST {
            written.retain(|_, written| written.last.elapsed() < COUNTED);
            if written.len() >= MOST {
                written.clear();
            }
            written.shrink_to_fit();
        }
        written.insert(of, Written { name: name.into(), count, last: Instant::now() });
    }

    fn written(&self) -> MutexGuard<'_, HashMap<u64, Written>> {
        self.written.lock()
    }

    fn metadata(&self, about: &ObjectReference, now: Timestamp) -> ObjectMeta {
        let name = about.name.as_deref().unwrap_or(self.controller);
        ObjectMeta {
            namespace: Some(namespace(about).to_owned()),
            name: Some(format!("{name}.{:x}", now.as_nanosecond())),
            ..ObjectMeta::default()
        }
    }
}

/// Hashes the subject of an Event: its group, the object by namespace, kind, name and UID, the type, the
/// reason, and what it relates to.
fn of(group: &str, event: &Event, about: &ObjectReference) -> u64 {
    let related = event.secondary.as_ref().and_then(|related| related.name.as_deref());
    let object = [&about.namespace, &about.kind, &about.name, &about.uid];
    let sum =
        object.into_iter().fold(KeyedHasher::default().text(group), |sum, part| sum.maybe(part.as_deref()));
    sum.text(type_name(event.type_)).text(&event.reason).maybe(related).end()
}

/// Returns the namespace of an Event: `default` if it is about a cluster-scoped object.
fn namespace(about: &ObjectReference) -> &str {
    about.namespace.as_deref().unwrap_or("default")
}

/// Whether the server refuses because it does not serve the group: else it names the Event or the namespace
/// that it has not.
fn is_of_the_group(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    status.code == 404 && status.details.as_ref().is_none_or(|it| it.name.is_empty())
}

fn type_name(type_: EventType) -> &'static str {
    match type_ {
        EventType::Normal => "Normal",
        EventType::Warning => "Warning",
    }
}

#[cfg(test)]
mod tests {
    use fedhub_fake_apiserver::ApiServer;

    use super::*;

    fn about(n: usize) -> ObjectReference {
        ObjectReference {
            namespace: Some("default".to_owned()),
            name: Some(format!("wd-{n}")),
            uid: Some(format!("uid-{n}")),
            ..ObjectReference::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn bounded_of_an_event_that_was_written_little_is_kept_and_not_for_ever() {
        let server = ApiServer::project_plane("alpha");
        let events = EitherGroup::new(server.client().into(), "fedhub");
        let event = Event {
            type_: EventType::Normal,
            reason: "Federated".to_owned(),
            note: Some("federated to city DFW".to_owned()),
            action: "Federated".to_owned(),
            secondary: None,
        };
        for n in 0..2000 {
            events.publish(&event, &about(n)).await.unwrap();
        }
        let room = |events: &EitherGroup| events.written().capacity() * size_of::<(u64, Written)>();
        assert!(room(&events) < 200 << 10, "{} bytes beside their names", room(&events));
        tokio::time::advance(COUNTED).await;
        for n in 0..2000 {
            events.publish(&event, &about(2000 + n)).await.unwrap();
        }
        assert!(events.written().len() <= 3600, "{}", events.written().len());
        for n in 0..100_000 {
            events.wrote(n, "a", 1);
        }
        assert!(events.written().len() <= MOST);
    }
}
