//! The plans for subnet claims and subnets.

use std::time::Duration;

use fedhub_core::object::{Object, ObjectView};
use fedhub_simulate::subnet::{Plan, plan, subnet_step};
use fedhub_simulate::{FAULT, START_TIME};
use serde_json::{Value, json};

use crate::parts::support::{NONE, after, now, object, says};

const GROUP: &str = "networking.datumapis.com/v1alpha";

fn claim(spec: Value) -> Object {
    object(json!({"apiVersion": GROUP, "kind": "SubnetClaim",
        "metadata": {"namespace": "ns-a", "name": "default-dfw-0", "uid": "c-1"}, "spec": spec}))
}

fn context(annotations: Value) -> Object {
    object(json!({"apiVersion": GROUP, "kind": "NetworkContext",
        "metadata": {"namespace": "ns-a", "name": "default-dfw", "annotations": annotations}, "spec": {}}))
}

fn made(claim: &Object, context: &Object) -> Object {
    let Plan::Create(made) = plan(claim, None, Some(context), now()) else { panic!() };
    *made
}

fn answered(claim: &Object, subnet: &Object) -> Object {
    let Plan::Claim(step) = plan(claim, Some(subnet), None, now()) else { panic!() };
    after(claim, &step)
}

#[test]
fn a_claim_gets_a_subnet_with_a_prefix_or_the_one_that_it_asks_for() {
    for (spec, length) in [
        (json!({"ipFamily": "IPv4"}), 24),
        (json!({"ipFamily": "IPv6"}), 64),
        (json!({"ipFamily": "IPv4", "startAddress": "10.9.8.0", "prefixLength": 28}), 28),
    ] {
        let asked = spec["startAddress"].clone();
        let claim = claim(spec);
        let subnet = made(&claim, &context(json!({})));
        assert_eq!((subnet.name(), &subnet.spec()["ipFamily"]), ("default-dfw-0", &claim.spec()["ipFamily"]));
        let waits = answered(&claim, &subnet);
        assert_eq!(says(&waits.data["status"], "Allocated"), "True/Allocated");
        assert_eq!(says(&waits.data["status"], "Ready"), "-/-", "its subnet first");
        let subnet = after(&subnet, &subnet_step(&subnet, NONE, now()));
        assert_eq!(says(&subnet.data["status"], "Ready"), "True/Ready");
        let done = answered(&waits, &subnet);
        let status = &done.data["status"];
        assert_eq!(says(status, "Programmed"), "True/Programmed");
        assert_eq!(says(status, "Ready"), "True/Ready");
        let given = &status["prefixLength"];
        let named = &status["subnetRef"]["name"];
        assert_eq!((given, named), (&json!(length), &json!("default-dfw-0")));
        let address: std::net::IpAddr = status["startAddress"].as_str().unwrap().parse().unwrap();
        assert!(asked.is_null() || asked == address.to_string());
        assert_eq!(answered(&done, &subnet).data, done.data, "in order it stays");
    }
}

#[test]
fn a_subnet_may_take_its_time_or_fail_although_its_claim_is_ready() {
    for (fault, first, later) in [
        ("SubnetSlow", "False/NotProgrammed", "True/Ready"),
        ("SubnetFailed", "False/SubnetRefused", "False/SubnetRefused"),
    ] {
        let claim = claim(json!({"ipFamily": "IPv6"}));
        let subnet = made(&claim, &context(json!({FAULT: fault, START_TIME: "3s"})));
        let subnet = after(&subnet, &subnet_step(&subnet, NONE, now()));
        assert_eq!(says(&subnet.data["status"], "Ready"), first);
        assert_eq!(says(&answered(&claim, &subnet).data["status"], "Ready"), "True/Ready");
        let subnet = after(&subnet, &subnet_step(&subnet, Duration::from_secs(3), now()));
        assert_eq!(says(&subnet.data["status"], "Ready"), later);
    }
}
