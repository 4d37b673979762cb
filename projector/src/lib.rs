//! Projector: Instances that cells wrote back to the hub, mirrored into the project planes (specification, P1 to P8).
//!
//! # The way through
//!
//! 1. [`keys`] maps an event to the keys of the hub Instances that it concerns.
//! 2. [`controller`] is the reconcile of one key. [`glance`] ends it early where digests show that nothing is to do.
//! 3. [`observe`] gathers what the plan needs to know.
//! 4. [`plan`] decides, as a pure function, on whose behalf an Instance is projected, parked or quarantined
//!    ([`quarantine`]); [`projection`] what its projection is to be; [`gone`] what becomes of a projection whose Instance is
//!    not there.
//! 5. [`apply`] performs the write.
//!
//! [`mod@unreachable`] decides what a projection says while its cell does not answer; [`lost`] removes what a lost cell
//! left behind.

pub mod apply;
pub mod controller;
pub mod glance;
pub mod gone;
pub mod keys;
pub mod lost;
pub mod mark;
pub mod observe;
pub mod plan;
pub mod projection;
pub mod quarantine;
pub mod unreachable;

pub use controller::Projector;
pub use lost::LostCells;
