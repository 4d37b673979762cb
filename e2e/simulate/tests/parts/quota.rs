//! The steps of a claim.

use fedhub_core::object::{Object, ObjectView};
use fedhub_simulate::admission::{REGISTERED, policy};
use fedhub_simulate::quota::{Limit, step};
use proptest::prelude::*;
use serde_json::json;

use crate::parts::support::{after, condition, now, object, says};

/// Made at that second, and not evaluated yet.
pub fn claim(name: &str, second: u32) -> Object {
    object(json!({
        "apiVersion": "quota.miloapis.com/v1alpha1", "kind": "ResourceClaim",
        "metadata": {"namespace": "shop", "name": name, "uid": name, "generation": 3,
                     "creationTimestamp": format!("2024-01-01T00:00:{second:02}Z")},
        "status": {"conditions": [condition("Granted", "False", "PendingEvaluation")]},
    }))
}

fn pass(claims: &mut [Object], which: usize, limit: &Limit) {
    let next = step(&claims[which], claims, limit, now());
    claims[which] = after(&claims[which], &next);
    assert!(step(&claims[which], claims, limit, now()).is_done(), "once");
}

/// Deletes the claim and makes it again.
fn remake(claims: &mut [Object], which: usize) {
    claims[which].data["status"] = claim("", 0).status().clone();
}

fn granted(claims: &[Object]) -> Vec<&str> {
    let those = claims.iter().filter(|claim| says(claim.status(), "Granted") == "True/QuotaAvailable");
    those.map(ObjectView::name).collect()
}

#[test]
fn what_an_annotation_says() {
    for (annotation, limit) in [
        (None, Limit::None),
        (Some("0"), Limit::AtMost(0)),
        (Some("12"), Limit::AtMost(12)),
        (Some("invalid"), Limit::Invalid),
        (Some("-1"), Limit::Invalid),
    ] {
        assert_eq!(Limit::from_annotation(annotation), limit);
    }
}

#[test]
fn a_claim_is_granted_for_its_generation() {
    let mut claims = [claim("a", 1)];
    pass(&mut claims, 0, &Limit::None);
    let status = claims[0].status();
    assert_eq!(says(status, "Granted"), "True/QuotaAvailable");
    assert_eq!(
        (&status["observedGeneration"], &status["conditions"][0]["observedGeneration"]),
        (&json!(3), &json!(3))
    );
    claims[0].metadata.generation = Some(4);
    pass(&mut claims, 0, &Limit::None);
    assert_eq!(claims[0].status()["conditions"][0]["observedGeneration"], 4);
}

#[test]
fn at_most_so_many_are_granted_oldest_first_and_a_refusal_is_final() {
    let mut claims = vec![claim("young", 9), claim("b", 1), claim("a", 1)];
    let limit = Limit::AtMost(2);
    for which in 0..3 {
        pass(&mut claims, which, &limit);
    }
    assert_eq!(granted(&claims), ["b", "a"]);
    assert_eq!(says(claims[0].status(), "Granted"), "False/QuotaExceeded");
    claims.remove(1);
    for limit in [&limit, &Limit::AtMost(9), &Limit::None, &Limit::Invalid] {
        pass(&mut claims, 0, limit);
        assert_eq!(says(claims[0].status(), "Granted"), "False/QuotaExceeded", "{limit:?}");
    }
    remake(&mut claims, 0);
    pass(&mut claims, 0, &limit);
    assert_eq!(granted(&claims), ["young", "a"]);
}

/// The registrations that a Milo has are those of `deploy/`.
#[test]
fn admission_stores_claims_of_what_is_registered_for_instances_and_no_others() {
    let registrations = include_str!("../../../../deploy/components/milo-service/quota/quota.yaml")
        .split("---")
        .filter(|document| document.contains("kind: ResourceRegistration\n"));
    let mut registered = Vec::new();
    for registration in registrations {
        let value = |field: &str| registration.lines().find_map(|line| line.trim().strip_prefix(field));
        registered.push(value("resourceType: ").unwrap());
        assert_eq!(
            value("consumerType: ").unwrap(),
            "{apiGroup: resourcemanager.miloapis.com, kind: Project}"
        );
        assert_eq!(value("- {apiGroup: ").unwrap(), "compute.datumapis.com, kind: Instance}");
    }
    assert_eq!(registered, REGISTERED);
    let policy = policy();
    let rules: Vec<_> = policy["spec"]["validations"].as_array().unwrap().iter().collect();
    assert!(rules.iter().all(|rule| rule["reason"] == "Forbidden"), "as Milo's answer: {rules:?}");
    let says = |part: &str| rules.iter().any(|rule| rule["expression"].as_str().unwrap().contains(part));
    for part in ["compute.datumapis.com/memory", "'Instance'", "'Project'", "r.amount > 0", "exists_one"] {
        assert!(says(part), "{part}: {rules:?}");
    }
}

/// Users are told which resource was short by the answers to the requests.
#[test]
fn each_request_is_answered_and_only_instances_are_short() {
    let mut claims = vec![claim("a", 1), claim("b", 2)];
    let request = |what: &str| json!({"resourceType": format!("compute.datumapis.com/{what}"), "amount": 1});
    for claim in &mut claims {
        claim.data["spec"] = json!({"requests": [request("instances"), request("vcpus")]});
    }
    for which in 0..2 {
        pass(&mut claims, which, &Limit::AtMost(1));
    }
    let answers = |claim: &Object| -> Vec<String> {
        let all = claim.status()["allocations"].as_array().cloned().unwrap_or_default();
        assert!(all.iter().all(|it| it["lastTransitionTime"].is_string()), "{all:?}");
        all.iter().map(|it| it["status"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(answers(&claims[0]), ["Granted", "Granted"]);
    assert_eq!(answers(&claims[1]), ["Denied", "Pending"]);
    remake(&mut claims, 1);
    pass(&mut claims, 1, &Limit::AtMost(2));
    assert_eq!(answers(&claims[1]), ["Granted", "Granted"]);
}

#[test]
fn what_is_granted_stays_whatever_comes_and_however_the_limit_changes() {
    let mut claims = vec![claim("z", 5)];
    pass(&mut claims, 0, &Limit::AtMost(1));
    claims.push(claim("a", 5)); // before `z` in the order
    pass(&mut claims, 1, &Limit::AtMost(1));
    assert_eq!(granted(&claims), ["z"]);
    for limit in [Limit::AtMost(0), Limit::Invalid, Limit::None] {
        assert!(step(&claims[0], &claims, &limit, now()).is_done(), "{limit:?}");
    }
    remake(&mut claims, 1);
    pass(&mut claims, 1, &Limit::Invalid);
    assert_eq!(says(claims[1].status(), "Granted"), "False/ValidationFailed");
    remake(&mut claims, 1);
    pass(&mut claims, 1, &Limit::None);
    assert_eq!(granted(&claims), ["z", "a"]);
}

#[test]
fn a_claim_on_its_way_out_is_left_but_holds_its_share_until_it_is_gone() {
    let mut claims = vec![claim("a", 1), claim("b", 2)];
    pass(&mut claims, 0, &Limit::AtMost(1));
    claims[0].metadata.deletion_timestamp = claims[0].metadata.creation_timestamp.clone();
    assert!(step(&claims[0], &claims, &Limit::None, now()).is_done());
    pass(&mut claims, 1, &Limit::AtMost(1));
    assert_eq!(granted(&claims), ["a"]);
}

proptest! {
    /// Whatever order the claims are looked at, and whatever goes in between: never too many, and in the end
    /// as many as may once those that are refused are made anew.
    #[test]
    fn never_more_than_the_limit(limit in 0usize..4, order in prop::collection::vec((0usize..6, any::<bool>()), 0..40)) {
        let (limit, most) = (Limit::AtMost(limit), limit);
        let mut claims: Vec<_> = (0..6).map(|i| claim(&format!("c{i}"), i % 3)).collect();
        for (which, goes) in order {
            let Some(_) = claims.get(which) else { continue };
            if goes && claims.len() > 2 {
                claims.remove(which);
            } else {
                pass(&mut claims, which, &limit);
            }
            prop_assert!(granted(&claims).len() <= most);
        }
        for _ in 0..claims.len() {
            for which in 0..claims.len() {
                if says(claims[which].status(), "Granted").starts_with("False") {
                    remake(&mut claims, which);
                }
                pass(&mut claims, which, &limit);
            }
        }
        prop_assert_eq!(granted(&claims).len(), most.min(claims.len()));
    }
}
