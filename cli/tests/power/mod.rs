//! `instances stop`, `start` and `restart`: which instances, what is written, and when it is done.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use fedhub_api::instance_power::{PowerAsked, PowerOrder, PowerState};
use fedhub_cli::instances::power::args::PowerArgs;
use fedhub_cli::instances::power::plan::{Refusal, is_wanted, targets};
use fedhub_cli::instances::power::progress::{Progress, progress};
use fedhub_cli::instances::power::run;
use fedhub_core::object::{Object, ObjectView};
use fedhub_fake_apiserver::{ApiServer, Fault};
use serde_json::{Value, json};

use crate::rollout::fixtures::{SPACE, World, condition, say, server, session};

const POWER: &str = "compute.datumapis.com/instance-power";
const WD: &str = "web-us-dfw";

fn args(names: &[&str]) -> PowerArgs {
    PowerArgs {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        workload: None,
        city: Vec::new(),
        yes: false,
        no_wait: true,
        timeout: Duration::from_secs(20),
    }
}

fn of_city(city: &str) -> PowerArgs {
    PowerArgs { city: vec![city.to_owned()], yes: true, ..args(&[]) }
}

/// Two instances in each of two cities.
fn world() -> (World, ApiServer) {
    let world = World::done(&["DFW", "ORD"], "web:1");
    let server = server();
    world.put(&server);
    (world, server)
}

fn power(server: &ApiServer, deployment: &str) -> Value {
    let wd = server.get("WorkloadDeployment", SPACE, deployment).unwrap();
    wd["metadata"]["annotations"][POWER]
        .as_str()
        .map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

fn set_power(server: &ApiServer, text: &str) {
    let patch = json!({"metadata": {"annotations": {POWER: text}}});
    server.patch("WorkloadDeployment", SPACE, WD, &patch).unwrap();
}

#[test]
fn instances_are_named_or_selected_and_go_to_their_deployments() {
    let mut world = World::done(&["DFW", "ORD"], "web:1");
    let of = |world: &World, args: &PowerArgs| {
        let found = targets(&world.instances, |_| None, args);
        found.map(|all| {
            all.into_iter().map(|(wd, names)| format!("{wd}: {}", names.join(" "))).collect::<Vec<_>>()
        })
    };
    assert_eq!(
        of(&world, &args(&["web-us-ord-1", "web-us-dfw-0", "web-us-dfw-0"])).unwrap(),
        ["web-us-dfw: web-us-dfw-0", "web-us-ord: web-us-ord-1"]
    );
    assert_eq!(of(&world, &of_city("ord")).unwrap(), ["web-us-ord: web-us-ord-0 web-us-ord-1"]);
    assert_eq!(of(&world, &args(&["web-us-dfw-7"])), Err(Refusal::Absent("web-us-dfw-7".to_owned())));
    assert_eq!(of(&world, &of_city("LHR")), Err(Refusal::None));
    say(&mut world.instances[0], condition("Ready", "False", "Terminating", "being deleted"));
    assert_eq!(of(&world, &of_city("DFW")).unwrap(), ["web-us-dfw: web-us-dfw-1"]);
    assert_eq!(of(&world, &args(&["web-us-dfw-0"])), Err(Refusal::Going("web-us-dfw-0".to_owned())));
}

#[test]
fn v9_what_a_deployment_wants_is_remembered_while_it_is_replaced() {
    let mut wd = World::done(&["DFW"], "web:1").deployments.remove(0);
    wd.data["status"]["desiredReplicas"] = json!(2);
    for (name, expected) in [
        ("web-us-dfw-0", true),
        ("web-us-dfw-1", true),
        ("web-us-dfw-2", false),
        ("web-us-dfw", false),
        ("web-us-ord-0", false),
    ] {
        assert_eq!(is_wanted(&wd, name), expected, "{name}");
    }
    wd.data["status"] = Value::Null;
    assert!(is_wanted(&wd, "web-us-dfw-9"), "it is not known how many are wanted");
}

#[tokio::test]
async fn v9_an_order_is_written_beside_those_of_others() {
    let (_, server) = world();
    set_power(&server, r#"{"web-us-dfw-1": {"state": "Stopped"}, "web-us-dfw-8": {"state": "Stopped"}}"#);
    let spec = server.get("WorkloadDeployment", SPACE, WD).unwrap()["spec"].clone();
    run(&session(&server), PowerOrder::Stop, &args(&["web-us-dfw-0"])).await.unwrap();
    let both = json!({"web-us-dfw-0": {"state": "Stopped"}, "web-us-dfw-1": {"state": "Stopped"}});
    assert_eq!(power(&server, WD), both, "what is gone is forgotten");
    assert_eq!(server.get("WorkloadDeployment", SPACE, WD).unwrap()["spec"], spec);
    run(&session(&server), PowerOrder::Start, &of_city("DFW")).await.unwrap();
    assert_eq!(power(&server, WD), Value::Null);
    assert_eq!(power(&server, "web-us-ord"), Value::Null);
    run(&session(&server), PowerOrder::Restart, &args(&["web-us-ord-1"])).await.unwrap();
    assert!(power(&server, "web-us-ord")["web-us-ord-1"]["restartedAt"].is_string());
}

/// The order of another user is not lost where both write at one time.
#[tokio::test]
async fn v9_a_conflict_is_decided_anew() {
    let (_, server) = world();
    server.fault(Fault::Status(409).on("patch", "workloaddeployments").times(1));
    run(&session(&server), PowerOrder::Stop, &args(&["web-us-dfw-0"])).await.unwrap();
    assert_eq!(power(&server, WD), json!({"web-us-dfw-0": {"state": "Stopped"}}));
    let patches = server.audit().iter().filter(|it| it.verb == "patch").count();
    assert_eq!(patches, 2);
}

#[tokio::test]
async fn without_a_terminal_what_is_selected_stops_only_with_yes() {
    let (_, server) = world();
    let unsure = PowerArgs { yes: false, ..of_city("DFW") };
    for order in [PowerOrder::Stop, PowerOrder::Restart] {
        let refused = run(&session(&server), order, &unsure).await.unwrap_err();
        assert_eq!(refused.exit.code(), 2, "{refused:?}");
        assert!(refused.sentence.contains("web-us-dfw-0, web-us-dfw-1"), "{refused:?}");
        assert_eq!(power(&server, WD), Value::Null);
    }
    run(&session(&server), PowerOrder::Start, &unsure).await.unwrap();
    let refused = run(&session(&server), PowerOrder::Stop, &args(&["web-us-dfw-9"])).await.unwrap_err();
    assert_eq!(refused.exit.code(), 1);
    assert!(refused.sentence.contains("There is no instance"), "{refused:?}");
}

/// An instance of a world whose `Ready` is that, and what its provider restarted last.
fn instance(status: &str, reason: &str, message: &str, restarted: Option<&str>) -> Object {
    let mut instance = World::done(&["DFW"], "web:1").instances.remove(0);
    say(&mut instance, condition("Ready", status, reason, message));
    instance.data["status"]["provider"] = json!({"name": "any", "restartedAt": restarted});
    instance
}

#[test]
fn v9_an_order_is_followed_when_the_instance_shows_it() {
    const AT: &str = "2026-01-01T00:00:00Z";
    let asked =
        |state, at: Option<&str>| PowerAsked { state, restarted_at: at.map(|at| at.parse().unwrap()) };
    let stopped = asked(PowerState::Stopped, None);
    let running = asked(PowerState::Running, None);
    let restarted = asked(PowerState::Running, Some(AT));
    let up = instance("True", "Available", "", None);
    let off = instance(
        "False",
        "Stopped",
        "The instance is stopped. Action required by the user: start the instance, when it is to run again",
        None,
    );
    let image =
        "No such image. Action required by the user: check the image's name and tag, and the pull secrets";
    for (order, power, instance, expected) in [
        (PowerOrder::Stop, stopped, &up, "waits"),
        (PowerOrder::Stop, stopped, &off, "done"),
        (PowerOrder::Stop, stopped, &instance("False", "Stopping", "", None), "waits"),
        (PowerOrder::Stop, stopped, &instance("False", "Suspended", "", None), "done"),
        (PowerOrder::Stop, stopped, &instance("False", "InstanceCrashing", "", None), "waits"),
        (PowerOrder::Start, running, &off, "waits"),
        (PowerOrder::Start, running, &instance("False", "Starting", "", None), "waits"),
        (PowerOrder::Start, running, &up, "done"),
        (PowerOrder::Start, running, &instance("False", "ImageUnavailable", image, None), "blocked"),
        (PowerOrder::Start, running, &instance("False", "Suspended", "", None), "blocked"),
        (PowerOrder::Restart, restarted, &up, "waits"),
        (PowerOrder::Restart, restarted, &off, "waits"),
        (PowerOrder::Restart, restarted, &instance("True", "Available", "", Some(AT)), "done"),
        (PowerOrder::Restart, restarted, &instance("False", "Starting", "", Some(AT)), "waits"),
    ] {
        let word = match progress(Some(instance), order, &power) {
            Progress::Done => "done",
            Progress::Waits(_) => "waits",
            Progress::Blocked(_) => "blocked",
            Progress::Gone => "gone",
        };
        assert_eq!(word, expected, "{order:?} {}", instance.status());
    }
    assert_eq!(progress(None, PowerOrder::Stop, &stopped), Progress::Gone);
}

#[tokio::test]
async fn v9_the_command_ends_when_all_have_followed() {
    let (world, server) = world();
    let waiting = PowerArgs { no_wait: false, ..args(&["web-us-dfw-0", "web-us-dfw-1"]) };
    let stopping = session(&server);
    let stopping = tokio::spawn(async move { run(&stopping, PowerOrder::Stop, &waiting).await });
    for (at, instance) in world.instances.iter().take(2).enumerate() {
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!stopping.is_finished(), "{at} have followed");
        let ready = condition("Ready", "False", "Stopped", "The instance is stopped");
        let status = json!({"status": {"conditions": [ready]}});
        server.patch("Instance", SPACE, instance.name(), &status).unwrap();
    }
    stopping.await.unwrap().unwrap();
    let short = PowerArgs { no_wait: false, timeout: Duration::from_millis(300), ..args(&["web-us-dfw-0"]) };
    let late = run(&session(&server), PowerOrder::Start, &short).await.unwrap_err();
    assert_eq!(late.exit.code(), 3);
    assert!(late.sentence.contains("web-us-dfw-0: it is stopped"), "{late:?}");
}
