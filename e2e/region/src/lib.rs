//! A region service for tests: the part of its REST interface that a provider uses, with its faults.
//!
//! It refuses what the real service refuses, and shows what that shows: reads that lag behind, items that
//! vanish from lists, servers that are listed while they are being deleted. Faults are ordered by the
//! functions of [`Region`], or over HTTP below `/_control`. It keeps a record of all requests and changes,
//! and notices at once what a provider must never do; [`Region::check`] says so.
//!
//! All time is tokio's, so that tests may pause it; [`Region::connect`] gives them a connection without a
//! socket.

// Printing with the macros ends a program whose reader has gone away.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod api;
mod faults;
mod ids;
mod journal;
pub mod known;
mod operation;
mod options;
mod refusal;
mod region;
mod serve;
mod tls;
mod world;

pub use faults::{Chaos, Fault, FaultAction};
pub use ids::server_id;
pub use journal::{Entry, Event};
pub use known::INSTANCE_TAG;
pub use operation::Operation;
pub use options::{Client, Flavor, Image, Lag, Network, Options, RateLimit, Timing, Tls};
pub use region::Region;
pub use serve::Running;
pub use world::{Allocation, Hidden, Overlay, Plant, ResourceAllocation, Server, Tag};
