//! Providers: from an Instance in a cell to a server that runs (specification, V1 to V9).
//!
//! A provider runs servers somewhere: in a region service, on a hypervisor, as processes. It implements
//! [`Provider`], whose calls are plain questions and orders about servers and know nothing of Kubernetes. The
//! controller of this crate drives it: it decides what follows for each Instance, stores what must not be
//! forgotten in the Instance's status before it acts, and reports what the provider says.
//!
//! # The way through
//!
//! 1. [`contract`] is what a provider implements.
//! 2. [`record`] is what an Instance's status keeps of its server.
//! 3. [`plan`](mod@plan) decides the next step of an Instance, as a pure function; [`status`] what it says.
//! 4. [`pass`] performs steps until there is nothing more to do; [`memory`] is what it remembers of failures.
//! 5. [`watch`] lists servers, soon after a change and seldom at rest.
//! 6. [`controller`] drives passes by the watches of the cell.
//! 7. [`run`](mod@run) is all of this as a program of its own.

pub mod contract;
pub mod controller;
pub mod memory;
pub mod pass;
pub mod plan;
pub mod record;
pub mod run;
pub mod status;
pub mod watch;

pub use contract::{
    Address, AllocationId, Change, Deletion, Failure, FailureKind, Found, Health, Link, Phase, Place, Power,
    Proof, Provider, Refusal, Server, ServerId, Wanted,
};
pub use controller::{ProviderController, ProviderSettings, kinds};
pub use plan::Settings;
pub use run::{RunError, Standalone, run};
