//! The next step of the election: decided here from values, performed by [`super::Elector`].

use std::time::Duration;

use fedhub_core::fence::Term;
use k8s_openapi::api::coordination::v1::Lease;
use tokio::time::Instant;

use crate::config::LeaseConfig;

/// The duration of a released Lease. An empty holder alone does not free a Lease: another writer may have
/// emptied it by hand, and its leader not know yet.
pub(super) const RELEASED: Duration = Duration::from_secs(1);
/// How long to wait after another writer was first, so that two never chase each other.
const CONFLICT: Duration = Duration::from_millis(20);

/// The content of a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its resourceVersion.
    pub version: String,
    /// Its holder; empty while there is none.
    pub holder: String,
    /// How long it lasts from its last renewal; zero where it does not say.
    pub duration: Duration,
    /// How often the leader changed.
    pub epoch: i32,
    /// The holder's clock when it renewed last. Only ever compared for being another.
    pub renewed: Option<jiff::Timestamp>,
}

impl Record {
    /// Reads the content of `lease`.
    pub fn from_lease(lease: &Lease) -> Self {
        let spec = lease.spec.clone().unwrap_or_default();
        let seconds = spec.lease_duration_seconds.and_then(|s| u64::try_from(s).ok()).unwrap_or_default();
        Self {
            version: lease.metadata.resource_version.clone().unwrap_or_default(),
            holder: spec.holder_identity.unwrap_or_default(),
            duration: Duration::from_secs(seconds),
            epoch: spec.lease_transitions.unwrap_or_default(),
            renewed: spec.renew_time.map(|time| time.0),
        }
    }

    fn released(&self) -> bool {
        self.holder.is_empty() && self.duration <= RELEASED
    }

    /// Whether this is another state of the election, not only of the object.
    fn differs(&self, other: &Self) -> bool {
        Self { version: String::new(), ..self.clone() } != Self { version: String::new(), ..other.clone() }
    }

    fn older(&self, other: &Self) -> bool {
        match (self.version.parse::<u64>(), other.version.parse::<u64>()) {
            (Ok(mine), Ok(theirs)) => mine < theirs,
            _ => false,
        }
    }
}

/// How it is known what the Lease says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseSource {
    /// The answer to a request: what is so now.
    Answer,
    /// A watch or its list, which may lag behind our own writes.
    Watch,
}

/// The next step of the election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElectionStep {
    /// Read the Lease: what is known of it is not sure.
    Read,
    /// Write oneself into the Lease: where `version` is given into the one that is there, at exactly that
    /// resourceVersion, else into a new one.
    Claim {
        /// The resourceVersion that the claim is about.
        version: Option<String>,
        /// The epoch to claim: that of the term where this is a renewal.
        epoch: i32,
    },
    /// Wait until this time, unless the Lease changes.
    Wait(Instant),
}

/// How a claim went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// The Lease is ours, with this content.
    Done(Record),
    /// Another process wrote the Lease first.
    Conflict,
    /// The outcome is unknown: it may have been carried out, or may still be.
    Failed,
}

struct Seen {
    record: Record,
    /// When it was seen to change, on our own clock.
    changed: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Unknown,
    /// The Lease is gone, which is known since this time.
    Gone(Instant),
    There,
}

struct Reign {
    epoch: i32,
    /// When the last renewal that succeeded was sent.
    renewed: Instant,
    since: Instant,
}

/// The election as one process sees it.
pub struct Election {
    config: LeaseConfig,
    seen: Option<Seen>,
    presence: Presence,
    /// The epoch that was claimed last, by a claim that may have been carried out.
    claimed: Option<i32>,
    /// Whether that claim renews a term.
    renews: bool,
    reign: Option<Reign>,
    /// When the server answered last.
    last_answer: Instant,
    not_before: Instant,
    /// The earliest time at which a term may begin.
    cold_until: Instant,
    retiring: bool,
}

impl Election {
    /// A process that knows nothing yet.
    pub fn new(config: LeaseConfig, now: Instant) -> Self {
        Self {
            cold_until: now + config.warm_up,
            config,
            seen: None,
            presence: Presence::Unknown,
            claimed: None,
            renews: false,
            reign: None,
            last_answer: now,
            not_before: now,
            retiring: false,
        }
    }

    /// The term in which this process may write, if it leads. To be asked after [`Self::expire`].
    pub fn term(&self) -> Option<Term> {
        self.reign.as_ref().map(|reign| Term {
            epoch: reign.epoch,
            until: self.until(reign),
            since: reign.since,
        })
    }

    fn until(&self, reign: &Reign) -> Instant {
        reign.renewed + self.config.duration.saturating_sub(self.config.margin())
    }

    /// Returns the holder and the epoch of the Lease, as far as they are known.
    pub fn leader(&self) -> Option<(&str, i32)> {
        let seen = self.seen.as_ref().filter(|_| !matches!(self.presence, Presence::Gone(_)))?;
        (!seen.record.holder.is_empty()).then_some((seen.record.holder.as_str(), seen.record.epoch))
    }

    /// Ends a term whose time is over.
    pub fn expire(&mut self, now: Instant) {
        if self.term().is_some_and(|term| now >= term.until) {
            self.reign = None;
        }
    }

    /// The Lease was seen, or was seen not to be there.
    pub fn observe(&mut self, record: Option<Record>, source: LeaseSource, now: Instant) {
        self.last_answer = now;
        let Some(record) = record else {
            if !matches!(self.presence, Presence::Gone(_)) {
                self.presence = Presence::Gone(now);
            }
            return;
        };
        match &mut self.seen {
            Some(seen) if source == LeaseSource::Watch && record.older(&seen.record) => return,
            Some(seen) if !record.differs(&seen.record) => seen.record = record,
            seen => *seen = Some(Seen { record, changed: now }),
        }
        self.presence = Presence::There;
        if !self.mine() {
            self.reign = None;
            // The Lease was written after that claim: if the claim is carried out after all, the present
            // leader may not know.
            self.claimed = None;
        }
    }

    /// A request failed that was sent at `sent`. It is tried again at once where the failure took its time.
    pub fn failed(&mut self, sent: Instant, now: Instant) {
        self.not_before = now.max(sent + self.config.retry());
    }

    /// A claim is about to be sent.
    pub fn claims(&mut self, epoch: i32) {
        self.claimed = Some(epoch);
        self.renews = self.reign.as_ref().is_some_and(|reign| reign.epoch == epoch);
    }

    /// How a claim went that was sent at `sent`.
    pub fn answered(&mut self, answer: Claimed, epoch: i32, sent: Instant, now: Instant) {
        self.expire(now);
        match answer {
            Claimed::Done(record) => {
                let since = self.reign.as_ref().map(|reign| reign.since);
                let since = since.or(self.seen.as_ref().map(|seen| seen.changed)).unwrap_or(sent);
                self.not_before = now;
                self.observe(Some(record), LeaseSource::Answer, now);
                // A renewal that comes too late does not mend its term: passes were refused meanwhile, and
                // only a new term looks at everything again.
                if self.mine() && (self.reign.is_some() || !self.renews) {
                    self.reign = Some(Reign { epoch, renewed: sent, since });
                }
            }
            Claimed::Conflict => {
                self.presence = Presence::Unknown;
                self.not_before = now + CONFLICT;
            }
            Claimed::Failed => self.failed(sent, now),
        }
    }

    /// The process is in sync: from now on it may begin to lead.
    pub fn warm(&mut self, now: Instant) {
        self.cold_until = self.cold_until.min(now);
    }

    /// The process will end: it may renew, but not begin to lead.
    pub fn retire(&mut self) {
        self.retiring = true;
    }

    /// Ends the term, if there is one; says in which Lease, for it to be released.
    pub fn step_down(&mut self) -> Option<Record> {
        self.retiring = true;
        self.reign = None;
        self.seen.as_ref().filter(|_| self.mine()).map(|seen| seen.record.clone())
    }

    /// Whether the Lease names this process because of a claim of its own. What others wrote does not count:
    /// whoever led before may not know of it.
    fn mine(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| {
            seen.record.holder == self.config.identity && Some(seen.record.epoch) == self.claimed
        })
    }

    /// Decides the next step.
    pub fn plan(&self, now: Instant) -> ElectionStep {
        let (due, step) = self.next(now);
        let begins = self.reign.is_none() && matches!(step, ElectionStep::Claim { .. });
        let due = if begins { due.max(self.cold_until) } else { due }.max(self.not_before);
        if due <= now {
            return step;
        }
        ElectionStep::Wait(self.term().map_or(due, |term| due.min(term.until)))
    }

    /// Returns the next step, and when it is due.
    fn next(&self, now: Instant) -> (Instant, ElectionStep) {
        let at_once = self.not_before;
        let resync = (self.last_answer + self.config.renew * 3 / 2, ElectionStep::Read);
        let claim = |epoch: i32| {
            let there = self.seen.as_ref().filter(|_| self.presence == Presence::There);
            ElectionStep::Claim { version: there.map(|seen| seen.record.version.clone()), epoch }
        };
        match (self.presence, &self.reign, &self.seen) {
            (Presence::Unknown, _, _) => (at_once, ElectionStep::Read),
            // Deleted by hand: put back before anybody takes its place.
            (Presence::Gone(_), Some(reign), _) => (at_once, claim(reign.epoch)),
            (_, Some(reign), _) => (reign.renewed + self.config.renew, claim(reign.epoch)),
            (_, None, _) if self.retiring => resync,
            (_, None, None) => (at_once, claim(0)),
            (presence, None, Some(seen)) => {
                let next = claim(seen.record.epoch.saturating_add(1));
                let there = presence == Presence::There;
                if there && (seen.record.released() || self.mine()) {
                    return (at_once, next);
                }
                // This holds for a deleted Lease too: its holder may not know yet, and may have taken it
                // unseen.
                let gone = if let Presence::Gone(since) = presence { since } else { seen.changed };
                let free = seen.changed.max(gone) + seen.record.duration.max(self.config.duration);
                if now < free && resync.0 < free { resync } else { (free, next) }
            }
        }
    }
}
