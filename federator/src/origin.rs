//! Whose an object on the hub is (I6): told by what only the federator writes.
//!
//! Decides I6.

use fedhub_core::names::{PlaneName, SOURCE, SOURCE_UID};
use fedhub_core::object::{Object, ObjectView};

use crate::observe::Observed;
use crate::refusal::Refusal;

/// Where the hub holds something of another tenant in our place (F3, F4, I6).
pub fn conflict(seen: &Observed) -> Option<Refusal> {
    if let Some(namespace) = &seen.hub_namespace
        && !seen.namespace_is_ours(namespace)
    {
        return Some(Refusal::FederationConflict(
            "the hub namespace of this WorkloadDeployment carries another tenant's labels".to_owned(),
        ));
    }
    let hub = seen.hub.as_ref()?;
    (!is_ours(seen, hub)).then(|| {
        Refusal::FederationConflict(
            "the hub holds a WorkloadDeployment of this name that has another origin".to_owned(),
        )
    })
}

/// Whether a hub WD's origin mark names this plane, namespace, name and UID (I6). One of the two annotations may
/// have been taken off by hand, or the whole mark where the hub namespace itself names this project namespace.
pub fn is_ours(seen: &Observed, hub: &Object) -> bool {
    match (hub.annotation(SOURCE), hub.annotation(SOURCE_UID)) {
        (None, None) => seen.hub_namespace.as_ref().is_some_and(|n| seen.namespace_names_us(n)),
        (from, uid) => {
            from.is_none_or(|from| from == source(seen)) && uid.is_none_or(|uid| uid == seen.project.uid())
        }
    }
}

/// Whether a hub WD's origin mark names another WD, in nothing this one (I6). A mark that is missing or half right
/// names nobody: neither this nor [`is_ours`] holds.
pub fn is_anothers(seen: &Observed, hub: &Object) -> bool {
    hub.annotation(SOURCE).is_some_and(|s| s != source(seen))
        && hub.annotation(SOURCE_UID) != Some(seen.project.uid())
}

/// The origin mark of this WD: `<plane>/<namespace>/<name>`.
pub fn source(seen: &Observed) -> String {
    origin(&seen.plane, seen.project.namespace(), seen.project.name())
}

/// The origin mark of the WD of that name.
pub fn origin(plane: &PlaneName, namespace: &str, name: &str) -> String {
    format!("{plane}/{namespace}/{name}")
}
