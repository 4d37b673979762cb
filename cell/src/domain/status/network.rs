//! The state of a deployment's networking, and its messages.

use fedhub_api::conditions::{find, said};
use fedhub_api::reason::{Reason, ServiceReason};
use fedhub_core::message::Quoted;
use fedhub_core::names::CITY_CODE;
use fedhub_core::object::{Object, ObjectView};
use serde_json::Value;

use super::READY;
use super::blocker::ConditionUpdate;

/// How far the networking of a deployment is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// The network is ready, or networking is off.
    Ready,
    /// The network service is at it, or has not begun.
    Provisioning(String),
    /// The network does not exist.
    NotFound(String),
    /// The network service refused.
    Failed(String),
    /// An interface asks for an address family that its network does not have.
    NotCarried(String),
    /// The cell has no one location for the deployment.
    Misplaced(ConditionUpdate),
}

impl Network {
    /// The condition that it leads to.
    pub fn blocker(&self) -> Option<ConditionUpdate> {
        let (reason, message) = match self {
            Self::Ready => return None,
            Self::Misplaced(words) => return Some(words.clone()),
            Self::Provisioning(message) => (Reason::NetworkProvisioning, message),
            Self::NotFound(message) => (Reason::NetworkNotFound, message),
            Self::Failed(message) => (Reason::NetworkFailedToCreate, message),
            Self::NotCarried(message) => (Reason::AddressFamilyNotCarried, message),
        };
        Some(ConditionUpdate::no(reason, message))
    }

    /// The state of one object of the network service: a `NetworkBinding`, `NetworkContext`, `SubnetClaim` or
    /// `Subnet`. `what` names it in messages, as `Network "default"`; `None` where it does not exist yet.
    pub fn from_object(what: &str, object: Option<&Object>) -> Self {
        let Some(object) = object.filter(|o| !o.is_terminating()) else {
            return Self::Provisioning(format!("{what}: waiting for it to be created"));
        };
        let Some(ready) = find(object.status(), READY) else {
            return Self::Provisioning(format!("{what}: waiting for the network service"));
        };
        let judged = ready.get("observedGeneration").and_then(Value::as_i64);
        if judged.is_some() && judged != object.metadata.generation {
            // C6: a word about what it asked for before.
            return Self::Provisioning(format!(
                "{what}: waiting for the network service to observe its change"
            ));
        }
        let (status, reason, message) = said(ready);
        let words = match (reason, message) {
            (reason, "") => format!("{what}: {reason}"),
            (reason, message) => format!("{what}: {reason}: {message}"),
        };
        match (status, reason) {
            ("True", _) => Self::Ready,
            (_, reason) if reason == Reason::NetworkNotFound => Self::NotFound(words),
            (_, reason) if reason == Reason::AddressFamilyNotCarried => Self::NotCarried(words),
            // Stages, and what has not been evaluated yet.
            ("False", reason) if !is_on_its_way(reason) => Self::Failed(words),
            _ => Self::Provisioning(words),
        }
    }

    /// Returns the most severe of several states, the first of equals; [`Self::Ready`] if there are none.
    pub fn worst(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().fold(Self::Ready, |worst, next| if next.rank() > worst.rank() { next } else { worst })
    }

    fn rank(&self) -> u8 {
        self.blocker().map_or(0, |blocker| blocker.weight())
    }
}

/// Whether a network object that is not ready says that it becomes so by itself.
fn is_on_its_way(reason: &str) -> bool {
    reason.is_empty()
        || matches!(Reason::parse(reason), Some(Reason::Pending | Reason::ProgrammingInProgress))
        || matches!(
            ServiceReason::parse(reason),
            Some(ServiceReason::NetworkContextNotReady | ServiceReason::NotProgrammed)
        )
}

/// The location that a cell serves, as a deployment of a city code sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// Networking is off, and no location is known.
    Unasked,
    /// The cell serves this one location, and it is in the deployment's city.
    Serving(String),
    /// The cell has none.
    Missing,
    /// The cell has several, by name.
    Ambiguous(Vec<String>),
    /// The cell's one location is in another city.
    Elsewhere {
        /// The location's name.
        name: String,
        /// The code of its city; empty where it says none.
        city: String,
    },
}

impl Location {
    /// Returns which of the cell's locations serves a deployment of `city`, by the cell's `LocationBinding`
    /// objects.
    pub fn from_bindings<'a>(city: &str, bindings: impl IntoIterator<Item = &'a Object>) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut all: Vec<(String, String)> = bindings
            .into_iter()
            .filter(|binding| !binding.is_terminating())
            .map(|binding| {
                let name = text(&binding.spec()["locationRef"]["name"]);
                let name = if name.is_empty() { binding.name().to_owned() } else { name };
                (name, text(&binding.spec()["topology"][CITY_CODE]))
            })
            .collect();
        all.sort();
        match all.as_slice() {
            [] => Self::Missing,
            [(name, here)] if here == city => Self::Serving(name.clone()),
            [(name, here)] => Self::Elsewhere { name: name.clone(), city: here.clone() },
            several => Self::Ambiguous(several.iter().map(|(name, _)| name.clone()).collect()),
        }
    }

    /// Whether the deployment may go on: networks asked for, gates opened. A missing location alone holds
    /// nothing.
    pub fn allows(&self) -> bool {
        !matches!(self, Self::Ambiguous(_) | Self::Elsewhere { .. })
    }

    /// The condition that it leads to, for a deployment of `city`.
    pub fn blocker(&self, city: &str) -> Option<ConditionUpdate> {
        let (reason, message) = match self {
            Self::Unasked | Self::Serving(_) => return None,
            Self::Missing => (
                Reason::NoMatchingLocation,
                format!("this cell has no LocationBinding; city {} needs one", Quoted(city)),
            ),
            Self::Ambiguous(names) => (
                Reason::AmbiguousServingLocation,
                format!("this cell has several locations ({}); exactly one is needed", names.join(", ")),
            ),
            Self::Elsewhere { name, city: here } => (
                Reason::CityCodeMismatch,
                format!(
                    "the deployment is for city {}, but this cell's location {name:?} is in {here:?}",
                    Quoted(city)
                ),
            ),
        };
        Some(ConditionUpdate::no(reason, message))
    }
}
