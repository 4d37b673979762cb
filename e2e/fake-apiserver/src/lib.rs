//! API servers in memory, for engine and controller tests under paused time, and over HTTP for benchmarks.
//!
//! An [`ApiServer`] behaves as a kube-apiserver does in the details that controllers rest on, and answers
//! over an in-process tower transport: no sockets, no threads, no system time, no randomness. The same test
//! run twice sees the same UIDs, resourceVersions and order of events.
//!
//! # The way through
//!
//! A test makes an [`ApiServer`], puts objects into it, takes a client, asks for a [`Fault`] and counts
//! writes, as below. A [`fleet`] is a hub, a management plane and many project planes behind one service;
//! [`http`] serves it over sockets, which is the program `fedhub-fake-apiserver`; [`conformance`] checks all
//! of it against a real kube-apiserver.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use fedhub_fake_apiserver::{ApiServer, Fault};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::Api;
//! use serde_json::json;
//!
//! let plane = ApiServer::project_plane("alpha");
//! let metadata = json!({ "namespace": "shop", "name": "a" });
//! plane.put(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }))?;
//!
//! let maps: Api<ConfigMap> = Api::namespaced(plane.client(), "shop");
//! assert!(maps.get_opt("a").await?.is_some());
//!
//! plane.fault(Fault::Status(503).on("get", "configmaps").times(1));
//! assert!(maps.get("a").await.is_err());
//!
//! let mark = plane.mark();
//! assert!(maps.get_opt("b").await?.is_none());
//! assert!(plane.writes_since(mark).is_empty());
//! # Ok(()) }
//! ```
//!
//! What is simpler than the real thing: background work (garbage collection, emptying namespaces) is done at
//! once, inside the write that causes it; `managedFields` are not kept; server-side apply and strategic merge
//! patches are refused (415); `propagationPolicy` is read as `Background`; there is one version per resource;
//! of the schemas of `deploy/`, lengths, bounds, patterns and enumerations are checked and nothing else;
//! field selectors know `metadata.name` and `metadata.namespace`; there is no authorization and no admission
//! but what a namespace needs.

// Printing with the macros ends a program whose reader has gone away.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod answer;
mod audit;
mod clock;
pub mod conformance;
mod direct;
mod discovery;
mod dispatch;
mod faults;
mod field_fault;
pub mod fleet;
mod gc;
pub mod http;
mod lines;
mod meta;
mod object;
mod patch;
mod read;
pub mod resource;
mod route;
mod schema;
mod selector;
mod server;
mod service;
mod store;
#[cfg(test)]
mod tests;
mod validate;
mod view;
mod wait;
mod watch;
mod world;
mod write;

pub use answer::Refusal;
pub use audit::{AuditEntry, Mark, RequestKind};
pub use clock::Clock;
pub use faults::{Fault, FaultId, FaultRule};
pub use lines::LogLines;
pub use resource::{Hook, Resource};
pub use server::{ApiServer, Builder, Snapshot};
pub use service::{AnswerBody, ApiService};
pub use wait::{quiet, until};
