//! Kubernetes Events, few and stable: one for each turn of affairs, never one per retry (F10).

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
pub use kube::runtime::events::EventType;
use kube::runtime::events::{Event, Recorder, Reporter};

use crate::engine::Known;
use crate::errors;
use crate::object::Kind;

/// The longest note that a server takes, in bytes.
const LONGEST: usize = 1024;

/// Writes Events to one plane.
#[derive(Clone)]
pub struct Events(Recorder);

impl Events {
    /// Events of `controller` on the plane of `client`.
    pub fn new(client: Client, controller: &str) -> Self {
        Self(Recorder::new(client, Reporter { controller: controller.to_owned(), instance: None }))
    }

    /// Something that a user of `about` wants to know. A failure to say it is logged and no more: an Event is
    /// never a reason to hold up the work.
    pub async fn say(&self, about: &ObjectReference, type_: EventType, reason: &str, mut note: String) {
        note.truncate(note.floor_char_boundary(LONGEST));
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note),
            action: reason.to_owned(),
            secondary: None,
        };
        if let Err(error) = self.0.publish(&event, about).await {
            tracing::debug!(error = errors::chain(&error), reason, "an event was not stored");
        }
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
