//! What a change of the template destroys, in words (V5). Pure.

use fedhub_api::reason::Reason;
use fedhub_api::transitions::Transition;
use fedhub_core::message::excerpt;
use fedhub_core::object::{Object, ObjectView};
use kube::runtime::events::EventType;

use crate::domain::instances::Deployment;
use crate::domain::status::blocker::ConditionUpdate;

/// The maximum number of Instances, and of disks, that a message names.
const NAMED: usize = 3;

/// The obstacle of a WD with these Instances that stay on an earlier template, by ordinal; `None` without
/// any.
pub(super) fn denied(
    deployment: &Deployment<'_>,
    instances: &[&Object],
    rebuilds: bool,
) -> Option<ConditionUpdate> {
    let disks = deployment.lost(instances.first()?, rebuilds);
    let names: Vec<_> = instances.iter().map(|instance| instance.name()).collect();
    let keep = if names.len() == 1 { "keeps" } else { "keep" };
    let lost = match disks.is_empty() {
        true if names.len() == 1 => "replace it".to_owned(),
        true => "replace them".to_owned(),
        false => format!("destroy {}", listed("disk", &disks)),
    };
    let message =
        format!("{} {keep} the earlier template: the new one would {lost}", listed("Instance", &names));
    Some(ConditionUpdate::no(Reason::DisruptionDenied, message))
}

/// The Event on an Instance whose boot disk is about to be made anew.
pub(super) fn announcement(deployment: &Deployment<'_>, instance: &Object) -> Transition {
    let note = format!(
        "Instance {} gets another image, as its template allows: {} is destroyed and made anew",
        excerpt(instance.name()),
        listed("disk", &deployment.lost(instance, true)),
    );
    Transition { type_: EventType::Normal, reason: Reason::Rebuilding.into(), note, routine: true }
}

/// Names behind what they are of; where they are many, some of them.
fn listed(what: &str, names: &[&str]) -> String {
    let some: Vec<_> = names.iter().take(NAMED).map(|name| excerpt(name)).collect();
    let plural = if names.len() == 1 { "" } else { "s" };
    match names.len().saturating_sub(NAMED) {
        0 => format!("{what}{plural} {}", some.join(", ")),
        more => format!("{what}{plural} {} and {more} more", some.join(", ")),
    }
}
