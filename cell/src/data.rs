//! What an Instance's template refers to: `ConfigMap`s and Secrets of its project.
//!
//! The project's side copies them, as companions, into the hub namespace, and says on the WD which it expects; Karmada
//! brings them into the cell behind the WD. Until all of them are there, an Instance waits at the gate `ReferencedData`.
//! Here only their names count: what is in them is the provider's business, and is not kept in memory.

use fedhub_shared::conditions::{find, said};
use fedhub_shared::message::{Quoted, excerpt};
use fedhub_shared::names::{EXPECTED_REFERENCED_DATA, REFERENCED_DATA_ERROR};
use fedhub_shared::object::{Kind, Object, ObjectView};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::status::blocker::{Words, priority, with_remedy};
use crate::status::{REFERENCED_DATA_READY, gates};

/// Whether the spec of an Instance, or of a WD's template, refers to any.
pub fn refers(spec: &Value) -> bool {
    let has = |value: &Value, keys: [&str; 2]| keys.iter().any(|key| value[*key].is_object());
    let of_container = |container: &Value| {
        list(container, "/env").iter().any(|e| has(&e["valueFrom"], ["configMapKeyRef", "secretKeyRef"]))
            || list(container, "/envFrom").iter().any(|e| has(e, ["configMapRef", "secretRef"]))
    };
    list(spec, "/runtime/sandbox/containers").iter().any(of_container)
        || list(spec, "/volumes").iter().any(|volume| has(volume, ["configMap", "secret"]))
        || !list(spec, "/runtime/sandbox/imagePullSecrets").is_empty()
}

fn list<'a>(value: &'a Value, at: &str) -> &'a [Value] {
    value.pointer(at).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether somebody waits for an Instance's data, or was told of it.
pub fn concerns(instance: &Object) -> bool {
    gates::of(instance).contains(&gates::REFERENCED_DATA)
        || find(instance.status(), REFERENCED_DATA_READY).is_some()
}

/// Whether an Instance waits for its data, or says that something is wrong with it.
pub fn waits(instance: &Object) -> bool {
    let stands = find(instance.status(), REFERENCED_DATA_READY);
    gates::of(instance).contains(&gates::REFERENCED_DATA) || stands.is_some_and(|c| c["status"] != "True")
}

/// `ReferencedDataReady` of an Instance of a cell that waits for no data: what had to wait need not any longer (C6).
pub fn disabled(instance: &Object, now: Timestamp) -> Value {
    let words =
        Words::yes("ReferencedDataDisabled", "Instances do not wait for referenced data in this cell");
    judged(instance, &words, now)
}

/// `ReferencedDataReady` of an Instance as it should stand, for its present generation: by what its WD expects, and by
/// which companions are there.
pub fn verdict(
    instance: &Object,
    deployment: Option<&Object>,
    is_there: impl Fn(Kind, &str) -> bool,
    now: Timestamp,
) -> Value {
    judged(instance, &words(deployment, is_there), now)
}

/// The condition that says this of the Instance's present generation.
fn judged(instance: &Object, words: &Words, now: Timestamp) -> Value {
    let mut condition =
        words.stand(find(instance.status(), REFERENCED_DATA_READY), REFERENCED_DATA_READY, now);
    if let Some(generation) = instance.metadata.generation {
        condition["observedGeneration"] = json!(generation);
    }
    condition
}

fn words(deployment: Option<&Object>, is_there: impl Fn(Kind, &str) -> bool) -> Words {
    let resolving = |message: &str| Words::of("Unknown", "Resolving", message);
    if let Some(error) = deployment.and_then(error) {
        return error;
    }
    let Some(expected) = deployment.and_then(|wd| wd.annotation(EXPECTED_REFERENCED_DATA)) else {
        return resolving("Waiting for the project's side to say which ConfigMaps and Secrets are needed");
    };
    let Some(tokens) = tokens(expected) else {
        return resolving(&format!(
            "{EXPECTED_REFERENCED_DATA} is no list of Kind/name: {}",
            Quoted(expected)
        ));
    };
    let missing: Vec<_> = tokens
        .iter()
        .filter(|(_, kind, name)| !is_there(*kind, name))
        .map(|(token, ..)| excerpt(token))
        .collect();
    if missing.is_empty() {
        return Words::yes("Ready", "All referenced ConfigMaps and Secrets are in the cell");
    }
    Words::no("AwaitingPropagation", format!("Waiting for {} to come to the cell", missing.join(", ")))
}

/// What the project's side says is wrong with the sources, in an annotation of the WD. One that cannot be read is said
/// as it is.
pub fn error(deployment: &Object) -> Option<Words> {
    let text = deployment.annotation(REFERENCED_DATA_ERROR).filter(|text| !text.is_empty())?;
    let error: Value = serde_json::from_str(text).unwrap_or_default();
    let (_, reason, message) = said(&error);
    let unread = excerpt(text);
    Some(refusal(reason, if message.is_empty() { &unread } else { message }))
}

/// That data is not there, for that reason, or for a general one where this version does not know it.
pub fn refusal(reason: &str, message: &str) -> Words {
    let known = priority(reason) >= priority("ReferencedDataNotReady");
    Words::no(if known { reason } else { "ReferencedDataNotReady" }, with_remedy(reason, message))
}

/// The entries `Kind/name` of the annotation; `None` where it is none of that.
fn tokens(text: &str) -> Option<Vec<(String, Kind, String)>> {
    let tokens: Vec<String> = serde_json::from_str(text).ok()?;
    let read = tokens.into_iter().map(|token| {
        let (kind, name) = token.split_once('/')?;
        let kind = match kind {
            "ConfigMap" => Kind::ConfigMap,
            "Secret" => Kind::Secret,
            _ => return None,
        };
        let name = name.to_owned();
        Some((token, kind, name)).filter(|(_, _, name)| !name.is_empty())
    });
    read.collect()
}
