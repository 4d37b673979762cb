//! Projector: Instances that cells wrote back to the hub, mirrored into the project planes (specification,
//! section 5).
//!
//! A pass over one hub Instance: [`observe`] gathers what is known, [`plan`] decides (pure), [`apply`] writes.

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
