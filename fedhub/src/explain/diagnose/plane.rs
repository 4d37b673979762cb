//! Steps of the decision: whether the planes can be read, and what the project's WD and namespace say by
//! themselves.

use fedhub_api::conditions::{find, said};
use fedhub_api::reason::Reason;
use fedhub_core::object::ObjectView;
use fedhub_federator::refusal::Refusal;

use super::super::cause::Cause;
use super::super::chain::{Chain, Failure, ReadError, changed_at, deleted_at, turned_at};
use super::diagnosis::{Diagnosis, unread};

/// The plane's kubeconfig.
pub fn source(chain: &Chain) -> Option<Diagnosis> {
    let source = &chain.management.source;
    if source.is_absent() {
        let evidence = format!("no labelled Secret makes a plane of the name {}", chain.subject.plane);
        return Some(Diagnosis::blocked(Cause::PlaneNotKnown, None, evidence));
    }
    let error = source.failure()?;
    Some(match error.failure {
        Failure::Invalid => unread(Cause::PlaneSecretInvalid, error),
        Failure::Unreachable
        | Failure::Unauthorized
        | Failure::Forbidden
        | Failure::NotServed
        | Failure::TooLarge => unread(Cause::ManagementUnreachable, error),
    })
}

/// The project plane.
pub fn project(chain: &Chain) -> Option<Diagnosis> {
    let failed: Option<&ReadError> = chain.project.wd.failure().or(chain.project.namespace.failure());
    let error = failed.or(chain.project.instances.failure())?;
    Some(unread(Cause::of_plane(error.failure), error))
}

/// The identity of the project plane.
pub fn identity(chain: &Chain) -> Option<Diagnosis> {
    let differs = chain.management.identity_matches.found() == Some(&false);
    let evidence = "the UID of the plane's kube-system is not the one that is remembered for its name";
    differs.then(|| Diagnosis::blocked(Cause::PlaneIdentityRefused, None, evidence))
}

/// An operator paused the plane: whatever else is so, nothing moves (I12).
pub fn paused(chain: &Chain) -> Option<Diagnosis> {
    let pause = chain.management.pause.found()?;
    Some(Diagnosis::blocked(Cause::PlanePaused, pause.since(), pause.to_string()))
}

/// What the WD calls for by itself.
pub fn input(chain: &Chain) -> Option<Diagnosis> {
    let wd = chain.wd()?;
    if let Some(refusal) = Refusal::of_input(&chain.deployment, chain.city()) {
        let cause = Cause::of_reason(Some(refusal.reason()));
        return Some(Diagnosis::blocked(cause, changed_at(wd), refusal.to_string()));
    }
    // Its size is counted by fedhub alone.
    let available = find(wd.status(), "Available").filter(|it| said(it).1 == Reason::ObjectTooLarge)?;
    Some(Diagnosis::blocked(Cause::ObjectTooLarge, turned_at(available), said(available).2))
}

/// The namespace of the WD.
pub fn namespace(chain: &Chain) -> Option<Diagnosis> {
    let wd = chain.wd()?;
    if chain.project.namespace.is_absent() {
        let evidence = format!("there is no namespace {}", wd.namespace());
        return Some(Diagnosis::blocked(Cause::NamespaceGone, None, evidence));
    }
    let namespace = chain.project.namespace.found()?;
    let evidence = format!("the namespace {} has a deletionTimestamp", namespace.name());
    namespace
        .is_terminating()
        .then(|| Diagnosis::blocked(Cause::NamespaceTerminating, deleted_at(namespace), evidence))
}

/// Whether the hub can be read.
pub fn hub(chain: &Chain) -> Option<Diagnosis> {
    hub_failure(chain).map(|error| {
        unread(
            match error.failure {
                Failure::Unreachable | Failure::Invalid | Failure::TooLarge => Cause::HubUnreachable,
                Failure::Unauthorized | Failure::Forbidden => Cause::HubForbidden,
                Failure::NotServed => Cause::HubCrdMissing,
            },
            error,
        )
    })
}

/// The first error of what the diagnosis needs of the hub; Works are not among it.
pub fn hub_failure(chain: &Chain) -> Option<&ReadError> {
    let hub = &chain.hub;
    let objects = [&hub.wd, &hub.namespace, &hub.binding].into_iter().find_map(|read| read.failure());
    let lists = [&hub.policies, &hub.clusters, &hub.copies].into_iter().find_map(|read| read.failure());
    objects.or(lists)
}
