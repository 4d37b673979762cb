//! When fedhub, and the cells' beside it, have nothing left to do.

use std::cell::Cell;
use std::time::{Duration, Instant};

use futures::future::try_join_all;

use super::member::Member;
use super::scrape::{leads, total};
use super::{Fedhub, START, chain};
use crate::Error;
use crate::topology::wait::{NotYet, until};

/// For how long nothing may have happened before everything counts as idle.
const REST: Duration = Duration::from_millis(300);

/// Samples that are zero while there is nothing to do. What the federator has pending includes policies in
/// their quiet time; what the projector has pending includes Instances whose grace runs, so its failures are
/// asked for.
const AT_WORK: [&str; 6] = [
    "fedhub_queue_depth{",
    "fedhub_objects{controller=\"federator\",state=\"pending\"}",
    "fedhub_oldest_unsynced_seconds{controller=\"projector\"}",
    "fedhub_oldest_unsynced_seconds{controller=\"deployments\"}",
    "fedhub_oldest_unsynced_seconds{controller=\"readiness\"}",
    "fedhub_oldest_unsynced_seconds{controller=\"write_back\"}",
];

/// WDs that the federator has pending because the hub lost its state: without a cell in their city no report
/// shows that nothing is left of them, so that they stay for as long as the planes do.
const HELD: &str = "fedhub_finalizers_held{reason=\"hub_state_lost\"}";

impl Fedhub {
    /// Waits until it leads and has nothing left to do: nothing is queued or waits for another try, and no
    /// pass began for a while. What it cannot do (a quarantined Instance, a WD without a cell) does not
    /// count. Where it is of the management role the same goes for the cells' that run beside it, for what
    /// they do it has to follow.
    pub async fn settled(&self) -> Result<(), Error> {
        let mut all = vec![self.clone()];
        if !matches!(self.member, Member::Cell(_)) {
            let beside = chain::members(&self.layout)?;
            let is_cell = |fedhub: &Self| matches!(fedhub.member, Member::Cell(_));
            all.extend(beside.into_iter().filter(|fedhub| is_cell(fedhub) && fedhub.pid().is_some()));
        }
        let since = Cell::new((f64::NAN, Instant::now()));
        until("fedhub to come to rest", START, || async {
            self.check()?;
            let looks = try_join_all(all.iter().map(Self::metrics)).await.map_err(NotYet::again)?;
            let passes: f64 = looks.iter().map(|metrics| passes(metrics)).sum();
            let waiting: f64 = looks.iter().map(|metrics| waiting(metrics)).sum();
            let (before, mut still) = since.get();
            if passes.to_bits() != before.to_bits() || waiting > 0.0 || !looks.iter().all(|m| begun(m)) {
                still = Instant::now();
            }
            since.set((passes, still));
            let rest = still.elapsed() >= REST;
            if rest { Ok(()) } else { Err(NotYet::again(format!("{passes} passes, {waiting}"))) }
        })
        .await
    }
}

fn passes(metrics: &str) -> f64 {
    total(metrics, "fedhub_reconciles_total{")
}

fn waiting(metrics: &str) -> f64 {
    AT_WORK.iter().map(|name| total(metrics, name)).sum::<f64>() - total(metrics, HELD)
}

/// Whether it leads and has looked at everything: straight after a start nothing waits yet.
fn begun(metrics: &str) -> bool {
    let looks = passes(metrics) + total(metrics, "fedhub_reconciles_skipped_total{");
    leads(metrics) && looks >= total(metrics, "fedhub_objects{")
}
