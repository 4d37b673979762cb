//! What is kept of a `WorkloadDeployment`: on a project plane what it is to become on the hub, on the hub
//! what it has become there (F4), and its status in a form that can be compared (F8).

use std::num::NonZeroU64;

use fedhub_core::hash::{self, KeyedHasher};
use fedhub_core::names::{
    CITY_CODE, CLAIMED_BY, FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_LOST, HUB_NAMESPACE_UID, MOVING,
    RECALLED, RESYNC, SOURCE, SOURCE_GENERATION, SOURCE_UID,
};
use fedhub_core::object::{Object, ObjectView, PlaneId, TooLarge};
use serde_json::{Value, json};

use super::Placed;
pub use super::mark::mark_hash;
pub use super::placed::{COUNTERS, put_counters};
use super::referenced::{REFERENCED_DATA_READY, References};
use crate::conditions::{find, is_default, said};
use crate::hub_metadata::{hub_identity, mirrored_hash};

pub use crate::conditions::FEDERATED;
/// The conditions that belong to the project plane itself (F8).
pub const PROJECTS_OWN: [&str; 2] = [REFERENCED_DATA_READY, FEDERATED];

/// The facts of a WD.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// Its city: of its spec on a project plane, of its label on the hub.
    pub city: Option<Box<str>>,
    /// Whether the federator's finalizer holds it.
    pub held: bool,
    /// Whether it is on the hub in place of one that was lost (F9).
    pub lost: bool,
    /// When it was created, in seconds since 1970; zero where the object does not say.
    pub created: u32,
    /// Hash of its spec.
    pub spec: u64,
    /// Hash of its status less what a hub and a project may differ in: [`PROJECTS_OWN`],
    /// `observedGeneration`, and what the schema says (U1). `None` where nothing is [`reported`].
    pub status: Option<NonZeroU64>,
    /// The generation of the project WD: on the hub, the one that it was written for.
    pub generation: i64,
    /// `status.observedGeneration`, or [`UNOBSERVED`].
    observed: i64,
    /// The hash of its condition [`FEDERATED`], by [`federated`].
    pub federated: u64,
    /// Hash of the annotations that travel unchanged.
    pub mirrored_hash: u64,
    /// The hash of the labels and annotations that the federator owns, by [`hub_identity`]; on the hub.
    pub hub_identity: u64,
    /// The hash of its counterpart's name, by [`mark_hash`]: of `federation-namespace` on a project plane, of
    /// `source` on the hub.
    pub counterpart: u64,
    /// The UID that it names: on a project plane that of its hub namespace, on the hub that of the project
    /// WD.
    pub counterpart_uid: u64,
    /// The hash of the PropagationPolicy that claims it, by [`mark_hash`]; on the hub.
    pub claimed_by: u64,
    /// The facts that hardly any WD has.
    rare: Option<Box<Rare>>,
    /// The facts that the Workload controller reads, on a project plane; `None` if the WD names no Workload.
    pub placed: Option<Box<Placed>>,
}

/// Stands for a missing `observedGeneration`.
const UNOBSERVED: i64 = i64::MIN;

#[derive(Clone, Debug, Default, PartialEq)]
struct Rare {
    /// The value of `spec.cityCode` where the label differs, on the hub.
    spec_city: Option<Box<str>>,
    moving: Option<Box<str>>,
    resync: Option<Box<str>>,
    recalled: Option<Box<str>>,
    too_large: Option<TooLarge>,
    /// The objects that it refers to, on a project plane.
    references: Option<Box<References>>,
}

/// Digests of WDs, the most numerous, fit into the allocator's class of 128 bytes: the next one is 160.
const _: () = assert!(size_of::<Deployment>() <= 128);

impl Deployment {
    pub(super) fn new(plane: &PlaneId, object: &Object) -> Self {
        let spec = object.spec();
        let status = object.status();
        let on_hub = *plane == PlaneId::Hub;
        let spec_city = spec["cityCode"].as_str();
        let city = if on_hub { object.label(CITY_CODE) } else { spec_city };
        let written_for = || object.annotation(SOURCE_GENERATION)?.parse().ok();
        let (counterpart, counterpart_uid) =
            if on_hub { (SOURCE, SOURCE_UID) } else { (FEDERATION_NAMESPACE, HUB_NAMESPACE_UID) };
        let created = object.metadata.creation_timestamp.as_ref().map_or(0, |at| at.0.as_second());
        Self {
            city: city.map(Into::into),
            held: object.has_finalizer(FEDERATOR_FINALIZER),
            lost: on_hub && object.annotation(HUB_LOST).is_some(),
            created: u32::try_from(created).unwrap_or_default(),
            spec: hash::json(spec),
            status: reported(status).then(|| comparable(status)),
            generation: if on_hub { written_for() } else { object.metadata.generation }.unwrap_or_default(),
            observed: status["observedGeneration"].as_i64().unwrap_or(UNOBSERVED),
            federated: federated(find(status, FEDERATED).filter(|told| !is_default(told))),
            mirrored_hash: mirrored_hash(object),
            hub_identity: if on_hub { hub_identity(object) } else { 0 },
            counterpart: mark_hash(object.annotation(counterpart)),
            counterpart_uid: mark_hash(object.annotation(counterpart_uid)),
            claimed_by: mark_hash(object.annotation(CLAIMED_BY).filter(|_| on_hub)),
            rare: Rare::from_object(on_hub, object, spec_city.unwrap_or_default()),
            placed: matches!(plane, PlaneId::Project(_))
                .then(|| Placed::from_object(object))
                .flatten()
                .map(Box::new),
        }
    }

    /// Whether its status says anything, see [`reported`].
    pub fn reported(&self) -> bool {
        self.status.is_some()
    }

    /// `status.observedGeneration`.
    pub fn observed_generation(&self) -> Option<i64> {
        Some(self.observed).filter(|observed| *observed != UNOBSERVED)
    }

    /// `spec.cityCode`, empty where there is none.
    pub fn spec_city(&self) -> &str {
        self.rare
            .as_ref()
            .and_then(|rare| rare.spec_city.as_deref())
            .or(self.city.as_deref())
            .unwrap_or_default()
    }

    /// Returns the move that a hub WD records (F6).
    pub fn moving(&self) -> Option<&str> {
        self.rare.as_ref()?.moving.as_deref()
    }

    /// Returns when Karmada was asked to apply a hub WD again (F8).
    pub fn resync(&self) -> Option<&str> {
        self.rare.as_ref()?.resync.as_deref()
    }

    /// Returns when a hub WD's cells were told to tear it down (F9).
    pub fn recalled(&self) -> Option<&str> {
        self.rare.as_ref()?.recalled.as_deref()
    }

    /// Returns what a project's WD refers to (W5); `None` if it never referred to anything.
    pub fn references(&self) -> Option<&References> {
        self.rare.as_ref()?.references.as_deref()
    }

    /// Whether a finalizer of fedhub's holds it.
    pub fn is_held(&self) -> bool {
        self.held || self.references().is_some_and(|references| references.held)
    }

    /// Why nothing but its metadata and status was read.
    pub fn too_large(&self) -> Option<TooLarge> {
        self.rare.as_ref()?.too_large
    }

    /// Bytes that it takes beside its own size.
    pub(super) fn heap(&self) -> usize {
        let texts = |rare: &Rare| {
            let all = [&rare.spec_city, &rare.moving, &rare.resync, &rare.recalled];
            let references = rare.references.as_ref().map_or(0, |references| references.bytes());
            all.into_iter().flatten().map(|text| text.len()).sum::<usize>() + references
        };
        self.city.as_deref().map_or(0, str::len)
            + self.placed.as_deref().map_or(0, |placed| size_of::<Placed>() + placed.heap())
            + self.rare.as_ref().map_or(0, |rare| size_of::<Rare>() + texts(rare))
    }
}

impl Rare {
    fn from_object(is_on_hub: bool, object: &Object, spec_city: &str) -> Option<Box<Self>> {
        let on_hub = |value: Option<&str>| value.filter(|_| is_on_hub).map(Into::into);
        let rare = Self {
            spec_city: on_hub(
                Some(spec_city).filter(|city| object.label(CITY_CODE).unwrap_or_default() != *city),
            ),
            moving: on_hub(object.annotation(MOVING)),
            resync: on_hub(object.annotation(RESYNC)),
            recalled: on_hub(object.annotation(RECALLED)),
            too_large: object.too_large(),
            references: if is_on_hub { None } else { References::from_deployment(object) },
        };
        (rare != Self::default()).then(|| Box::new(rare))
    }
}

/// Whether a status says anything that its schema does not put there by itself (U1): a WD that was just made
/// has one that tells nothing.
pub fn reported(status: &Value) -> bool {
    status.as_object().is_some_and(|fields| {
        !fields.iter().all(|(key, value)| match value {
            Value::Array(conditions) if key == "conditions" => conditions.iter().all(is_default),
            value => COUNTERS.contains(&key.as_str()) && *value == 0,
        })
    })
}

/// Hash of what a condition says, and of which generation; zero where there is none, or but the schema's.
pub fn federated(condition: Option<&Value>) -> u64 {
    condition.map_or(0, |condition| {
        let (status, reason, message) = said(condition);
        let sum = KeyedHasher::default().text(status).text(reason).text(message);
        sum.json(&condition["observedGeneration"]).end().max(1)
    })
}

/// [`Deployment::status`] of a project WD that no cell has reported on: nothing but conditions of the
/// project's own (U2).
pub fn unreported() -> NonZeroU64 {
    comparable(&json!({ "conditions": [] }))
}

fn comparable(status: &Value) -> NonZeroU64 {
    let no_fields = serde_json::Map::new();
    let fields = status.as_object().unwrap_or(&no_fields);
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
    NonZeroU64::new(sum.end()).unwrap_or(NonZeroU64::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u1_what_the_schema_says_is_no_report() {
        let unreported = crate::deployment::unreported();
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
            Deployment::new(&PlaneId::Hub, &wd)
        };
        // The way to the cell is reported, and no cell has reported.
        let mut told = unreported.clone();
        told["conditions"][2]["lastTransitionTime"] = json!("2026-01-02T00:00:00Z");
        assert_eq!(comparable(&told), super::unreported());
        let digest = wd(unreported);
        assert!(!digest.reported() && digest.federated == 0, "{digest:?}");
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
