//! The service in the projects (W9): what entitlements say, and what follows.

pub mod entitlement;
pub(crate) mod service;
mod watch;
