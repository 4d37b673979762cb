//! What is kept of a `WorkloadDeployment`: on a project plane what it is to become on the hub, on the hub what it has
//! become there (F4), and its status in a form that can be compared (F8).

use fedhub_api::conditions::{find, is_default, said};
use fedhub_core::hash::{self, KeyedHasher};
use fedhub_core::names::{
    CITY_CODE, CLAIMED_BY, DELETION_PROTECTED, FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_LOST,
    HUB_NAMESPACE_UID, MIRRORED_ANNOTATIONS, MOVING, RESYNC, SOURCE, SOURCE_GENERATION, SOURCE_UID,
    UPSTREAM_NAMESPACE,
};
use fedhub_core::object::{Object, ObjectView, PlaneId};
use serde_json::{Value, json};

/// The condition that tells how far the newest generation has come (U2).
pub const FEDERATED: &str = "Federated";
/// The conditions that belong to the project plane itself (F8).
pub const PROJECTS_OWN: [&str; 2] = ["ReferencedDataReady", FEDERATED];
/// Counters that the schema requires, zeros too (F8).
pub const COUNTERS: [&str; 5] =
    ["replicas", "currentReplicas", "updatedReplicas", "desiredReplicas", "readyReplicas"];

/// What is kept of a WD.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// Its city: of its spec on a project plane, of its label on the hub.
    pub city: Option<Box<str>>,
    /// Whether the federator's finalizer holds it.
    pub held: bool,
    /// Whether it is on the hub in place of one that was lost (F9).
    pub lost: bool,
    /// Whether its status says anything.
    pub reported: bool,
    /// Hash of its spec.
    pub spec: u64,
    /// Hash of its status less what a hub and a project may differ in: [`PROJECTS_OWN`], `observedGeneration`, and what
    /// the schema says (U1).
    pub status: u64,
    /// `metadata.generation`.
    pub generation: i64,
    /// What its condition [`FEDERATED`] says, by [`federated`].
    pub federated: u64,
    /// `status.observedGeneration`.
    pub observed_generation: Option<i64>,
    /// Hash of what travels beside the spec: the generation on the project plane and the mirrored annotations.
    pub carried: u64,
    /// Hash of its `federation-namespace`, by [`home`]; of nothing where it has none.
    pub home: u64,
    /// Hash of its `source-uid`, by [`source`]: on the hub, the UID of the project WD that it is of.
    pub source: u64,
    /// What ties it to its counterpart: see [`marked`] for a project plane and [`placed`] for the hub.
    pub bond: u64,
    /// On the hub, the PropagationPolicy that claims it, by [`claim`].
    pub claim: u64,
}

impl Deployment {
    pub(super) fn of(plane: &PlaneId, object: &Object) -> Self {
        let (spec, status) = (object.spec(), object.status());
        let on_hub = *plane == PlaneId::Hub;
        let generation = object.metadata.generation.unwrap_or_default().to_string();
        let city = if on_hub { object.label(CITY_CODE) } else { spec["cityCode"].as_str() };
        let namespace = object.annotation(FEDERATION_NAMESPACE);
        Self {
            city: city.map(Into::into),
            held: object.has_finalizer(FEDERATOR_FINALIZER),
            lost: on_hub && object.annotation(HUB_LOST).is_some(),
            reported: reported(status),
            spec: hash::json(spec),
            status: comparable(status),
            generation: object.metadata.generation.unwrap_or_default(),
            federated: federated(find(status, FEDERATED).filter(|told| !is_default(told))),
            observed_generation: status["observedGeneration"].as_i64(),
            carried: carried(
                object,
                if on_hub { object.annotation(SOURCE_GENERATION) } else { Some(&generation) },
            ),
            home: home(namespace),
            source: source(object.annotation(SOURCE_UID)),
            bond: if on_hub {
                placed(
                    object.annotation(SOURCE),
                    object.annotation(SOURCE_UID),
                    object.label(UPSTREAM_NAMESPACE),
                    object.label(CITY_CODE),
                    object.label(DELETION_PROTECTED.0),
                    object.annotation(MOVING).or(object.annotation(RESYNC)),
                )
            } else {
                marked(
                    object.has_finalizer(FEDERATOR_FINALIZER),
                    namespace,
                    object.annotation(HUB_NAMESPACE_UID),
                )
            },
            claim: claim(object.annotation(CLAIMED_BY).filter(|_| on_hub)),
        }
    }
}

/// Whether a status says anything that its schema does not put there by itself (U1): a WD that was just made has one
/// that tells nothing.
pub fn reported(status: &Value) -> bool {
    let is_unsaid = |(key, value): (&String, &Value)| match value {
        Value::Array(conditions) if key == "conditions" => conditions.iter().all(is_default),
        value => COUNTERS.contains(&key.as_str()) && *value == 0,
    };
    status.as_object().is_some_and(|fields| !fields.iter().all(is_unsaid))
}

/// Hash of what a condition says, and of which generation; zero where there is none, or but the schema's.
pub fn federated(condition: Option<&Value>) -> u64 {
    condition.map_or(0, |condition| {
        let (status, reason, message) = said(condition);
        let sum = KeyedHasher::default().text(status).text(reason).text(message);
        sum.json(&condition["observedGeneration"]).end().max(1)
    })
}

/// Hash of a project WD's `federation-namespace`.
pub fn home(namespace: Option<&str>) -> u64 {
    KeyedHasher::default().maybe(namespace).end()
}

/// Hash of a hub WD's `source-uid`.
pub fn source(uid: Option<&str>) -> u64 {
    KeyedHasher::default().maybe(uid).end()
}

/// What the federator marks a project WD with (I2): its finalizer, and the hub namespace by name and UID.
pub fn marked(held: bool, namespace: Option<&str>, uid: Option<&str>) -> u64 {
    KeyedHasher::default().number(held.into()).maybe(namespace).maybe(uid).end()
}

/// Hash of the name of the PropagationPolicy that claims a hub WD; of nothing where none does.
pub fn claim(policy: Option<&str>) -> u64 {
    KeyedHasher::default().maybe(policy).end()
}

/// What the federator writes on a hub WD beside what travels: the origin mark, its labels (F4) and the mark of a move
/// (F6) or of a resync (F8).
pub fn placed(
    source: Option<&str>,
    uid: Option<&str>,
    namespace: Option<&str>,
    city: Option<&str>,
    protection: Option<&str>,
    moving: Option<&str>,
) -> u64 {
    [source, uid, namespace, city, protection, moving]
        .into_iter()
        .fold(KeyedHasher::default(), KeyedHasher::maybe)
        .end()
}

fn carried(object: &Object, generation: Option<&str>) -> u64 {
    let mirrored = MIRRORED_ANNOTATIONS.map(|key| object.annotation(key));
    mirrored.into_iter().fold(KeyedHasher::default().maybe(generation), KeyedHasher::maybe).end()
}

/// [`Deployment::status`] of a project WD that no cell has reported on: nothing but conditions of the project's own (U2).
pub fn unreported() -> u64 {
    comparable(&json!({ "conditions": [] }))
}

fn comparable(status: &Value) -> u64 {
    let Some(fields) = status.as_object() else { return hash::json(&Value::Null) };
    let own = |c: &Value| PROJECTS_OWN.iter().any(|own| c["type"] == *own);
    let mut sum = KeyedHasher::default();
    for counter in COUNTERS {
        sum = sum.json(fields.get(counter).unwrap_or(&Value::from(0)));
    }
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("observedGeneration", value) if value.is_i64() => {}
            ("conditions", Value::Array(conditions)) => {
                let theirs = conditions.iter().filter(|c| !own(c) && !is_default(c));
                sum = theirs.fold(sum.text(key), KeyedHasher::json).number(0);
            }
            (key, _) if COUNTERS.contains(&key) => {}
            (key, value) => sum = sum.text(key).json(value),
        }
    }
    sum.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u1_what_the_schema_says_is_no_report() {
        let unreported = fedhub_api::deployment::unreported();
        let mut zero = unreported.clone();
        zero["conditions"][0]["lastTransitionTime"] = json!("2026-01-02T00:00:00Z");
        for (status, expected) in [
            (json!(null), false),
            (json!({}), false),
            (unreported.clone(), false),
            (zero, true),
            (json!({"replicas": 1}), true),
            (json!({"suspended": false}), true),
        ] {
            assert_eq!(reported(&status), expected, "{status}");
        }
        let wd = |status: Value| {
            let mut wd =
                fedhub_core::object::bare(fedhub_core::object::Kind::WorkloadDeployment, "default", "wd");
            wd.data = json!({"status": status});
            Deployment::of(&PlaneId::Hub, &wd)
        };
        // The way to the cell is told, and nobody has reported.
        let mut told = unreported.clone();
        told["conditions"][2]["lastTransitionTime"] = json!("2026-01-02T00:00:00Z");
        assert_eq!(comparable(&told), super::unreported());
        let digest = wd(unreported);
        assert!(!digest.reported && digest.federated == 0, "{digest:?}");
    }

    #[test]
    fn f8_a_status_is_compared_less_what_is_the_projects_own() {
        let hub = json!({"replicas": 3, "conditions": [{"type": "Available", "status": "True"}]});
        let same = [
            json!({"replicas": 3, "readyReplicas": 0, "conditions": [{"type": "Available", "status": "True"}]}),
            json!({"replicas": 3, "observedGeneration": 4, "conditions": [{"type": "Available", "status": "True"}]}),
            json!({"replicas": 3, "conditions": [
                {"type": "Available", "status": "True"}, {"type": PROJECTS_OWN[0], "status": "False"},
                {"type": PROJECTS_OWN[1], "status": "True"}]}),
        ];
        for status in same {
            assert_eq!(comparable(&hub), comparable(&status), "{status}");
        }
        let others = [
            json!(null),
            json!({}),
            json!({"replicas": 2, "conditions": [{"type": "Available", "status": "True"}]}),
            json!({"replicas": 3, "conditions": [{"type": "Available", "status": "False"}]}),
            json!({"replicas": 3, "conditions": []}),
            json!({"replicas": 3, "x": 1, "conditions": [{"type": "Available", "status": "True"}]}),
        ];
        for status in others {
            assert_ne!(comparable(&hub), comparable(&status), "{status}");
        }
    }
}
