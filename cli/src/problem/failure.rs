//! Why a request was not answered, where that is known to this program: carried through the client's own
//! errors.

use std::time::Duration;

/// A failure of the connection, or of the login that it needs.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The server did not begin to answer in time.
    #[error("no answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// There is no token.
    #[error("no token: {why}")]
    NoToken {
        /// Why, as the program that gives tokens says it.
        why: String,
        /// What that program advises, where it does.
        advice: Option<String>,
    },
}

impl Failure {
    /// There is no token, for a reason without a known remedy.
    pub fn no_token(why: impl Into<String>) -> Self {
        Self::NoToken { why: why.into(), advice: None }
    }
}
