//! The result of the decision, and how what is behind is judged by its time.

use std::time::Duration;

use fedhub_api::reason::Responsible;
use jiff::{SignedDuration, Timestamp};

use super::super::cause::Cause;
use super::super::chain::{Chain, ReadError};
use super::super::hop::{Hop, Limits};

/// How far the clock of the leader may be behind the one that reads its Lease.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(30);

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum State {
    /// Nothing is behind.
    InSync,
    /// Behind, for no longer than is usual.
    OnItsWay,
    /// Behind for longer than is usual, and within the deadline.
    Slow,
    /// Behind for longer than the deadline.
    Stuck,
    /// Held up by something that waiting alone does not change.
    Blocked,
}

impl State {
    /// The stable name.
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// Whether it needs attention.
    pub fn is_trouble(self) -> bool {
        matches!(self, Self::Stuck | Self::Blocked)
    }
}

/// The first blocked hop, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The cause.
    pub cause: Cause,
    /// The hop.
    pub hop: Hop,
    /// How bad it is.
    pub state: State,
    /// When it began, as far as an object tells.
    pub since: Option<Timestamp>,
    /// What was seen, in one line: a message of a condition, names and UIDs.
    pub evidence: String,
    /// The times that slow and stuck were told apart by.
    pub limits: Option<Limits>,
}

impl Diagnosis {
    /// Nothing is behind.
    pub fn in_sync() -> Self {
        let cause = Cause::InSync;
        let evidence = String::new();
        Self { cause, hop: cause.hop(), state: State::InSync, since: None, evidence, limits: None }
    }

    /// What waiting alone does not change.
    pub fn blocked(cause: Cause, since: Option<Timestamp>, evidence: impl Into<String>) -> Self {
        let evidence = evidence.into();
        Self { cause, hop: cause.hop(), state: State::Blocked, since, evidence, limits: None }
    }

    /// What is behind, judged by the time since then. What tells no time is taken to be stuck.
    pub fn behind(
        chain: &Chain,
        cause: Cause,
        hop: Hop,
        since: Option<Timestamp>,
        evidence: impl Into<String>,
    ) -> Self {
        let limits = hop.limits();
        let over = |limit: Duration| {
            let age = |since| chain.now.duration_since(since);
            let limit = SignedDuration::try_from(limit).unwrap_or(SignedDuration::MAX);
            since.is_none_or(|since| age(since) > limit)
        };
        let state = match (over(limits.usual), over(limits.deadline)) {
            (_, true) => State::Stuck,
            (true, false) => State::Slow,
            (false, false) => State::OnItsWay,
        };
        Self { cause, hop, state, since, evidence: evidence.into(), limits: Some(limits) }
    }

    /// What fedhub's management role is behind with: where no process leads, that is the cause.
    pub fn fedhub_behind(
        chain: &Chain,
        cause: Cause,
        hop: Hop,
        since: Option<Timestamp>,
        evidence: impl Into<String>,
    ) -> Self {
        match no_leader(chain) {
            Some((since, why)) => {
                let evidence = format!("{}; {why}", evidence.into());
                Self { hop, ..Self::blocked(Cause::FedhubNotRunning, since, evidence) }
            }
            None => Self::behind(chain, cause, hop, since, evidence),
        }
    }

    /// Who has to act. What passes by itself does not where it lasts too long: then the platform operator has
    /// to look.
    pub fn responsible(&self) -> Responsible {
        match self.cause.responsible() {
            Responsible::Nobody if self.state.is_trouble() => Responsible::Operator,
            responsible => responsible,
        }
    }

    /// What to do; empty where there is nothing to do.
    pub fn remedy(&self) -> String {
        match self.cause.remedy() {
            "" if self.state.is_trouble() => format!("look into {}", self.hop.owner()),
            remedy => remedy.to_owned(),
        }
    }

    /// Moves the diagnosis to another hop.
    pub fn at(self, hop: Hop) -> Self {
        Self { hop, ..self }
    }
}

/// The error of a read as evidence.
pub fn unread(cause: Cause, error: &ReadError) -> Diagnosis {
    Diagnosis::blocked(cause, None, error.message.clone())
}

/// Returns since when and why no process of the management role leads; `None` if one does, or if the Lease
/// could not be read.
fn no_leader(chain: &Chain) -> Option<(Option<Timestamp>, String)> {
    let lease = &chain.management.lease;
    if lease.is_absent() {
        return Some((None, "there is no Lease: no fedhub has led yet".to_owned()));
    }
    let lease = lease.found()?;
    let renewed = lease.renewed;
    if lease.holder.is_empty() {
        return Some((renewed, "the Lease was released, and no process holds it".to_owned()));
    }
    let lasts = SignedDuration::try_from(lease.duration).unwrap_or(SignedDuration::ZERO);
    let expired = |renewed: Timestamp| chain.now.duration_since(renewed) > lasts.saturating_add(CLOCK_SKEW);
    let is_expired = renewed.is_none_or(expired);
    is_expired.then(|| (renewed, format!("the Lease of {} has expired", lease.holder)))
}
