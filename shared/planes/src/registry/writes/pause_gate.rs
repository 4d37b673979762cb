//! Holds back the requests that the state of a plane does not allow.
//!
//! Decides I12.

use fedhub_core::errors::NotSent;
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};

use crate::registry::plane::Plane;
use crate::registry::plane::write_state::WriteState;
use crate::registry::tenancy::ProjectNamespace;

impl Plane {
    /// Why a write of `of` is not sent, whoever wants it. A project that is suspended takes only what lets go
    /// of objects that are being deleted. For a plane that is paused nothing is written, there and on the hub
    /// (I12).
    pub(crate) fn refused(&self, kind: Kind, of: &Object) -> Option<NotSent> {
        match (&self.id, self.write_state()) {
            (PlaneId::Hub, _) => self.is_of_paused(kind, of).then_some(NotSent::Paused),
            (_, WriteState::Paused) => Some(NotSent::Paused),
            (_, WriteState::Suspended) if !of.is_terminating() => Some(NotSent::Suspended),
            (_, WriteState::Active | WriteState::Suspended) => None,
        }
    }

    /// Whether an object of the hub belongs to a plane that is paused, as the labels of its hub namespace say
    /// (I6). While any plane is paused, nothing is written whose plane is not known.
    fn is_of_paused(&self, kind: Kind, of: &Object) -> bool {
        if !self.pauses.any() {
            return false;
        }
        let name = if kind == Kind::Namespace { of.name() } else { of.namespace() };
        let stands = self.store(Kind::Namespace).object("", name);
        let sent = (kind == Kind::Namespace).then_some(of);
        let mut owners = stands
            .as_deref()
            .into_iter()
            .chain(sent)
            .filter_map(ProjectNamespace::from_hub_namespace)
            .peekable();
        owners.peek().is_none() || owners.any(|owner| self.pauses.is_paused(&owner.plane))
    }
}
