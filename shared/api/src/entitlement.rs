//! The state of the service in a `ServiceEntitlement` of a Milo, read from its JSON.

use fedhub_core::names::{SERVICE_NAME, SERVICE_OBJECTS};
use serde_json::Value;

use crate::conditions::{find, said};
use crate::reason::ServiceReason;

/// Whether an entitlement is to this service: by the name that the platform resolved, else by what was asked
/// for.
pub fn is_ours(spec: &Value, status: &Value) -> bool {
    let asked = || spec["serviceRef"]["name"].as_str();
    match resolved(status) {
        Some(name) => name == SERVICE_NAME.1,
        None => asked().is_some_and(|name| name == SERVICE_NAME.1 || SERVICE_OBJECTS.contains(&name)),
    }
}

/// The name of the service that the platform resolved, once it has.
pub fn resolved(status: &Value) -> Option<&str> {
    status["serviceName"].as_str().filter(|name| !name.is_empty())
}

/// Whether it is rejected because its service is not published: its provider's affair, and no decision on the
/// project.
pub fn is_unpublished(status: &Value) -> bool {
    find(status, "Ready")
        .is_some_and(|ready| ServiceReason::parse(said(ready).1) == Some(ServiceReason::ServiceNotPublished))
}

/// Whether it was granted once: what is rejected then is withdrawn, and not denied.
pub fn was_granted(status: &Value) -> bool {
    status["entitledAt"].as_str().is_some_and(|at| !at.is_empty())
}
