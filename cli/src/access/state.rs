//! The state of compute by a project's entitlements. Pure.

use fedhub_api::conditions::{find, is_true, said};
use fedhub_api::entitlement::{is_ours, is_unpublished, resolved, was_granted};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::Value;

/// Whether compute may be used in a project. The names are those that `-o json` prints, as other plugins do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::VariantArray)]
pub enum State {
    /// The platform keeps no entitlements: nothing has to be asked for.
    CatalogUnavailable,
    /// No access was requested.
    NotRequested,
    /// Access was requested, and the platform has not recorded an answer.
    Processing,
    /// The provider has to approve.
    PendingApproval,
    /// Compute may be used.
    Active,
    /// Compute was enabled and is suspended: nothing runs until it is resumed.
    Suspended,
    /// The provider said no.
    Denied,
    /// Compute was enabled once, and withdrawn.
    Revoked,
    /// The platform does not offer it.
    Unavailable,
}

/// A state, and what the platform says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The state.
    pub state: State,
    /// The platform's own words.
    pub message: Option<String>,
    /// When it was asked for.
    pub requested: Option<Timestamp>,
    /// When access was enabled, for the first time if it was enabled before.
    pub entitled: Option<Timestamp>,
    /// Name of the entitlement.
    pub entitlement: Option<String>,
}

impl Access {
    /// A state without an entitlement.
    pub fn without(state: State) -> Self {
        Self { state, message: None, requested: None, entitled: None, entitlement: None }
    }

    /// Reads the entitlements of a project; `None` stands for a plane that does not serve them.
    pub fn from_entitlements(entitlements: Option<&[DynamicObject]>) -> Self {
        let Some(entitlements) = entitlements else { return Self::without(State::CatalogUnavailable) };
        select(entitlements).map_or_else(|| Self::without(State::NotRequested), Self::of_entitlement)
    }

    /// Reads one entitlement.
    pub fn of_entitlement(entitlement: &DynamicObject) -> Self {
        let status = &entitlement.data["status"];
        let state = state(status);
        let condition = find(status, if state == State::Suspended { "Suspended" } else { "Ready" });
        let message = condition.map(|it| said(it).2.trim().to_owned()).filter(|it| !it.is_empty());
        Self {
            state,
            message,
            requested: entitlement.creation_timestamp().map(|time| time.0),
            entitled: status["entitledAt"].as_str().and_then(|at| at.parse().ok()),
            entitlement: Some(entitlement.name_any()),
        }
    }

    /// Whether the platform has said something.
    pub fn is_answered(&self) -> bool {
        self.state != State::Processing
    }

    /// Whether only a decision of the user or the operator changes it.
    pub fn is_decided(&self) -> bool {
        !matches!(self.state, State::Processing | State::PendingApproval)
    }
}

fn state(status: &Value) -> State {
    let (Some(phase), Some(_)) = (status["phase"].as_str(), find(status, "Ready")) else {
        return State::Processing;
    };
    match phase {
        "Active" if is_true(status, "Suspended") => State::Suspended,
        "Active" => State::Active,
        "PendingApproval" => State::PendingApproval,
        "Rejected" if is_unpublished(status) => State::Unavailable,
        "Rejected" if was_granted(status) => State::Revoked,
        "Rejected" => State::Denied,
        // A phase that this version does not know is no answer.
        _ => State::Processing,
    }
}

/// The entitlement to compute: by the service's name, as the platform resolved it, else by what was asked
/// for. Of several, one that can be used.
fn select(entitlements: &[DynamicObject]) -> Option<&DynamicObject> {
    entitlements
        .iter()
        .filter(|entitlement| is_ours(&entitlement.data["spec"], &entitlement.data["status"]))
        .max_by_key(|entitlement| {
            let status = &entitlement.data["status"];
            (resolved(status).is_some(), state(status) == State::Active)
        })
}
