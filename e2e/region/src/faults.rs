//! Faults that are ordered, and faults that come by chance.

use rand::Rng;
use rand::rngs::SmallRng;
use serde::{Deserialize, Serialize};

use crate::operation::Operation;

/// What goes wrong, with which requests, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// With which operations: with all where it is empty.
    #[serde(default)]
    pub operations: Vec<Operation>,
    /// How many matching requests go well before.
    #[serde(default)]
    pub skip: u32,
    /// With how many requests; with all of them without a number.
    #[serde(default)]
    pub times: Option<u32>,
    /// What happens.
    pub action: FaultAction,
}

impl Fault {
    /// One that befalls the next request of an operation.
    pub fn once(operation: Operation, action: FaultAction) -> Self {
        Self { operations: vec![operation], skip: 0, times: Some(1), action }
    }

    /// One that befalls all requests of an operation.
    pub fn always(operation: Operation, action: FaultAction) -> Self {
        Self { operations: vec![operation], skip: 0, times: None, action }
    }
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum FaultAction {
    /// The request is answered by this status, and not carried out.
    Answer {
        /// The status.
        status: u16,
        /// The words of the error.
        #[serde(default)]
        description: Option<String>,
        /// The header `Retry-After`: seconds, or a date.
        #[serde(default)]
        retry_after: Option<String>,
    },
    /// The request is answered by this, whatever it is, and not carried out.
    Say {
        /// The status.
        status: u16,
        /// The header `Content-Type`.
        content_type: String,
        /// The body.
        body: String,
    },
    /// The request is not carried out, and the connection is cut.
    Cut,
    /// The request is carried out, and the connection is cut before the answer.
    Lose,
    /// The request is carried out, and the connection is cut in the middle of the answer's body.
    CutShort,
    /// The request is not carried out, and never answered.
    Hang,
    /// The request is carried out, and never answered.
    LoseAndHang,
    /// The request is carried out, and its server ends in error in place of running.
    Fail,
    /// The request is carried out after a time.
    Delay {
        /// How long, in milliseconds.
        millis: u64,
    },
}

/// Faults by chance: of how many in a thousand requests each befalls one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Chaos {
    /// The connection is cut before the request is carried out.
    pub cut: u16,
    /// The connection is cut after that.
    pub lose: u16,
    /// 500.
    pub broken: u16,
    /// 503, with a time after which to ask again.
    pub unavailable: u16,
    /// 429, likewise.
    pub too_many: u16,
    /// 401, as while the identity service is away.
    pub denied: u16,
    /// 409 of an order, as where another one holds the lock.
    pub conflict: u16,
    /// The request is carried out late, by up to a second.
    pub delay: u16,
    /// How many in a thousand servers each list leaves out.
    pub vanish: u16,
    /// How far reads lag behind at most, in milliseconds, drawn for each request.
    pub lag: u64,
}

impl Chaos {
    /// What befalls a request, if anything does.
    pub(crate) fn draw(&self, operation: Operation, rng: &mut SmallRng) -> Option<FaultAction> {
        let answer = |status, after: Option<&str>| FaultAction::Answer {
            status,
            description: None,
            retry_after: after.map(str::to_owned),
        };
        // Only allocations are made under a lock that another one may hold.
        let locks = matches!(operation, Operation::CreateAllocation | Operation::UpdateAllocation);
        let conflict = if locks { self.conflict } else { 0 };
        let drawn: u32 = rng.random_range(0..1000);
        let millis = rng.random_range(0..1000);
        let mut below = 0;
        let faults = [
            (self.cut, FaultAction::Cut),
            (self.lose, FaultAction::Lose),
            (self.broken, answer(500, None)),
            (self.unavailable, answer(503, Some("1"))),
            (self.too_many, answer(429, Some("1"))),
            (self.denied, answer(401, None)),
            (conflict, answer(409, None)),
            (self.delay, FaultAction::Delay { millis }),
        ];
        faults.into_iter().find_map(|(share, action)| {
            below += u32::from(share);
            (drawn < below).then_some(action)
        })
    }
}
