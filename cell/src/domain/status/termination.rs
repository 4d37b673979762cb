//! The status of a terminating Instance (C7, C12): what holds it, and when it takes longer than it may.
//!
//! Its provider tears it down and removes its finalizer. Until then `Ready` shows that, in the cell, on the
//! hub and in the project.
//!
//! Decides C12.

use std::time::Duration;

use fedhub_api::conditions::{find, put, said, standing};
use fedhub_api::reason::Reason;
use fedhub_core::clock::stamp;
use fedhub_core::message::excerpt;
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;
use serde_json::Value;

use super::blocker::ConditionUpdate;
use super::{AVAILABLE, READY};

/// The maximum number of finalizers that a message names.
const NAMED: usize = 5;

/// The whole status of an Instance that is being deleted as it should stand, and after how long that changes
/// by itself; `None` for an Instance that is not. `deadline` is how long it may take to go. Only `Ready` is
/// another.
pub fn status(instance: &Object, deadline: Duration, now: Timestamp) -> Option<(Value, Option<Duration>)> {
    let since = instance.metadata.deletion_timestamp.as_ref()?.0;
    // A server's clock that is ahead makes it begin now.
    let waited = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    let left = deadline.checked_sub(waited).filter(|left| !left.is_zero());
    let finalizers: Vec<&str> = instance.metadata.finalizers.iter().flatten().map(String::as_str).collect();
    let held = named(&finalizers);
    let words = if left.is_some() {
        let stage = provider(instance.status()).unwrap_or_default();
        ConditionUpdate::no(
            Reason::Terminating,
            format!("Instance is being deleted, waiting for its finalizers: {held}{stage}"),
        )
    } else {
        let since = stamp(since);
        ConditionUpdate::no(
            Reason::TerminationDeadlineExceeded,
            format!(
                "Instance has been terminating since {since}, which exceeds the deadline; waiting for its finalizers: \
                 {held}"
            ),
        )
    };
    let old = instance.status();
    let mut status = standing(old);
    put(&mut status, words.condition(find(old, READY), READY, now));
    Some((status, left))
}

/// Whether an Instance is reported as overdue.
pub fn is_overdue(instance: &Object) -> bool {
    find(instance.status(), READY).is_some_and(|ready| said(ready).1 == Reason::TerminationDeadlineExceeded)
}

/// The progress that the provider reports.
fn provider(status: &Value) -> Option<String> {
    let (state, reason, message) = said(find(status, AVAILABLE)?);
    // Those two are ours, of a time before the deletion.
    let says = state == "False"
        && !reason.is_empty()
        && !matches!(Reason::parse(reason), Some(Reason::Suspended | Reason::PendingQuota));
    says.then(|| format!(". The provider reports: {reason}: {message}"))
}

fn named(finalizers: &[&str]) -> String {
    let names: Vec<_> = finalizers.iter().take(NAMED).map(|f| excerpt(f)).collect();
    match finalizers.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
