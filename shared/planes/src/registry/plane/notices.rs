//! What watches and requests find out about a plane that its users or the platform's operators have to know
//! (section 6).

use std::collections::BTreeMap;

use fedhub_api::reason::Reason;
use fedhub_core::object::{Kind, PlaneId};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::events::EventType;

use crate::registry::events::{Events, OperatorEvents};
use parking_lot::Mutex;

/// How many objects that cannot be read are remembered at most, for each plane.
const UNREADABLE_MAX: usize = 256;

/// The notices about one plane that were sent.
#[derive(Default)]
pub(crate) struct Notices {
    operators: Option<OperatorEvents>,
    /// Objects that cannot be read, at the version that was reported.
    unreadable: Mutex<BTreeMap<(Kind, String, String), String>>,
}

impl Notices {
    pub(crate) fn to(operators: Option<&OperatorEvents>) -> Self {
        Self { operators: operators.cloned(), unreadable: Mutex::default() }
    }

    /// A request to the plane was forbidden.
    pub(crate) fn forbidden(&self, plane: &PlaneId, verb: &str, resource: &str) {
        if let Some(operators) = &self.operators {
            operators.forbidden(verb, resource, plane);
        }
    }

    /// Reports an object that cannot be read: to its users by an Event, or to the operators if it is on the
    /// hub. Returns whether that is news: each version of an object is reported once.
    pub(crate) fn unreadable(
        &self,
        plane: &PlaneId,
        events: &Events,
        kind: Kind,
        of: &ObjectMeta,
        error: &str,
    ) -> bool {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let namespace = text(&of.namespace);
        let name = text(&of.name);
        let version = text(&of.resource_version);
        let key = (kind, namespace.clone(), name.clone());
        let mut known = self.unreadable.lock();
        if known.len() >= UNREADABLE_MAX && !known.contains_key(&key) {
            known.clear();
        }
        if known.insert(key, version.clone()).is_some_and(|reported| reported == version) {
            return false;
        }
        drop(known);
        let resource = kind.resource();
        let about = ObjectReference {
            api_version: Some(resource.api_version.clone()),
            kind: Some(resource.kind.clone()),
            name: of.name.clone(),
            namespace: of.namespace.clone(),
            uid: of.uid.clone(),
            ..ObjectReference::default()
        };
        let note = format!("fedhub cannot read this object and leaves it as it is: {error}");
        match (plane, &self.operators) {
            (PlaneId::Project(_) | PlaneId::Cell, _) => {
                events.send(about, EventType::Warning, Reason::Undecodable, note);
            }
            (PlaneId::Hub | PlaneId::Management, Some(operators)) => {
                let which = format!("{} {namespace}/{name} on the {}", resource.kind, plane);
                operators.warn(Reason::Undecodable, Some(about), format!("{which}: {note}"));
            }
            (PlaneId::Hub | PlaneId::Management, None) => {}
        }
        true
    }
}
