//! The waits of one watch between its attempts: a sequence for each kind of failure, each reset by the answer
//! that it waited for.
//!
//! A server that is away, one that refuses and one that has forgotten where a watch was are three different
//! things. A minute without a server must not make the first refusal after it wait half a minute, and a watch
//! whose place is gone lists at once.

use std::time::Duration;

use fedhub_core::errors::{ApiError, TransportFailure};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// First wait of every sequence, at most; half of it at least.
pub const FIRST: Duration = Duration::from_millis(500);
/// Longest wait for a server that does not answer at all: an attempt costs it nothing.
pub const LONGEST_UNREACHABLE: Duration = Duration::from_secs(10);
/// Longest wait for one that refuses.
pub const LONGEST: Duration = Duration::from_secs(30);
/// Longest wait for one that refuses and came back a moment ago: it may not have started up yet.
pub const LONGEST_STARTING: Duration = Duration::from_secs(2);
/// Longest wait for one that sends too much: each attempt reads as much as is taken of one plane.
pub const LONGEST_TOO_LARGE: Duration = Duration::from_mins(10);
/// Shortest wait that a server may ask for.
const SHORTEST: Duration = Duration::from_millis(100);

/// The kind of attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Asking the plane who it is.
    Identity,
    /// A list.
    List,
    /// A watch.
    Watch,
}

/// How an attempt failed, as far as the next wait depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptFailure {
    /// No response: no connection, or no answer in time.
    Unreachable,
    /// The server throttled the request (429), for so long where it said so.
    Throttled(Option<Duration>),
    /// The server answered something else than what was asked for, or broke off.
    Refused,
    /// The plane sends more than is accepted from one plane.
    TooLarge,
    /// The watch expired: only a new list helps.
    Expired,
}

impl AttemptFailure {
    /// How a request failed.
    pub fn from_error(error: &ApiError) -> Self {
        match error {
            ApiError::TooLarge(_) => Self::TooLarge,
            ApiError::NotSent(_) | ApiError::Transport { failure: TransportFailure::NoAnswer, .. } => {
                Self::Unreachable
            }
            ApiError::Server(status) if status.code == 429 => {
                let said = status.details.as_ref().map(|details| details.retry_after_seconds);
                Self::Throttled(said.filter(|said| *said > 0).map(|said| Duration::from_secs(said.into())))
            }
            ApiError::Server(_) | ApiError::Unreadable(_) | ApiError::Transport { .. } => Self::Refused,
        }
    }

    /// The reason that it is logged and counted by: a plane that does not answer is unreachable, whatever was
    /// asked.
    pub fn reason(self, otherwise: &'static str) -> &'static str {
        if self == Self::Unreachable { "unreachable" } else { otherwise }
    }
}

/// The sequences of one watch.
#[derive(Clone, Debug)]
pub struct Backoffs {
    chance: SmallRng,
    unreachable: u8,
    expired: u8,
    /// The refused attempts in a row, by [`Attempt`].
    refused: [u8; 3],
}

impl Backoffs {
    /// Sequences at their beginning, with jitter by this seed.
    pub fn new(seed: u64) -> Self {
        Self { chance: SmallRng::seed_from_u64(seed), unreachable: 0, expired: 0, refused: [0; 3] }
    }

    /// The wait after a failure. `starting`: the server came back a moment ago.
    pub fn after(&mut self, attempt: Attempt, failure: AttemptFailure, starting: bool) -> Duration {
        if failure == AttemptFailure::Unreachable {
            let wait = next(&mut self.unreachable, LONGEST_UNREACHABLE);
            return self.jittered(wait);
        }
        self.unreachable = 0;
        let failures = match failure {
            AttemptFailure::Throttled(Some(said)) => return said.max(SHORTEST),
            AttemptFailure::Expired if self.expired == 0 => {
                self.expired = 1;
                return Duration::ZERO;
            }
            AttemptFailure::Expired => &mut self.expired,
            _ => &mut self.refused[attempt as usize],
        };
        let longest = match failure {
            AttemptFailure::TooLarge => LONGEST_TOO_LARGE,
            _ if starting => LONGEST_STARTING,
            _ => LONGEST,
        };
        let wait = next(failures, longest);
        self.jittered(wait)
    }

    /// An attempt succeeded. One list says nothing of whether the watch after it does.
    pub fn succeeded(&mut self, attempt: Attempt) {
        self.unreachable = 0;
        match attempt {
            Attempt::Identity | Attempt::List => self.refused[attempt as usize] = 0,
            Attempt::Watch => (self.refused, self.expired) = ([0; 3], 0),
        }
    }

    /// The server had been away: what it refused before that says nothing of what it refuses now.
    pub fn came_back(&mut self) {
        (self.unreachable, self.refused) = (0, [0; 3]);
    }

    /// A number from 0 to 1.
    pub fn chance(&mut self) -> f64 {
        self.chance.random_range(0.0..=1.0)
    }

    /// Spreads a wait over its upper half.
    fn jittered(&mut self, wait: Duration) -> Duration {
        wait.mul_f64(self.chance.random_range(0.5..=1.0))
    }
}

/// The next of a sequence that doubles from [`FIRST`] to `longest`. Past that it is not counted on: where
/// `longest` is short because the server is starting, the wait after that must not be as long as if it had
/// been refusing all the time.
fn next(failures: &mut u8, longest: Duration) -> Duration {
    let wait = FIRST.saturating_mul(2u32.saturating_pow(u32::from(*failures)));
    if wait < longest {
        *failures = failures.saturating_add(1);
    }
    wait.min(longest)
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use kube::core::response::StatusDetails;
    use proptest::prelude::*;

    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn api(code: u16) -> ApiError {
        ApiError::Server(Status::failure("no", "Because").with_code(code).boxed())
    }

    fn throttled(seconds: u32) -> ApiError {
        let details: StatusDetails =
            serde_json::from_value(serde_json::json!({"retryAfterSeconds": seconds})).unwrap();
        ApiError::Server(
            Status::failure("storage is (re)initializing", "TooManyRequests")
                .with_code(429)
                .with_details(details)
                .boxed(),
        )
    }

    fn between(wait: Duration, longest: Duration) {
        assert!(longest / 2 <= wait && wait <= longest, "{wait:?} of {longest:?}");
    }

    #[test]
    fn i8_an_answer_begins_the_wait_for_an_unreachable_server_anew_and_a_refusal_its_own() {
        let mut waits = Backoffs::new(1);
        for longest in [500, 1000, 2000, 4000, 8000, 10_000, 10_000] {
            between(waits.after(Attempt::Watch, AttemptFailure::Unreachable, false), MS(longest));
        }
        for longest in [500, 1000, 2000] {
            between(waits.after(Attempt::List, AttemptFailure::from_error(&api(403)), false), MS(longest));
        }
        between(waits.after(Attempt::List, AttemptFailure::Unreachable, false), MS(500));
        between(waits.after(Attempt::Identity, AttemptFailure::from_error(&api(404)), false), MS(500));
        between(waits.after(Attempt::List, AttemptFailure::from_error(&api(403)), false), MS(4000));
        waits.succeeded(Attempt::List);
        between(waits.after(Attempt::List, AttemptFailure::from_error(&api(403)), false), MS(500));
    }

    #[test]
    fn i8_what_a_server_refuses_while_it_starts_makes_no_long_wait_after_that() {
        let mut waits = Backoffs::new(1);
        for _ in 0..20 {
            assert!(waits.after(Attempt::List, AttemptFailure::Refused, true) <= LONGEST_STARTING);
        }
        for longest in [2000, 4000, 8000, 16_000, 30_000, 30_000] {
            between(waits.after(Attempt::List, AttemptFailure::Refused, false), MS(longest));
        }
    }

    #[test]
    fn i8_a_wait_that_the_server_asks_for_is_kept_as_it_is() {
        let mut waits = Backoffs::new(1);
        for _ in 0..50 {
            let failure = AttemptFailure::from_error(&throttled(1));
            assert_eq!(waits.after(Attempt::List, failure, false), Duration::from_secs(1));
            assert!(
                waits.after(Attempt::List, AttemptFailure::from_error(&api(404)), true) <= LONGEST_STARTING
            );
        }
        // One that does not say for how long is waited for ever longer.
        let mut waits = Backoffs::new(1);
        for longest in [500, 1000, 2000] {
            between(
                waits.after(Attempt::List, AttemptFailure::from_error(&throttled(0)), false),
                MS(longest),
            );
        }
    }

    proptest! {
        /// No jitter takes a wait past its maximum.
        #[test]
        fn i8_no_wait_is_longer_than_its_maximum(
            seed: u64,
            steps in prop::collection::vec((0..3usize, 0..4usize, any::<bool>()), 1..200),
        ) {
            let mut waits = Backoffs::new(seed);
            for (attempt, failure, starting) in steps {
                let attempt = [Attempt::Identity, Attempt::List, Attempt::Watch][attempt];
                let failure = [
                    AttemptFailure::Unreachable, AttemptFailure::Refused, AttemptFailure::Expired, AttemptFailure::Throttled(None),
                ][failure];
                let longest = match (failure, starting) {
                    (AttemptFailure::Unreachable, _) => LONGEST_UNREACHABLE,
                    (_, true) => LONGEST_STARTING,
                    (_, false) => LONGEST,
                };
                prop_assert!(waits.after(attempt, failure, starting) <= longest);
            }
        }
    }
}
