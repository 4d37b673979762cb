//! Real planes as processes, chainsaw suites, the demonstration and the benchmarks.
//!
//! [`tools`] builds the servers from pinned Go modules, [`planes`] runs them, [`fedhub`] runs the hub process beside
//! them; [`servers`] brings both up. [`gateway`] puts the planes of projects below paths of one server, [`link`] is a line
//! to a plane that can be cut. [`suites`] runs the chainsaw suites, [`chaos`] kills processes in the midst of rollouts,
//! [`bench`] measures.
//!
//! Three packages stand beside this one: `fake-apiserver` (API servers in memory), `simulate` (the services that a cell
//! and quota need) and `testing` (what tests of controllers share).

pub mod bench;
pub mod chaos;
pub mod conformance;
pub mod demo;
pub mod error;
pub mod fedhub;
pub mod gateway;
pub mod link;
pub mod planes;
pub mod progress;
pub mod secrecy;
pub mod servers;
pub mod suites;
pub mod tools;

use std::path::{Path, PathBuf};

pub use error::Error;

/// The repository that this crate was built in: `deploy/` and `e2e/tools/` are found from here.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
