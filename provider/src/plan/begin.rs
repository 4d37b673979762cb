//! From an Instance without a server of known ID to one.

use super::call::Ask;
use super::end::{Goal, end};
use super::gates::may_begin;
use super::link::{adopt, verified};
use super::seen::{Announced, Seen};
use super::step::{Step, Verdict, rest};
use crate::contract::{FailureKind, Found};
use crate::record::Record;

/// The next step of an Instance that is to have a server, and of which no ID is recorded.
pub(super) fn begin<S>(seen: &Seen<'_, S>) -> Step {
    let record = seen.record;
    let known = seen.known;
    if let Some(id) = &known.made {
        return adopt(seen, id.clone());
    }
    if let Some(record) = without_refused(seen) {
        return Step::Record { record, announces: None };
    }
    if let Some(failed) = &known.failed {
        return rest(Verdict::Failing(failed.clone()));
    }
    let moved = match (seen.wanted, &record.place) {
        (Ok(wanted), Some(place)) => wanted != place,
        (Err(_), _) => true,
        (Ok(_), None) => false,
    };
    let wanted_now = seen.power.runs && may_begin(seen.instance);
    if moved && !record.is_clear() || !wanted_now && record.server_requested.is_some() {
        return end(seen, Goal::Renew);
    }
    if !wanted_now {
        return rest(if seen.power.runs { Verdict::Aside } else { Verdict::Off });
    }
    let Ok(place) = seen.wanted else { return rest(Verdict::Aside) };
    if record.allocation.is_none() {
        return quota(seen, Record { place: Some(place.clone()), ..record.clone() });
    }
    server(seen)
}

/// Quota that is to be taken once (V4): what an earlier request took is looked for first, once it can be seen
/// for certain and what was given back before it is seen no more.
fn quota<S>(seen: &Seen<'_, S>, record: Record) -> Step {
    let known = seen.known;
    if let Some(id) = &known.taken {
        return Step::Record { record: Record { allocation: Some(id.clone()), ..record }, announces: None };
    }
    if let Some(announced @ Announced::Quota { .. }) = known.announced {
        if !seen.is_late() {
            return Step::Ask(Ask::Reserve);
        }
        let record = Record { allocation_requested: Some(seen.now), ..record };
        return Step::Record { record, announces: Some(announced) };
    }
    if let Some(wait) = seen.unsettled(record.allocation_requested) {
        return Step::Rest { verdict: Verdict::Making, again: Some(wait) };
    }
    let Some(reserved) = &known.reserved else { return Step::Ask(Ask::Reserved) };
    match reserved.first() {
        Some(id) => {
            Step::Record { record: Record { allocation: Some(id.clone()), ..record }, announces: None }
        }
        None => Step::Record {
            record: Record { allocation_requested: Some(seen.now), ..record },
            announces: Some(Announced::Quota { first: true }),
        },
    }
}

/// A server that is to be made once (V1): one that has the link is adopted, and nothing is made beside
/// others.
fn server<S>(seen: &Seen<'_, S>) -> Step {
    match &seen.known.found {
        None => return Step::Ask(Ask::Find),
        Some(Found::Many(ids)) => return rest(Verdict::Ambiguous(ids.clone())),
        Some(Found::One(server)) => {
            return if verified(seen, server) {
                adopt(seen, server.id.clone())
            } else {
                rest(Verdict::Ambiguous(vec![server.id.clone()]))
            };
        }
        // Neither proves that no earlier request made one: that the name is taken would tell.
        Some(Found::Absent(_) | Found::Unknown) => {}
    }
    let record = seen.record;
    if let Some(announced @ Announced::Server { .. }) = seen.known.announced {
        if !seen.is_late() {
            return Step::Ask(Ask::Create);
        }
        let record = Record { server_requested: Some(seen.now), ..record.clone() };
        return Step::Record { record, announces: Some(announced) };
    }
    Step::Record {
        record: Record {
            server_requested: Some(seen.now),
            // A restart from before there was anything to restart.
            restarted: if record.server_requested.is_none() {
                seen.power.restarted
            } else {
                record.restarted
            },
            ..record.clone()
        },
        announces: Some(Announced::Server { first: record.server_requested.is_none() }),
    }
}

/// The record without the request that was refused just now, where that was the only one: none is under way.
fn without_refused<S>(seen: &Seen<'_, S>) -> Option<Record> {
    let failure = &seen.known.failed.as_ref()?.failure;
    if failure.may_have_acted || failure.kind == FailureKind::Conflict {
        return None;
    }
    let record = seen.record.clone();
    match seen.known.announced? {
        Announced::Quota { first: true } => Some(Record { allocation_requested: None, ..record }),
        Announced::Server { first: true } => Some(Record { server_requested: None, ..record }),
        Announced::Quota { first: false } | Announced::Server { first: false } | Announced::Restart => None,
    }
}
