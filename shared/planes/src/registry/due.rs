//! Waiting for what comes due first.

use tokio::sync::Notify;
use tokio::time::Instant;

/// Waits until that time has come, for ever where there is none.
pub(crate) async fn due(first: Option<Instant>) {
    match first {
        Some(first) => tokio::time::sleep_until(first).await,
        None => std::future::pending().await,
    }
}

/// Waits until the first time has come, or until `changed` says that another may be the first.
pub(crate) async fn until_due(first: Option<Instant>, changed: &Notify) {
    tokio::select! {
        biased;
        () = changed.notified() => {}
        () = due(first) => {}
    }
}
