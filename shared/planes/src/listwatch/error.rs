//! How lists and watches fail.

use fedhub_core::errors::ApiError;
use kube::core::Status;
use kube::runtime::watcher;

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
