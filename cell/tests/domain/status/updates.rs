//! Whose reasons a deployment reports while a new template replaces its Instances: R6 rests on them.

use std::sync::Arc;

use fedhub_cell::domain::status::network::{Location, Network};
use fedhub_core::object::ObjectRef;
use serde_json::{Value, json};

use super::support::*;

/// That Instance, of an earlier template.
fn earlier(instance: &ObjectRef) -> ObjectRef {
    Arc::new(but(instance.as_ref().clone(), |i| {
        i.data["spec"]["controller"]["templateHash"] = json!("old");
        if i.data["status"]["controller"].is_object() {
            i.data["status"]["controller"]["observedTemplateHash"] = json!("old");
        }
    }))
}

/// An Instance for each kind of cause, and the reasons of `Available` and `ReplicasReady` where it answers.
fn causes(name: &str) -> Vec<(ObjectRef, [&'static str; 2])> {
    let held = |gate: &str, kind: &str, reason: &str, ready: &str| {
        let conditions =
            [condition(kind, "False", reason, "words"), condition("Ready", "False", ready, "words")];
        Arc::new(instance(name, &[gate], &conditions))
    };
    let own =
        ["ImageUnavailable", "InstanceCrashing", "ConfigurationError", "NetworkFailedToCreate"].into_iter();
    let mut causes: Vec<_> = own.map(|reason| (unready(name, reason, "words"), [reason; 2])).collect();
    let quota = held("Quota", "QuotaGranted", "QuotaExceeded", "PendingQuota");
    let data = held("ReferencedData", "ReferencedDataReady", "SourceNotFound", "SourceNotFound");
    causes.push((quota, ["QuotaNotGranted", "QuotaExceeded"]));
    causes.push((data, ["SourceNotFound", "AwaitingPropagation"]));
    causes
}

fn reasons(status: &Value) -> [String; 2] {
    ["Available", "ReplicasReady"].map(|kind| words(status, kind).1)
}

#[test]
fn c9_r6_an_instance_of_an_earlier_template_is_not_why_a_city_fails() {
    for (broken, reason) in causes("wd-0") {
        let coming = unready("wd-1", "PendingProgramming", "Instance has not been programmed");
        for (case, instances, expected) in [
            (
                "nothing of the newest template is there yet",
                vec![earlier(&broken)],
                "0/1 instances are ready. 1 instance of an earlier template is not ready, and is replaced",
            ),
            (
                "the newest template is coming",
                vec![earlier(&broken), coming.clone()],
                "0/2 instances are ready. Instance \"wd-1\": PendingProgramming: Instance has not been \
                 programmed. 1 instance of an earlier template is not ready, and is replaced",
            ),
            (
                "several are left",
                vec![earlier(&broken), earlier(&coming)],
                "0/2 instances are ready. 2 instances of an earlier template are not ready, and are replaced",
            ),
        ] {
            let s = plain(&wd(), &instances, 2);
            assert_eq!(reasons(&s), ["InstancesProvisioning"; 2], "{case}: {reason:?}");
            let message = words(&s, "Available").2;
            assert!(message.starts_with(expected), "{case}: {message}");
        }
    }
}

#[test]
fn r6_an_instance_of_the_newest_template_is_why_a_city_fails_whatever_the_others_are() {
    for (broken, [available, replicas]) in causes("wd-1") {
        for (other, _) in causes("wd-0") {
            let s = plain(&wd(), &[earlier(&other), broken.clone()], 2);
            assert_eq!(reasons(&s), [available, replicas]);
            assert!(words(&s, "ReplicasReady").2.contains("words"));
        }
        let s = plain(&wd(), &[earlier(&ready("wd-0")), broken], 2);
        assert_eq!(reasons(&s), ["StableInstanceFound", replicas]);
    }
}

#[test]
fn r6_what_is_of_the_deployment_itself_fails_a_city_whatever_its_instances_are_of() {
    let crashing = earlier(&unready("wd-0", "InstanceCrashing", "exit 1"));
    let network = Network::NotFound("Network \"x\"".to_owned());
    let s = deployment_status(&wd(), std::slice::from_ref(&crashing), 1, &network, &Location::Unasked);
    assert_eq!(reasons(&s), ["NetworkNotFound"; 2]);
    let s = deployment_status(&wd(), &[crashing], 1, &Network::Ready, &Location::Missing);
    assert_eq!(reasons(&s), ["NoMatchingLocation"; 2]);
}

#[test]
fn c12_what_keeps_an_instance_of_an_earlier_template_from_leaving_is_said() {
    let stays = Arc::new(but(
        instance("wd-0", &[], &[condition("Ready", "False", "TerminationDeadlineExceeded", "it hangs")]),
        |i| {
            dying(i);
            i.data["spec"]["controller"]["templateHash"] = json!("old");
        },
    ));
    assert_eq!(reasons(&plain(&wd(), &[stays], 1)), ["TerminationDeadlineExceeded"; 2]);
}
