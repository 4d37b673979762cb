//! The steps of an Instance.

use std::time::Duration;

use fedhub_api::instance_power::{PowerAsked, PowerState};
use fedhub_core::names::FORMER_TEMPLATE_HASH;
use fedhub_core::object::Object;
use fedhub_simulate::provider::step;
use fedhub_simulate::{FAULT, START_TIME, Step};
use serde_json::{Value, json};

use crate::parts::support::{NONE, START, after, condition, message, now, object, says};

/// What is asked of the power of an Instance of which nobody asked anything.
const RUNNING: PowerAsked = PowerAsked { state: PowerState::Running, restarted_at: None };

/// Without gates, of one container, with the defaults that the schema gives.
pub fn instance() -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Instance",
        "metadata": {"namespace": "ns-a", "name": "web-0", "uid": "u-1", "annotations": {}},
        "spec": {
            "controller": {"templateHash": "h1"},
            "networkInterfaces": [{"name": "eth0", "network": {"name": "default"}}],
            "runtime": {"sandbox": {"containers": [{"name": "app", "image": "ghcr.io/acme/web:7"}]}},
        },
        "status": {"conditions": [
            condition("Programmed", "Unknown", "Pending"), condition("Available", "Unknown", "Pending"),
            condition("Ready", "Unknown", "Pending"), condition("QuotaGranted", "Unknown", "PendingEvaluation"),
        ]},
    })
}

fn with(change: impl FnOnce(&mut Value)) -> Object {
    let mut value = instance();
    change(&mut value);
    object(value)
}

/// All steps until nothing is to be done, at a time when the start is over.
fn run(instance: &Object) -> (Object, usize) {
    let mut instance = instance.clone();
    for writes in 0..10 {
        let step = step(&instance, RUNNING, START, START, now());
        if step.is_done() {
            return (instance, writes);
        }
        assert_eq!(step.again, None);
        instance = after(&instance, &step);
    }
    panic!("no end: {}", instance.data);
}

#[test]
fn an_instance_is_programmed_then_available_and_then_left_alone() {
    let instance = with(|_| ());
    assert_eq!(step(&instance, RUNNING, NONE, START, now()), Step { again: Some(START), ..Step::default() });
    let first = after(&instance, &step(&instance, RUNNING, START, START, now()));
    assert_eq!(says(&first.data["status"], "Programmed"), "True/Programmed");
    assert_eq!(says(&first.data["status"], "Available"), "False/Starting");
    let (up, writes) = run(&instance);
    let status = &up.data["status"];
    assert_eq!((says(status, "Programmed"), writes), ("True/Programmed".to_owned(), 2));
    assert_eq!(says(status, "Available"), "True/Available");
    assert_eq!(status["controller"]["observedTemplateHash"], "h1");
    // fedhub's conditions are as they were.
    assert_eq!(status["conditions"][2], condition("Ready", "Unknown", "Pending"));
    assert_eq!(status["conditions"][3], condition("QuotaGranted", "Unknown", "PendingEvaluation"));
    // It stays: nothing about how long it has been up is remembered.
    assert!(step(&up, RUNNING, NONE, START, now()).is_done());
}

#[test]
fn addresses_are_stable_one_for_each_interface_and_what_is_there_stays() {
    let two = with(|i| {
        i["spec"]["networkInterfaces"] = json!([{"name": "eth0"}, {"name": "eth1"}]);
        i["status"]["networkInterfaces"] = json!([{"name": "eth1", "assignments": {"networkIP": "192.0.2.9", "externalIP": "x"}, "foreign": 1}]);
    });
    let (up, _) = run(&two);
    let interfaces = up.data["status"]["networkInterfaces"].as_array().unwrap();
    assert_eq!(
        interfaces[0],
        json!({"name": "eth1", "assignments": {"networkIP": "192.0.2.9", "externalIP": "x"}, "foreign": 1})
    );
    let ip: std::net::Ipv4Addr = interfaces[1]["assignments"]["networkIP"].as_str().unwrap().parse().unwrap();
    assert_eq!((ip.octets()[0], interfaces.len()), (10, 2));
    let same = run(&with(|i| i["spec"]["networkInterfaces"] = json!([{"name": "eth0"}]))).0;
    assert_eq!(same.data["status"]["networkInterfaces"][0]["assignments"]["networkIP"], ip.to_string());
    let other = run(&with(|i| i["metadata"]["uid"] = json!("u-2"))).0;
    assert_ne!(other.data["status"]["networkInterfaces"][0]["assignments"]["networkIP"], ip.to_string());
}

#[test]
fn an_interface_has_an_address_of_each_family_that_it_asks_for() {
    let both =
        with(|i| i["spec"]["networkInterfaces"] = json!([{"name": "eth0", "ipFamilies": ["IPv6", "IPv4"]}]));
    let status = run(&both).0.data["status"]["networkInterfaces"][0].clone();
    let ip: std::net::Ipv6Addr = status["assignments"]["networkIP"].as_str().unwrap().parse().unwrap();
    let all = status["addresses"].as_array().unwrap();
    assert_eq!(all[0], json!({"family": "IPv6", "address": format!("{ip}/128"), "primary": true}));
    assert_eq!((&all[1]["family"], &all[1]["primary"], all.len()), (&json!("IPv4"), &json!(false), 2));
}

#[test]
fn nothing_is_done_behind_a_gate_without_quota_or_on_the_way_out() {
    for (why, change) in [
        (
            "gates",
            Box::new(|i: &mut Value| i["spec"]["controller"]["schedulingGates"] = json!([{"name": "Quota"}]))
                as Box<dyn Fn(&mut Value)>,
        ),
        (
            "quota denied",
            Box::new(|i| i["status"]["conditions"][3] = condition("QuotaGranted", "False", "QuotaExceeded")),
        ),
        ("deleting", Box::new(|i| i["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z"))),
    ] {
        assert!(step(&with(change), RUNNING, START, START, now()).is_done(), "{why}");
    }
    let no_more_gates = with(|i| i["spec"]["controller"]["schedulingGates"] = json!([]));
    assert!(!step(&no_more_gates, RUNNING, START, START, now()).is_done());
}

#[test]
fn v5_another_template_is_a_rebuild_that_is_announced() {
    let (mut up, _) = run(&with(|_| ()));
    up.data["spec"]["controller"]["templateHash"] = json!("h2");
    let announced = after(&up, &step(&up, RUNNING, NONE, START, now()));
    let status = &announced.data["status"];
    assert_eq!(says(status, "Available"), "False/Rebuilding");
    assert_eq!(says(status, "Rebuilding"), "True/Rebuilding");
    assert!(message(status, "Rebuilding").contains("its boot disk is made anew"), "what is lost");
    assert_eq!(status["controller"]["observedTemplateHash"], "h1", "nothing has happened yet");
    assert_eq!(step(&announced, RUNNING, NONE, START, now()).again, Some(START));
    let (next, writes) = run(&up);
    assert_eq!(writes, 2);
    assert_eq!(next.data["status"]["controller"]["observedTemplateHash"], "h2");
    assert_eq!(says(&next.data["status"], "Available"), "True/Available");
    assert!(fedhub_api::conditions::find(&next.data["status"], "Rebuilding").is_none());
}

#[test]
fn v5_a_rebuild_that_fails_says_so_once() {
    let (mut up, _) = run(&with(|_| ()));
    up.data["spec"]["controller"]["templateHash"] = json!("h2");
    up.data["spec"]["runtime"]["sandbox"]["containers"][0]["image"] = json!("registry.invalid/web:8");
    let (failed, _) = run(&up);
    assert_eq!(says(&failed.data["status"], "Programmed"), "False/ImageUnavailable");
    assert_eq!(failed.data["status"]["controller"]["observedTemplateHash"], "h1");
}

#[test]
fn c5_another_name_for_the_template_is_echoed() {
    let (mut up, _) = run(&with(|_| ()));
    up.data["spec"]["controller"]["templateHash"] = json!("h2");
    up.metadata.annotations = Some([(FORMER_TEMPLATE_HASH.to_owned(), "h1".to_owned())].into());
    assert_eq!(step(&up, RUNNING, NONE, START, now()).again, Some(START));
    let (next, writes) = run(&up);
    assert_eq!(writes, 1);
    assert_eq!(next.data["status"]["controller"]["observedTemplateHash"], "h2");
    assert_eq!(says(&next.data["status"], "Available"), "True/Available");
}

#[test]
fn a_suspended_instance_is_stopped_in_whatever_words_and_comes_back() {
    let (mut up, _) = run(&with(|_| ()));
    up.data["status"]["suspended"] = json!(true);
    let stopped = after(&up, &step(&up, RUNNING, NONE, START, now()));
    assert_eq!(says(&stopped.data["status"], "Available"), "False/Stopped");
    assert_eq!(says(&stopped.data["status"], "Programmed"), "True/Programmed");
    assert!(step(&stopped, RUNNING, START, START, now()).is_done());
    let mut other_words = stopped.clone();
    other_words.data["status"]["conditions"][1] = condition("Available", "False", "Suspended");
    assert!(step(&other_words, RUNNING, START, START, now()).is_done(), "two writers would not end");
    other_words.data["status"]["suspended"] = json!(false);
    assert_eq!(step(&other_words, RUNNING, NONE, START, now()).again, Some(START));
    assert_eq!(says(&run(&other_words).0.data["status"], "Available"), "True/Available");
}

#[test]
fn faults_are_said_in_words_and_end_with_their_annotation() {
    for (fault, programmed, available, words, hash) in [
        ("ImageUnavailable", "False/ImageUnavailable", "False/Stopped", "ghcr.io/acme/web:7", Value::Null),
        ("InstanceCrashing", "False/InstanceCrashing", "False/Stopped", "exited with code 1", Value::Null),
        ("ConfigurationError", "False/ConfigurationError", "False/Stopped", "container \"app\"", Value::Null),
        ("NeverStarts", "True/Programmed", "False/Starting", "programmed", json!("h1")),
        ("NetworkNotFound", "True/Programmed", "True/Available", "programmed", json!("h1")),
    ] {
        let faulty = with(|i| i["metadata"]["annotations"][FAULT] = json!(fault));
        let (mut end, _) = run(&faulty);
        let status = &end.data["status"];
        assert_eq!(
            (says(status, "Programmed"), says(status, "Available")),
            (programmed.into(), available.into())
        );
        assert!(message(status, "Programmed").contains(words), "{}", message(status, "Programmed"));
        assert_eq!(status["controller"]["observedTemplateHash"], hash, "{fault}");
        end.metadata.annotations = None;
        assert_eq!(says(&run(&end).0.data["status"], "Available"), "True/Available", "{fault}");
    }
}

#[test]
fn a_virtual_machine_is_named_by_its_disk_image() {
    let machine = with(|i| {
        i["metadata"]["annotations"][FAULT] = json!("ImageUnavailable");
        i["spec"]["runtime"] = json!({"virtualMachine": {}});
        i["spec"]["volumes"] = json!([{"name": "boot", "disk": {"template": {"spec": {
            "populator": {"image": {"name": "datumcloud/ubuntu-2204-lts"}}}}}}]);
    });
    let said = message(&run(&machine).0.data["status"], "Programmed");
    assert!(said.starts_with("virtual machine") && said.contains("datumcloud/ubuntu-2204-lts"), "{said}");
}

#[test]
fn the_annotation_says_how_long_the_start_takes() {
    for (text, expected) in [("5s", Duration::from_secs(5)), ("soon", START)] {
        let slow = with(|i| i["metadata"]["annotations"][START_TIME] = json!(text));
        assert_eq!(step(&slow, RUNNING, NONE, START, now()).again, Some(expected), "{text}");
    }
}

#[test]
fn v9_what_its_user_stopped_does_not_run_and_starts_again() {
    const STOPPED: PowerAsked = PowerAsked { state: PowerState::Stopped, restarted_at: None };
    let (up, _) = run(&with(|_| ()));
    let stopped = after(&up, &step(&up, STOPPED, NONE, START, now()));
    let status = &stopped.data["status"];
    assert_eq!(says(status, "Available"), "False/Stopped");
    assert_eq!(says(status, "Programmed"), "True/Programmed");
    assert!(message(status, "Available").contains("its user"), "{status}");
    assert!(step(&stopped, STOPPED, START, START, now()).is_done());
    assert_eq!(step(&stopped, RUNNING, NONE, START, now()).again, Some(START), "a start takes its time");
    assert_eq!(says(&run(&stopped).0.data["status"], "Available"), "True/Available");
    // One that never ran is programmed, and does not run.
    let fresh = with(|_| ());
    let fresh = after(&fresh, &step(&fresh, STOPPED, NONE, START, now()));
    assert_eq!(says(&fresh.data["status"], "Available"), "False/Stopped");
    assert_eq!(fresh.data["status"]["controller"]["observedTemplateHash"], "h1");
}

#[test]
fn v9_a_restart_is_one_start_more_and_only_once() {
    let (up, _) = run(&with(|_| ()));
    let power = PowerAsked { restarted_at: Some(now()), ..RUNNING };
    let restarting = after(&up, &step(&up, power, NONE, START, now()));
    assert_eq!(says(&restarting.data["status"], "Available"), "False/Starting");
    assert_eq!(restarting.data["status"]["provider"]["name"], "simulated");
    assert_eq!(step(&restarting, power, NONE, START, now()).again, Some(START));
    let again = after(&restarting, &step(&restarting, power, START, START, now()));
    assert_eq!(says(&again.data["status"], "Available"), "True/Available");
    assert!(step(&again, power, START, START, now()).is_done(), "the restart is remembered");
}
