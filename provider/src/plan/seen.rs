//! What a plan goes by.

use std::time::Duration;

use fedhub_api::conditions::{find, is_true, said};
use fedhub_api::reason::Reason;
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;

use super::call::{Failed, Repeated};
use crate::contract::{AllocationId, Change, Deletion, Found, Place, Refusal, Server, ServerId};
use crate::record::Record;
use crate::status::{PROGRAMMED, REBUILDING};

/// Times that plans go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// After how long a request that was answered by nothing has been carried out or never will be, and what
    /// it made can be seen. Longer than the provider's own limit for a request and the lag of its reads.
    pub settle: Duration,
    /// How long an Instance may take to go before what holds it is named.
    pub termination_deadline: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { settle: Duration::from_mins(1), termination_deadline: Duration::from_mins(10) }
    }
}

/// What is asked of the power of an Instance's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerWish {
    /// Whether it is to run: it is neither suspended nor stopped by its user.
    pub runs: bool,
    /// When a restart was last asked for.
    pub restarted: Option<Timestamp>,
}

/// The server of a recorded ID, as it was last seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Look<S> {
    /// The server; none where the provider says that there is none of this ID.
    pub server: Option<Box<Server<S>>>,
    /// When that was asked for.
    pub at: Timestamp,
}

/// What is known of the provider's side while one pass lasts.
#[derive(Clone, Debug)]
pub struct Known<S> {
    /// The server of the recorded ID.
    pub look: Option<Look<S>>,
    /// What a search for the link came to in this pass.
    pub found: Option<Found<S>>,
    /// The allocations that a search in this pass found.
    pub reserved: Option<Vec<AllocationId>>,
    /// The ID of the server that was made in this pass.
    pub made: Option<ServerId>,
    /// The ID of the quota that was taken in this pass.
    pub taken: Option<AllocationId>,
    /// The answer to giving quota back in this pass.
    pub released: Option<Deletion>,
    /// What was recorded in this pass and is not asked for yet.
    pub announced: Option<Announced>,
    /// When that was recorded.
    pub announced_at: Option<Timestamp>,
    /// The order to the standing server that was accepted in this pass: one look later there may be another.
    pub ordered: bool,
    /// A restart that was recorded, and is not carried out.
    pub owes_restart: bool,
    /// The call that failed last, and how long not to make another one.
    pub failed: Option<Failed>,
    /// The order to the standing server that was accepted last, while it is not to be repeated.
    pub repeated: Option<Repeated>,
}

impl<S> Default for Known<S> {
    fn default() -> Self {
        Self {
            look: None,
            found: None,
            reserved: None,
            made: None,
            taken: None,
            released: None,
            announced: None,
            announced_at: None,
            ordered: false,
            owes_restart: false,
            failed: None,
            repeated: None,
        }
    }
}

/// What was recorded just before it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announced {
    /// Quota.
    Quota {
        /// Whether no quota of an earlier request, nor what was given back just now, can be seen.
        first: bool,
    },
    /// A server. `first`: no earlier request can be under way.
    Server {
        /// Whether no earlier request for a server can be under way.
        first: bool,
    },
    /// A restart.
    Restart,
}

/// Everything that a plan goes by.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a, S> {
    /// The Instance as it is stored.
    pub instance: &'a Object,
    /// What its status keeps of its server.
    pub record: &'a Record,
    /// Where its server is to be, or why it can have none.
    pub wanted: Result<&'a Place, &'a Refusal>,
    /// What it takes to make the server that was looked at the one that is wanted; none without a look, or
    /// where none is wanted.
    pub change: Option<Change>,
    /// What is asked of its power.
    pub power: PowerWish,
    /// What is known of the provider's side.
    pub known: &'a Known<S>,
    /// Times to go by.
    pub settings: Settings,
    /// The time now.
    pub now: Timestamp,
}

impl Settings {
    /// How long a call of the provider may take, what it waits for before its request included: an order that
    /// takes effect later than that could be one that another process has concluded to be without effect. The
    /// rest is for what is on its way by then.
    pub fn call_limit(&self) -> Duration {
        self.settle * 2 / 3
    }
}

impl<S> Seen<'_, S> {
    /// How long what was recorded in this pass may still take to be asked for and answered.
    pub(crate) fn left(&self) -> Duration {
        let recorded = self.known.announced_at.unwrap_or(self.now);
        let passed = Duration::try_from(self.now.duration_since(recorded)).unwrap_or_default();
        self.settings.call_limit().saturating_sub(passed)
    }

    /// Whether what was recorded in this pass is recorded for too long to ask for it: it is recorded anew.
    pub(super) fn is_late(&self) -> bool {
        self.left() < self.settings.call_limit() / 4
    }

    /// What it takes to make the standing server the one that is wanted, its place included; none where that
    /// cannot be told.
    pub(crate) fn due_change(&self) -> Option<Change> {
        let moves = self.wanted.is_ok_and(|place| self.record.place.as_ref() != Some(place));
        if moves { Some(Change::Recreate) } else { self.change }
    }

    /// Whether a standing server is left as it is although `change` would destroy it (V5). Only a template
    /// that the server has not taken over yet is a reason to: what changes by the provider's configuration or
    /// by another version of fedhub would destroy all servers of a cell at once, which no rollout counts.
    /// They take it over with their next template.
    pub(crate) fn is_kept(&self, change: Change) -> bool {
        let status = self.instance.status();
        if !matches!(change, Change::Rebuild | Change::Recreate) || is_true(status, REBUILDING) {
            return false;
        }
        let (programmed, reason, _) = find(status, PROGRAMMED).map(said).unwrap_or_default();
        match status["controller"]["observedTemplateHash"].as_str() {
            // A server that is still being made may be of another template than the one observed before it.
            Some(observed) => {
                let hash = self.instance.spec()["controller"]["templateHash"].as_str();
                hash == Some(observed) && reason != Reason::Provisioning
            }
            None => programmed == "True",
        }
    }

    /// Whether the standing server has to be changed by nothing (more).
    pub(crate) fn is_current(&self) -> bool {
        self.due_change().is_some_and(|change| change == Change::Nothing || self.is_kept(change))
    }

    /// How long what was asked for then may still be carried out, or not be seen.
    pub(super) fn unsettled(&self, requested: Option<Timestamp>) -> Option<Duration> {
        let passed = Duration::try_from(self.now.duration_since(requested?)).unwrap_or_default();
        self.settings.settle.checked_sub(passed).filter(|left| !left.is_zero())
    }
}
