//! The end of a server (V4): the server goes, then its quota, then the record or the finalizer, each once the
//! one before it is proven gone.
//!
//! Decides V3 and V4.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::call::Ask;
use super::gates::may_begin;
use super::link::{adopt, link, verified};
use super::seen::{Announced, Seen};
use super::step::{Step, Verdict, rest};
use crate::contract::{Deletion, Found, ServerId};
use crate::record::Record;

/// How soon that something has ended is looked for again, where nothing tells.
const AGAIN: Duration = Duration::from_secs(2);

/// What follows once nothing is left at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// The Instance goes too.
    LetGo,
    /// The Instance gets another server, or is to have none for now.
    Renew,
}

/// The next step towards nothing being left at the provider.
pub(super) fn end<S>(seen: &Seen<'_, S>, goal: Goal) -> Step {
    if goal == Goal::LetGo && seen.record.is_clear() {
        return unrecorded(seen);
    }
    let server = match &seen.record.server {
        Some(server) => known_server(seen, server, goal).or_else(|| another_server(seen, server)),
        None => unknown_server(seen),
    };
    match server.or_else(|| quota(seen)) {
        Some(step) => step,
        None if goal == Goal::LetGo => Step::LetGo,
        None => renewed(seen),
    }
}

/// The end of an Instance of which nothing is recorded: nothing was asked for, or the record is lost, as in a
/// cell that was restored. The provider is asked once; what is there is recorded as if it was asked for now,
/// so that all else follows from that.
fn unrecorded<S>(seen: &Seen<'_, S>) -> Step {
    let known = seen.known;
    let Some(link) = link(seen) else {
        // Where to look cannot be told.
        return rest(seen.wanted.err().cloned().map_or(Verdict::Unproven, Verdict::Refused));
    };
    if let Some(failed) = &known.failed {
        return rest(Verdict::Failing(failed.clone()));
    }
    let record =
        Record { place: Some(link.place), allocation_requested: Some(seen.now), ..seen.record.clone() };
    match &known.found {
        None => return Step::Ask(Ask::Find),
        Some(Found::Many(ids)) => return rest(Verdict::Ambiguous(ids.clone())),
        Some(Found::One(server)) if verified(seen, server) => {
            let record =
                Record { server: Some(server.id.clone()), server_requested: Some(seen.now), ..record };
            return Step::Record { record, announces: None };
        }
        Some(Found::One(server)) => return rest(Verdict::Ambiguous(vec![server.id.clone()])),
        Some(Found::Absent(_) | Found::Unknown) => {}
    }
    match &known.reserved {
        None => Step::Ask(Ask::Reserved),
        Some(reserved) => match reserved.first() {
            Some(id) => {
                Step::Record { record: Record { allocation: Some(id.clone()), ..record }, announces: None }
            }
            None => Step::LetGo,
        },
    }
}

/// Begins anew. Quota that was given back just now may be seen for a while: what is taken next is asked for
/// in this very pass, or once that is over.
fn renewed<S>(seen: &Seen<'_, S>) -> Step {
    // The place stays: an Instance that can be had nowhere any more is looked for there at its end.
    let record =
        Record { place: seen.record.place.clone(), restarted: seen.record.restarted, ..Record::default() };
    if seen.record.allocation.as_ref().is_none_or(|id| id.0.is_empty()) {
        return Step::Record { record, announces: None };
    }
    let place = seen.wanted.ok().or(seen.record.place.as_ref()).cloned();
    let goes_on = seen.wanted.is_ok() && seen.power.runs && may_begin(seen.instance);
    let record = Record { place, allocation_requested: Some(seen.now), ..record };
    Step::Record { record, announces: goes_on.then_some(Announced::Quota { first: false }) }
}

/// A server of another ID beside the one that is gone; none where there is none. The recorded ID may be that
/// of a server before, which a search still showed.
fn another_server<S>(seen: &Seen<'_, S>, gone: &ServerId) -> Option<Step> {
    seen.record.server_requested?;
    match &seen.known.found {
        None => match &seen.known.failed {
            Some(failed) => Some(rest(Verdict::Failing(failed.clone()))),
            None => Some(Step::Ask(Ask::Find)),
        },
        Some(Found::One(server)) if server.id != *gone && verified(seen, server) => {
            Some(adopt(seen, server.id.clone()))
        }
        Some(Found::Many(ids)) => Some(rest(Verdict::Ambiguous(ids.clone()))),
        Some(Found::One(_) | Found::Absent(_) | Found::Unknown) => None,
    }
}

/// The end of the server of the recorded ID; none once it is proven gone.
fn known_server<S>(seen: &Seen<'_, S>, id: &ServerId, goal: Goal) -> Option<Step> {
    let known = seen.known;
    let Some(look) = &known.look else {
        return Some(match &known.failed {
            Some(failed) => rest(Verdict::Failing(failed.clone())),
            None if known.ordered || goal == Goal::Renew => Step::Await(id.clone()),
            None => Step::Ask(Ask::Delete(id.clone())),
        });
    };
    let Some(server) = &look.server else { return gone(seen, look.at, id) };
    if server.deleting.is_some() {
        return Some(rest(Verdict::Deleting { since: server.deleting }));
    }
    Some(match &known.failed {
        Some(failed) => rest(Verdict::Failing(failed.clone())),
        None if known.ordered => rest(Verdict::Deleting { since: None }),
        None => Step::Ask(Ask::Delete(id.clone())),
    })
}

/// None where that the server is gone, as of that time, is proven.
fn gone<S>(seen: &Seen<'_, S>, at: Timestamp, id: &ServerId) -> Option<Step> {
    let requested = seen.record.server_requested?;
    let settled = SignedDuration::try_from(seen.settings.settle).unwrap_or(SignedDuration::MAX);
    if at.duration_since(requested) >= settled {
        return None;
    }
    Some(match (seen.unsettled(Some(requested)), &seen.known.failed) {
        (Some(wait), _) => Step::Rest { verdict: Verdict::Unproven, again: Some(wait) },
        (None, Some(failed)) => rest(Verdict::Failing(failed.clone())),
        (None, None) => Step::Ask(Ask::Get(id.clone())),
    })
}

/// The end of a server that may have been made, and whose ID is not known; none where there is none.
fn unknown_server<S>(seen: &Seen<'_, S>) -> Option<Step> {
    seen.record.server_requested?;
    let known = seen.known;
    if let Some(id) = &known.made {
        return Some(adopt(seen, id.clone()));
    }
    if let Some(failed) = &known.failed {
        return Some(rest(Verdict::Failing(failed.clone())));
    }
    match &known.found {
        None => Some(Step::Ask(Ask::Find)),
        Some(Found::One(server)) if verified(seen, server) => Some(adopt(seen, server.id.clone())),
        Some(Found::One(server)) => Some(rest(Verdict::Ambiguous(vec![server.id.clone()]))),
        Some(Found::Many(ids)) => Some(rest(Verdict::Ambiguous(ids.clone()))),
        Some(Found::Unknown) => {
            // No proof will come but by the server's own appearance.
            let again = seen.unsettled(seen.record.server_requested).unwrap_or(seen.settings.settle);
            Some(Step::Rest { verdict: Verdict::Unproven, again: Some(again) })
        }
        Some(Found::Absent(_)) => seen
            .unsettled(seen.record.server_requested)
            .map(|wait| Step::Rest { verdict: Verdict::Unproven, again: Some(wait) }),
    }
}

/// The end of quota; none where none is taken.
fn quota<S>(seen: &Seen<'_, S>) -> Option<Step> {
    let record = seen.record;
    let known = seen.known;
    if record.allocation.as_ref().is_some_and(|id| id.0.is_empty()) {
        return None;
    }
    if let Some(failed) = &known.failed
        && record.allocation_requested.or(record.server_requested).is_some()
    {
        return Some(rest(Verdict::Failing(failed.clone())));
    }
    let unproven = seen
        .unsettled(record.allocation_requested)
        .map(|wait| Step::Rest { verdict: Verdict::Unproven, again: Some(wait) });
    match (&record.allocation, known.released, &known.reserved) {
        (Some(id), None, _) => Some(Step::Ask(Ask::Release(id.clone()))),
        (Some(_), Some(Deletion::Accepted), _) => {
            Some(Step::Rest { verdict: Verdict::Releasing, again: Some(AGAIN) })
        }
        (Some(_), Some(Deletion::Gone), _) => unproven,
        (None, ..) if record.allocation_requested.is_none() => None,
        (None, ..) if unproven.is_some() => unproven,
        (None, _, None) => Some(Step::Ask(Ask::Reserved)),
        (None, _, Some(reserved)) => reserved.first().map(|id| Step::Record {
            record: Record { allocation: Some(id.clone()), ..record.clone() },
            announces: None,
        }),
    }
}
