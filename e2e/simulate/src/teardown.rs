//! The provider's teardown of an Instance: it takes its time, may fail, and may hang. Only where a time or a
//! fault of it is asked for: else an Instance goes at once.

use std::time::Duration;

use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;

use crate::annotations::{PROVIDER_FINALIZER, TEARDOWN_FAULT, TEARDOWN_TIME};
use crate::step::{Step, set, time};

/// A fault of a teardown, which lasts as long as the annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Each attempt fails, and that is said.
    Fails,
    /// The teardown never ends, and nothing reports it.
    Hangs,
}

impl Fault {
    /// The fault that the Instance's annotation asks for. An unknown one is logged and ignored.
    pub fn from_instance(instance: &Object) -> Option<Self> {
        match instance.annotation(TEARDOWN_FAULT)? {
            "Fails" => Some(Self::Fails),
            "Hangs" => Some(Self::Hangs),
            other => {
                let instance = instance.name();
                tracing::warn!(instance, "annotation {TEARDOWN_FAULT}: {other:?} is no fault of a teardown");
                None
            }
        }
    }
}

/// Takes hold of an Instance that is to be torn down before it goes; `None` where there is no need to. It
/// comes before anything else is done for the Instance. `default` is how long a teardown takes by default.
pub fn hold(instance: &Object, default: Duration) -> Option<Step> {
    let asked = Fault::from_instance(instance).is_some() || !time(instance, TEARDOWN_TIME, default).is_zero();
    let needed = asked && !instance.is_terminating() && !instance.has_finalizer(PROVIDER_FINALIZER);
    needed.then(|| {
        let all = finalizers(instance).chain([PROVIDER_FINALIZER]).map(str::to_owned).collect();
        Step { finalizers: Some(all), ..Step::default() }
    })
}

/// The next step of an Instance that has been terminating for `waited`: it is stopped, torn down, and then
/// released.
pub fn step(instance: &Object, waited: Duration, default: Duration, now: Timestamp) -> Step {
    if !instance.has_finalizer(PROVIDER_FINALIZER) {
        return Step::done();
    }
    let says = |reason: &str, message: &str| {
        let mut next = instance.status().clone();
        set(&mut next, "Available", "False", reason, message, now);
        Step::at_once(instance, next)
    };
    let left = time(instance, TEARDOWN_TIME, default).checked_sub(waited).filter(|left| !left.is_zero());
    let fault = Fault::from_instance(instance);
    match (fault, left) {
        (Some(Fault::Hangs), _) => says("Stopping", "Instance is being torn down"),
        (_, Some(left)) => Step { again: Some(left), ..says("Stopping", "Instance is being torn down") },
        (Some(Fault::Fails), None) => {
            says("Stopping", "Instance could not be torn down: the hypervisor does not answer; trying again")
        }
        (None, None) => {
            let done = says("Stopped", "Instance is torn down");
            if !done.is_done() {
                return done;
            }
            let others = finalizers(instance).filter(|f| *f != PROVIDER_FINALIZER);
            Step { finalizers: Some(others.map(str::to_owned).collect()), ..Step::default() }
        }
    }
}

fn finalizers(instance: &Object) -> impl Iterator<Item = &str> {
    instance.metadata.finalizers.iter().flatten().map(String::as_str)
}
