//! Why a request was not answered, where that is known to this program: carried through the client's own
//! errors.

use std::time::Duration;

/// A failure of the connection, or of the login that it needs.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The server did not begin to answer in time.
    #[error("no answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// The user has no token.
    #[error("no token: {why}")]
    NoToken {
        /// Why, as the program that gives tokens says it.
        why: String,
        /// The advice of the program that was asked for one, if it gave any.
        advice: Option<String>,
    },
}

impl Failure {
    /// Returns the failure to get a token, for a reason without a known remedy.
    pub fn no_token(why: impl Into<String>) -> Self {
        Self::NoToken { why: why.into(), advice: None }
    }
}
