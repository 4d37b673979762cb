//! The planes: which there are, how they are reached, what their watches say, and how they are written to.
//!
//! # Layers
//!
//! Each knows those above it in this list, none knows one below it; `e2e/tests/layers` checks that.
//!
//! 1. [`transport`] is the HTTP stack below each plane's client: pools, limits, time-outs, the waits between
//!    attempts.
//! 2. [`listwatch`] lists and watches one kind in bounded memory, and guards what it decodes.
//! 3. [`registry`] holds a [`Plane`] for each API server with the stores of what is known of its objects. A
//!    pump for each plane and kind feeds a store and tells the [`Listener`]s; writes go through methods of
//!    the plane, which know what was read, by whom, and whether this process leads.
//! 4. [`discovery`] finds planes and engages them in the registry ([`Planes`]).
//!
//! Engaging one plane never waits for another, and disengaging one ends exactly its own tasks (section 2).

pub mod discovery;
pub mod listwatch;
pub mod registry;
pub mod transport;

pub use registry::{
    Confidential, ConfidentialRead, DATA_KINDS, Distrust, DryRun, HUB_KINDS, Health, Identities, LastFailure,
    Listener, Origin, PROJECT_KINDS, Pass, Pauses, Plane, PlaneResponses, PlaneWriter, Planes, Precondition,
    ProjectNamespace, ServiceState, Settings, StatusWrite, TenantIndex, Watched, Write, WriteMode,
    WriteState, Written,
};
pub use registry::{entitlement, events, history, identity, pauses, watched};
