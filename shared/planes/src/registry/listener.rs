//! Listeners to the watches of planes.

use fedhub_api::facts::Change;
use fedhub_core::names::PlaneName;
use fedhub_core::object::Kind;

use crate::Plane;

/// A listener to the watches of planes.
pub trait Listener: Send + Sync {
    /// An object was seen to change. Called in the order of one watch, after the store took the change; must
    /// not block.
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change);

    /// The list of `kind` on that plane is complete. Changes that only the list shows were notified before.
    fn synced(&self, plane: &Plane, kind: Kind);

    /// A watch of a plane fails now, or for another reason than before.
    fn failing(&self, _plane: &Plane) {}

    /// A project plane is not there any more.
    fn left(&self, plane: &Plane);

    /// Called when the server of a project plane has answered for minutes that there is no such plane.
    fn unserved(&self, _plane: &Plane) {}

    /// A project plane is gone for good: see [`crate::Planes::declare_gone`].
    fn gone(&self, _plane: &PlaneName) {}
}
