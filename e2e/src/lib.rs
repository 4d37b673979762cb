//! Verification on real planes: API servers and Karmada as processes, chainsaw suites, the demonstration,
//! chaos, the benchmarks.
//!
//! # The way through
//!
//! 1. [`tools`] builds the servers from pinned Go modules, or unpacks Debian packages; [`topology`] has the
//!    planes that they make, and runs them.
//! 2. [`fedhub`] runs the hub's and the cells' processes beside them, as the Deployments of `deploy/`
//!    describe; [`servers`] brings both up.
//! 3. [`suites`] runs the chainsaw suites of `e2e/suites`, and checks rights and writes afterwards;
//!    [`secrecy`] checks that no log holds a credential.
//! 4. [`chaos`] kills processes in the midst of rollouts; [`demo`] shows the way of an object; [`mod@bench`]
//!    measures; [`conformance`] compares the API servers in memory with a real one.
//! 5. [`alerts`] has a real Prometheus evaluate the rules and the dashboards of `deploy/`; [`chart`] compares
//!    what Helm renders with what kubectl builds.
//!
//! [`gateway`] puts the planes of projects below paths of one server, [`link`] is a line to a plane that can
//! be cut, and [`hostile`] a server before a plane that plays tricks. [`propagation`] times changes on their
//! way to the hub.
//!
//! Three packages stand beside this one: `fake-apiserver` (API servers in memory), `simulate` (the services
//! that a cell and quota need) and `testing` (what tests of controllers share).

// Printing with the macros ends a program whose reader has gone away.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod alerts;
pub mod bench;
pub mod chaos;
pub mod chart;
pub mod conformance;
pub mod demo;
pub mod error;
pub mod evidence;
pub mod fedhub;
pub mod gateway;
pub mod hostile;
pub mod interruption;
pub mod killer;
pub mod lanes;
pub mod link;
pub mod output;
pub mod progress;
pub mod propagation;
pub mod secrecy;
pub mod servers;
pub mod status_page;
pub mod suites;
pub mod tools;
pub mod topology;
pub mod turns;

use std::path::{Path, PathBuf};

pub use error::Error;

/// The repository that this crate was built in: `deploy/` and `e2e/tools/` are found from here.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
