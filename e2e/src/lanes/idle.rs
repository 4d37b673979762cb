//! How much of the time all processors of this machine were idle: that share of a suite is time that only passes.

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

/// Samples of the machine, taken until this value is dropped.
#[derive(Debug)]
pub struct Idle {
    samples: Arc<Mutex<Vec<(Instant, bool)>>>,
    task: JoinHandle<()>,
}

impl Idle {
    /// Begins to sample.
    pub fn sample() -> Self {
        let samples = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(sample_into(samples.clone()));
        Self { samples, task }
    }

    /// The share of the time from `begin` to `end` in which all processors were idle; `None` without a sample of it.
    pub fn share(&self, begin: Instant, end: Instant) -> Option<f64> {
        share(&self.samples.lock(), begin, end)
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn sample_into(samples: Arc<Mutex<Vec<(Instant, bool)>>>) {
    let mut interval = tokio::time::interval(INTERVAL);
    let mut before = ticks();
    loop {
        interval.tick().await;
        let now = ticks();
        if let (Some(before), Some(now)) = (before, now) {
            samples.lock().push((Instant::now(), is_idle(before, now)));
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

#[allow(clippy::cast_precision_loss)] // ticks of a fraction of a second
fn is_idle(before: Ticks, now: Ticks) -> bool {
    let all = now.all.saturating_sub(before.all);
    let idle = now.idle.saturating_sub(before.idle);
    all > 0 && idle as f64 / all as f64 >= IDLE
}

#[allow(clippy::cast_precision_loss)] // samples of an hour
fn share(samples: &[(Instant, bool)], begin: Instant, end: Instant) -> Option<f64> {
    let within: Vec<_> = samples.iter().filter(|(at, _)| (begin..=end).contains(at)).collect();
    let idle = within.iter().filter(|(_, idle)| *idle).count();
    (!within.is_empty()).then(|| idle as f64 / within.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_idle_while_all_its_processors_are() {
        let ticks = |idle, all| Ticks { idle, all };
        assert!(is_idle(ticks(100, 200), ticks(140, 240)));
        assert!(is_idle(ticks(100, 200), ticks(137, 240)));
        assert!(!is_idle(ticks(100, 200), ticks(120, 240)), "one of two processors was busy");
        assert!(!is_idle(ticks(100, 200), ticks(100, 200)), "no tick has passed");
    }

    #[test]
    fn the_share_counts_the_samples_of_that_time_alone() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let samples: Vec<_> = (0..10).map(|second| (at(second), second % 2 == 0)).collect();
        assert_eq!(share(&samples, at(0), at(3)), Some(0.5));
        assert_eq!(share(&samples, at(2), at(2)), Some(1.0));
        assert_eq!(share(&samples, at(20), at(30)), None);
    }

    #[tokio::test]
    async fn this_machine_can_be_sampled() {
        assert!(ticks().is_some_and(|ticks| ticks.all > ticks.idle));
    }
}
