//! Rollouts over cities (specification, R1 to R10): which revision of its Workload's template each
//! deployment may carry now. Pure: no I/O, no Kubernetes types, no clock.
//!
//! # The way through
//!
//! 1. A [`Policy`] is what the user asks for: waves of cities and their gates.
//! 2. A [`World`] is what is seen: each deployment with the revision that it carries and its [`Health`].
//! 3. A [`Status`] is what was decided before, with the plan frozen at the start of the rollout (R8).
//! 4. [`assign`] makes a [`Decision`] of the three: an [`Assignment`] for each deployment, the new status,
//!    and the time at which to ask again.
//!
//! Inside, a `Rollout` joins the three: `plan` says which waves it has, `unit` what each deployment is
//! allowed, `health` how far it is, `gates` which ones begin, `rollback` and `abort` how it ends early,
//! `verdict` what it all comes to.

mod abort;
mod assign;
mod clock;
mod decision;
mod external;
mod gates;
mod health;
mod plan;
mod policy;
mod revision;
mod rollback;
mod rollout;
mod status;
mod unit;
mod verdict;
mod world;

pub use assign::assign;
pub use decision::{Assignment, Decision, Verdict};
pub use health::DEADLINE_EXCEEDED;
pub use policy::{Approval, OnFailure, Policy, Strategy, Unreachable, Wave};
pub use revision::{Cause, Revision};
pub use status::{Approved, CityState, CityStatus, Direction, Gate, Status};
pub use world::{Carries, City, Health, World};
