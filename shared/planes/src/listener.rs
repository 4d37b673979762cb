//! Who is told what the watches of planes say.

use fedhub_cache::Change;
use fedhub_core::names::PlaneName;
use fedhub_core::object::Kind;

use crate::Plane;

/// Somebody who wants to know what the watches of planes say.
pub trait Listener: Send + Sync {
    /// An object was seen to change. Called in the order of one watch, after the store took the change; must
    /// not block.
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change);

    /// The list of `kind` on that plane is complete. Changes that only the list could tell were told before.
    fn synced(&self, plane: &Plane, kind: Kind);

    /// A project plane is not there any more.
    fn left(&self, plane: &Plane);

    /// For minutes by now the server of a project plane says that there is none.
    fn unserved(&self, _plane: &Plane) {}

    /// A project plane is gone for good: see [`crate::Planes::declare_gone`].
    fn gone(&self, _plane: &PlaneName) {}
}
