//! The facts of a Workload: the WDs it asks for (W1), and its status in a form that can be compared (W3).

use std::collections::BTreeSet;

use fedhub_core::hash;
use fedhub_core::message::bounded;
use fedhub_core::names::{
    CURRENT_REVISION, RECORDED_TEMPLATE, ROLLOUT, ROLLOUT_PAUSED, SUSPENDED_DEPLOYMENTS, WORKLOAD_FINALIZER,
    is_dns_label, revision_history,
};
use fedhub_core::object::{Object, ObjectView, TooLarge};
use serde_json::{Map, Value, json};

use super::deployment::COUNTERS;
use super::mark::mark_hash;
use super::placed::says;
use super::restarts::{restart, template_identity};
use crate::conditions::{find, said};
use crate::reason::Reason;
use crate::{MOST_CITIES, MOST_PLACEMENTS};

/// The facts of a Workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its generation.
    pub generation: i64,
    /// When it was created, in seconds since 1970.
    pub created: i64,
    /// Whether the finalizer of the workload controller holds it.
    pub held: bool,
    /// Whether its rollout is paused, by [`is_paused`].
    pub paused: bool,
    /// Whether its cities get a new template all at once; `None` where it does not say (R1).
    pub all_at_once: Option<bool>,
    /// Whether all its WDs are to be suspended.
    pub suspend: bool,
    /// The WDs that were suspended by themselves, as they are remembered, sorted.
    pub suspended: Box<[Box<str>]>,
    /// Whether the garbage collector is to leave its WDs where they are when it goes.
    pub orphans: bool,
    /// Hash of its template, by [`template_identity`].
    pub template: u64,
    /// The restart that its template asks for, by [`mark_hash`].
    pub restart: u64,
    /// Its placements, in their order; `None` where they cannot be read.
    pub placements: Option<Box<[Placement]>>,
    /// Whether its template is the one that was recorded last, or none can be (W10).
    pub recorded: bool,
    /// The number of the revision that has its template, where that is recorded.
    pub revision: Option<u64>,
    /// The revision that its status says its cities keep until it is their turn (R2).
    pub held_revision: Option<u64>,
    /// Hash of [`comparable`] of its status.
    pub status: u64,
    /// The state of the rollout of its newest generation, by its condition `Progressing`.
    pub rollout: RolloutSaid,
    /// The type of its instances; empty where it names none.
    pub instance_type: Box<str>,
    /// Hash of [`type_conditions`] of its status.
    pub type_conditions: u64,
    /// The names of the networks of its namespace that its template names, each once.
    pub networks: Box<[Box<str>]>,
    /// Hash of [`network_condition`] of its status.
    pub network_condition: u64,
    /// The message of its condition [`NETWORK_NOT_FOUND`], where that is about its newest generation.
    pub missing_networks: Option<Box<str>>,
    /// Why nothing but its metadata and status was read.
    too_large: Option<Box<TooLarge>>,
}

/// The state of a rollout, by its condition.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, strum::EnumCount, strum::IntoStaticStr, strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum RolloutSaid {
    /// Nothing is known of it.
    #[default]
    Other,
    /// The rollout is on its way.
    InProgress,
    /// The rollout is paused.
    Paused,
    /// The rollout is complete.
    Complete,
    /// Its deadline was exceeded.
    Overdue,
    /// A city failed, and no other one gets the newest template.
    Stalled,
    /// Cities failed, and each has its last good revision again.
    RolledBack,
}

impl RolloutSaid {
    fn from_object(object: &Object) -> Self {
        let condition = find(object.status(), "Progressing");
        let newest = condition.filter(|it| it["observedGeneration"].as_i64() == object.metadata.generation);
        match newest.and_then(|condition| Reason::parse(said(condition).1)) {
            Some(Reason::RolloutInProgress) => Self::InProgress,
            Some(Reason::RolloutPaused) => Self::Paused,
            Some(Reason::RolloutComplete) => Self::Complete,
            Some(Reason::ProgressDeadlineExceeded) => Self::Overdue,
            Some(Reason::CityFailed) => Self::Stalled,
            Some(Reason::RolloutRolledBack) => Self::RolledBack,
            _ => Self::Other,
        }
    }
}

/// A placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// Its name.
    pub name: Box<str>,
    /// Its city codes, as written and in their order.
    pub cities: Box<[Box<str>]>,
    /// Hash of its scale settings.
    pub scale: u64,
}

impl Workload {
    pub(super) fn from_object(object: &Object) -> Self {
        let spec = object.spec();
        let template = &object.spec()["template"];
        let recorded = object.annotation(RECORDED_TEMPLATE);
        let current = object.annotation(CURRENT_REVISION).and_then(|revision| revision.parse().ok());
        let revision = current.filter(|current| recorded == Some(&*recorded_template(*current, template)));
        Self {
            generation: object.metadata.generation.unwrap_or_default(),
            created: object.metadata.creation_timestamp.as_ref().map_or(0, |at| at.0.as_second()),
            held: object.has_finalizer(WORKLOAD_FINALIZER),
            paused: is_paused(object),
            all_at_once: match object.annotation(ROLLOUT) {
                Some("all-at-once") => Some(true),
                Some("in-order") => Some(false),
                _ => None,
            },
            suspend: spec["suspend"] == true,
            suspended: suspended(object),
            orphans: object.has_finalizer(ORPHAN_FINALIZER),
            template: template_identity(template),
            restart: mark_hash(restart(template)),
            placements: placements(spec).filter(|_| template.is_object()),
            recorded: revision_history(object.name()).is_none() || revision.is_some(),
            revision,
            held_revision: object.status()["heldRevision"].as_u64(),
            status: hash::json(&comparable(object.status())),
            rollout: RolloutSaid::from_object(object),
            instance_type: instance_type(template).into(),
            type_conditions: hash::json(&type_conditions(object.status())),
            networks: networks(template, object.namespace()),
            network_condition: hash::json(&network_condition(object.status())),
            missing_networks: missing_networks(object).map(Into::into),
            too_large: object.too_large().map(Box::new),
        }
    }

    /// Why nothing but its metadata and status was read.
    pub fn too_large(&self) -> Option<TooLarge> {
        self.too_large.as_deref().copied()
    }

    pub(super) fn heap(&self) -> usize {
        let text = size_of::<Box<str>>();
        let placement = |placement: &Placement| {
            let cities = placement.cities.iter().map(|city| text + city.len()).sum::<usize>();
            size_of::<Placement>() + placement.name.len() + cities
        };
        self.placements.iter().flatten().map(placement).sum::<usize>()
            + self.instance_type.len()
            + self.suspended.iter().map(|name| text + name.len()).sum::<usize>()
            + self.networks.iter().map(|name| text + name.len()).sum::<usize>()
            + self.missing_networks.as_ref().map_or(0, |message| message.len())
            + self.too_large.as_ref().map_or(0, |_| size_of::<TooLarge>())
    }
}

/// The finalizer that a deletion with `--cascade=orphan` gives an object, and that the garbage collector
/// takes off.
const ORPHAN_FINALIZER: &str = "orphan";

/// How many WDs are remembered as suspended by themselves: an annotation has a size limit.
pub const MOST_SUSPENDED: usize = 1000;

fn suspended(workload: &Object) -> Box<[Box<str>]> {
    let names = workload.annotation(SUSPENDED_DEPLOYMENTS).unwrap_or_default().split(',');
    let names: BTreeSet<&str> = names.filter(|name| is_dns_label(name)).take(MOST_SUSPENDED).collect();
    names.into_iter().map(Box::from).collect()
}

fn instance_type(template: &Value) -> &str {
    template["spec"]["runtime"]["resources"]["instanceType"].as_str().unwrap_or_default()
}

fn networks(template: &Value, here: &str) -> Box<[Box<str>]> {
    let interfaces = template["spec"]["networkInterfaces"].as_array().into_iter().flatten();
    let name = |interface: &Value| {
        let network = &interface["network"];
        // One of another namespace is refused where it is used (W4).
        let is_here = network["namespace"].as_str().is_none_or(|namespace| namespace == here);
        network["name"].as_str().filter(|_| is_here).map(Box::from)
    };
    interfaces.filter_map(name).collect::<BTreeSet<_>>().into_iter().collect()
}

fn missing_networks(object: &Object) -> Option<&str> {
    let condition = find(object.status(), NETWORK_NOT_FOUND.as_str())?;
    let (stands, _, message) = said(condition);
    let newest = condition["observedGeneration"].as_i64() == object.metadata.generation;
    (stands == "True" && newest && !message.is_empty()).then(|| bounded(message))
}

/// The placements; `None` also where there are more than a Workload may have, with admission or without.
fn placements(spec: &Value) -> Option<Box<[Placement]>> {
    let placement = |placement: &Value| {
        let cities = placement["cityCodes"].as_array().filter(|cities| cities.len() <= MOST_CITIES)?;
        Some(Placement {
            name: placement["name"].as_str()?.into(),
            cities: cities.iter().map(|city| city.as_str().map(Into::into)).collect::<Option<_>>()?,
            scale: hash::json(&placement["scaleSettings"]),
        })
    };
    let all = spec["placements"].as_array().filter(|all| all.len() <= MOST_PLACEMENTS)?;
    all.iter().map(placement).collect()
}

/// Whether the rollout of a Workload is paused. Of a value that is not understood, it is: what is held back
/// can be passed on later, and what was passed on has replaced instances.
pub fn is_paused(workload: &Object) -> bool {
    workload.annotation(ROLLOUT_PAUSED).is_some_and(|value| value != "false")
}

/// How the message of `Progressing` begins while a rollout is paused.
const PAUSED: &str = "The rollout is paused";

/// The message of `Progressing` of a rollout that is paused; `details` go on with the sentence, or begin with
/// its full stop.
pub fn paused_message(details: &str) -> String {
    format!("{PAUSED}{details}")
}

/// The details of a message by [`paused_message`]; empty for any other.
pub fn paused_details(message: &str) -> &str {
    message.strip_prefix(PAUSED).unwrap_or_default()
}

/// The message of `Available` of a Workload of which a placement is available.
const AVAILABLE: &str = "At least one available placement was found";

/// The message of `Available` where a placement is available; `problems` keep other cities from their
/// deployments.
pub fn available_message<'a>(problems: impl Iterator<Item = &'a str>) -> String {
    problems.fold(AVAILABLE.to_owned(), |message, problem| message + ". " + problem)
}

/// The problems that such a message names, if any. They are read back from it here alone: the condition is
/// True whatever other cities lack, its reason is one that users read, and no version has another field for
/// them.
pub fn problems_beside_available(message: &str) -> Option<&str> {
    message.strip_prefix(AVAILABLE)?.strip_prefix(". ")
}

/// The value of the annotation [`RECORDED_TEMPLATE`] for a template with that revision.
pub fn recorded_template(revision: u64, template: &Value) -> String {
    format!("{revision}/{}", template_hash(template))
}

/// The hash of a template, the same in every process.
pub fn template_hash(template: &Value) -> String {
    format!("{:016x}", hash::text(&template.to_string()))
}

/// The parts of a Workload's status that the controller writes, with the hash of what each condition says in
/// place of its text and without its times.
pub fn comparable(status: &Value) -> Value {
    let placement = |placement: &Value| {
        let mut of = counters(|counter| placement[counter].as_i64().unwrap_or_default());
        of.insert("name".to_owned(), placement["name"].clone());
        of.insert("Available".to_owned(), condition(placement, "Available"));
        Value::Object(of)
    };
    let mut of = counters(|counter| status[counter].as_i64().unwrap_or_default());
    let placements = status["placements"].as_array().into_iter().flatten();
    of.insert("placements".to_owned(), placements.map(placement).collect());
    of.insert("deployments".to_owned(), json!(status["deployments"].as_i64().unwrap_or_default()));
    of.insert("observedGeneration".to_owned(), status["observedGeneration"].clone());
    of.insert("heldRevision".to_owned(), status["heldRevision"].clone());
    for kind in ["Available", "Progressing"] {
        of.insert(kind.to_owned(), condition(status, kind));
    }
    Value::Object(of)
}

/// The conditions about a type that is not Active any more, of which there is one at most (W8). Its reason is
/// its type.
pub const TYPE_CONDITIONS: [Reason; 2] = [Reason::InstanceTypeDeprecated, Reason::InstanceTypeDisabled];

/// [`TYPE_CONDITIONS`] of a Workload's status, as [`comparable`] has others: where there is no catalogue they
/// are not the controller's.
pub fn type_conditions(status: &Value) -> Value {
    TYPE_CONDITIONS.iter().map(|kind| condition(status, kind.as_str())).collect()
}

/// The condition, and its reason, that a network which the template names does not exist. It is absent where
/// all do, and stays as it is for as long as the plane does not tell.
pub const NETWORK_NOT_FOUND: Reason = Reason::NetworkNotFound;

/// [`NETWORK_NOT_FOUND`] of a Workload's status, as [`comparable`] has others.
pub fn network_condition(status: &Value) -> Value {
    condition(status, NETWORK_NOT_FOUND.as_str())
}

fn condition(status: &Value, kind: &str) -> Value {
    let Some(condition) = find(status, kind) else { return Value::Null };
    let (stands, reason, message) = said(condition);
    told(stands, says(reason, message), condition["observedGeneration"].as_i64())
}

/// A condition in [`comparable`].
pub fn told(status: &str, says: u64, observed_generation: Option<i64>) -> Value {
    json!([status, says, observed_generation])
}

/// The five counters in [`comparable`].
pub fn counters(count: impl Fn(&str) -> i64) -> Map<String, Value> {
    COUNTERS.iter().map(|counter| ((*counter).to_owned(), json!(count(counter)))).collect()
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{Kind, bare};

    use super::*;

    fn workload() -> Object {
        let mut workload = bare(Kind::Workload, "default", "web");
        workload.data = json!({"spec": {
            "placements": [{"name": "us", "cityCodes": ["DFW", "ORD"], "scaleSettings": {"minReplicas": 1}}],
            "template": {"spec": {}},
        }});
        workload
    }

    #[test]
    fn w1_what_cannot_be_read_asks_for_nothing() {
        assert_eq!(Workload::from_object(&workload()).placements.unwrap().len(), 1);
        for (at, value) in [
            ("/spec/placements", json!(null)),
            ("/spec/placements/0/name", json!(1)),
            ("/spec/placements/0/cityCodes", json!("DFW")),
            ("/spec/placements/0/cityCodes/1", json!(2)),
            ("/spec/template", json!(null)),
        ] {
            let mut workload = workload();
            *workload.data.pointer_mut(at).unwrap() = value;
            assert_eq!(Workload::from_object(&workload).placements, None, "{at}");
        }
    }

    #[test]
    fn w1_more_than_a_workload_may_have_asks_for_nothing() {
        let mut workload = workload();
        let placement = workload.data["spec"]["placements"][0].clone();
        for (placements, cities, expected) in
            [(50, 100, Some(50)), (51, 1, None), (1, 101, None), (1, 100, Some(1))]
        {
            let mut one = placement.clone();
            one["cityCodes"] = vec!["DFW"; cities].into();
            workload.data["spec"]["placements"] = vec![one; placements].into();
            let read = Workload::from_object(&workload).placements;
            assert_eq!(read.map(|all| all.len()), expected, "{placements} placements with {cities} cities");
        }
    }

    #[test]
    fn w1_a_rollout_is_paused_by_any_value_but_false() {
        for (value, expected) in [
            (None, false),
            (Some("true"), true),
            (Some("false"), false),
            (Some(""), true),
            (Some("no"), true),
        ] {
            let mut workload = workload();
            workload.metadata.annotations =
                value.map(|value| [(ROLLOUT_PAUSED.to_owned(), value.to_owned())].into());
            assert_eq!(Workload::from_object(&workload).paused, expected, "{value:?}");
        }
    }

    #[test]
    fn w10_a_template_is_recorded_under_the_current_revision_only() {
        let mut workload = workload();
        assert!(!Workload::from_object(&workload).recorded);
        let recorded = recorded_template(3, &workload.data["spec"]["template"]);
        let annotations = [(CURRENT_REVISION, "3"), (RECORDED_TEMPLATE, recorded.as_str())];
        workload.metadata.annotations =
            Some(annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
        assert!(Workload::from_object(&workload).recorded);
        let mut edited = workload.clone();
        edited.metadata.annotations.as_mut().unwrap().insert(CURRENT_REVISION.to_owned(), "1".to_owned());
        assert!(!Workload::from_object(&edited).recorded, "the annotation was edited");
        workload.data["spec"]["template"]["spec"]["a"] = json!(1);
        assert!(!Workload::from_object(&workload).recorded, "the template was edited");
    }

    #[test]
    fn w3_networks_of_the_workloads_namespace_are_named_once() {
        let mut workload = workload();
        let of = |names: &[(&str, Option<&str>)]| {
            json!(
                names
                    .iter()
                    .map(|(name, namespace)| json!({"network": {"name": name, "namespace": namespace}}))
                    .collect::<Vec<_>>()
            )
        };
        for (interfaces, expected) in [
            (of(&[("b", None), ("a", Some("default")), ("b", Some("default"))]), &["a", "b"][..]),
            (of(&[("a", Some("other"))]), &[]),
            (json!([{"network": {"name": 1}}, {}, 2]), &[]),
            (json!("odd"), &[]),
            (Value::Null, &[]),
        ] {
            workload.data["spec"]["template"]["spec"]["networkInterfaces"] = interfaces.clone();
            let networks = Workload::from_object(&workload).networks;
            assert_eq!(networks.iter().map(|name| &**name).collect::<Vec<_>>(), expected, "{interfaces}");
        }
    }

    #[test]
    fn w3_what_is_said_of_networks_counts_for_the_newest_generation() {
        let mut workload = workload();
        workload.metadata.generation = Some(2);
        for (status, message, generation, expected) in [
            ("True", "gone", json!(2), Some("gone")),
            ("True", "gone", json!(1), None),
            ("True", "gone", Value::Null, None),
            ("False", "gone", json!(2), None),
            ("True", "", json!(2), None),
        ] {
            workload.data["status"] = json!({"conditions": [{"type": NETWORK_NOT_FOUND, "status": status,
                "reason": NETWORK_NOT_FOUND, "message": message, "observedGeneration": generation}]});
            let missing = Workload::from_object(&workload).missing_networks;
            assert_eq!(missing.as_deref(), expected, "{status} {message} {generation}");
        }
    }

    #[test]
    fn w3_times_and_foreign_conditions_make_no_difference() {
        let status = json!({"replicas": 1, "conditions": [
            {"type": "Available", "status": "True", "reason": "A", "message": "b", "lastTransitionTime": "x"}]});
        let mut other = status.clone();
        other["conditions"][0]["lastTransitionTime"] = json!("y");
        other["conditions"].as_array_mut().unwrap().push(json!({"type": "InstanceTypeDeprecated"}));
        assert_eq!(comparable(&status), comparable(&other));
        other["conditions"][0]["message"] = json!("c");
        assert_ne!(comparable(&status), comparable(&other));
        assert_eq!(comparable(&Value::Null), comparable(&json!({})));
    }
}
