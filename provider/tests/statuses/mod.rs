//! What an Instance says of its server, by how that looks.

use fedhub_api::conditions::{find, said};
use fedhub_core::object::{ObjectView, set_field};
use fedhub_provider::plan::{Call, Verdict};
use fedhub_provider::status::status;
use fedhub_provider::{Address, Change, FailureKind, Health, Phase, Refusal};
use serde_json::{Value, json};

use crate::plans::{World, at, failed, id};

/// Status and reason of a condition, empty where there is none.
fn says(status: &Value, kind: &str) -> (String, String) {
    let (state, reason, _) = find(status, kind).map(said).unwrap_or_default();
    (state.to_owned(), reason.to_owned())
}

fn pair(state: &str, reason: &str) -> (String, String) {
    (state.to_owned(), reason.to_owned())
}

#[test]
fn v6_an_instance_says_what_its_server_does_and_unknown_is_unknown() {
    for (phase, health, runs, expected) in [
        (Phase::Running, Health::Healthy, true, ("True", "Available")),
        (Phase::Running, Health::Unknown, true, ("True", "Available")),
        (Phase::Running, Health::Degraded, true, ("True", "Available")),
        (Phase::Running, Health::Error, true, ("False", "ServerFailed")),
        (Phase::Error, Health::Unknown, true, ("False", "ServerFailed")),
        (Phase::Pending, Health::Unknown, true, ("False", "Starting")),
        (Phase::Building, Health::Unknown, true, ("False", "Starting")),
        (Phase::Stopped, Health::Healthy, true, ("False", "Starting")),
        (Phase::Stopped, Health::Healthy, false, ("False", "Stopped")),
        (Phase::Stopping, Health::Healthy, false, ("False", "Stopped")),
        (Phase::Stopping, Health::Healthy, true, ("False", "Stopping")),
        (Phase::Rebuilding, Health::Healthy, true, ("False", "Rebuilding")),
        (Phase::Unknown, Health::Unknown, true, ("Unknown", "ProviderUnknown")),
    ] {
        let mut world = World::standing();
        world.power.runs = runs;
        world.see(|server| {
            server.phase = phase;
            server.health = health;
        });
        let status = status(&world.seen(), &Verdict::Standing, "model");
        assert_eq!(says(&status, "Available"), pair(expected.0, expected.1), "{phase:?} {health:?} {runs}");
        assert_eq!(status["provider"]["powerState"], json!(format!("{phase:?}")));
        assert_eq!(status["provider"]["health"], json!(format!("{health:?}")));
    }
}

#[test]
fn v6_an_instance_is_programmed_once_its_server_is_settled_and_as_it_is_wanted() {
    for (settled, change, programmed, expected, hash) in [
        (true, Change::Nothing, false, ("True", "Programmed"), true),
        (false, Change::Nothing, false, ("False", "Provisioning"), false),
        (true, Change::InPlace, false, ("False", "Provisioning"), false),
        // What is changed as it runs stays programmed, and says by the hash that it is not done.
        (false, Change::InPlace, true, ("True", "Programmed"), false),
    ] {
        let mut world = World::standing();
        world.change = Some(change);
        world.see(|server| server.settled = settled);
        if programmed {
            let condition = json!({"type": "Programmed", "status": "True", "reason": "Programmed"});
            set_field(&mut world.instance, "status", json!({"conditions": [condition]}));
        }
        let status = status(&world.seen(), &Verdict::Standing, "model");
        assert_eq!(says(&status, "Programmed"), pair(expected.0, expected.1), "{settled} {change:?}");
        let observed = status["controller"]["observedTemplateHash"] == "h";
        assert_eq!(observed, hash, "{settled} {change:?}");
    }
}

#[test]
fn v6_what_keeps_a_server_away_is_said_with_who_has_to_act() {
    let by = |by_user| Verdict::Refused(Refusal { by_user, message: "no such image".to_owned() });
    let failing = |kind| Verdict::Failing(failed(Call::Create, kind, false));
    for (verdict, reason) in [
        (by(true), "ServerRefused"),
        (by(false), "ProviderMisconfigured"),
        (failing(FailureKind::Invalid), "ServerRefused"),
        (failing(FailureKind::Denied), "ProviderDenied"),
        (failing(FailureKind::Quota), "ProviderQuotaExceeded"),
        (failing(FailureKind::Retry), "ProviderUnavailable"),
        (failing(FailureKind::Unavailable), "ProviderUnavailable"),
        (failing(FailureKind::Conflict), "Provisioning"),
        (Verdict::Ambiguous(vec![id()]), "AmbiguousServer"),
        (Verdict::Making, "Provisioning"),
        (Verdict::Off, "Stopped"),
    ] {
        let world = World::new();
        let status = status(&world.seen(), &verdict, "model");
        assert_eq!(says(&status, "Programmed"), pair("False", reason), "{verdict:?}");
    }
}

#[test]
fn v6_a_region_that_is_away_says_nothing_against_a_server() {
    let stands = json!({"conditions": [
        {"type": "Programmed", "status": "True", "reason": "Programmed", "message": "as it was"},
        {"type": "Available", "status": "True", "reason": "Available", "message": "as it was"},
    ]});
    for kind in [FailureKind::Retry, FailureKind::Unavailable] {
        let mut world = World::standing();
        world.known.look = None;
        set_field(&mut world.instance, "status", stands.clone());
        let verdict = Verdict::Failing(failed(Call::Get, kind, false));
        assert_eq!(status(&world.seen(), &verdict, "model")["conditions"], stands["conditions"], "{kind:?}");
    }
}

#[test]
fn v5_a_rebuild_is_said_until_the_new_server_runs() {
    let rebuilding = json!({"type": "Rebuilding", "status": "True", "reason": "Rebuilding"});
    for (phase, settled, stays) in
        [(Phase::Rebuilding, false, true), (Phase::Building, true, true), (Phase::Running, true, false)]
    {
        let mut world = World::standing();
        set_field(&mut world.instance, "status", json!({"conditions": [rebuilding]}));
        world.see(|server| {
            server.phase = phase;
            server.settled = settled;
        });
        let status = status(&world.seen(), &Verdict::Standing, "model");
        assert_eq!(find(&status, "Rebuilding").is_some(), stays, "{phase:?}");
    }
    let mut world = World::standing();
    world.change = Some(Change::Rebuild);
    let status = status(&world.seen(), &Verdict::Denied(Change::Rebuild), "model");
    assert_eq!(says(&status, "Programmed"), pair("False", "DisruptionDenied"));
    assert_eq!(says(&status, "Available"), pair("True", "Available"), "it runs as it did");
    let message = said(find(&status, "Programmed").unwrap()).2;
    assert!(message.contains("root disk") && message.contains("disruption"), "{message}");
}

#[test]
fn v4_a_server_that_hangs_in_deletion_is_named_with_since_when() {
    let mut world = World::standing().delete();
    world.see(|server| server.deleting = Some(at(900)));
    let verdict = Verdict::Deleting { since: Some(at(900)) };
    let status = status(&world.seen(), &verdict, "model");
    let (state, reason, message) = said(find(&status, "Available").unwrap());
    assert_eq!((state, reason), ("False", "ServerDeleting"));
    assert!(message.contains("s1") && message.contains("2030-03-17T"), "{message}");
}

#[test]
fn v6_only_what_is_the_providers_is_written() {
    let mut world = World::standing();
    let others = json!({
        "conditions": [{"type": "Ready", "status": "False"}, {"type": "QuotaGranted", "status": "True"}],
        "location": {"name": "dfw"}, "suspended": false,
        "networkInterfaces": [{"name": "eth0", "conditions": []}],
    });
    set_field(&mut world.instance, "status", others.clone());
    let mut world = world.with_spec("networkInterfaces", json!([{"name": "eth0"}]));
    world.see(|server| {
        server.addresses = vec![Address {
            network_ip: Some("10.0.0.1".into()),
            external_ip: Some("192.0.2.1".into()),
            mac: Some("02:00:00:00:00:01".into()),
        }];
    });
    let next = status(&world.seen(), &Verdict::Standing, "model");
    for kind in ["Ready", "QuotaGranted"] {
        assert_eq!(find(&next, kind), find(&others, kind));
    }
    assert_eq!((&next["location"], &next["suspended"]), (&others["location"], &others["suspended"]));
    let interface = json!({
        "name": "eth0", "conditions": [], "macAddress": "02:00:00:00:00:01",
        "assignments": {"networkIP": "10.0.0.1", "externalIP": "192.0.2.1"},
    });
    assert_eq!(next["networkInterfaces"], json!([interface]));
    set_field(&mut world.instance, "status", next.clone());
    assert_eq!(status(&world.seen(), &Verdict::Standing, "model"), next, "again nothing changes (I7)");
    assert!(!world.instance.status().is_null());
}
