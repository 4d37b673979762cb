//! How long a future keeps a thread of the runtime from others: the longest of its polls, by the time that
//! the thread had on a processor, whatever else the machine does meanwhile.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

thread_local! {
    static STATISTICS: File = File::open("/proc/thread-self/schedstat").unwrap();
}

/// How long this thread has been on a processor.
fn on_processor() -> Duration {
    let mut text = [0; 64];
    let length = STATISTICS.with(|file| file.read_at(&mut text, 0)).unwrap();
    let text = str::from_utf8(&text[..length]).unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// The longest poll of all futures that are measured by it.
#[derive(Clone, Default)]
pub struct LongestPoll(Arc<AtomicU64>);

impl LongestPoll {
    /// Returns the future with its polls measured.
    pub fn measure<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        Measured { future: Box::pin(future), longest: self.clone() }
    }

    pub fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

struct Measured<F> {
    future: Pin<Box<F>>,
    longest: LongestPoll,
}

impl<F: Future> Future for Measured<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let began = on_processor();
        let polled = self.future.as_mut().poll(cx);
        let took = on_processor().saturating_sub(began);
        self.longest.0.fetch_max(u64::try_from(took.as_nanos()).unwrap(), Ordering::Relaxed);
        polled
    }
}
