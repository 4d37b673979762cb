//! The conditions of an Instance that its provider owns.

use fedhub_api::conditions::{find, is_true, remove, said, stand};
use fedhub_api::reason::{AnyReason, Reason};
use fedhub_core::clock::stamp;
use fedhub_core::message::shortened;
use fedhub_core::object::ObjectView;
use serde_json::{Value, json};

use super::names::{AVAILABLE, PROGRAMMED, REBUILDING};
use crate::contract::{Change, FailureKind, Health, Phase, Refusal, Server, ServerId};
use crate::plan::{Call, Failed, Seen, Verdict};

/// The longest text of a provider in a message, in characters.
const WORDS_MAX: usize = 200;

/// What a condition is to say.
struct Says {
    status: &'static str,
    reason: AnyReason,
    message: String,
}

impl Says {
    fn yes(reason: impl Into<AnyReason>, message: &str) -> Self {
        Self { status: "True", reason: reason.into(), message: message.to_owned() }
    }

    fn no(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: "False", reason: reason.into(), message: message.into() }
    }

    fn unknown(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: "Unknown", reason: reason.into(), message: message.into() }
    }
}

/// Puts what the verdict says of the Instance into the conditions. What cannot be told stays as it was.
pub(super) fn put<S>(seen: &Seen<'_, S>, verdict: &Verdict, status: &mut Value) {
    let server = seen.known.look.as_ref().and_then(|look| look.server.as_deref());
    let stands = server.filter(|server| server.deleting.is_none());
    let current = stands.is_some_and(|server| server.settled && seen.is_current());
    let is_denied = matches!(verdict, Verdict::Denied(_));
    let runs = stands.is_some_and(|server| server.phase == Phase::Running);
    if is_denied || current && (runs || !seen.power.runs) {
        remove(status, REBUILDING);
    }
    if current
        && !seen.instance.is_terminating()
        && let Some(hash) = seen.instance.spec()["controller"]["templateHash"].as_str()
    {
        status["controller"]["observedTemplateHash"] = json!(hash);
    }
    let both = if seen.instance.is_terminating() {
        [(PROGRAMMED, None), (AVAILABLE, ending(seen, verdict))]
    } else {
        [(PROGRAMMED, programmed(seen, verdict, stands)), (AVAILABLE, available(seen, verdict, stands))]
    };
    for (kind, says) in both {
        let Some(Says { status: state, reason, message }) = says else { continue };
        let condition = stand(find(seen.instance.status(), kind), kind, state, reason, &message, seen.now);
        fedhub_api::conditions::put(status, condition);
    }
}

/// Puts the announcement of a change that destroys something (V5).
pub(super) fn announce<S>(seen: &Seen<'_, S>, change: Change, status: &mut Value) -> String {
    let message = match change {
        Change::Rebuild => {
            "The server is rebuilt for the new template: its root disk is made anew, and what is on it is lost"
        }
        _ => "The server is replaced for the new template: its disks and addresses are lost",
    };
    let old = find(seen.instance.status(), REBUILDING);
    fedhub_api::conditions::put(
        status,
        stand(old, REBUILDING, "True", Reason::Rebuilding, message, seen.now),
    );
    message.to_owned()
}

/// What `Programmed` is to say of a living Instance; none where it stays.
fn programmed<S>(seen: &Seen<'_, S>, verdict: &Verdict, server: Option<&Server<S>>) -> Option<Says> {
    Some(match verdict {
        Verdict::Aside => return None,
        Verdict::Refused(refusal) => refused(refusal),
        Verdict::Denied(change) => Says::no(Reason::DisruptionDenied, denied(*change)),
        Verdict::Ambiguous(ids) => Says::no(Reason::AmbiguousServer, ambiguous(ids)),
        Verdict::Off => Says::no(Reason::Stopped, "The instance has no server, as it is not to run"),
        Verdict::Making | Verdict::Unproven | Verdict::Releasing => {
            Says::no(Reason::Provisioning, "The server of the instance is being made")
        }
        Verdict::Deleting { since } => Says::no(Reason::ServerDeleting, deleting(seen, *since)),
        Verdict::Failing(failed) => match server {
            // A server that stands is judged by what is seen of it.
            Some(server) if passes(failed) => return as_seen(seen, server),
            _ if passes(failed) && seen.record.server.is_some() => return None,
            _ => failing(failed),
        },
        Verdict::Standing => return as_seen(seen, server?),
    })
}

/// What `Programmed` is to say of a server that stands.
fn as_seen<S>(seen: &Seen<'_, S>, server: &Server<S>) -> Option<Says> {
    let status = seen.instance.status();
    let rebuilds = is_true(status, REBUILDING);
    if server.phase == Phase::Error {
        return Some(Says::no(Reason::ServerFailed, failed(server)));
    }
    if server.settled && seen.is_current() {
        return Some(Says::yes(AnyReason::parse("Programmed"), "The server is as the instance asks for"));
    }
    if rebuilds || server.phase == Phase::Rebuilding {
        return Some(Says::no(Reason::Rebuilding, "The server is being made anew"));
    }
    // What is changed while the server runs takes nothing away that there was.
    let making = matches!(server.phase, Phase::Pending | Phase::Building);
    if is_true(status, PROGRAMMED) && !making {
        return None;
    }
    Some(Says::no(Reason::Provisioning, "The server of the instance is being made"))
}

/// What `Available` is to say of a living Instance; none where it stays.
fn available<S>(seen: &Seen<'_, S>, verdict: &Verdict, server: Option<&Server<S>>) -> Option<Says> {
    if seen.instance.status()["suspended"] == true
        && find(seen.instance.status(), AVAILABLE).is_some_and(|stands| said(stands).0 == "False")
    {
        // fedhub says it in words of its own.
        return None;
    }
    if let Verdict::Deleting { since } = verdict {
        return Some(Says::no(Reason::ServerDeleting, deleting(seen, *since)));
    }
    let Some(server) = server else {
        let away = seen.record.server.is_some() && seen.known.look.is_none();
        return match verdict {
            Verdict::Aside => None,
            // The server may run all the same.
            _ if away => None,
            Verdict::Off => {
                Some(Says::no(Reason::Stopped, "The instance has no server, as it is not to run"))
            }
            _ => Some(Says::no(Reason::Provisioning, "The instance has no server yet")),
        };
    };
    Some(match (server.phase, server.health) {
        (Phase::Running, Health::Error) | (Phase::Error, _) => Says::no(Reason::ServerFailed, failed(server)),
        (Phase::Running, _) => Says::yes(Reason::Available, "The server runs"),
        (Phase::Stopping | Phase::Stopped, _) if !seen.power.runs => {
            Says::no(Reason::Stopped, "The server is stopped, as it is not to run")
        }
        (Phase::Stopping, _) => Says::no(Reason::Stopping, "The server stops"),
        (Phase::Stopped, _) => Says::no(Reason::Starting, "The server is stopped, and is to be started"),
        (Phase::Pending | Phase::Building, _) => Says::no(Reason::Starting, "The server is being made"),
        (Phase::Rebuilding, _) => Says::no(Reason::Rebuilding, "The server is being made anew"),
        (Phase::Unknown, _) => {
            Says::unknown(Reason::ProviderUnknown, "The provider does not say what the server does")
        }
    })
}

/// What `Available` is to say of an Instance that is being deleted.
fn ending<S>(seen: &Seen<'_, S>, verdict: &Verdict) -> Option<Says> {
    Some(match verdict {
        Verdict::Ambiguous(ids) => Says::no(Reason::AmbiguousServer, ambiguous(ids)),
        Verdict::Failing(failed) => failing(failed),
        Verdict::Refused(refusal) => refused(refusal),
        Verdict::Deleting { since } => Says::no(Reason::ServerDeleting, deleting(seen, *since)),
        Verdict::Unproven if is_overdue(seen) => Says::no(
            Reason::AmbiguousServer,
            "It cannot be proven that no server of the instance is left: the provider shows none, and may not show all. Look \
             for a server with the tag of the instance, delete it, and then take the finalizer off",
        ),
        Verdict::Unproven => Says::no(Reason::ServerDeleting, "It is being made sure that no server is left"),
        Verdict::Releasing => {
            Says::no(Reason::ServerDeleting, "The server is gone, its quota is being given back")
        }
        _ => return None,
    })
}

fn refused(refusal: &Refusal) -> Says {
    let reason = if refusal.by_user { Reason::ServerRefused } else { Reason::ProviderMisconfigured };
    Says::no(reason, words(&refusal.message))
}

fn is_overdue<S>(seen: &Seen<'_, S>) -> bool {
    let since = seen.instance.metadata.deletion_timestamp.as_ref();
    let passed = since.and_then(|since| std::time::Duration::try_from(seen.now.duration_since(since.0)).ok());
    passed.is_some_and(|passed| passed >= seen.settings.termination_deadline)
}

fn deleting<S>(seen: &Seen<'_, S>, since: Option<jiff::Timestamp>) -> String {
    let id = seen.record.server.as_ref().map(ServerId::to_string).unwrap_or_default();
    match since {
        Some(since) => format!("Server {id} is being deleted since {}", stamp(since)),
        None => format!("Server {id} is being deleted"),
    }
}

fn denied(change: Change) -> String {
    let lost = match change {
        Change::Rebuild => "its root disk",
        _ => "its disks and addresses",
    };
    format!(
        "The new template cannot be applied without the loss of {lost}: the server is left as it is. Set disruption to Allow \
         in the template to agree"
    )
}

fn ambiguous(ids: &[ServerId]) -> String {
    let all: Vec<_> = ids.iter().map(ServerId::to_string).collect();
    let listed = fedhub_core::message::named(&all).unwrap_or_default();
    format!(
        "Servers that may be of this instance and are not for certain: {listed}. None of them is touched, and none is made"
    )
}

fn failed<S>(server: &Server<S>) -> String {
    match &server.detail {
        Some(detail) => format!("The provider reports a failure of the server: {}", words(detail)),
        None => "The provider reports a failure of the server".to_owned(),
    }
}

/// Whether a failure says nothing against a server that stands: it is of the way to the provider, or of the
/// state that the server was in at that moment.
fn passes(failed: &Failed) -> bool {
    let by_kind =
        matches!(failed.failure.kind, FailureKind::Retry | FailureKind::Unavailable | FailureKind::Conflict);
    by_kind || failed.call == Call::Power && failed.failure.kind == FailureKind::Invalid
}

/// What a condition says of a call that failed.
fn failing(failed: &Failed) -> Says {
    let call: &str = failed.call.into();
    let reason = match failed.failure.kind {
        FailureKind::Retry | FailureKind::Unavailable => Reason::ProviderUnavailable,
        FailureKind::Denied => Reason::ProviderDenied,
        FailureKind::Quota => Reason::ProviderQuotaExceeded,
        FailureKind::Invalid => Reason::ServerRefused,
        // It shows itself soon, or is not ours.
        FailureKind::Conflict if failed.times < 5 => Reason::Provisioning,
        FailureKind::Conflict => Reason::AmbiguousServer,
    };
    Says::no(reason, format!("The provider did not carry out {call}: {}", words(&failed.failure.message)))
}

/// A provider's text, cut, and without characters that control a terminal.
fn words(text: &str) -> String {
    let plain: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    shortened(plain.trim(), WORDS_MAX).into_owned()
}
