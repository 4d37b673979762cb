//! `restart` writes a time: on the workload, or on the deployments of the cities that are named.

use fedhub_cli::restart::plan::{Refusal, plan};
use fedhub_cli::restart::{self, RestartArgs};
use fedhub_cli::rollout::WaitArgs;
use fedhub_core::object::Kind;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::rollout::fixtures::*;

const NOW: &str = "2026-01-01T00:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

pub fn args(cities: &[&str]) -> RestartArgs {
    let wait = WaitArgs { no_wait: true, timeout: std::time::Duration::ZERO };
    RestartArgs { name: NAME.to_owned(), city: cities.iter().map(|city| (*city).to_owned()).collect(), wait }
}

fn time(patch: &Value) -> Value {
    patch["spec"]["template"]["metadata"]["annotations"]["compute.datumapis.com/restartedAt"].clone()
}

#[test]
fn all_cities_restart_by_the_workload_and_some_by_their_deployments() {
    let world = World::done(&["DFW", "ORD"], "web:1");
    for (cities, kinds, named) in [
        (vec![], vec![Kind::Workload], vec!["DFW", "ORD"]),
        (vec!["ord".to_owned()], vec![Kind::WorkloadDeployment], vec!["ORD"]),
    ] {
        world.with(|seen| {
            let restart = plan(seen, &cities, now()).unwrap();
            assert_eq!(restart.targets.iter().map(|target| target.kind).collect::<Vec<_>>(), kinds);
            assert_eq!((restart.cities.clone(), time(&restart.patch)), (named, json!(NOW)));
        });
    }
}

#[test]
fn a_restart_is_later_than_every_one_before() {
    let mut world = World::done(&["DFW"], "web:1");
    let annotations = json!({"compute.datumapis.com/restartedAt": "2026-01-01T00:00:07Z"});
    world.deployments[0].data["spec"]["template"]["metadata"] = json!({"annotations": annotations});
    world.with(|seen| {
        let restart = plan(seen, &[], now()).unwrap();
        assert_eq!(time(&restart.patch), "2026-01-01T00:00:08Z");
    });
}

#[test]
fn a_city_has_to_be_one_of_the_workload_and_to_run() {
    let mut world = World::done(&["DFW", "ORD"], "web:1");
    world.deployments.remove(1);
    for (city, expected) in [
        ("LHR", Refusal::NoCity("LHR".to_owned(), vec!["DFW".to_owned(), "ORD".to_owned()])),
        ("ORD", Refusal::NotDeployed("ORD".to_owned())),
    ] {
        let cities = [city.to_owned()];
        world.with(|seen| assert_eq!(plan(seen, &cities, now()).unwrap_err(), expected));
    }
}

#[tokio::test]
async fn only_the_time_is_written() {
    let server = server();
    World::done(&["DFW", "ORD"], "web:1").put(&server);
    let before = server.get("WorkloadDeployment", SPACE, "web-us-ord").unwrap();
    restart::run(&session(&server), &args(&["DFW"])).await.unwrap();
    let after = server.get("WorkloadDeployment", SPACE, "web-us-dfw").unwrap();
    assert!(time(&after).is_string() && after["spec"]["template"]["spec"] == template("web:1")["spec"]);
    assert_eq!(server.get("WorkloadDeployment", SPACE, "web-us-ord").unwrap(), before);
    assert!(time(&server.get("Workload", SPACE, NAME).unwrap()).is_null());
    restart::run(&session(&server), &args(&[])).await.unwrap();
    assert!(time(&server.get("Workload", SPACE, NAME).unwrap()).is_string());
    let refused = restart::run(&session(&server), &args(&["LHR"])).await.unwrap_err();
    assert_eq!(refused.text(false), "Error: \"web\" is not in the city \"LHR\".\nIt is in DFW, ORD.");
}
