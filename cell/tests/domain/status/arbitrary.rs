//! Random worlds: to compute again changes nothing, and what is not ours stays.

use std::sync::Arc;

use fedhub_api::conditions::find;
use fedhub_api::transitions::{self, Signal};
use fedhub_cell::domain::quota::verdict::{QuotaAnswer, QuotaFailure, quota_granted};
use fedhub_cell::domain::status::facts::DeploymentFacts;
use fedhub_cell::domain::status::network::{Location, Network};
use fedhub_cell::domain::status::{deployment, gates, instance as own};
use fedhub_core::names::SUSPENDED;
use fedhub_core::object::{Object, ObjectView};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use super::support::*;

const REASONS: [&str; 12] = [
    "Pending",
    "PendingProgramming",
    "ImageUnavailable",
    "InstanceCrashing",
    "PendingQuota",
    "NetworkProvisioning",
    "NetworkFailedToCreate",
    "SourceNotFound",
    "Resolving",
    "Suspended",
    "Odd",
    "Available",
];

prop_compose! {
    fn conditions()(kinds in subsequence(vec!["Programmed", "Available", "Ready", "QuotaGranted", "ReferencedDataReady", "ReplicasReady", "Odd"], 0..=7))
        (all in kinds.into_iter().map(|kind| (select(vec!["True", "False", "Unknown"]), select(REASONS.to_vec()), select(vec!["", "words", "words."]))
            .prop_map(move |(s, r, m)| condition(kind, s, r, m))).collect::<Vec<_>>()) -> Vec<Value> { all }
}

fn statuses() -> impl Strategy<Value = Value> {
    let foreign = json!({"odd": [1], "controller": {"observedTemplateHash": HASH}, "networkInterfaces": [{"name": "eth0"}]});
    (conditions(), any::<bool>(), any::<bool>()).prop_map(move |(conditions, bare, suspended)| {
        let mut status = if bare { json!({}) } else { foreign.clone() };
        status["conditions"] = json!(conditions);
        if suspended {
            status["suspended"] = json!(true);
        }
        status
    })
}

fn networks() -> impl Strategy<Value = Network> {
    let words = || "words".to_owned();
    select(vec![
        Network::Ready,
        Network::Provisioning(words()),
        Network::NotFound(words()),
        Network::Failed(words()),
    ])
}

fn locations() -> impl Strategy<Value = Location> {
    select(vec![
        Location::Unasked,
        Location::Missing,
        Location::Serving("dfw-1".to_owned()),
        Location::Ambiguous(vec![]),
        Location::Elsewhere { name: "ord-1".to_owned(), city: "ORD".to_owned() },
    ])
}

prop_compose! {
    fn instances(name: String)(status in statuses(), gates in subsequence(vec!["Network", "Quota", "ReferencedData", "Odd"], 0..=4), going in prop::bool::weighted(0.2)) -> Object {
        but(instance(&name, &gates, &[]), |i| {
            i.data["status"] = status.clone();
            if going { dying(i); }
        })
    }
}

/// Everything but the conditions and fields that are ours is as it was; a time moves with its status alone.
fn untouched(old: &Value, new: &Value, ours: &[&str], fields: &[&str]) -> Result<(), TestCaseError> {
    for (field, value) in old.as_object().into_iter().flatten() {
        if field != "conditions" && !fields.contains(&field.as_str()) {
            prop_assert_eq!(&new[field], value, "{}", field);
        }
    }
    let foreign = |s: &Value| -> Vec<Value> {
        let all = s["conditions"].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|c| !ours.contains(&c["type"].as_str().unwrap())).collect()
    };
    prop_assert_eq!(foreign(new), foreign(old));
    for kind in ours {
        let now = find(new, kind).unwrap();
        let same = find(old, kind).is_some_and(|c| c["status"] == now["status"]);
        prop_assert_eq!(now["lastTransitionTime"] == LONG_AGO, same, "I7: {}", kind);
        prop_assert!(!now["reason"].as_str().unwrap().is_empty());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(600) })]

    #[test]
    fn i7_i9_an_instances_status_comes_to_rest_at_once(
        i in instances("wd-0".to_owned()), network in networks(), suspended: bool, stopped: bool, answer in 0..4_usize,
    ) {
        let failure = QuotaFailure::Unavailable("x".to_owned());
        let claim = but(object(fedhub_core::object::Kind::Instance, "c"), |c| {
            c.data = json!({"status": {"conditions": [condition("Granted", "False", "QuotaExceeded", "w")]}});
        });
        let of = |i: &Object, now| {
            let answer = [QuotaAnswer::Off, QuotaAnswer::Asked, QuotaAnswer::Claim(&claim), QuotaAnswer::Failed(&failure)][answer];
            let quota = quota_granted(i, answer, now);
            own::status(&own::InstanceFacts { instance: i, quota: &quota, data: None, network: &network, contexts: None, suspended, stopped, now })
        };
        let first = of(&i, now());
        // What is said in the provider's place, and what was.
        let denied = gates::of(&i).contains(&gates::QUOTA)
            && find(&first, "QuotaGranted").unwrap()["status"] == "False";
        let stands = |kind: &str| find(i.status(), kind).is_some_and(|c| c["reason"] == "PendingQuota");
        let said_for = |kind: &&str| match *kind {
            "Programmed" => !suspended && (denied || stands(kind)),
            _ => suspended || denied || stands(kind),
        };
        let mut ours = vec!["Ready", "QuotaGranted"];
        ours.extend(["Programmed", "Available"].iter().filter(|kind| said_for(kind)));
        untouched(i.status(), &first, &ours, &["suspended"])?;
        let rested = but(i.clone(), |i| i.data["status"] = first.clone());
        let second = of(&rested, now());
        prop_assert_eq!(&second, &first, "I7: nothing new to say");
        let [late, later] = [3600, 7200].map(|after| now() + jiff::SignedDuration::from_secs(after));
        let second = of(&rested, late);
        let rested = but(rested.clone(), |i| i.data["status"] = second.clone());
        prop_assert_eq!(&of(&rested, later), &second, "I7: that it lasts is said once");
        prop_assert_eq!(transitions::of_instance(Signal::of_instance(&first), &second), None, "and no Event");
    }

    #[test]
    fn i7_i9_a_deployments_status_comes_to_rest_at_once(
        status in statuses(), all in (0..5_usize).prop_flat_map(|n| (0..n).map(|k| instances(format!("wd-{k}"))).collect::<Vec<_>>()),
        desired in 0..5_u32, network in networks(), location in locations(), suspended: bool, turned in 0..5_usize,
    ) {
        let wd = but(wd(), |wd| wd.data["status"] = status.clone());
        let wd = if suspended { annotated(wd, SUSPENDED, "true") } else { wd };
        let mut all: Vec<_> = all.into_iter().map(Arc::new).collect();
        let mut of = |wd: &Object, now| {
            let s = deployment::status(&DeploymentFacts {
                deployment: wd, instances: &all, desired, template_hash: HASH, network: &network, location: &location,
                scaling: None, obstacle: None, held: None, now,
            });
            // The next listing comes in another order.
            let n = all.len().max(1);
            all.rotate_left(turned % n);
            s
        };
        let first = of(&wd, now());
        let mut ours = vec!["Available", "ReplicasReady"];
        ours.extend(find(&first, "TerminationOverdue").map(|_| "TerminationOverdue"));
        untouched(&status, &first, &ours, &["suspended"])?;
        let rested = but(wd.clone(), |wd| wd.data["status"] = first.clone());
        prop_assert_eq!(of(&rested, now()), first.clone());
        let [late, later] = [3600, 7200].map(|after| now() + jiff::SignedDuration::from_secs(after));
        let second = of(&rested, late);
        let rested = but(rested.clone(), |wd| wd.data["status"] = second.clone());
        prop_assert_eq!(of(&rested, later), second, "I7: that it lasts is said once");
        let count = |name: &str| first[name].as_u64().unwrap();
        prop_assert!(count("currentReplicas") <= count("updatedReplicas") && count("updatedReplicas") <= count("replicas"));
        prop_assert!(count("readyReplicas") <= count("replicas"));
        let available = &find(&first, "Available").unwrap()["status"];
        prop_assert_eq!(available == "True", count("readyReplicas") > 0 && !suspended);
        let complete = &find(&first, "ReplicasReady").unwrap()["status"];
        prop_assert!(complete != "True" || count("readyReplicas") >= u64::from(desired));
    }
}
