//! One thread, for as long as a command runs: help and completion of flags need none.

use std::future::Future;

use crate::problem::Problem;

/// Runs a future to its end on this thread, or until Ctrl-C. A command that has something to say of Ctrl-C
/// awaits it itself, and is polled first.
pub fn run<T>(command: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::failed(format!("Could not start: {error}.")))?;
    let ended = runtime.block_on(async {
        tokio::select! {
            biased;
            ended = command => ended,
            _ = tokio::signal::ctrl_c() => Err(Problem::interrupted()),
        }
    });
    // A helper that still runs is not waited for.
    runtime.shutdown_background();
    ended
}
