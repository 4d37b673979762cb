use serde_json::json;

use super::*;
use crate::topology::planes::HUB;

const SPACE: &str = "aaaaaaaa-1111-4000-8000-000000000001";

/// A WD and its one Instance on all planes, after a rollout: all that differs from one to the next has `mark`
/// in it.
fn world(round: &str, mark: u8) -> Vec<Found> {
    let uid = |of: u8| format!("{mark:08x}-1111-4000-8000-{of:012x}");
    let hub = format!("ns-{SPACE}");
    let address = format!("10.0.0.{mark}");
    let wd = |plane: &'static str, space: &str, of: u8, extra: Value| {
        // The hub's is translated to the project's.
        let observed = if plane == HUB { mark + 1 } else { mark + of };
        let mut object = json!({
            "metadata": {
                "name": "web", "namespace": space, "uid": format!("bbbbbbbb-1111-4000-8000-{of:012x}"),
                "generation": mark + of, "resourceVersion": uid(9), "finalizers": ["b", "a"],
            },
            "spec": { "template": { "env": round } },
            "status": {
                "readyReplicas": 1, "observedGeneration": observed,
                "conditions": [
                    { "type": "Available", "status": "True", "lastTransitionTime": uid(9), "observedGeneration": mark },
                    { "type": "ReplicasReady", "status": "True", "lastTransitionTime": uid(9) },
                ],
            },
        });
        object["metadata"]["annotations"] = extra;
        Found { plane, kind: Kind::Deployment, object }
    };
    let instance = |plane: &'static str, space: &str, of: u8, owner: u8| {
        let object = json!({
            "metadata": {
                "name": "web-0", "namespace": space, "uid": uid(of),
                "ownerReferences": [{ "kind": "WorkloadDeployment", "uid": format!("bbbbbbbb-1111-4000-8000-{owner:012x}") }],
            },
            "spec": { "controller": { "templateHash": format!("hash-{mark}") } },
            "status": { "networkInterfaces": [{ "assignments": { "networkIP": address }, "addresses": [{ "address": address }] }] },
        });
        Found { plane, kind: Kind::Instance, object }
    };
    let space = json!({ "metadata": { "name": "chaos", "uid": SPACE } });
    vec![
        Found { plane: "project-a", kind: Kind::Namespace, object: space },
        wd("project-a", "chaos", 1, json!({})),
        wd("cell-dfw", &hub, 2, json!({ (SOURCE_GENERATION): (mark + 1).to_string() })),
        instance("cell-dfw", &hub, 3, 2),
        instance("project-a", "chaos", 4, 1),
        wd(HUB, &hub, 5, json!({})),
        instance(HUB, &hub, 6, 5),
    ]
}

fn changed(change: impl Fn(&mut Vec<Found>)) -> Vec<String> {
    let mut other = world("round 2", 20);
    change(&mut other);
    Snapshot::new(&world("round 1", 10), "round 1").differences(&Snapshot::new(&other, "round 2"))
}

#[test]
fn two_rollouts_with_the_same_end_are_equal() {
    assert_eq!(changed(|_| {}), [""; 0]);
    // The order of a listing, of finalizers and of conditions means nothing.
    let shuffled = changed(|world| {
        world.reverse();
        world[4].object["metadata"]["finalizers"] = json!(["a", "b"]);
        if let Some(conditions) = world[4].object["status"]["conditions"].as_array_mut() {
            conditions.reverse();
        }
    });
    assert_eq!(shuffled, [""; 0]);
}

#[test]
fn what_is_missing_and_what_is_too_much_is_told_by_its_name() {
    let gone = changed(|world| drop(world.remove(3)));
    assert!(
        gone.contains(&"cell-dfw Instance ns-{project-a Namespace chaos}/web-0: is missing".to_owned()),
        "{gone:?}"
    );
    let more = changed(|world| {
        let mut another = world[3].clone();
        another.object["metadata"]["name"] = json!("web-1");
        world.push(another);
    });
    assert!(
        more.contains(&"cell-dfw Instance ns-{project-a Namespace chaos}/web-1: is one too many".to_owned()),
        "{more:?}"
    );
}

#[test]
fn a_field_that_differs_is_told() {
    let cases: [(usize, &str, Value, &str); 10] = [
        (1, "/status/readyReplicas", json!(0), "status.readyReplicas: 0, expected 1"),
        (
            1,
            "/status/observedGeneration",
            json!(20),
            "status.observedGeneration: 20, expected {the present one}",
        ),
        (
            2,
            "/status/observedGeneration",
            json!(21),
            "status.observedGeneration: 21, expected {the present one}",
        ),
        (
            2,
            "/status/conditions/0/status",
            json!("False"),
            "status.conditions.Available.status: False, expected True",
        ),
        (2, "/spec/template/env", json!("round 1"), "spec.template.env: round 1, expected {this round}"),
        (3, "/metadata/deletionTimestamp", json!("now"), "metadata.deletionTimestamp: set, expected absent"),
        (
            3,
            "/spec/controller/schedulingGates",
            json!(["Quota"]),
            "spec.controller.schedulingGates[0]: Quota, expected absent",
        ),
        (
            4,
            "/spec/controller/templateHash",
            json!("old"),
            "spec.controller.templateHash: old, expected {this round's}",
        ),
        (
            4,
            "/status/networkInterfaces/0/assignments/networkIP",
            json!("10.0.0.9"),
            "status.networkInterfaces[0].assignments.networkIP: 10.0.0.9, expected {its own in the cell}",
        ),
        (
            6,
            "/status/networkInterfaces/0/addresses/0/address",
            json!("10.0.0.9"),
            "status.networkInterfaces[0].addresses[0].address: 10.0.0.9, expected {its own in the cell}",
        ),
    ];
    for (at, pointer, value, expected) in cases {
        let lines = changed(|world| {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let parent = world[at].object.pointer_mut(parent).unwrap();
            match key.parse::<usize>() {
                Ok(at) => parent[at] = value.clone(),
                Err(_) => parent[key] = value.clone(),
            }
        });
        assert!(lines.len() == 1 && lines[0].ends_with(expected), "{pointer}: {lines:?}");
    }
}

#[test]
fn an_owner_is_the_live_one_of_its_plane() {
    for (owner, expected) in [
        ("bbbbbbbb-1111-4000-8000-000000000001", "uid {project-a WorkloadDeployment chaos/web}"),
        ("bbbbbbbb-1111-4000-8000-000000000009", "uid {gone}"),
    ] {
        let lines = changed(|world| world[3].object["metadata"]["ownerReferences"][0]["uid"] = json!(owner));
        assert!(lines.len() == 1 && lines[0].contains(expected), "{lines:?}");
    }
}
