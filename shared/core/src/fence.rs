//! The fence: no write without a lease that has time left.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::errors::NotSent;

/// The time in which this process may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Counts leaders: `leaseTransitions` of the Lease.
    pub epoch: i32,
    /// When the permission to write ends; each renewal moves it.
    pub until: Instant,
    /// The time since which no other process can have led: older changes were the business of the previous
    /// leader.
    pub since: Instant,
}

/// Lets writes pass while the process leads.
#[derive(Clone, Debug)]
pub struct Fence(Option<watch::Receiver<Option<Term>>>);

impl Fence {
    /// A fence that lets everything pass: there is no election.
    pub fn open() -> Self {
        Self(None)
    }

    /// A fence that follows an election: it lets writes pass in its term.
    pub fn new(term: watch::Receiver<Option<Term>>) -> Self {
        Self(Some(term))
    }

    /// Whether a write may leave now: where it belongs to an epoch, in that one only. Asks the monotonic
    /// clock: a process that was stopped for a while notices.
    pub fn holds(&self, epoch: Option<i32>) -> bool {
        let Some(term) = &self.0 else { return true };
        let term = *term.borrow();
        term.is_some_and(|term| Instant::now() < term.until && epoch.is_none_or(|epoch| epoch == term.epoch))
    }

    /// Counts terms: another epoch is a term of another beginning. `None` while the process does not lead.
    pub fn epoch(&self) -> Option<i32> {
        self.0.as_ref().map_or(Some(0), |term| term.borrow().map(|term| term.epoch))
    }

    /// Sends `request` if the process may write, and drops it when it no longer may: a request that waits for
    /// its turn or for a connection must not leave later. Where it had left already, its end is as unknown as
    /// after a crash.
    pub async fn guard<T>(&self, epoch: Option<i32>, request: impl Future<Output = T>) -> Result<T, NotSent> {
        let mut request = pin!(request);
        let mut lapse = pin!(sleep_until(self.until()));
        poll_fn(|cx| {
            // Before the request is polled, each time: the process may have been stopped since the last.
            if !self.holds(epoch) {
                return Poll::Ready(Err(NotSent::Fenced));
            }
            if let Poll::Ready(answer) = request.as_mut().poll(cx) {
                return Poll::Ready(Ok(answer));
            }
            // Wakes us at the end of the lease, unless it was renewed meanwhile.
            while self.0.is_some() && lapse.as_mut().poll(cx).is_ready() {
                if !self.holds(epoch) {
                    return Poll::Ready(Err(NotSent::Fenced));
                }
                lapse.as_mut().reset(self.until());
            }
            Poll::Pending
        })
        .await
    }

    fn until(&self) -> Instant {
        let term = self.0.as_ref().and_then(|term| *term.borrow());
        term.map_or_else(Instant::now, |term| term.until)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_read_in_one_term_is_not_written_in_another() {
        let now = Instant::now();
        let term = |epoch| Some(Term { epoch, until: now + Duration::from_secs(10), since: now });
        let (terms, seen) = watch::channel(term(3));
        let fence = Fence::new(seen);
        let sends = async |epoch| fence.guard(epoch, async {}).await.is_ok();
        assert!(sends(Some(3)).await && sends(None).await);
        terms.send_replace(term(4));
        assert!(!sends(Some(3)).await, "the process leads again, and others have written between");
        assert!(sends(Some(4)).await && sends(None).await);
        terms.send_replace(None);
        assert!(!sends(Some(4)).await && !sends(None).await);
    }
}
