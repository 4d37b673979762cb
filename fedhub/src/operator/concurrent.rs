//! Work on many planes or objects, a limited number at a time.

use std::sync::Arc;

use anyhow::Context;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use fedhub_terminal::progress::Progress;

/// Processes all items, `concurrency` at a time, and shows the progress.
pub async fn all<T, U, F>(
    what: &'static str,
    items: impl IntoIterator<Item = T>,
    concurrency: usize,
    work: impl Fn(T) -> F,
) -> anyhow::Result<Vec<U>>
where
    U: Send + 'static,
    F: Future<Output = U> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    let room = Arc::new(Semaphore::new(concurrency));
    for item in items {
        let room = room.clone();
        let work = work(item);
        tasks.spawn(async move {
            // It is never closed.
            let _room = room.acquire().await;
            work.await
        });
    }
    let mut progress = Progress::new(what, tasks.len());
    let mut done = Vec::new();
    while let Some(result) = tasks.join_next().await {
        done.push(result.context("a task was not finished")?);
        progress.done(done.len());
    }
    progress.finish();
    Ok(done)
}
