//! Events of the group that a plane serves: a root server may have those of the core group alone.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Event as CoreEvent, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::ObjectMeta;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::Instant;

/// How long a plane is held to serve no `events.k8s.io` once it said so.
const UNSERVED: Duration = Duration::from_mins(10);
/// How long an Event is counted on, as kube's recorder does; servers keep it for longer.
const COUNTED: Duration = Duration::from_mins(6);

/// Writes Events to one plane: those of `events.k8s.io`, and of the core group where it does not serve that.
pub(super) struct EitherGroup {
    recorder: Recorder,
    core: Core,
    /// Until when the plane is held to serve no `events.k8s.io`.
    unserved: Mutex<Option<Instant>>,
}

impl EitherGroup {
    pub(super) fn new(client: Client, controller: &str) -> Self {
        let reporter = Reporter { controller: controller.to_owned(), instance: None };
        Self {
            recorder: Recorder::new(client.clone(), reporter),
            core: Core { client, controller: controller.to_owned(), written: Mutex::default() },
            unserved: Mutex::default(),
        }
    }

    pub(super) async fn publish(&self, event: &Event, about: &ObjectReference) -> kube::Result<()> {
        if self.unserved().is_some_and(|until| Instant::now() < until) {
            return self.core.publish(event, about).await;
        }
        match self.recorder.publish(event, about).await {
            Err(error) if is_of_the_group(&error) => {
                self.core.publish(event, about).await?;
                *self.unserved() = Some(Instant::now() + UNSERVED);
                Ok(())
            }
            answer => answer,
        }
    }

    fn unserved(&self) -> MutexGuard<'_, Option<Instant>> {
        self.unserved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the server refuses because it does not serve the group: else it names the Event or the namespace that it has
/// not.
fn is_of_the_group(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    status.code == 404 && status.details.as_ref().is_none_or(|it| it.name.is_empty())
}

/// What one Event of the core group is of: the object by namespace, kind, name and UID, the reason, and what it relates
/// to.
type Of = ([Option<String>; 4], String, Option<String>);

struct Written {
    name: String,
    count: i32,
    last: Instant,
}

/// Writes Events of the core group.
struct Core {
    client: Client,
    controller: String,
    /// What is counted on.
    written: Mutex<BTreeMap<Of, Written>>,
}

impl Core {
    async fn publish(&self, event: &Event, about: &ObjectReference) -> kube::Result<()> {
        let related = event.secondary.as_ref().and_then(|related| related.name.clone());
        let object = [&about.namespace, &about.kind, &about.name, &about.uid].map(Clone::clone);
        let of: Of = (object, event.reason.clone(), related);
        // That of a cluster-scoped object is in the namespace `default`.
        let namespace = about.namespace.as_deref().unwrap_or("default");
        let api: Api<CoreEvent> = Api::namespaced(self.client.clone(), namespace);
        if let Some((name, count)) = self.counted(&of) {
            let more =
                json!({ "count": count, "lastTimestamp": Time(Timestamp::now()), "message": event.note });
            match api.patch(&name, &PatchParams::default(), &Patch::Merge(&more)).await {
                Ok(_) => {
                    self.wrote(of, name, count);
                    return Ok(());
                }
                // The server has dropped it meanwhile.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        let new = self.first(event, about, namespace);
        let name = new.metadata.name.clone().unwrap_or_default();
        api.create(&PostParams::default(), &new).await?;
        self.wrote(of, name, 1);
        Ok(())
    }

    /// The Event that is there for that already, and how often it has been said with this.
    fn counted(&self, of: &Of) -> Option<(String, i32)> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.retain(|_, written| written.last.elapsed() < COUNTED);
        written.get(of).map(|written| (written.name.clone(), written.count.saturating_add(1)))
    }

    fn wrote(&self, of: Of, name: String, count: i32) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(of, Written { name, count, last: Instant::now() });
    }

    fn first(&self, event: &Event, about: &ObjectReference, namespace: &str) -> CoreEvent {
        let now = Timestamp::now();
        let name = about.name.as_deref().unwrap_or(&self.controller);
        CoreEvent {
            metadata: ObjectMeta {
                namespace: Some(namespace.to_owned()),
                name: Some(format!("{name}.{:x}", now.as_nanosecond())),
                ..ObjectMeta::default()
            },
            involved_object: about.clone(),
            related: event.secondary.clone(),
            type_: Some(type_name(event.type_).to_owned()),
            reason: Some(event.reason.clone()),
            action: Some(event.action.clone()),
            message: event.note.clone(),
            count: Some(1),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            source: Some(EventSource { component: Some(self.controller.clone()), host: None }),
            reporting_component: Some(self.controller.clone()),
            ..CoreEvent::default()
        }
    }
}

fn type_name(type_: EventType) -> &'static str {
    match type_ {
        EventType::Normal => "Normal",
        EventType::Warning => "Warning",
    }
}
