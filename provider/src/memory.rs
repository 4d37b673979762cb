//! What the process remembers of Instances between passes. With the process, the back-off after failures is
//! lost, and a restart that was recorded and not passed on yet: it is not made then, rather than made twice.
//!
//! Decides V7.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::contract::Failure;
use crate::plan::{Ask, Call, Failed, Repeated};

/// How long no call is made after the first one that failed.
const FIRST: Duration = Duration::from_secs(1);
/// How long no call is made at most after one that failed, but for what the provider asks for.
const LONGEST: Duration = Duration::from_mins(1);
/// The longest wait that a provider may ask for.
const ASKED_FOR: Duration = Duration::from_mins(5);

/// What is remembered of Instances, by their UIDs.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<Box<str>, Remembered>>);

#[derive(Debug, Default)]
struct Remembered {
    failed: Option<(Failed, Instant)>,
    accepted: Option<Accepted>,
    owes_restart: bool,
}

/// The order to a standing server that was accepted last.
#[derive(Debug)]
struct Accepted {
    ask: Ask,
    /// The hash of the template that it was for.
    template: Box<str>,
    /// How often in a row.
    times: u32,
    /// Until when it is not repeated.
    until: Instant,
}

impl Memory {
    /// The call that failed, if no other one is to be made yet.
    pub fn failed(&self, uid: &str) -> Option<Failed> {
        let memory = self.0.lock();
        let (failed, until) = memory.get(uid)?.failed.as_ref()?;
        let wait = until.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then(|| Failed { wait, ..failed.clone() })
    }

    /// A call failed. Returns how long to wait now: longer each time in a row.
    pub fn fail(&self, uid: &str, call: Call, failure: Failure) -> Failed {
        let mut memory = self.0.lock();
        let remembered = memory.entry(uid.into()).or_default();
        let times = match &remembered.failed {
            Some((before, _)) if before.call == call => before.times.saturating_add(1),
            _ => 1,
        };
        let backoff = backoff(times);
        let wait = failure.after.unwrap_or_default().min(ASKED_FOR).max(backoff);
        let failed = Failed { call, failure, times, wait };
        remembered.failed = Some((failed.clone(), Instant::now() + wait));
        failed
    }

    /// An order to a standing server was accepted, for a template of that hash. It may have no effect, as
    /// where the provider shows a field otherwise than it was given: it is repeated less and less often.
    pub fn accept(&self, uid: &str, ask: Ask, template: &str) {
        let mut memory = self.0.lock();
        let remembered = memory.entry(uid.into()).or_default();
        let times = match &remembered.accepted {
            Some(before) if before.ask == ask && *before.template == *template => {
                before.times.saturating_add(1)
            }
            _ => 1,
        };
        let until = Instant::now() + backoff(times);
        remembered.accepted = Some(Accepted { ask, template: template.into(), times, until });
    }

    /// The order that was accepted last for a template of that hash, if it is not to be repeated yet.
    pub fn repeated(&self, uid: &str, template: &str) -> Option<Repeated> {
        let memory = self.0.lock();
        let accepted = memory.get(uid)?.accepted.as_ref()?;
        let wait = accepted.until.saturating_duration_since(Instant::now());
        let holds = *accepted.template == *template && !wait.is_zero();
        holds.then(|| Repeated { ask: accepted.ask.clone(), wait })
    }

    /// The server looks as the order that was accepted last would have it.
    pub fn carried_out(&self, uid: &str) {
        self.change(uid, |remembered| remembered.accepted = None);
    }

    /// A call succeeded: what is remembered of its failure counts no more.
    pub fn succeed(&self, uid: &str, call: Call) {
        self.change(uid, |remembered| {
            if remembered.failed.as_ref().is_some_and(|(failed, _)| failed.call == call) {
                remembered.failed = None;
            }
        });
    }

    /// No call is outstanding.
    pub fn rest(&self, uid: &str) {
        self.change(uid, |remembered| remembered.failed = None);
    }

    /// Whether a restart that was recorded is still to be carried out.
    pub fn owes_restart(&self, uid: &str) -> bool {
        self.0.lock().get(uid).is_some_and(|remembered| remembered.owes_restart)
    }

    /// A restart was recorded, or carried out.
    pub fn set_owes_restart(&self, uid: &str, owes: bool) {
        if owes {
            self.0.lock().entry(uid.into()).or_default().owes_restart = true;
        } else {
            self.change(uid, |remembered| remembered.owes_restart = false);
        }
    }

    /// Forgets an Instance.
    pub fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }

    fn change(&self, uid: &str, change: impl FnOnce(&mut Remembered)) {
        let mut memory = self.0.lock();
        if let Some(remembered) = memory.get_mut(uid) {
            change(remembered);
            if remembered.failed.is_none() && remembered.accepted.is_none() && !remembered.owes_restart {
                memory.remove(uid);
            }
        }
    }
}

/// How long to wait after so many times in a row.
fn backoff(times: u32) -> Duration {
    (FIRST * (1 << (times - 1).min(6))).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::FailureKind;

    fn failure(after: Option<u64>) -> Failure {
        Failure {
            kind: FailureKind::Retry,
            message: "busy".to_owned(),
            after: after.map(Duration::from_secs),
            may_have_acted: false,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn v7_a_call_that_fails_is_made_less_and_less_often() {
        let memory = Memory::default();
        let waits: Vec<_> =
            (0..9).map(|_| memory.fail("a", Call::Create, failure(None)).wait.as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(memory.fail("a", Call::Create, failure(Some(100))).wait.as_secs(), 100);
        assert_eq!(memory.fail("a", Call::Create, failure(Some(9_999))).wait.as_secs(), 300);
        assert!(memory.failed("a").is_some() && memory.failed("b").is_none());
        memory.succeed("a", Call::Find);
        assert!(memory.failed("a").is_some(), "another call");
        tokio::time::sleep(Duration::from_mins(5)).await;
        assert!(memory.failed("a").is_none());
        assert_eq!(memory.fail("a", Call::Create, failure(None)).times, 12, "in a row");
        memory.succeed("a", Call::Create);
        assert_eq!(memory.fail("a", Call::Create, failure(None)).times, 1);
    }
    #[tokio::test(start_paused = true)]
    async fn v8_an_order_without_effect_is_repeated_less_and_less_often() {
        let memory = Memory::default();
        let ask = Ask::Update(crate::contract::ServerId("s1".into()));
        let mut waits = Vec::new();
        for _ in 0..8 {
            memory.accept("a", ask.clone(), "h");
            let repeated = memory.repeated("a", "h").unwrap();
            waits.push(repeated.wait.as_secs());
            assert_eq!(repeated.ask, ask);
            assert_eq!(memory.repeated("a", "g"), None, "another template is another order");
            tokio::time::sleep(repeated.wait).await;
            assert_eq!(memory.repeated("a", "h"), None);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        memory.carried_out("a");
        memory.accept("a", ask, "h");
        assert_eq!(memory.repeated("a", "h").unwrap().wait.as_secs(), 1);
    }
}
