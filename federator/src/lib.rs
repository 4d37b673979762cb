//! Federator: `WorkloadDeployments` down to the hub, their status back up (specification, section 4).
//!
//! A pass over one WD: [`observe`] gathers what is known, [`plan`] decides (pure), [`apply`] writes. The city's
//! policies are looked after by passes of their own, see [`policy`].

pub mod apply;
pub mod controller;
pub mod finalize;
pub mod glance;
pub mod held;
mod keys;
pub mod observe;
pub mod origin;
pub mod plan;
pub mod policy;
pub mod refusal;
pub mod status;

pub use controller::Federator;
