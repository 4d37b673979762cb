//! What there is to do about one Instance and its copy.

use std::time::Duration;

use fedhub_core::names::INSTANCE_FINALIZER;
use fedhub_core::object::{Object, ObjectRef, ObjectView};
use fedhub_planes::{StatusWrite, Write};
use serde_json::Value;

use super::finalizer::other_finalizers;
use super::refusal::Refusal;

/// What to do about one Instance and its copy.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Everything is as it should be.
    Nothing,
    /// The hub has no living WD, or no namespace, for it: nothing to do, and no error. Their events bring it back.
    Park,
    /// It cannot be written back as it is.
    Refuse(Refusal),
    /// These finalizers are to be the Instance's: what was written to the hub is not to be forgotten.
    Mark(Value),
    /// The copy's metadata or spec.
    Write(Write),
    /// The copy's status.
    Status(ObjectRef, StatusWrite),
    /// The Instance is coming up: gates or a status that last for so long are to be written then.
    Hush(Duration),
    /// The copy is to go; its UID is the precondition.
    Delete {
        /// The copy.
        copy: ObjectRef,
        /// Whether its Instance was not seen to go, so that the bucket limits it (I4).
        inferred: bool,
    },
    /// The copy is on its way out: its event brings the next pass.
    Leaving,
    /// Read the copy from the hub, then plan again (I3).
    ReadCopy,
    /// Read the Instance from the cell, then plan again (I4).
    ReadInstance,
    /// Read the WD from the hub, then plan again (I5).
    ReadDeployment,
    /// The copy is proven gone: these finalizers are left.
    Release(Value),
}

/// The Instance is its own copy, for the cell is its own hub: it stands there as it is to be, and nobody waits for its end.
pub(super) fn itself(instance: &Object) -> Decision {
    let held = instance.is_terminating() && instance.has_finalizer(INSTANCE_FINALIZER);
    if held { release(instance) } else { Decision::Nothing }
}

/// The copy is gone, and we let go of the Instance.
pub(super) fn release(instance: &Object) -> Decision {
    Decision::Release(other_finalizers(instance))
}
