//! An Instance whose server is known by its ID: power, changes and repairs.

use fedhub_api::conditions::is_true;
use fedhub_api::disruption::consents;
use fedhub_core::object::ObjectView;
use jiff::Timestamp;

use super::call::Ask;
use super::end::{Goal, end};
use super::seen::{Announced, Seen};
use super::step::{Step, Verdict, rest};
use crate::contract::{Change, Phase, Power, Server, ServerId};
use crate::record::Record;
use crate::status::REBUILDING;

/// The next step of an Instance whose server's ID is recorded.
pub(super) fn standing<S>(seen: &Seen<'_, S>, id: &ServerId) -> Step {
    let known = seen.known;
    let Some(look) = &known.look else {
        return match &known.failed {
            Some(failed) => rest(Verdict::Failing(failed.clone())),
            None => Step::Await(id.clone()),
        };
    };
    let Some(server) = look.server.as_deref() else { return end(seen, Goal::Renew) };
    if server.deleting.is_some() {
        return rest(Verdict::Deleting { since: server.deleting });
    }
    if let Some(failed) = &known.failed {
        return rest(Verdict::Failing(failed.clone()));
    }
    // What the last order made of it is not seen yet.
    if known.ordered {
        return rest(Verdict::Standing);
    }
    if !seen.power.runs && matches!(server.phase, Phase::Running | Phase::Unknown) {
        return Step::Ask(Ask::Power(id.clone(), Power::Stop));
    }
    match seen.wanted {
        Err(refusal) => rest(Verdict::Refused(refusal.clone())),
        Ok(_) => changed(seen, id, server).unwrap_or_else(|| powered(seen, id, server)),
    }
}

/// The step towards the server that is wanted; none where it stands.
fn changed<S>(seen: &Seen<'_, S>, id: &ServerId, server: &Server<S>) -> Option<Step> {
    let change = seen.due_change().unwrap_or(Change::Nothing);
    if seen.is_kept(change) {
        return None;
    }
    let destroys = matches!(change, Change::Rebuild | Change::Recreate);
    let spec = seen.instance.spec();
    if destroys && !consents(spec, spec) {
        return Some(rest(Verdict::Denied(change)));
    }
    if destroys && !is_true(seen.instance.status(), REBUILDING) {
        return Some(Step::Announce(change));
    }
    match change {
        // A tag that was lost is put back.
        Change::Nothing if server.instance.as_deref() == Some(seen.instance.uid()) => None,
        Change::Nothing | Change::InPlace | Change::Rebuild => Some(Step::Ask(Ask::Update(id.clone()))),
        Change::Recreate => Some(Step::Ask(Ask::Delete(id.clone()))),
    }
}

/// The step towards the power that is wanted.
fn powered<S>(seen: &Seen<'_, S>, id: &ServerId, server: &Server<S>) -> Step {
    let power = seen.power;
    if !power.runs {
        return rest(Verdict::Standing);
    }
    if server.phase == Phase::Stopped {
        return Step::Ask(Ask::Power(id.clone(), Power::Start));
    }
    if server.phase != Phase::Running {
        return rest(Verdict::Standing);
    }
    // What is stored has whole seconds.
    if power.restarted.map(Timestamp::as_second) > seen.record.restarted.map(Timestamp::as_second) {
        let record = Record { restarted: power.restarted, ..seen.record.clone() };
        return Step::Record { record, announces: Some(Announced::Restart) };
    }
    if seen.known.owes_restart {
        return Step::Ask(Ask::Power(id.clone(), Power::Restart));
    }
    rest(Verdict::Standing)
}
