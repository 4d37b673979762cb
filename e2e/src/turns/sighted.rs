//! A watch of a project's WDs, by which the turns of cities are known.

use std::time::Duration;

use futures::TryStreamExt;
use kube::Client;
use kube::api::{DynamicObject, WatchEvent};
use tokio::sync::watch as channel;
use tokio::task::JoinHandle;

use super::Turns;
use crate::Error;
use crate::bench::watch::events;
use crate::demo::objects::Kind;

/// How long nothing may happen before a change is given up.
const STILL: Duration = Duration::from_mins(2);

/// What a watch of the project's WDs has seen. It ends when this is dropped.
pub struct Sighted {
    seen: channel::Receiver<Turns>,
    task: JoinHandle<Result<(), Error>>,
}

impl Sighted {
    /// Watches from now on.
    pub async fn watch(project: &Client, turns: Turns) -> Result<Self, Error> {
        let events = events::<DynamicObject>(project, Kind::Deployment).await?;
        let (sender, seen) = channel::channel(turns);
        let task = tokio::spawn(async move {
            futures::pin_mut!(events);
            while let Some(event) = events.try_next().await? {
                if let WatchEvent::Added(wd) | WatchEvent::Modified(wd) = event {
                    sender.send_modify(|turns| turns.see(&wd));
                }
            }
            Err(Error::Benchmark("a watch ended".to_owned()))
        });
        Ok(Self { seen, task })
    }

    /// Waits until what was seen is so.
    pub async fn until(&mut self, is_so: impl Fn(&Turns) -> bool) -> Result<Turns, Error> {
        loop {
            {
                let turns = self.seen.borrow_and_update();
                if is_so(&turns) {
                    return Ok(turns.clone());
                }
            }
            match tokio::time::timeout(STILL, self.seen.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => {
                    (&mut self.task).await??;
                }
                Err(_) => {
                    let turns = self.seen.borrow();
                    let [complete, updating] = [turns.complete(), turns.updating()];
                    return Err(Error::Benchmark(format!(
                        "{complete} cities are complete and {updating} under way, and then nothing for {STILL:?}"
                    )));
                }
            }
        }
    }
}

impl Drop for Sighted {
    fn drop(&mut self) {
        self.task.abort();
    }
}
