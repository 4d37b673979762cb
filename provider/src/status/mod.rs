//! What an Instance says of its server (V6).
//!
//! Decides V6.

mod addresses;
mod conditions;
mod names;

use fedhub_api::conditions::standing;
use fedhub_core::object::ObjectView;
use serde_json::{Value, json};

pub use names::{AVAILABLE, PROGRAMMED, REBUILDING};

use crate::contract::{Change, Health, Phase};
use crate::plan::{Seen, Verdict};
use crate::record::Record;

/// The whole status of an Instance as it is to stand. `Programmed`, `Available`, `Rebuilding`, the observed
/// hash, the addresses and `provider` are the provider's; all else stays. `name` is the provider's name.
pub fn status<S>(seen: &Seen<'_, S>, verdict: &Verdict, name: &str) -> Value {
    let mut status = standing(seen.instance.status());
    if *verdict == Verdict::Aside && seen.record.is_clear() {
        return status;
    }
    conditions::put(seen, verdict, &mut status);
    let server = seen.known.look.as_ref().and_then(|look| look.server.as_deref());
    if let Some(server) = server {
        addresses::put(seen.instance, &server.addresses, &mut status);
    }
    let seen_as = server.map(|server| (server.phase, server.health));
    status["provider"] = provider(seen.record, name, &seen.instance.status()["provider"], seen_as);
    status
}

/// The status with another record, and nothing else changed.
pub fn with_record<S>(seen: &Seen<'_, S>, record: &Record, name: &str) -> Value {
    let mut status = standing(seen.instance.status());
    status["provider"] = provider(record, name, &status["provider"], None);
    status
}

/// The status with the announcement of a change that destroys something, and the words for an Event (V5).
pub fn announced<S>(seen: &Seen<'_, S>, change: Change) -> (Value, String) {
    let mut status = standing(seen.instance.status());
    let message = conditions::announce(seen, change, &mut status);
    (status, message)
}

/// `status.provider`: the record, and how the server was seen last.
fn provider(record: &Record, name: &str, old: &Value, seen: Option<(Phase, Health)>) -> Value {
    let mut provider = json!(record.stored(name));
    if record.server.is_some() {
        let word =
            |now: Option<&'static str>, field: &str| now.map_or_else(|| old[field].clone(), Into::into);
        provider["powerState"] = word(seen.map(|(phase, _)| phase.into()), "powerState");
        provider["health"] = word(seen.map(|(_, health)| health.into()), "health");
    }
    if let Some(fields) = provider.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    provider
}
