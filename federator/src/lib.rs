//! Federator: `WorkloadDeployments` down to the hub, their status back up (specification, section 4).
//!
//! A pass over one WD: [`observe`] gathers what is known, [`plan`] decides (pure), [`apply`] writes. The city's
//! policies are looked after by passes of their own, see [`policy`].

pub mod apply;
pub mod condition;
pub mod controller;
mod deleted;
pub mod finalize;
pub mod glance;
pub mod held;
mod keys;
mod late;
pub mod loss;
mod moves;
pub mod moving;
pub mod observe;
pub mod origin;
pub mod orphans;
pub mod plan;
pub mod policy;
pub mod progress;
pub mod refusal;
mod resync;
mod setup;
pub mod space;
mod stall;
pub mod status;

pub use condition::ConditionWriter;
pub use controller::Federator;
