//! Reports of failed watches: to the plane's health, to the metrics, to the log.

use std::time::Duration;

use fedhub_api::crds;
use fedhub_core::errors::{self, ApiError, Category};
use fedhub_core::object::{Kind, PlaneId};
use parking_lot::MutexGuard;
use tokio::time::Instant;

use crate::listwatch::WatchError;
use crate::registry::pump::outages::{Outages, Recovery};
use crate::transport::backoff::AttemptFailure;
use crate::{Plane, Planes};

/// The reason of a list that is given up because it is too large.
const TOO_LARGE: &str = "too_large";

impl Planes {
    fn outages(&self) -> MutexGuard<'_, Outages> {
        self.outages.lock()
    }

    /// Records that a plane is not healthy, and returns whether that is news.
    pub(crate) fn unhealthy(&self, plane: &Plane, kind: Kind, error: String) -> bool {
        let news = plane.unhealthy(kind, error);
        if news {
            self.listeners().iter().for_each(|listener| listener.failing(plane));
        }
        news
    }

    /// Records that a watch of a plane fails for `reason`, a label. Planes behind one server are logged
    /// together.
    pub(crate) fn failed(
        &self,
        plane: &Plane,
        kind: Kind,
        reason: &str,
        error: String,
        retry_in: Option<Duration>,
    ) {
        self.unhealthy(plane, kind, error.clone());
        let server = plane.server_name();
        let kind = &kind.resource().kind;
        let due = self.outages().failed(&server, &plane.id, reason, Instant::now());
        match due {
            Some(planes) => {
                tracing::warn!(server, reason, planes, plane = %plane.id, kind, error, ?retry_in, "watch failed");
            }
            None => {
                tracing::debug!(server, reason, plane = %plane.id, kind, error, ?retry_in, "watch failed");
            }
        }
    }

    /// Records that a watch of a plane works, and returns whether it failed before.
    pub(crate) fn recovered(&self, plane: &Plane, kind: Kind) -> bool {
        let (news, whole) = plane.healthy(kind);
        if news {
            plane.connection().recovered();
        }
        if whole {
            self.log_recovery(plane);
        }
        news
    }

    pub(crate) fn log_recovery(&self, plane: &Plane) {
        let server = plane.server_name();
        let due = self.outages().recovered(&server, &plane.id, Instant::now());
        if let Some(Recovery { planes, failing, after }) = due {
            tracing::info!(server, planes, failing, ?after, "planes recovered");
        }
    }
}

/// Reports a list that makes no progress. It may yet complete, so nothing is given up but its permit.
pub fn report_stalled_list(planes: &Planes, plane: &Plane, kind: Kind, silence: Duration) {
    let plural = &kind.resource().plural;
    let words = format!("cannot list {plural}: no news of the list for {silence:?}");
    planes.failed(plane, kind, "list_stalled", words, None);
}

/// Reports a watch that failed and is retried after `wait`.
pub async fn report(
    planes: &Planes,
    plane: &Plane,
    kind: Kind,
    error: &WatchError,
    failure: AttemptFailure,
    wait: Duration,
) {
    let reason = reason(error);
    planes.metrics().watch_restarts.with_label_values(&[plane.id.kind(), reason]).inc();
    let resource = kind.resource();
    // A watch goes on from where it was, and its store with it.
    if reason == TOO_LARGE && matches!(error, WatchError::List(_)) {
        planes.metrics().too_large.with_label_values(&[plane.id.kind(), "list"]).inc();
        // Neither the incomplete list is kept nor what was known before: the next list may have other names,
        // and so on forever. Nothing is decided by absence until a list is complete (I4).
        if let PlaneId::Project(_) = plane.id {
            plane.store(kind).clear();
        }
    }
    // Where only a new list helps and is made at once, nothing is wrong yet.
    if wait.is_zero() {
        tracing::debug!(plane = %plane.id, kind = %resource.kind, reason, error = words(error), "watch expired");
        return;
    }
    if reason == Category::Forbidden.label() {
        plane.forbidden(verb(error), &resource.plural);
    }
    let message = if reason == "not_found" && plane.names(kind).await == Some(false) {
        let remedy = if crds::ours(&resource.group, &resource.plural) {
            "`fedhub crds | kubectl apply -f -` installs it".to_owned()
        } else {
            format!("it comes with what serves {}", resource.group)
        };
        format!("{}.{} is not served there: its CRD is missing ({remedy})", resource.plural, resource.group)
    } else {
        format!("cannot {} {}: {}", verb(error), resource.plural, words(error))
    };
    planes.failed(plane, kind, failure.reason(reason), message, Some(wait));
}

/// Whether the server says of a list that it does not serve the kind, or not to us.
fn is_absent(error: &ApiError) -> bool {
    matches!(error.code(), Some(403 | 404))
}

/// Whether a watch failed because the server does not serve the kind, or not to us, by the list that it began
/// with.
pub fn is_absence(error: &WatchError) -> bool {
    matches!(error, WatchError::List(error) if is_absent(error))
}

/// Whether that list was forbidden.
pub fn is_forbidden(error: &WatchError) -> bool {
    matches!(error, WatchError::List(error) if error.code() == Some(403))
}

/// Whether the server says so of a watch that would go on.
pub fn is_end(error: &WatchError) -> bool {
    matches!(error, WatchError::Start(error) if is_absent(error))
}

/// Returns the verb of the request that failed.
fn verb(error: &WatchError) -> &'static str {
    if matches!(error, WatchError::List(_)) { "list" } else { "watch" }
}

/// The error of a watch in words: what the server said, or why it said nothing.
fn words(error: &WatchError) -> String {
    use WatchError as E;
    match error {
        E::List(e) | E::Start(e) | E::Broken(e) => errors::chain(e),
        E::Ended(status) => errors::chain(status.as_ref()),
        E::WentBack { .. } | E::NoVersion => errors::chain(error),
    }
}

fn reason(error: &WatchError) -> &'static str {
    use WatchError as E;
    let inner = match error {
        E::List(e) | E::Start(e) | E::Broken(e) => e,
        E::Ended(status) if status.code != 410 => return "server",
        E::Ended(_) | E::WentBack { .. } => return "gone",
        E::NoVersion => return "no_resource_version",
    };
    match (inner, inner.code()) {
        (ApiError::TooLarge(_), _) => TOO_LARGE,
        (_, Some(404)) => "not_found",
        (_, Some(410)) => "gone",
        _ => inner.category().label(),
    }
}
