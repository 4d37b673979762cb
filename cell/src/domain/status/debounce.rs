//! Debouncing: stages of an Instance that is coming up are not published at once.
//!
//! An Instance passes through several stages in a moment: its gates open, its provider has seen it, made it,
//! started it. Each would be a write in the cell, one on the hub and one in the project's plane, outdated
//! before it is read. So a stage, also of a deletion, has to last to be published. What a person has to act
//! on, readiness, suspension and what a user stopped are published at once.

use std::time::Duration;

use fedhub_api::conditions::{find, said};
use fedhub_api::reason::{Reason, needs_action};
use fedhub_core::object::Object;
use jiff::Timestamp;
use serde_json::Value;

use super::{AVAILABLE, PROGRAMMED, READY};

/// How long a stage has to last. The API's time stamps have whole seconds: up to one less.
const LASTS: Duration = Duration::from_secs(2);
/// How long an Instance counts as coming up: after that, every change is published at once.
const ON_THE_WAY: Duration = Duration::from_secs(10);

/// Whether the Instance is so young that it may still be coming up.
pub fn on_the_way(instance: &Object, now: Timestamp) -> bool {
    instance.metadata.creation_timestamp.as_ref().is_some_and(|made| apart(made.0, now) < ON_THE_WAY)
}

/// How long `status` of an Instance need not be published yet; `None` where it is to be published now.
pub fn debounce(instance: &Object, status: &Value, now: Timestamp) -> Option<Duration> {
    if let Some(deleted) = &instance.metadata.deletion_timestamp {
        return LASTS.checked_sub(apart(deleted.0, now)).filter(|left| !left.is_zero());
    }
    if find(status, READY).is_some_and(|ready| !is_stage(ready)) {
        return None;
    }
    let made = instance.metadata.creation_timestamp.as_ref()?.0;
    if !on_the_way(instance, now) {
        return None;
    }
    // The provider's own steps: what is computed from them follows, and begins no stage.
    let steps = [PROGRAMMED, AVAILABLE].into_iter().filter_map(|kind| {
        let since = find(status, kind)?.get("lastTransitionTime")?.as_str()?;
        since.parse::<Timestamp>().ok()
    });
    let since = steps.chain([made]).map(|at| apart(at, now)).min()?;
    LASTS.checked_sub(since).filter(|left| !left.is_zero())
}

/// Whether that `Ready` shows a stage, which passes by itself.
pub fn is_stage(ready: &Value) -> bool {
    let (state, reason, _) = said(ready);
    state != "True" && reason != Reason::Suspended && !needs_action(reason)
}

/// The distance of two times: a server's clock that is far from ours makes what it stamps old, and not new
/// for ever.
fn apart(at: Timestamp, now: Timestamp) -> Duration {
    now.duration_since(at).unsigned_abs()
}
