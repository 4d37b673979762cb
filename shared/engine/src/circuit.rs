//! The circuit breaker of one plane: whether the keys that need it may run.
//!
//! A plane that does not do what it is asked (time-outs, connections refused, 5xx, garbage, 429) costs each
//! key a time-out of its own. So after [`THRESHOLD`] such failures in a row its circuit opens and its keys
//! wait without running. After a back-off of the plane's own it is half open: one key runs as the probe. If
//! the plane answers, the circuit closes at once; if it fails again, it opens for twice as long, to
//! [`LONGEST`].
//!
//! Pure: the queue brings the time, the jitter and the responses of the plane. The failure of a reconcile
//! that began before the circuit last opened or closed is outdated and does not count; an answer always
//! counts.

use std::time::Duration;

use tokio::time::Instant;

/// Failures in a row that open a closed circuit.
pub const THRESHOLD: u32 = 3;
/// How long a circuit is open for the first time, at most; half of that at least.
pub const FIRST: Duration = Duration::from_secs(1);
/// How long it is open at most, however often the probe has failed.
pub const LONGEST: Duration = Duration::from_mins(1);

/// Which keys of a plane a circuit breaker lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stance {
    /// Everything.
    Closed,
    /// Nothing.
    Open,
    /// A single key, as a probe.
    HalfOpen,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant, times: u32 },
    HalfOpen { times: u32 },
}

/// The circuit of one plane.
#[derive(Clone, Copy, Debug)]
pub struct Circuit {
    state: State,
    /// When it last opened or closed.
    since: Option<Instant>,
}

impl Default for Circuit {
    fn default() -> Self {
        Self { state: State::Closed { failures: 0 }, since: None }
    }
}

impl Circuit {
    /// Returns which keys are let through.
    pub fn stance(&self) -> Stance {
        match self.state {
            State::Closed { .. } => Stance::Closed,
            State::Open { .. } => Stance::Open,
            State::HalfOpen { .. } => Stance::HalfOpen,
        }
    }

    /// Whether the plane has not failed since it last answered. Of one that has, one key at a time has its
    /// turn, so that a plane that hangs holds one worker.
    pub fn is_well(&self) -> bool {
        matches!(self.state, State::Closed { failures: 0 })
    }

    /// Whether keys wait for it: it is open or half open.
    pub fn interrupts(&self) -> bool {
        self.stance() != Stance::Closed
    }

    /// Returns until when the circuit is open.
    pub fn until(&self) -> Option<Instant> {
        match self.state {
            State::Open { until, .. } => Some(until),
            State::Closed { .. } | State::HalfOpen { .. } => None,
        }
    }

    /// The plane failed a pass that began at `began`. `chance`, from 0 to 1, spreads the wait over its upper
    /// half, so that planes that were lost together are not tried together.
    pub fn failed(&mut self, began: Instant, now: Instant, chance: f64) {
        if self.since.is_some_and(|since| began < since) {
            return;
        }
        match &mut self.state {
            State::Open { .. } => {}
            State::HalfOpen { times } => {
                let times = times.saturating_add(1);
                self.open(now, times, chance);
            }
            State::Closed { failures } => {
                *failures = failures.saturating_add(1);
                if *failures >= THRESHOLD {
                    self.open(now, 1, chance);
                }
            }
        }
    }

    /// The plane has failed, and there is no room for a probe of it: it is open for as long again.
    pub fn put_off(&mut self, now: Instant, chance: f64) {
        match self.state {
            State::Closed { failures: 0 } | State::Open { .. } => {}
            State::Closed { .. } => self.open(now, 1, chance),
            State::HalfOpen { times } => self.open(now, times, chance),
        }
    }

    /// The plane answered, whatever it said.
    pub fn answered(&mut self, now: Instant) {
        if self.interrupts() {
            self.since = Some(now);
        }
        self.state = State::Closed { failures: 0 };
    }

    /// Its time may have come: then it is half open.
    pub fn ripen(&mut self, now: Instant) {
        if let State::Open { until, times } = self.state
            && until <= now
        {
            self.state = State::HalfOpen { times };
        }
    }

    fn open(&mut self, now: Instant, times: u32, chance: f64) {
        let doubled = FIRST.saturating_mul(2u32.saturating_pow(times.saturating_sub(1))).min(LONGEST);
        let wait = doubled.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0);
        (self.state, self.since) = (State::Open { until: now + wait, times }, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A circuit that has opened at `now`, by passes that began then.
    fn opened(now: Instant) -> Circuit {
        let mut circuit = Circuit::default();
        (0..THRESHOLD).for_each(|_| circuit.failed(now, now, 1.0));
        circuit
    }

    #[test]
    fn i8_failures_in_a_row_open_it_and_an_answer_between_begins_the_count_anew() {
        let now = Instant::now();
        let mut circuit = Circuit::default();
        for round in 0..10 {
            for _ in 1..THRESHOLD {
                circuit.failed(now, now, 1.0);
                assert_eq!((circuit.stance(), circuit.is_well()), (Stance::Closed, false), "round {round}");
            }
            circuit.answered(now);
            assert!(circuit.is_well());
        }
        assert_eq!(opened(now).stance(), Stance::Open);
    }

    #[test]
    fn i8_the_wait_doubles_to_its_maximum_and_begins_anew_after_an_answer() {
        let mut now = Instant::now();
        let mut circuit = opened(now);
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            assert_eq!(circuit.until(), Some(now + Duration::from_secs(seconds)));
            circuit.ripen(now + Duration::from_millis(seconds * 1000 - 1));
            assert_eq!(circuit.stance(), Stance::Open, "before its time");
            now += Duration::from_secs(seconds);
            circuit.ripen(now);
            assert_eq!(circuit.stance(), Stance::HalfOpen);
            circuit.put_off(now, 1.0);
            assert_eq!(
                circuit.until(),
                Some(now + Duration::from_secs(seconds)),
                "no failure, no longer wait"
            );
            now += Duration::from_secs(seconds);
            circuit.ripen(now);
            circuit.failed(now, now, 1.0);
        }
        circuit.answered(now);
        (0..THRESHOLD).for_each(|_| circuit.failed(now, now, 0.0));
        assert_eq!(circuit.until(), Some(now + FIRST / 2), "chance spreads the wait over its upper half");
    }

    #[test]
    fn i8_a_plane_that_has_failed_once_is_put_off_where_there_is_no_room_for_it() {
        let now = Instant::now();
        let mut circuit = Circuit::default();
        circuit.put_off(now, 1.0);
        assert!(circuit.is_well(), "it has not failed");
        circuit.failed(now, now, 1.0);
        circuit.put_off(now, 1.0);
        assert_eq!((circuit.stance(), circuit.until()), (Stance::Open, Some(now + FIRST)));
    }

    #[test]
    fn i8_passes_of_an_earlier_time_neither_open_it_nor_make_the_wait_longer() {
        let began = Instant::now();
        let later = began + Duration::from_secs(9);
        let mut circuit = Circuit::default();
        (0..16).for_each(|_| circuit.failed(began, later, 1.0));
        assert_eq!(circuit.until(), Some(later + FIRST), "sixteen that began together failed as one");
        circuit.ripen(later + FIRST);
        circuit.failed(began, later + FIRST, 1.0);
        assert_eq!(circuit.stance(), Stance::HalfOpen, "it was no probe");
        circuit.answered(later + FIRST);
        (0..16).for_each(|_| circuit.failed(began, later + FIRST, 1.0));
        assert_eq!(circuit.stance(), Stance::Closed);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Failed { ago: u64, chance: f64 },
        PutOff(f64),
        Answered,
        Pass(u64),
    }

    proptest! {
        /// Whatever happens: it opens for no longer than the longest time, is half open then, and an answer
        /// closes it.
        #[test]
        fn i8_it_is_never_stuck(steps in prop::collection::vec(prop_oneof![
            4 => (0..20_000u64, 0.0..=1.0f64).prop_map(|(ago, chance)| Step::Failed { ago, chance }),
            1 => (0.0..=1.0f64).prop_map(Step::PutOff),
            1 => Just(Step::Answered),
            2 => (0..90_000u64).prop_map(Step::Pass),
        ], 1..100)) {
            let mut now = Instant::now() + Duration::from_hours(1);
            let mut circuit = Circuit::default();
            for step in steps {
                match step {
                    Step::Failed { ago, chance } => {
                        circuit.failed(now - Duration::from_millis(ago), now, chance);
                    }
                    Step::PutOff(chance) => circuit.put_off(now, chance),
                    Step::Answered => {
                        circuit.answered(now);
                        prop_assert!(circuit.is_well());
                    }
                    Step::Pass(ms) => {
                        now += Duration::from_millis(ms);
                        circuit.ripen(now);
                    }
                }
                if let Some(until) = circuit.until() {
                    prop_assert!(until > now && until <= now + LONGEST);
                }
                let mut later = circuit;
                later.ripen(now + LONGEST);
                prop_assert_ne!(later.stance(), Stance::Open);
                later.answered(now + LONGEST);
                prop_assert_eq!(later.stance(), Stance::Closed);
            }
        }
    }
}
