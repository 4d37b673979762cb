//! What follows for the server of one Instance: a pure function of what is stored and what was answered.
//!
//! The controller performs a [`Step`], adds its answer to what is [`Known`], and asks again, until the step
//! is to [rest](Step::Rest). No step is taken that a lost answer, a list that lags or an end of the process
//! at any moment could turn into a second server or one that is left over:
//!
//! - What is asked for is recorded before, and the ID of what stands before anything else is done with it.
//! - The name of a server never changes, so that the provider refuses a second one.
//! - A server counts as gone by a 404 of its ID which is later than the last request for it by
//!   [`Settings::settle`]: an earlier one may be of a read that lags, or the request may still be carried
//!   out.
//!
//! Decides V1.

mod begin;
mod call;
mod end;
mod gates;
mod link;
mod seen;
mod standing;
mod step;

use fedhub_core::names::PROVIDER_FINALIZER;
use fedhub_core::object::ObjectView;

pub use call::{Ask, Call, Failed, Repeated};
pub use gates::may_begin;
pub use link::link;
pub use seen::{Announced, Known, Look, PowerWish, Seen, Settings};
pub use step::{Step, Verdict};

use step::rest;

/// What to do next for an Instance.
pub fn plan<S>(seen: &Seen<'_, S>) -> Step {
    match (next(seen), &seen.known.repeated) {
        // It was accepted and shows no effect: a provider that has none of it is not asked every second.
        (Step::Ask(ask), Some(repeated)) if ask == repeated.ask => {
            let goes = seen.instance.is_terminating();
            let verdict = if goes { Verdict::Deleting { since: None } } else { Verdict::Standing };
            Step::Rest { verdict, again: Some(repeated.wait) }
        }
        (step, _) => step,
    }
}

fn next<S>(seen: &Seen<'_, S>) -> Step {
    let instance = seen.instance;
    let held = instance.has_finalizer(PROVIDER_FINALIZER);
    if instance.is_terminating() {
        return if held { end::end(seen, end::Goal::LetGo) } else { rest(Verdict::Aside) };
    }
    if !may_begin(instance) && seen.record.is_clear() {
        return rest(Verdict::Aside);
    }
    if let Err(refusal) = seen.wanted
        && seen.record.is_clear()
    {
        return rest(Verdict::Refused(refusal.clone()));
    }
    if !held {
        return Step::Hold;
    }
    match &seen.record.server {
        Some(server) => standing::standing(seen, server),
        None => begin::begin(seen),
    }
}
