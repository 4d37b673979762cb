//! The `ConfigMap`s and Secrets of the project that an Instance's template refers to.
//!
//! The project's side copies them, as companions, into the hub namespace and lists on the WD which it
//! expects; Karmada brings them into the cell with the WD. Until all of them are there, an Instance waits at
//! the gate `ReferencedData`. A list for an older generation, or without what the Instance refers to, opens
//! no gate (W5). Only their names count here: their contents are not kept in memory.

use fedhub_api::conditions::{find, said};
use fedhub_api::reason::Reason;
use fedhub_api::references::{Reference, in_variables_and_volumes, references};
use fedhub_core::message::{Quoted, excerpt};
use fedhub_core::names::{
    EXPECTED_REFERENCED_DATA, REFERENCED_DATA_ERROR, SOURCE_GENERATION, is_object_name,
};
use fedhub_core::object::{Kind, Object, ObjectView};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::domain::status::blocker::ConditionUpdate;
use crate::domain::status::{REFERENCED_DATA_READY, gates};

/// Whether the spec of an Instance, or of a WD's template, refers to any.
pub fn refers(spec: &Value) -> bool {
    !references(spec).is_empty()
}

/// Whether an Instance waits for its data, or has the condition.
pub fn concerns(instance: &Object) -> bool {
    gates::of(instance).contains(&gates::REFERENCED_DATA)
        || find(instance.status(), REFERENCED_DATA_READY).is_some()
}

/// Whether an Instance waits for its data, or has the condition at another status than True.
pub fn waits(instance: &Object) -> bool {
    let stands = find(instance.status(), REFERENCED_DATA_READY);
    gates::of(instance).contains(&gates::REFERENCED_DATA) || stands.is_some_and(|c| c["status"] != "True")
}

/// `ReferencedDataReady` where the cell waits for no data: what had to wait need not any longer (C6).
pub fn disabled(instance: &Object, now: Timestamp) -> Value {
    let words = ConditionUpdate::yes(
        Reason::ReferencedDataDisabled,
        "Instances do not wait for referenced data in this cell",
    );
    judged(instance, &words, now)
}

/// `ReferencedDataReady` for the present generation of an Instance: by what its WD expects, and by which
/// companions exist.
pub fn verdict(
    instance: &Object,
    deployment: Option<&Object>,
    is_there: impl Fn(Kind, &str) -> bool,
    now: Timestamp,
) -> Value {
    judged(instance, &words(instance, deployment, is_there), now)
}

/// The condition for the Instance's present generation.
fn judged(instance: &Object, words: &ConditionUpdate, now: Timestamp) -> Value {
    let mut condition =
        words.condition(find(instance.status(), REFERENCED_DATA_READY), REFERENCED_DATA_READY, now);
    if let Some(generation) = instance.metadata.generation {
        condition["observedGeneration"] = json!(generation);
    }
    condition
}

fn words(
    instance: &Object,
    deployment: Option<&Object>,
    is_there: impl Fn(Kind, &str) -> bool,
) -> ConditionUpdate {
    let resolving = |message: &str| ConditionUpdate::new("Unknown", Reason::Resolving, message);
    if let Some(error) = deployment.and_then(error) {
        return error;
    }
    let said = deployment.and_then(|wd| Some((wd, wd.annotation(EXPECTED_REFERENCED_DATA)?)));
    let Some((deployment, text)) = said else {
        return resolving(
            "Waiting for the project's control plane to list the required ConfigMaps and Secrets",
        );
    };
    let Some(expected) = Expected::from_text(text) else {
        return resolving(&format!(
            "{EXPECTED_REFERENCED_DATA} is not a list of Kind/name: {}",
            Quoted(text)
        ));
    };
    // An Instance that has passed the gate had what it needed then.
    let gated = gates::of(instance).contains(&gates::REFERENCED_DATA);
    if let Some(stale) = expected.stale(instance, deployment)
        && gated
    {
        return resolving(&stale);
    }
    let missing: Vec<_> = expected
        .entries
        .iter()
        .filter(|(_, kind, name)| !is_there(*kind, name))
        .map(|(token, ..)| excerpt(token))
        .collect();
    if missing.is_empty() {
        return ConditionUpdate::yes(Reason::Ready, "All referenced ConfigMaps and Secrets are in the cell");
    }
    ConditionUpdate::no(
        Reason::AwaitingPropagation,
        format!("Waiting for {} to be propagated to the cell", missing.join(", ")),
    )
}

/// The error of the sources that the project's side reports in an annotation of the WD; one that cannot be
/// parsed is shown as it is.
pub fn error(deployment: &Object) -> Option<ConditionUpdate> {
    let text = deployment.annotation(REFERENCED_DATA_ERROR).filter(|text| !text.is_empty())?;
    let error: Value = serde_json::from_str(text).unwrap_or_default();
    let (_, reason, message) = said(&error);
    let unread = excerpt(text);
    Some(refusal(reason, if message.is_empty() { &unread } else { message }))
}

/// Data that is not there, for that reason, or for a general one where this version does not know it.
pub fn refusal(reason: &str, message: &str) -> ConditionUpdate {
    let general = Reason::ReferencedDataNotReady;
    let known = Reason::parse(reason).filter(|it| it.weight_in_cell() >= general.weight_in_cell());
    ConditionUpdate::no(known.unwrap_or(general), message)
}

/// The data that the project's side expects in the cell, by its annotation.
struct Expected {
    /// The generation of the project's WD that it was computed for; `None` from an older project's side.
    generation: Option<i64>,
    /// The entries as they were written, each with its kind and name.
    entries: Vec<(String, Kind, String)>,
}

impl Expected {
    /// `{"generation": 3, "expected": ["ConfigMap/app", "Secret/db"]}`, or the list alone; `None` where it is
    /// neither.
    fn from_text(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let (generation, list) = match &value {
            Value::Object(fields) => (Some(fields.get("generation")?.as_i64()?), fields.get("expected")?),
            list => (None, list),
        };
        let entries = list.as_array()?.iter().map(|entry| entry_of(entry.as_str()?));
        Some(Self { generation, entries: entries.collect::<Option<_>>()? })
    }

    /// Why the list is not for the template that an Instance was made from; `None` where it is (W5). The mark
    /// of the hub's WD names the generation of the project's WD that the cell has.
    fn stale(&self, instance: &Object, deployment: &Object) -> Option<String> {
        let stands = deployment.annotation(SOURCE_GENERATION).and_then(|text| text.parse::<i64>().ok());
        if let (Some(computed), Some(stands)) = (self.generation, stands)
            && computed < stands
        {
            return Some(format!(
                "Waiting for the project's control plane to observe generation {stands}: its list is for generation {computed}"
            ));
        }
        // An older project's side carries no pull secrets.
        let of = if self.generation.is_some() { references } else { in_variables_and_volumes };
        let unknown = of(instance.spec()).into_iter().find(|reference| {
            let Reference { kind, name, optional } = *reference;
            let listed = || self.entries.iter().any(|(_, k, n)| (*k, n.as_str()) == (kind, name));
            // A name that no object can have is not carried under that name.
            !optional && is_object_name(name) && !listed()
        })?;
        let Reference { kind, name, .. } = unknown;
        Some(format!(
            "Waiting for the project's control plane to observe the template: its list does not contain {}/{name} yet",
            kind.resource().kind
        ))
    }
}

fn entry_of(text: &str) -> Option<(String, Kind, String)> {
    let (kind, name) = text.split_once('/')?;
    let kind = match kind {
        "ConfigMap" => Kind::ConfigMap,
        "Secret" => Kind::Secret,
        _ => return None,
    };
    (!name.is_empty()).then(|| (text.to_owned(), kind, name.to_owned()))
}
