//! The watch of a cell's Instances, which goes on when the cell's API server has been killed and is back.

use std::time::Duration;

use futures::{StreamExt, pin_mut};
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::fixture::NAME;
use super::invariants::Invariants;
use crate::Error;
use crate::demo::objects::Kind;

/// How long it waits before it retries a server that did not answer: events should be seen soon.
const AGAIN: Duration = Duration::from_millis(100);
/// The server ends a watch before the client takes the silence for a fault; the next begins where it ended.
const SECONDS: u32 = 20;

/// A cell's Instances under watch, until this is dropped.
pub struct CellWatch {
    cell: &'static str,
    invariants: watch::Receiver<Invariants>,
    _task: JoinSet<()>,
}

impl CellWatch {
    /// Watches from now on, once there was a first listing.
    pub async fn watch(
        cell: &'static str,
        client: &Client,
        replicas: u32,
        limit: Duration,
    ) -> Result<Self, Error> {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &Kind::Instance.resource());
        let (sender, invariants) = watch::channel(Invariants::new(cell, replicas));
        let mut task = JoinSet::new();
        task.spawn(follow(api, sender));
        let watch = Self { cell, invariants, _task: task };
        if watch.until(limit, Invariants::listed).await {
            return Ok(watch);
        }
        Err(Error::Chaos(format!("{cell}: no listing of Instances within {} s", limit.as_secs())))
    }

    /// Waits until all run this round's template, or something is wrong. Says whether that came in time.
    pub async fn rolled(&self, replicas: u32, round: &str, limit: Duration) -> bool {
        let all = replicas as usize;
        self.until(limit, |invariants| invariants.rolled(round) == all || !invariants.breaches().is_empty())
            .await
    }

    /// How far it is.
    pub fn now(&self) -> watch::Ref<'_, Invariants> {
        self.invariants.borrow()
    }

    /// The cell's name.
    pub fn cell(&self) -> &'static str {
        self.cell
    }

    async fn until(&self, limit: Duration, holds: impl Fn(&Invariants) -> bool) -> bool {
        let mut invariants = self.invariants.clone();
        let seen = invariants.wait_for(holds);
        matches!(tokio::time::timeout(limit, seen).await, Ok(Ok(_)))
    }
}

/// Selects the Instances of the WDs that are compared.
fn selector() -> String {
    format!("compute.datumapis.com/workload-deployment-name={NAME}")
}

async fn follow(api: Api<DynamicObject>, invariants: watch::Sender<Invariants>) {
    let stream = watcher::watcher(api, watcher::Config::default().timeout(SECONDS).labels(&selector()));
    pin_mut!(stream);
    while let Some(event) = stream.next().await {
        match event {
            Ok(Event::Init) => invariants.send_modify(Invariants::begin),
            Ok(Event::InitDone) => invariants.send_modify(Invariants::done),
            Ok(Event::Apply(object) | Event::InitApply(object)) => {
                invariants.send_modify(|invariants| invariants.seen(&object));
            }
            Ok(Event::Delete(object)) => invariants.send_modify(|invariants| invariants.gone(&object)),
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}
