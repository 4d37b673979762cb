//! How a plane is, since when it is so, and how it failed last: for those who look at one plane.

use fedhub_core::object::Kind;
use parking_lot::Mutex;
use tokio::time::Instant;

/// How a plane is, as far as its watches tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Not all lists are complete yet, and nothing failed so far.
    Engaging,
    /// All watches are in sync.
    Engaged,
    /// All watches are in sync, and the project is suspended: its plane is read and not written.
    Suspended,
    /// All watches are in sync, and an operator paused the plane: nothing is written there, nor for it on the
    /// hub.
    Paused,
    /// A watch fails, for this reason.
    Unreachable(String),
}

impl Health {
    /// The metric label.
    pub fn state(&self) -> &'static str {
        match self {
            Self::Engaging => "engaging",
            Self::Engaged => "engaged",
            Self::Suspended => "suspended",
            Self::Paused => "paused",
            Self::Unreachable(_) => "unreachable",
        }
    }
}

/// The last failure of a plane's watches. It stays when the plane works again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFailure {
    /// The kind that was watched.
    pub kind: Kind,
    /// The error for people.
    pub error: String,
    /// When it happened last.
    pub at: Instant,
}

/// The state of a plane, when it began, and the last failure.
#[derive(Debug)]
pub struct HealthLog(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    state: &'static str,
    since: Instant,
    /// Most planes never fail: then it takes no room.
    last: Option<Box<LastFailure>>,
}

impl HealthLog {
    /// Creates the log of a plane that is in `state` from now on.
    pub fn new(state: &'static str) -> Self {
        Self(Mutex::new(Inner { state, since: Instant::now(), last: None }))
    }

    /// The plane is in this state now. Returns since when.
    pub fn note(&self, state: &'static str) -> Instant {
        let mut inner = self.0.lock();
        if inner.state != state {
            (inner.state, inner.since) = (state, Instant::now());
        }
        inner.since
    }

    /// A watch of the plane failed now.
    pub fn failed(&self, kind: Kind, error: String) {
        self.0.lock().last = Some(Box::new(LastFailure { kind, error, at: Instant::now() }));
    }

    /// The last failure, of a plane that ever failed.
    pub fn last_failure(&self) -> Option<LastFailure> {
        self.0.lock().last.as_deref().cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_state_lasts_from_its_beginning_and_a_failure_stays() {
        let log = HealthLog::new("engaging");
        let start = Instant::now();
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(log.note("engaging"), start, "it has not changed");
        assert_eq!(log.last_failure(), None);
        log.failed(Kind::Instance, "refused".to_owned());
        assert_eq!(log.note("unreachable"), start + Duration::from_secs(5));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(log.note("unreachable"), start + Duration::from_secs(5));
        assert_eq!(log.note("engaged"), start + Duration::from_secs(10));
        let last = log.last_failure().unwrap();
        assert_eq!((last.error.as_str(), last.at), ("refused", start + Duration::from_secs(5)));
    }
}
