//! Why a request was not answered, where that is known to this program: carried through the client's own errors.

use std::time::Duration;

use crate::problem::Problem;

/// A failure of the connection, or of the login that it needs.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The server did not begin to answer in time.
    #[error("no answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// There is no token.
    #[error("no token: {0}")]
    NoToken(String),
}

impl Failure {
    /// In the words of a problem. `doing` completes "Could not ...".
    pub fn problem(&self, doing: &str) -> Problem {
        match self {
            Self::Silent(limit) => {
                let limit = limit.as_secs();
                Problem::failed(format!(
                    "Could not {doing}: the platform did not answer within {limit} seconds."
                ))
                .remedy(
                    "Run the command again in a minute; if that does not help, tell the platform's support.",
                )
            }
            Self::NoToken(why) => {
                Problem::failed(format!("Could not {doing}: datumctl gave no login ({why})."))
                    .remedy("Log in again with `datumctl auth login`.")
            }
        }
    }
}
