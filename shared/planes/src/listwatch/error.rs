//! How lists and watches fail.

use fedhub_core::errors::{ApiError, TransportFailure};
use kube::core::Status;
use kube::runtime::watcher;

use crate::transport::backoff::{Attempt, AttemptFailure};

/// How a watch failed, or the list that it begins with.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The list was not read to its end.
    #[error("failed to list")]
    List(#[source] ApiError),
    /// The watch was not answered.
    #[error("failed to start the watch")]
    Start(#[source] ApiError),
    /// The watch broke off, or brought what is none.
    #[error("the watch failed")]
    Broken(#[source] ApiError),
    /// The server ended the watch with an error.
    #[error("the server ended the watch")]
    Ended(#[source] Box<Status>),
    /// The server was put back to an earlier state, so that all that is known of it has to be read anew
    /// (I13).
    #[error("resourceVersion {now} follows {before}: the server went back to an earlier state")]
    WentBack {
        /// The version that it named before.
        before: u64,
        /// The version that it names now.
        now: u64,
    },
    /// An object or a list has no version to watch from.
    #[error("the answer has no resourceVersion")]
    NoVersion,
}

/// The result of a step of a watch.
pub type Result<T, E = WatchError> = std::result::Result<T, E>;

impl WatchError {
    /// What failed of a watch, and how.
    pub fn failure(&self) -> (Attempt, AttemptFailure) {
        match self {
            Self::List(error) => (Attempt::List, AttemptFailure::from_error(error)),
            Self::Start(error) if error.code() == Some(410) => (Attempt::Watch, AttemptFailure::Expired),
            Self::Ended(status) if status.code == 410 => (Attempt::Watch, AttemptFailure::Expired),
            Self::WentBack { .. } => (Attempt::Watch, AttemptFailure::Expired),
            // What came is no watch at all, so that it is not known what was missed.
            Self::Broken(error) | Self::Start(error)
                if error.failure() == Some(TransportFailure::Garbled) =>
            {
                (Attempt::Watch, AttemptFailure::Expired)
            }
            Self::Start(error) => (Attempt::Watch, AttemptFailure::from_error(error)),
            Self::Ended(_) | Self::Broken(_) | Self::NoVersion => (Attempt::Watch, AttemptFailure::Refused),
        }
    }
}

impl From<watcher::Error> for WatchError {
    fn from(error: watcher::Error) -> Self {
        match error {
            watcher::Error::InitialListFailed(error) => Self::List(error.into()),
            watcher::Error::WatchStartFailed(error) => Self::Start(error.into()),
            watcher::Error::WatchFailed(error) => Self::Broken(error.into()),
            watcher::Error::WatchError(status) => Self::Ended(status),
            watcher::Error::NoResourceVersion => Self::NoVersion,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fedhub_core::errors::Excess;

    use super::*;
    use crate::transport::backoff::{Backoffs, LONGEST_TOO_LARGE};

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn between(wait: Duration, longest: Duration) {
        assert!(longest / 2 <= wait && wait <= longest, "{wait:?} of {longest:?}");
    }

    #[test]
    fn i8_a_plane_that_sends_too_much_is_asked_less_and_less_often() {
        let error = WatchError::List(Excess::Objects(3).into());
        let (attempt, failure) = error.failure();
        let mut waits = Backoffs::new(1);
        let last = (0..20).map(|_| waits.after(attempt, failure, false)).last().unwrap();
        between(last, LONGEST_TOO_LARGE);
    }

    #[test]
    fn i8_a_watch_whose_place_is_gone_lists_at_once_and_ever_more_rarely_where_that_does_not_help() {
        let gone = [
            WatchError::Ended(Status::failure("too old", "Expired").with_code(410).boxed()),
            WatchError::Start(ApiError::Server(Status::failure("no", "Because").with_code(410).boxed())),
            WatchError::WentBack { before: 2, now: 1 },
        ];
        for error in gone {
            let (attempt, failure) = error.failure();
            let mut waits = Backoffs::new(1);
            let before = waits.after(Attempt::Watch, AttemptFailure::Refused, false);
            between(before, MS(500));
            assert_eq!(waits.after(attempt, failure, false), Duration::ZERO, "whatever failed before");
            for longest in [1000, 2000, 4000] {
                waits.succeeded(Attempt::List);
                between(waits.after(attempt, failure, false), MS(longest));
            }
            waits.succeeded(Attempt::Watch);
            assert_eq!(waits.after(attempt, failure, false), Duration::ZERO);
        }
    }
}
