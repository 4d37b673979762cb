//! What the WDs of a cell say while fedhub cannot read there what it decides by: a right or a CRD is missing
//! that its flags ask for.
//!
//! A part of C9.

use std::time::Duration;

use fedhub_api::conditions::{find, is_true, put, standing};
use fedhub_api::facts::deployment::put_counters;
use fedhub_api::reason::Reason;
use fedhub_cache::ObjectPart;
use fedhub_cache::normalization::settled;
use fedhub_core::errors::Error;
use fedhub_core::message::named;
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};
use fedhub_engine::Outcome;
use fedhub_planes::{Pass, Plane, StatusWrite, WriteMode};
use jiff::Timestamp;
use serde_json::Value;

use super::DeploymentController;
use crate::domain::status::blocker::ConditionUpdate;
use crate::domain::status::{AVAILABLE, REPLICAS_READY};
use crate::writer;

/// How long the cell may fail before that is said: one that starts answers errors for moments.
const PATIENCE: Duration = Duration::from_secs(30);

/// The kinds that cannot be read of a cell that is not in sync for want of them, although its WDs are known.
pub(super) fn unread(cell: &Plane) -> Vec<String> {
    if cell.synced() || !cell.store(Kind::WorkloadDeployment).synced() {
        return Vec::new();
    }
    let failing = cell.kinds().filter(|kind| cell.is_failing(*kind)).map(Kind::resource);
    failing.map(|resource| format!("{}.{}", resource.plural, resource.group)).collect()
}

/// The status of a WD that waits for these kinds. What was true when it was known last is left as it is.
fn status(wd: &Object, unread: &[String], now: Timestamp) -> Value {
    let message = format!("fedhub in the cell cannot read {}", named(unread).unwrap_or_default());
    let words = ConditionUpdate::no(Reason::CellMisconfigured, message);
    let old = wd.status();
    let mut status = standing(old);
    for kind in [REPLICAS_READY, AVAILABLE] {
        if !is_true(old, kind) {
            put(&mut status, words.condition(find(old, kind), kind, now));
        }
    }
    put_counters(&mut status);
    status
}

impl DeploymentController {
    /// Reports on a WD why its cell is not in sync, once that lasts.
    pub(super) async fn report_unread(&self, pass: &Pass, wd: Option<&Object>) -> Result<Outcome, Error> {
        let cell = self.cell.anchor();
        let unread = unread(cell);
        let Some(wd) = wd.filter(|wd| !unread.is_empty() && !wd.is_terminating()) else {
            return Err(Error::NotEngaged(PlaneId::Cell));
        };
        let left = PATIENCE.saturating_sub(cell.state_since().elapsed());
        if !left.is_zero() {
            return Ok(Outcome::RequeueAfter(left));
        }
        let kind = Kind::WorkloadDeployment;
        let now = self.cell.clock().now();
        let status = status(wd, &unread, now);
        let normalization = cell.store(kind).normalization(wd.namespace(), wd.name(), ObjectPart::Status);
        if !settled(&status, wd.status(), normalization) {
            let write = StatusWrite { status, mode: WriteMode::Direct };
            writer(&self.cell, pass).write_status(kind, wd, write).await?;
        }
        Ok(Outcome::AwaitChange)
    }
}
