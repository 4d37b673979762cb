//! The decision about the Instances of a WD that is not being deleted. Pure.

use std::collections::BTreeMap;

use fedhub_api::LocationReference;
use fedhub_api::cells::{denial, readable};
use fedhub_api::reason::{Reason, attributed};
use fedhub_api::transitions::Transition;
use fedhub_core::errors::RequestError;
use fedhub_core::message::Quoted;
use fedhub_core::names::FORMER_TEMPLATE_HASH;
use fedhub_core::object::{Object, ObjectRef, ObjectView};
use serde_json::{Value, json};

use super::{DeploymentControllerConfig, disruption};
use crate::domain::autoscaling::{desired, excess};
use crate::domain::instances::{
    self, Deployment, Gate, Instance, InstanceStep, InstanceWait, Replacement, build,
};
use crate::domain::network::{Networking, place};
use crate::domain::referenced_data;
use crate::domain::status::blocker::ConditionUpdate;
use crate::domain::status::deployment::suspended;
use crate::domain::status::gates::{self, Opens};
use crate::domain::status::network::Network;

/// The inputs of a plan.
pub(super) struct Snapshot<'a> {
    pub(super) config: DeploymentControllerConfig,
    pub(super) wd: &'a Object,
    pub(super) deployment: &'a Deployment<'a>,
    /// The Instances in the WD's namespace, whatever their controller.
    pub(super) instances: &'a [(&'a ObjectRef, Instance<'a>)],
    pub(super) networking: &'a Networking,
}

/// The decision about the Instances of a WD.
pub(super) struct DeploymentPlan<'a> {
    /// The Instance to create.
    pub(super) create: Option<Object>,
    /// The Instances to delete.
    pub(super) delete: Vec<&'a ObjectRef>,
    /// Merge patches of the others.
    pub(super) patches: Vec<(&'a ObjectRef, Value)>,
    /// The Event to publish before a patch destroys something (V5).
    pub(super) announcement: Option<(&'a ObjectRef, Transition)>,
    /// The obstacle to creating Instances, if no Instance reports it itself (C9).
    pub(super) obstacle: Option<ConditionUpdate>,
    /// Whether all Instances are as they should be.
    pub(super) at_rest: bool,
}

/// Decides.
pub(super) fn plan<'a>(snapshot: &Snapshot<'a>) -> DeploymentPlan<'a> {
    let Snapshot { config, wd, deployment, instances, networking } = *snapshot;
    let views: Vec<_> = instances.iter().map(|(_, view)| *view).collect();
    let wanted = desired(wd);
    let rollout = instances::plan(deployment, wanted, &views);
    let mut create = None;
    let mut leaving = Vec::new();
    let mut rebuilt = None;
    let mut obstacle = None;
    match &rollout.step {
        // A suspended WD replaces nothing, so that its rollout adds none either.
        InstanceStep::Create(ordinal) if *ordinal >= wanted && suspended(wd) => {}
        InstanceStep::Create(ordinal) => create = Some(new_instance(snapshot, *ordinal)),
        InstanceStep::Replace(_) if suspended(wd) => {}
        InstanceStep::Replace(instance) if instance.replacement == Replacement::Rebuild => {
            rebuilt = Some(instance.uid);
        }
        InstanceStep::Replace(instance) => leaving.push(instance.uid),
        InstanceStep::Delete(them) => leaving.extend(them.iter().map(|i| i.uid)),
        InstanceStep::Wait(wait) => obstacle = obstacle_of(wait),
        InstanceStep::Rest => {}
    }
    obstacle = obstacle.or_else(|| denied(snapshot, &rollout.denied)).or_else(|| excess(wd));
    let labels: BTreeMap<&str, _> = rollout.labels.iter().map(|p| (p.instance.uid, &p.set)).collect();
    let mut delete = Vec::new();
    let mut patches = Vec::new();
    let mut announcement = None;
    for (object, instance) in instances {
        if leaving.contains(&instance.uid) {
            delete.push(*object);
            continue;
        }
        if !deployment.owns(instance) || instance.terminating {
            continue;
        }
        // An Instance on an earlier template waits for networks that are no longer requested.
        let current = !config.networking || !deployment.outdates(instance);
        let network = networking.plan.network == Network::Ready && current;
        let opens = Opens { network, resumed: !suspended(wd) };
        let hash = instance.template_hash.filter(|_| !deployment.outdates(instance));
        let place = networking.next_place(wd, object);
        let labels = labels.get(instance.uid).copied();
        let mut patch = patch(object, labels, place.as_ref(), hash, opens).unwrap_or_default();
        let disruption = &deployment.template["spec"]["disruption"];
        if object.spec()["disruption"] != *disruption {
            // It rolls nothing, and the provider reads there what its user consents to.
            patch["spec"]["disruption"] = disruption.clone();
        }
        if rebuilt == Some(instance.uid) {
            deployment.rebuild(object, &mut patch);
            announcement = Some((*object, disruption::announcement(deployment, object)));
        }
        if !patch.is_null() {
            patches.push((*object, patch));
        }
    }
    let at_rest = rollout.step == InstanceStep::Rest;
    DeploymentPlan { create, delete, patches, announcement, obstacle, at_rest }
}

/// The obstacle of the Instances that stay on an earlier template (V5).
fn denied(snapshot: &Snapshot<'_>, denied: &[Instance<'_>]) -> Option<ConditionUpdate> {
    let mut objects = Vec::new();
    for view in denied {
        let all = snapshot.instances.iter().filter(|(_, other)| other.uid == view.uid);
        objects.extend(all.map(|(object, _)| -> &Object { object }));
    }
    disruption::denied(snapshot.deployment, &objects, snapshot.config.rebuilds)
}

fn new_instance(snapshot: &Snapshot<'_>, ordinal: u32) -> Object {
    let Snapshot { config, wd, deployment, networking, .. } = *snapshot;
    let data = config.referenced_data && referenced_data::refers(&deployment.template["spec"]);
    let gates = [
        (config.networking && networking.plan.network != Network::Ready, Gate::Network),
        (config.quota, Gate::Quota),
        (data, Gate::ReferencedData),
        (suspended(wd), Gate::Suspended),
    ];
    let gates = gates.into_iter().filter_map(|(on, gate)| on.then_some(gate));
    let place = place(wd, &networking.location);
    build(deployment, ordinal, place.as_ref(), gates)
}

/// Returns all repairs of an Instance in one merge patch: labels, the location, the hash of its template,
/// and, if the gate `Network` opens, every gate that does by then. `None` if there are none.
fn patch(
    instance: &Object,
    labels: Option<&BTreeMap<&'static str, String>>,
    place: Option<&LocationReference>,
    hash: Option<&str>,
    opens: Opens,
) -> Option<Value> {
    let held = gates::of(instance).contains(&gates::NETWORK);
    let mut patch =
        (opens.network && held).then(|| gates::opening(instance, opens)).flatten().unwrap_or_default();
    if let Some(labels) = labels {
        patch["metadata"]["labels"] = json!(labels);
    }
    if let Some(place) = place {
        patch["spec"]["location"] = json!(place);
    }
    if let Some(hash) = hash.filter(|hash| instance.spec()["controller"]["templateHash"] != **hash) {
        let former = instance.spec()["controller"]["templateHash"].as_str();
        let observed = instance.status()["controller"]["observedTemplateHash"].as_str();
        if let Some(former) = former.or(observed) {
            patch["metadata"]["annotations"][FORMER_TEMPLATE_HASH] = json!(former);
        }
        patch["spec"]["controller"]["templateHash"] = json!(hash);
    }
    (!patch.is_null()).then_some(patch)
}

fn obstacle_of(wait: &InstanceWait<'_>) -> Option<ConditionUpdate> {
    let reason = match wait {
        InstanceWait::Deleting(_) | InstanceWait::NotReady(_) => return None,
        InstanceWait::NameTaken(_) => Reason::InstanceNameTaken,
        InstanceWait::UnknownPolicy(_) | InstanceWait::NoTemplate => Reason::ConfigurationError,
    };
    Some(ConditionUpdate::no(reason, wait.to_string()))
}

/// The obstacle of an Instance that the cell refused to create. What is invalid is the template's fault, what
/// is forbidden is not: rights, admission and quotas of the cell are its operator's (C9).
pub(super) fn refusal(error: &RequestError) -> ConditionUpdate {
    let answer = readable(error);
    // A policy of the cell's admission answers with the code of validation, unless it names another reason.
    let reason = match error.code() {
        Some(400 | 413 | 422) if denial(&answer).is_none() => Reason::ConfigurationError,
        _ => Reason::InstancesRefused,
    };
    ConditionUpdate::no(reason, answer)
}

/// The condition for a deletion of an Instance that the cell refuses, whatever its code.
pub(super) fn deletion_refused(instance: &Object, error: &RequestError) -> ConditionUpdate {
    let message = format!("Instance {}: {}", Quoted(instance.name()), readable(error));
    // The condition is True and still names who has to act.
    ConditionUpdate::no(Reason::DeletionRefused, attributed(Reason::DeletionRefused, &message))
}

#[cfg(test)]
mod tests {
    use fedhub_api::reason::AnyReason;
    use fedhub_core::errors::ApiError;
    use fedhub_core::object::{Kind, PlaneId, bare};
    use kube::core::Status;

    use super::*;

    fn refused(code: u16, message: &str) -> RequestError {
        let source = ApiError::Server(Box::new(Status::failure(message, "Any").with_code(code)));
        RequestError { verb: "create", resource: "instances".to_owned(), plane: PlaneId::Cell, source }
    }

    #[test]
    fn c9_u2_the_account_that_lacks_a_right_in_a_cell_is_not_named_to_a_user() {
        let forbidden = "instances.compute.datumapis.com \"web-0\" is forbidden: User \"system:serviceaccount:a:b\" cannot create resource";
        let error = refused(403, forbidden);
        let instance = bare(Kind::Instance, "default", "web-0");
        for condition in [refusal(&error), deletion_refused(&instance, &error)] {
            let message = condition.message;
            assert!(message.contains("failed to create instances on the cell: fedhub lacks"), "{message}");
            assert!(!message.contains("serviceaccount"), "{message}");
        }
        let quota = "instances.compute.datumapis.com \"web-0\" is forbidden: exceeded quota: small";
        assert!(refusal(&refused(403, quota)).message.contains("exceeded quota: small"));
        let denied = "admission webhook \"a.b\" denied the request: forbidden: User \"x\" is no owner";
        assert!(
            refusal(&refused(403, denied)).message.contains("is no owner"),
            "the words of a policy are its own"
        );
    }

    #[test]
    fn c9_what_the_admission_of_a_cell_denies_is_the_operators_whatever_its_code() {
        let policy = "instances \"web-0\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'a' denied request: no";
        for (code, message, expected) in [
            (422, "Instance \"web-0\" is invalid: spec: Required value", Reason::ConfigurationError),
            (422, policy, Reason::InstancesRefused),
            (403, policy, Reason::InstancesRefused),
            (400, "admission webhook \"a.b\" denied the request: no", Reason::InstancesRefused),
        ] {
            let reason = refusal(&refused(code, message)).reason;
            assert_eq!(reason, AnyReason::from(expected), "{code} {message}");
        }
    }
}
