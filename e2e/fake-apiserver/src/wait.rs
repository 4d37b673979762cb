//! Waiting in tests on paused time.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long a condition is waited for, of paused time.
const PATIENCE: Duration = Duration::from_mins(30);

/// Waits until the condition holds; says how long that took.
///
/// # Panics
///
/// Where it does not within thirty minutes of tokio's time, naming `what` was waited for.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let before = Instant::now();
    while !holds() {
        assert!(before.elapsed() < PATIENCE, "in vain: {what}");
        sleep(Duration::from_millis(10)).await;
    }
    before.elapsed()
}

/// Runs all other tasks for `seconds` seconds of tokio's time.
pub async fn quiet(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}
