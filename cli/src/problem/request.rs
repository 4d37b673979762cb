//! The meaning of a failed request to a user.

use fedhub_api::cells::denial;
use fedhub_core::errors::chain;
use fedhub_terminal::plain;
use kube::client::AuthError;
use kube::core::Status;
use kube::core::response::StatusDetails;
use kube::runtime::watcher;

use super::{Failure, Problem};
use crate::exit::Exit;

/// The remedy if a login is missing or has expired.
const LOG_IN: &str = "Log in again with `datumctl login`.";

impl Problem {
    /// A request that failed. `doing` completes "Could not ...": `list the workloads`.
    pub fn from_error(error: kube::Error, doing: &str) -> Self {
        let raw = chain(&error);
        let problem = match &error {
            kube::Error::Api(status) => refused(status, doing),
            kube::Error::Auth(_) => unauthenticated(doing),
            // A kubeconfig's own login program failed when it was asked again.
            kube::Error::Service(cause) if cause.is::<AuthError>() => unauthenticated(doing),
            kube::Error::Service(cause) => match cause.downcast_ref::<Failure>() {
                Some(failure) => failed(failure, doing),
                None => unreachable(doing),
            },
            kube::Error::HyperError(_) | kube::Error::ReadEvents(_) => unreachable(doing),
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
                Self::failed(format!("Could not {doing}: the answer of the server is not understood."))
                    .remedy("Check that the host is a Datum platform, and that this program is up to date.")
            }
            _ => Self::failed(format!("Could not {doing}: the request could not be made."))
                .remedy("Check the host, the kubeconfig and the names; --verbose says more."),
        };
        problem.raw(raw)
    }
}

/// Whether sending a request again does not help: the login, a right, the object or its kind is missing.
pub fn is_final(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => matches!(status.code, 401 | 403 | 404 | 405),
        kube::Error::Service(cause) => {
            cause.is::<AuthError>() || matches!(cause.downcast_ref(), Some(Failure::NoToken { .. }))
        }
        kube::Error::Auth(_) => true,
        _ => false,
    }
}

/// The error of the request that a watch failed in; `None` where the server ended a watch that had begun.
pub fn of_watch(error: watcher::Error) -> Option<kube::Error> {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => Some(error),
        watcher::Error::WatchError(status) => Some(kube::Error::Api(status)),
        watcher::Error::NoResourceVersion => None,
    }
}

/// A request that the server refused.
fn refused(status: &Status, doing: &str) -> Problem {
    let could_not =
        |why: &str| format!("Could not {doing}: {why}{}", if why.contains('\n') { "" } else { "." });
    if has_cause(status, "ProjectSuspended") {
        return Problem::failed(could_not("the project is suspended"))
            .remedy("Ask the owner of the organization why, and to have it resumed.");
    }
    if let Some(said) = denial(&status.message) {
        return Problem::failed(could_not(&plain(said.trim().trim_end_matches('.'))));
    }
    match status.code {
        401 => Problem::failed(could_not("your login has expired or is not accepted")).remedy(LOG_IN),
        403 => forbidden(status, could_not),
        404 if names_object(status) => Problem::failed(could_not("it does not exist in this project"))
            .remedy("Check the name, the project and the namespace."),
        404 => Problem::new(Exit::Unavailable, could_not("this project's platform does not offer it"))
            .remedy("Check that the project exists (--project) and that its platform offers compute."),
        409 if status.reason == "AlreadyExists" => {
            Problem::failed(could_not("something of that name exists already")).remedy("Choose another name.")
        }
        409 => Problem::failed(could_not("it was changed by another client at the same time"))
            .remedy("Look at what it is now, then run the command again."),
        413 => Problem::failed(could_not("it is too large")).remedy("Make it smaller."),
        400 | 422 => Problem::failed(could_not(&faults(status)))
            .remedy("Change what is named, then run the command again."),
        429 => Problem::failed(could_not("the platform asks for fewer requests")).remedy(patience(status)),
        _ => Problem::failed(could_not(&format!("the platform has a problem of its own ({})", status.code)))
            .remedy("Run the command again in a minute; if that does not help, tell the platform's support."),
    }
}

/// A request that a right is missing for, or that the platform refuses for another reason. An authorizer
/// begins with the user: `workloads is forbidden: User "me" cannot list resource ...`.
fn forbidden(status: &Status, could_not: impl Fn(&str) -> String) -> Problem {
    let why = status.message.split_once("is forbidden: ").map_or("", |(_, why)| why.trim_end_matches('.'));
    if has_cause(status, "NamespaceTerminating") || why.ends_with("because it is being terminated") {
        return Problem::failed(could_not("the namespace is being deleted"))
            .remedy("Wait until it is gone, or name another one with --namespace.");
    }
    if status.message.ends_with("denied the request without explanation") {
        return Problem::failed(could_not("the platform refuses it, and does not say why"))
            .remedy("Ask the platform's support; --verbose says who refused it.");
    }
    if let Some(quota) = why.strip_prefix("exceeded quota: ").and_then(|rest| rest.split(',').next()) {
        return Problem::failed(could_not(&format!("it would exceed the quota {quota:?} of the namespace")))
            .remedy("Delete what is not needed, or have the quota raised; --verbose has its numbers.");
    }
    if why.is_empty() || why.starts_with("User ") {
        return Problem::failed(could_not("your account lacks the right to do that in this project"))
            .remedy("Ask an administrator of the project for a role that allows it.");
    }
    Problem::failed(could_not(&format!("the platform refuses it ({})", plain(why))))
        .remedy("Change what it refuses, or ask the platform's support.")
}

/// A kubeconfig that gives no login, or none any more.
fn unauthenticated(doing: &str) -> Problem {
    Problem::failed(format!("Could not {doing}: your credentials cannot be read, or have expired."))
        .remedy("Log in again with `datumctl login`, or check the user in your kubeconfig.")
}

/// A server that does not answer.
fn unreachable(doing: &str) -> Problem {
    Problem::failed(format!("Could not {doing}: the connection to the platform failed."))
        .remedy("Check your network and the host, then run the command again; --verbose says more.")
}

/// Describes the faults of an object's fields, a line for each if there are several.
fn faults(status: &Status) -> String {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let told: Vec<String> = causes
        .filter(|cause| !cause.message.is_empty())
        .map(|cause| match cause.field.as_str() {
            "" | "<nil>" => plain(&cause.message).into_owned(),
            field => plain(&format!("{field}: {}", cause.message)).into_owned(),
        })
        .collect();
    match told.as_slice() {
        [] if status.message.is_empty() => "the server does not accept it".to_owned(),
        [] => plain(status.message.trim().trim_end_matches('.')).into_owned(),
        [one] => one.trim_end_matches('.').to_owned(),
        several => format!("several fields are not valid:\n  {}", several.join("\n  ")),
    }
}

fn patience(status: &Status) -> String {
    match status.details.as_ref().map(|details| details.retry_after_seconds).filter(|seconds| *seconds > 0) {
        Some(seconds) => format!("Run the command again in {seconds} seconds."),
        None => "Run the command again in a minute.".to_owned(),
    }
}

fn names_object(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|StatusDetails { name, .. }| !name.is_empty())
}

fn has_cause(status: &Status, reason: &str) -> bool {
    status.details.iter().flat_map(|details| &details.causes).any(|cause| cause.reason == reason)
}

/// A failure that this program knows of.
fn failed(failure: &Failure, doing: &str) -> Problem {
    match failure {
        Failure::Silent(limit) => {
            let limit = limit.as_secs();
            Problem::failed(format!("Could not {doing}: the platform did not answer within {limit} seconds."))
                .remedy(
                    "Run the command again in a minute; if that does not help, tell the platform's support.",
                )
        }
        Failure::NoToken { why, advice } => {
            Problem::failed(format!("Could not {doing}: datumctl gave no login: {why}."))
                .remedy(advice.as_deref().unwrap_or(LOG_IN))
        }
    }
}
