//! Why a request was not answered, where that is known to this program: carried through the client's own errors.

use std::time::Duration;

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
