//! What can go wrong with the demonstration.

use std::path::PathBuf;
use std::time::Duration;

use super::objects::Kind;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The planes or fedhub did not do as they should.
    #[error(transparent)]
    Harness(#[from] crate::Error),
    /// Two demonstrations would take each other's planes down.
    #[error("another demonstration runs on instance `{0}`: Ctrl-C there or `make down` ends it")]
    Busy(String),
    /// A step was not seen in time.
    #[error("NOT SEEN on {plane} within {seconds} s: {what}{trouble}\nlogs: {logs} (fedhub.log first)")]
    NotSeen {
        /// Where it should have been seen.
        plane: &'static str,
        /// The expected sighting.
        what: String,
        /// How long it was awaited.
        seconds: u64,
        /// The last error of a watch, if there was one.
        trouble: String,
        /// The directory of all logs.
        logs: String,
    },
    /// Something stands on a plane that it was not meant for.
    #[error("{plane} has {kind} in {namespace} that are not for it")]
    Strayed {
        /// That plane.
        plane: &'static str,
        /// What stands there.
        kind: Kind,
        /// The namespace.
        namespace: String,
    },
    /// The failure of one city did not keep the new template from another.
    #[error("{city} was not left as it was when another city failed: {what}")]
    NotHeld {
        /// The city that had to keep its template.
        city: &'static str,
        /// How that shows.
        what: String,
    },
    /// A city did not wait for the one before it.
    #[error("{city} had the new template before all of {before} was ready with it")]
    OutOfTurn {
        /// The city that came too early.
        city: &'static str,
        /// The city whose turn it was.
        before: &'static str,
    },
    /// The user or the system asked for the end before the demonstration had come to its own.
    #[error("interrupted")]
    Interrupted,
    /// The planes were taken down by another process in the middle of the demonstration.
    #[error("the planes were taken down by another process")]
    Gone,
    /// A fedhub, or a simulated service, ended unexpectedly.
    #[error("a process beside the planes ended; its log: {0}")]
    Ended(PathBuf),
}

impl Error {
    /// A step that was not seen in time.
    pub(super) fn not_seen(
        plane: &'static str,
        what: &str,
        limit: Duration,
        trouble: Option<String>,
        logs: &str,
    ) -> Self {
        let trouble = trouble.map(|words| format!("; {words}")).unwrap_or_default();
        Self::NotSeen {
            plane,
            what: what.to_owned(),
            seconds: limit.as_secs(),
            trouble,
            logs: logs.to_owned(),
        }
    }
}
