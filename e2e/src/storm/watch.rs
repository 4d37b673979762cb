//! The watch of a cell's Instances, which goes on when the cell's API server has been killed and is back.

use std::time::Duration;

use futures::{StreamExt, pin_mut};
use kube::{
    Api, Client,
    api::DynamicObject,
    runtime::watcher::{self, Event},
};
use tokio::{sync::watch, task::JoinSet};

use super::ledger::Ledger;
use crate::{Error, demo::objects::Kind};

/// How long it waits before it asks a server again that did not answer: what happens is to be seen soon.
const AGAIN: Duration = Duration::from_millis(100);
/// The server ends a watch before the client takes the silence for a fault; the next begins where it ended.
const SECONDS: u32 = 20;

/// A cell's Instances under watch, until this is dropped.
pub struct Sight {
    cell: &'static str,
    ledger: watch::Receiver<Ledger>,
    _task: JoinSet<()>,
}

impl Sight {
    /// Watches from now on, once there was a first listing.
    pub async fn of(
        cell: &'static str,
        client: &Client,
        replicas: u32,
        limit: Duration,
    ) -> Result<Self, Error> {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &Kind::Instance.resource());
        let (sender, ledger) = watch::channel(Ledger::new(cell, replicas));
        let mut task = JoinSet::new();
        task.spawn(follow(api, sender));
        let sight = Self { cell, ledger, _task: task };
        if sight.until(limit, Ledger::listed).await {
            return Ok(sight);
        }
        Err(Error::Storm(format!("{cell}: no listing of Instances within {} s", limit.as_secs())))
    }

    /// Waits until all run this round's template, or something is wrong. Says whether that came in time.
    pub async fn rolled(&self, replicas: u32, round: &str, limit: Duration) -> bool {
        let all = replicas as usize;
        self.until(limit, |ledger| ledger.rolled(round) == all || !ledger.breaches().is_empty()).await
    }

    /// How far it is.
    pub fn now(&self) -> watch::Ref<'_, Ledger> {
        self.ledger.borrow()
    }

    /// The cell's name.
    pub fn cell(&self) -> &'static str {
        self.cell
    }

    async fn until(&self, limit: Duration, holds: impl Fn(&Ledger) -> bool) -> bool {
        let mut ledger = self.ledger.clone();
        let seen = ledger.wait_for(holds);
        matches!(tokio::time::timeout(limit, seen).await, Ok(Ok(_)))
    }
}

async fn follow(api: Api<DynamicObject>, ledger: watch::Sender<Ledger>) {
    let stream = watcher::watcher(api, watcher::Config::default().timeout(SECONDS));
    pin_mut!(stream);
    while let Some(event) = stream.next().await {
        match event {
            Ok(Event::Init) => ledger.send_modify(Ledger::begin),
            Ok(Event::InitDone) => ledger.send_modify(Ledger::done),
            Ok(Event::Apply(object) | Event::InitApply(object)) => {
                ledger.send_modify(|ledger| ledger.seen(&object));
            }
            Ok(Event::Delete(object)) => ledger.send_modify(|ledger| ledger.gone(&object)),
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}
