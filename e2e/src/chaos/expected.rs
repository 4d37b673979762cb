//! What every rollout ends in, whatever happened meanwhile.

use serde_json::Value;

use super::fixture::{Found, NAME, NAMESPACE, Way, round_of, ways};
use super::names::{Names, name, space, uid};
use crate::demo::objects::{Kind, is_true};
use crate::topology::planes::HUB;

/// The counters of a WD: all of them say how many are wanted.
const COUNTERS: [&str; 5] =
    ["replicas", "currentReplicas", "updatedReplicas", "readyReplicas", "desiredReplicas"];

/// Returns what the expected end still lacks: a line for each WD, Instance and plane that is not as it should
/// be. `replicas` are wanted for each WD, of this round's template.
pub fn missing(world: &[Found], replicas: u32, round: &str) -> Vec<String> {
    let names = Names::from_world(world);
    let mut missing = Vec::new();
    for way in ways() {
        let Some(hub_space) = names.hub_space(way) else {
            missing.push(format!("{}: there is no namespace {NAMESPACE}", way.project.name));
            continue;
        };
        for (plane, space) in [(way.project.name, NAMESPACE), (HUB, &hub_space), (way.cell.name, &hub_space)]
        {
            let here = Here { world, way, plane, space, replicas, round };
            let Some(deployment) = here.find(Kind::Deployment, NAME) else {
                missing.push(format!("{plane}: no WD for {}", way.city));
                continue;
            };
            missing.extend(here.deployment(deployment));
            missing.extend(here.instances(uid(deployment)));
        }
    }
    missing
}

/// The WD of one way on one plane.
struct Here<'a> {
    world: &'a [Found],
    way: Way,
    plane: &'static str,
    space: &'a str,
    replicas: u32,
    round: &'a str,
}

impl<'a> Here<'a> {
    fn find(&self, kind: Kind, called: &str) -> Option<&'a Value> {
        let mut all = self.all(kind);
        all.find(|object| name(object) == called)
    }

    fn all(&self, kind: Kind) -> impl Iterator<Item = &'a Value> + use<'a> {
        let plane = self.plane;
        let at = self.space;
        self.world
            .iter()
            .filter(move |found| found.plane == plane && found.kind == kind)
            .map(|found| &found.object)
            .filter(move |object| space(object) == at)
    }

    fn deployment(&self, object: &Value) -> Option<String> {
        let status = &object["status"];
        let counts: Vec<_> = COUNTERS.iter().filter(|counter| status[**counter] != self.replicas).collect();
        let mut faults: Vec<_> =
            counts.iter().map(|counter| format!("{counter} {}", status[**counter])).collect();
        if round_of(&object["spec"]["template"]["spec"]) != self.round {
            faults.push("an earlier template".to_owned());
        }
        // The hub's says which generation of the project's was seen.
        let seen = &status["observedGeneration"];
        let generation = &object["metadata"]["generation"];
        if self.plane != HUB && seen != generation {
            faults.push(format!("has seen generation {seen} of {generation}"));
        }
        faults.extend(
            ["Available", "ReplicasReady"]
                .iter()
                .filter(|kind| !is_true(status, kind))
                .map(|kind| format!("not {kind}")),
        );
        (!faults.is_empty())
            .then(|| format!("{} WD for {}: {}", self.plane, self.way.city, faults.join(", ")))
    }

    fn instances(&self, owner: &str) -> Vec<String> {
        let mut faults = Vec::new();
        for ordinal in 0..self.replicas {
            let called = format!("{NAME}-{ordinal}");
            let wrong = match self.find(Kind::Instance, &called) {
                None => Some("is missing"),
                Some(object) => self.instance(object, owner),
            };
            faults.extend(
                wrong.map(|wrong| format!("{} Instance {called} for {}: {wrong}", self.plane, self.way.city)),
            );
        }
        let count = self.all(Kind::Instance).count();
        let wanted = self.replicas as usize;
        if count > wanted {
            faults
                .push(format!("{} for {}: {count} Instances, expected {wanted}", self.plane, self.way.city));
        }
        faults
    }

    fn instance(&self, object: &Value, owner: &str) -> Option<&'static str> {
        let owners = object["metadata"]["ownerReferences"].as_array();
        let status = &object["status"];
        if object["metadata"]["deletionTimestamp"].is_string() {
            Some("is on its way out")
        } else if round_of(&object["spec"]) != self.round {
            Some("runs an earlier template")
        } else if !is_true(status, "Ready") {
            Some("is not Ready")
        } else if owners.is_none_or(|owners| owners.len() != 1 || owners[0]["uid"] != owner) {
            Some("is not owned by the WD of its plane alone")
        } else if status["networkInterfaces"].as_array().is_none_or(|all| all.len() != 1) {
            Some("has not one network interface")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ROUND: &str = "round 1";

    fn spec() -> Value {
        json!({ "runtime": { "sandbox": { "containers": [{ "env": [{ "name": "ROUND", "value": ROUND }] }] } } })
    }

    fn conditions(kinds: &[&str]) -> Value {
        kinds.iter().map(|kind| json!({ "type": kind, "status": "True" })).collect()
    }

    /// Both WDs with two Instances each, on all planes.
    fn world() -> Vec<Found> {
        let mut world = Vec::new();
        for way in ways() {
            let space_uid = format!("{:0>8}-1111-4000-8000-000000000001", way.city.len() + world.len());
            let hub_space = format!("ns-{space_uid}");
            let project = way.project.name;
            let object = json!({ "metadata": { "name": NAMESPACE, "uid": space_uid } });
            world.push(Found { plane: project, kind: Kind::Namespace, object });
            for (plane, space) in [(project, NAMESPACE), (HUB, &*hub_space), (way.cell.name, &hub_space)] {
                let owner = format!("{plane} {}", way.city);
                let mut status = json!({ "observedGeneration": 4, "conditions": conditions(&["Available", "ReplicasReady"]) });
                for counter in COUNTERS {
                    status[counter] = json!(2);
                }
                let object = json!({
                    "metadata": { "name": NAME, "namespace": space, "uid": owner, "generation": 4 },
                    "spec": { "template": { "spec": spec() } },
                    "status": status,
                });
                world.push(Found { plane, kind: Kind::Deployment, object });
                for ordinal in 0..2 {
                    let object = json!({
                        "metadata": {
                            "name": format!("{NAME}-{ordinal}"), "namespace": space,
                            "ownerReferences": [{ "uid": owner }],
                        },
                        "spec": spec(),
                        "status": { "conditions": conditions(&["Ready"]), "networkInterfaces": [{}] },
                    });
                    world.push(Found { plane, kind: Kind::Instance, object });
                }
            }
        }
        world
    }

    fn after(change: impl Fn(&mut Value)) -> Vec<String> {
        let mut world = world();
        let last = world.last_mut().unwrap();
        change(&mut last.object);
        missing(&world, 2, ROUND)
    }

    #[test]
    fn nothing_is_missing_at_the_end() {
        assert_eq!(missing(&world(), 2, ROUND), [""; 0]);
    }

    #[test]
    fn an_instance_is_judged_by_all_that_matters() {
        for (pointer, value, expected) in [
            ("/metadata/deletionTimestamp", json!("now"), "is on its way out"),
            ("/spec/runtime", json!({}), "runs an earlier template"),
            ("/status/conditions", json!([]), "is not Ready"),
            ("/metadata/ownerReferences", json!([{ "uid": "another" }]), "is not owned"),
            ("/metadata/ownerReferences", json!([]), "is not owned"),
            ("/status/networkInterfaces", json!([]), "has not one network interface"),
        ] {
            let lines = after(|object| {
                let (parent, key) = pointer.rsplit_once('/').unwrap();
                object.pointer_mut(parent).unwrap()[key] = value.clone();
            });
            let begin = format!("cell-ord Instance web-1 for ORD: {expected}");
            assert!(lines.len() == 1 && lines[0].starts_with(&begin), "{pointer}: {lines:?}");
        }
    }

    #[test]
    fn too_many_and_too_few_are_missed() {
        let mut fewer = world();
        fewer.pop();
        assert_eq!(missing(&fewer, 2, ROUND), ["cell-ord Instance web-1 for ORD: is missing"]);
        let more = after(|object| object["metadata"]["name"] = json!("web-01"));
        assert_eq!(more, ["cell-ord Instance web-1 for ORD: is missing"]);
        assert_eq!(
            missing(&world(), 1, ROUND)
                .iter()
                .filter(|line| line.ends_with("2 Instances, expected 1"))
                .count(),
            6
        );
        assert!(missing(&[], 2, ROUND).iter().all(|line| line.ends_with("there is no namespace chaos")));
    }

    #[test]
    fn a_wd_is_judged_by_its_counters_its_generation_and_its_conditions() {
        let mut world = world();
        let wd = world.iter_mut().find(|found| found.kind == Kind::Deployment && found.plane == "project-a");
        let object = &mut wd.unwrap().object;
        object["metadata"]["generation"] = json!(5);
        object["status"]["readyReplicas"] = json!(1);
        object["status"]["conditions"] = conditions(&["Available"]);
        let expected = "project-a WD for DFW: readyReplicas 1, has seen generation 4 of 5, not ReplicasReady";
        assert_eq!(missing(&world, 2, ROUND), [expected]);
        assert!(missing(&world, 2, "round 2")[0].contains("an earlier template"));
    }
}
