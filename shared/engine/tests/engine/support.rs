//! Keys, the log, and all that the tests of the registry have.

#[allow(dead_code, reason = "what only they use")]
#[path = "../../../planes/tests/planes/support.rs"]
mod registry;

use std::sync::LazyLock;

use fedhub_core::object::{Key, Kind, PlaneId};
use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber};

pub use registry::*;

pub fn key(plane: &PlaneId, name: &str) -> Key {
    Key { plane: plane.clone(), kind: Kind::Instance, namespace: "n".into(), name: name.into() }
}

/// Sends the thread's log to `subscriber`. With no other dispatcher in the process, tracing would ask the
/// thread that reaches a line first whether it is enabled, and a test on another thread may be that one: a
/// second one is kept.
pub fn log_to(subscriber: impl tracing::Subscriber + Send + Sync) -> DefaultGuard {
    static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));
    LazyLock::force(&SECOND);
    tracing::subscriber::set_default(subscriber)
}
