//! SIGINT, SIGTERM and SIGHUP.

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

/// Ends when the user or the system asks for it.
pub async fn interruption<T>() -> anyhow::Result<T> {
    let asked = |kind| signal(kind).context("cannot listen for signals");
    let (mut interrupt, mut terminate, mut hangup) =
        (asked(SignalKind::interrupt())?, asked(SignalKind::terminate())?, asked(SignalKind::hangup())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    anyhow::bail!("interrupted")
}
