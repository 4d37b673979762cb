//! A reason where it enters and leaves: the text of a condition or an Event.

use std::fmt;

use fedhub_core::message::excerpt;

use super::Reason;

/// The longest reason that a server takes in a condition, in bytes.
const REASON_MAX: usize = 1024;

/// The reason of a condition or an Event: one of [`Reason`], or one that another version or another service
/// wrote. It is no variant of [`Reason`], so that a match on that is whole and every variant has its line in
/// the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnyReason {
    /// One that this version knows.
    Known(Reason),
    /// Any other text, cut to what a server takes.
    Foreign(Box<str>),
}

impl AnyReason {
    /// The reason of that text.
    pub fn parse(text: &str) -> Self {
        match Reason::parse(text) {
            Some(reason) => Self::Known(reason),
            None => Self::Foreign(text[..text.floor_char_boundary(REASON_MAX)].into()),
        }
    }

    /// The reason, if this version knows it.
    pub fn known(&self) -> Option<Reason> {
        match self {
            Self::Known(reason) => Some(*reason),
            Self::Foreign(_) => None,
        }
    }

    /// The text in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(reason) => reason.as_str(),
            Self::Foreign(text) => text,
        }
    }
}

/// As a message or a terminal may have it: a foreign one is an excerpt that steers nothing.
impl fmt::Display for AnyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(reason) => reason.fmt(f),
            Self::Foreign(text) => excerpt(text).escape_debug().fmt(f),
        }
    }
}

impl From<Reason> for AnyReason {
    fn from(reason: Reason) -> Self {
        Self::Known(reason)
    }
}

impl From<&Self> for AnyReason {
    fn from(reason: &Self) -> Self {
        reason.clone()
    }
}

impl PartialEq<Reason> for AnyReason {
    fn eq(&self, reason: &Reason) -> bool {
        self.known() == Some(*reason)
    }
}

/// Reasons of other services on which something depends here. fedhub writes none of them and has no remedy
/// for them, so that to a reader of conditions they are foreign like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
pub enum ServiceReason {
    /// The network service has not programmed a network object yet.
    NotProgrammed,
    /// The context of a network is not ready yet.
    NetworkContextNotReady,
    /// The service that a `ServiceEntitlement` is about is not published.
    ServiceNotPublished,
}

impl ServiceReason {
    /// The reason of that text.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}
