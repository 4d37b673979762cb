//! Whose an object on the hub is (I6): told by what only the federator writes.

use fedhub_shared::names::{SOURCE, SOURCE_UID};
use fedhub_shared::object::{Object, ObjectView};

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
/// have been taken off by hand; both missing prove nothing.
pub fn is_ours(seen: &Observed, hub: &Object) -> bool {
    let source = hub.annotation(SOURCE).map(|s| s == source(seen));
    let uid = hub.annotation(SOURCE_UID).map(|u| u == seen.project.uid());
    source.unwrap_or(true) && uid.unwrap_or(true) && (source.is_some() || uid.is_some())
}

/// Whether a hub WD's origin mark names another WD, in nothing this one (I6). A mark that is missing or half right
/// names nobody: neither this nor [`is_ours`] holds.
pub fn is_anothers(seen: &Observed, hub: &Object) -> bool {
    hub.annotation(SOURCE).is_some_and(|s| s != source(seen))
        && hub.annotation(SOURCE_UID) != Some(seen.project.uid())
}

/// The origin mark of this WD: `<plane>/<namespace>/<name>`.
pub fn source(seen: &Observed) -> String {
    format!("{}/{}/{}", seen.plane, seen.project.space(), seen.project.called())
}
