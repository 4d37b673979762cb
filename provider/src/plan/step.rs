//! What a plan comes to.

use std::time::Duration;

use jiff::Timestamp;

use super::call::{Ask, Failed};
use super::seen::Announced;
use crate::contract::{Change, Refusal, ServerId};
use crate::record::Record;

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Puts the finalizer on, before anything is asked of the provider.
    Hold,
    /// Takes the finalizer off: nothing of the Instance is left at the provider.
    LetGo,
    /// Stores this record. `announces` what is asked for next.
    Record {
        /// What to store.
        record: Record,
        /// What is asked for next.
        announces: Option<Announced>,
    },
    /// Says by condition and Event that a change destroys something, before it is made (V5).
    Announce(Change),
    /// Waits until the server of the recorded ID was looked at.
    Await(ServerId),
    /// Calls the provider.
    Ask(Ask),
    /// Nothing more in this pass.
    Rest {
        /// What is to be said of the Instance.
        verdict: Verdict,
        /// When to look again, where no change of the server tells.
        again: Option<Duration>,
    },
}

/// How an Instance stands with its provider, for its status.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is none of the provider's business (yet): a gate stands, or quota is denied (V9).
    Aside,
    /// It cannot be had as it is asked for.
    Refused(Refusal),
    /// Its server is on the way.
    Making,
    /// Its server stands; it is what the look says.
    Standing,
    /// A change of it waits for consent (V5).
    Denied(Change),
    /// It has no server, and is not to run.
    Off,
    /// Several servers, or one that is not ours for certain, carry its link (V2).
    Ambiguous(Vec<ServerId>),
    /// A call failed, and is repeated.
    Failing(Failed),
    /// Its server is being deleted.
    Deleting {
        /// Since when, where that is known.
        since: Option<Timestamp>,
    },
    /// It cannot be proven yet that nothing of it is left.
    Unproven,
    /// Its quota is being given back.
    Releasing,
}

/// Nothing more in this pass.
pub(super) fn rest(verdict: Verdict) -> Step {
    Step::Rest { verdict, again: None }
}
