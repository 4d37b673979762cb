//! A plane that cannot be engaged, and the Event that says so.

use fedhub_api::reason::Reason;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::EventType;

use crate::registry::events::Events;

/// A plane that cannot be engaged.
pub(super) struct PlaneRefusal {
    /// Why.
    pub reason: String,
    /// The object and the publisher of the Event that is still to be published about it.
    pub unpublished: Option<(ObjectReference, Events)>,
}

impl PlaneRefusal {
    /// Publishes the Event, once.
    pub fn publish(&mut self) {
        if let Some((about, events)) = self.unpublished.take() {
            events.send(about, EventType::Warning, Reason::PlaneRefused, self.reason.clone());
        }
    }
}
