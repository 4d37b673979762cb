//! How much of the time all processors of this machine were idle, which of a suite is time that only passes,
//! and how idle they were in the mean, which is what one more lane could use.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use procfs::{CurrentSI, KernelStats};
use tokio::task::JoinHandle;

/// How often it is looked: twenty ticks of the kernel's accounting.
const INTERVAL: Duration = Duration::from_millis(200);
/// From which share of an interval the machine counts as idle. Reading the figures takes time, too.
const IDLE: f64 = 0.9;

/// Ticks of all processors since the machine started.
#[derive(Debug, Clone, Copy)]
struct Ticks {
    idle: u64,
    all: u64,
}

/// How idle the processors were.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// The share of the time in which all of them were.
    pub all: f64,
    /// The share of their time, in the mean.
    pub mean: f64,
}

/// Samples of the machine, taken until this value is dropped: when, and which share of its processors' time
/// was idle.
#[derive(Debug)]
pub struct Idle {
    samples: Arc<Mutex<Vec<(Instant, f64)>>>,
    task: JoinHandle<()>,
}

impl Idle {
    /// Begins to sample.
    pub fn sample() -> Self {
        let samples = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(sample_into(samples.clone()));
        Self { samples, task }
    }

    /// How idle they were from `begin` to `end`; `None` without a sample of that time.
    pub fn share(&self, begin: Instant, end: Instant) -> Option<Share> {
        share(&self.samples.lock(), begin, end)
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn sample_into(samples: Arc<Mutex<Vec<(Instant, f64)>>>) {
    let mut interval = tokio::time::interval(INTERVAL);
    let mut before = ticks();
    loop {
        interval.tick().await;
        let now = ticks();
        if let Some(idle) = before.zip(now).and_then(|(before, now)| idle(before, now)) {
            samples.lock().push((Instant::now(), idle));
        }
        before = now;
    }
}

fn ticks() -> Option<Ticks> {
    let total = KernelStats::current().ok()?.total;
    let waits = [total.iowait, total.irq, total.softirq, total.steal].map(Option::unwrap_or_default);
    let idle = total.idle + waits[0];
    let all = idle + total.user + total.nice + total.system + waits[1..].iter().sum::<u64>();
    Some(Ticks { idle, all })
}

/// The share of the processors' time that was idle; `None` where no tick has passed.
#[allow(clippy::cast_precision_loss)] // ticks of a fraction of a second
fn idle(before: Ticks, now: Ticks) -> Option<f64> {
    let all = now.all.saturating_sub(before.all);
    let idle = now.idle.saturating_sub(before.idle);
    (all > 0).then(|| idle as f64 / all as f64)
}

#[allow(clippy::cast_precision_loss)] // samples of an hour
fn share(samples: &[(Instant, f64)], begin: Instant, end: Instant) -> Option<Share> {
    let within = samples.iter().filter(|(at, _)| (begin..=end).contains(at)).map(|(_, idle)| *idle);
    let within: Vec<_> = within.collect();
    let count = within.len() as f64;
    (!within.is_empty()).then(|| Share {
        all: within.iter().filter(|idle| **idle >= IDLE).count() as f64 / count,
        mean: within.iter().sum::<f64>() / count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_the_ticks_that_passed() {
        let ticks = |idle, all| Ticks { idle, all };
        assert_eq!(idle(ticks(100, 200), ticks(140, 240)), Some(1.0));
        assert_eq!(idle(ticks(100, 200), ticks(120, 240)), Some(0.5));
        assert_eq!(idle(ticks(100, 200), ticks(100, 200)), None);
    }

    #[test]
    fn the_share_counts_the_samples_of_that_time_alone() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let samples: Vec<_> =
            (0..10).map(|second| (at(second), if second % 2 == 0 { 1.0 } else { 0.5 })).collect();
        assert_eq!(share(&samples, at(0), at(3)), Some(Share { all: 0.5, mean: 0.75 }));
        assert_eq!(share(&samples, at(2), at(2)), Some(Share { all: 1.0, mean: 1.0 }));
        assert_eq!(share(&samples, at(20), at(30)), None);
        let nearly = [(at(0), 0.95), (at(0), 0.85)];
        assert_eq!(
            share(&nearly, at(0), at(0)).map(|share| share.all),
            Some(0.5),
            "reading them takes time, too"
        );
    }

    #[tokio::test]
    async fn this_machine_can_be_sampled() {
        assert!(ticks().is_some_and(|ticks| ticks.all > ticks.idle));
    }
}
