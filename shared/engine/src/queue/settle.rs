//! The next state of a key, by how its reconcile ended.

use std::time::Duration;

use fedhub_core::object::Key;
use rand::Rng;
use tokio::time::Instant;

use super::job::{Ended, Outcome, QueueConfig};
use super::lane::Alarm;
use super::scheduler::{Mode, Scheduler};

/// How long after a reconcile that did not come into sync the events of its own writes may come.
const OWN_EVENTS: Duration = Duration::from_secs(5);

impl Scheduler {
    /// Requeues or forgets a key whose reconcile has ended.
    pub fn settle(&mut self, key: &Key, outcome: Outcome, ended: Ended, now: Instant) {
        let Ended { interrupted, needs_hub, again } = ended;
        let Some(entry) = self.entries.get_mut(key) else { return };
        let failed = matches!(outcome, Outcome::Failed | Outcome::Diverged) || needs_hub;
        if !failed {
            (entry.failures, entry.diverged) = (0, 0);
        } else if !interrupted && !needs_hub {
            entry.failures = entry.failures.saturating_add(1);
        }
        let held = self.mode == Mode::Held;
        if outcome == Outcome::Diverged && !held {
            return self.put_off(key, now);
        }
        if needs_hub && !held {
            return self.await_hub(key, interrupted, now);
        }
        if let Some(next_since) = again
            && !held
        {
            if !failed {
                entry.since = next_since;
            }
            if matches!(outcome, Outcome::Unchanged | Outcome::Updated | Outcome::AwaitChange) {
                entry.unsettled_since = next_since;
            }
            return self.ready(key.clone(), now);
        }
        if failed && interrupted {
            // It waits for the circuit, and no time of its own.
            return self.ready(key.clone(), now);
        }
        let wait = match outcome {
            Outcome::Failed => {
                Some(backoff(&self.config, entry.failures).mul_f64(self.rng.random_range(0.9..=1.1)))
            }
            Outcome::RequeueAfter(wait) => Some(wait),
            Outcome::Unchanged | Outcome::Updated | Outcome::AwaitChange | Outcome::Diverged => None,
        };
        if let Some(wait) = wait
            && !held
        {
            entry.timer = Some(now + wait);
            self.timers.insert((now + wait, Alarm::Key(key.clone())));
        } else if let Some(entry) = self.entries.remove(key) {
            self.leave(&entry.lane);
        }
    }

    /// Delays a key whose reconciles do not converge, longer each time. Otherwise its own writes would
    /// enqueue it at once, forever. A change by somebody else is answered earlier.
    fn put_off(&mut self, key: &Key, now: Instant) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.diverged = entry.diverged.saturating_add(1);
        let wait = backoff(&self.config, entry.diverged).mul_f64(self.rng.random_range(0.9..=1.1));
        (entry.deaf_until, entry.timer) = (Some(now + wait.min(OWN_EVENTS)), Some(now + wait));
        self.timers.insert((now + wait, Alarm::Key(key.clone())));
    }
}

fn backoff(config: &QueueConfig, failures: u32) -> Duration {
    let doubled = 2u32.saturating_pow(failures.saturating_sub(1).min(20));
    config.backoff_first.saturating_mul(doubled).min(config.backoff_max)
}
