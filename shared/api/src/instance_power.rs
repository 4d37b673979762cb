//! What is asked of the power of single Instances: their deployment's annotation [`INSTANCE_POWER`] (V9).
//!
//! This is the one place that reads and writes it. A user writes it on the project's WD, from where it
//! travels unchanged to the cell's. Its value is JSON by the names of Instances; fields that this version
//! does not know are kept and mean nothing. What cannot be read asks for nothing, and [`faults`] says so.

use std::collections::BTreeMap;

use fedhub_core::clock::stamp;
use fedhub_core::message::Quoted;
use fedhub_core::names::INSTANCE_POWER;
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::conditions::{find, said};
use crate::reason::Reason;

/// The most bytes of the annotation that are read or written: a quarter of what a server takes of all
/// annotations of an object.
pub const POWER_MAX: usize = 64 * 1024;

/// Whether an Instance is to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PowerState {
    /// It is to run.
    #[default]
    Running,
    /// It is kept, and not to run.
    Stopped,
}

/// What is asked of the power of one Instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerAsked {
    /// Whether it is to run.
    pub state: PowerState,
    /// The last restart that was asked for.
    pub restarted_at: Option<Timestamp>,
}

impl PowerAsked {
    /// Whether it is not to run.
    pub fn is_stopped(&self) -> bool {
        self.state == PowerState::Stopped
    }

    /// The restart that a provider still has to carry out: later than the one in the Instance's
    /// `status.provider.restartedAt`, and than the Instance itself, which a replacement of its name has not
    /// been asked for. One that is not to run starts anew anyway.
    pub fn restart_due(&self, instance: &Object) -> Option<Timestamp> {
        let asked = self.restarted_at?;
        let created = instance.metadata.creation_timestamp.as_ref().map(|created| created.0);
        let done = instance.status()["provider"]["restartedAt"].as_str().and_then(|text| text.parse().ok());
        (!self.is_stopped() && Some(asked) > created && Some(asked) > done).then_some(asked)
    }
}

/// What the deployment `wd` asks of the power of its Instance of that name: that it runs, unless it says
/// otherwise in a way that this version understands.
pub fn power_of(wd: &Object, instance: &str) -> PowerAsked {
    entries(wd).ok().and_then(|all| all.get(instance).map(read)).unwrap_or_default().0
}

/// Whether the Instance says of itself that it is stopped because that is asked for: nothing else has to
/// wait for it.
pub fn is_stopped(instance: &Object) -> bool {
    find(instance.status(), "Ready").is_some_and(|ready| said(ready).1 == Reason::Stopped)
}

/// What cannot be read of a deployment's annotation, in words for its user; empty where all can.
pub fn faults(wd: &Object) -> Vec<String> {
    match entries(wd) {
        Err(fault) => vec![fault],
        Ok(all) => {
            all.iter().filter_map(|(name, entry)| read(entry).1.map(|it| of_entry(name, &it))).collect()
        }
    }
}

/// An order about the power of Instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerOrder {
    /// They are to run from now on.
    Start,
    /// They are to stop, and are kept.
    Stop,
    /// They are to stop and to run again, also where they were stopped.
    Restart,
}

/// The annotation's value of `wd` with `order` for these of its Instances; `None` where nothing is asked of
/// any. Entries of Instances that do not exist any more are left out, and all others stay as they are.
///
/// # Errors
///
/// The words for the user where the value would be larger than [`POWER_MAX`].
pub fn ordered(
    wd: &Object,
    order: PowerOrder,
    of: &[&str],
    exists: impl Fn(&str) -> bool,
    now: Timestamp,
) -> Result<Option<String>, String> {
    let mut all = entries(wd).unwrap_or_default();
    all.retain(|name, _| exists(name));
    for name in of {
        let old = all.remove(*name).and_then(|entry| match entry {
            Value::Object(fields) => Some(fields),
            _ => None,
        });
        let new = entry(old.unwrap_or_default(), order, now);
        if !new.is_empty() {
            all.insert((*name).to_owned(), Value::Object(new));
        }
    }
    if all.is_empty() {
        return Ok(None);
    }
    let text = json!(all).to_string();
    match text.len() {
        0..=POWER_MAX => Ok(Some(text)),
        size => Err(format!(
            "what is asked of the power of instances would take {size} bytes of {}, {POWER_MAX} are the most",
            wd.name()
        )),
    }
}

/// An Instance's entry under an order, with the fields that this version does not know.
fn entry(mut fields: Map<String, Value>, order: PowerOrder, now: Timestamp) -> Map<String, Value> {
    match order {
        PowerOrder::Stop => _ = fields.insert("state".to_owned(), json!("Stopped")),
        PowerOrder::Start => _ = fields.remove("state"),
        PowerOrder::Restart => {
            fields.remove("state");
            // Two restarts in one second would be one.
            let earlier = fields.get("restartedAt").and_then(time);
            let next = earlier.and_then(|it| Timestamp::from_second(it.as_second().checked_add(1)?).ok());
            fields.insert("restartedAt".to_owned(), json!(stamp(next.map_or(now, |next| now.max(next)))));
        }
    }
    fields
}

/// The entries by the names of Instances; none without the annotation.
fn entries(wd: &Object) -> Result<BTreeMap<String, Value>, String> {
    let Some(text) = wd.annotation(INSTANCE_POWER) else { return Ok(BTreeMap::new()) };
    if text.len() > POWER_MAX {
        return Err(format!("has {} bytes, {POWER_MAX} are the most", text.len()));
    }
    serde_json::from_str(text).map_err(|error| format!("is not a JSON object by names of instances: {error}"))
}

/// What an entry asks for, and its first fault. A field that cannot be read asks for nothing, and the other
/// one counts.
fn read(entry: &Value) -> (PowerAsked, Option<String>) {
    if !entry.is_object() {
        return (PowerAsked::default(), Some("is not an object".to_owned()));
    }
    let mut fault = None;
    let state = match &entry["state"] {
        Value::Null => PowerState::Running,
        Value::String(state) if state == "Running" => PowerState::Running,
        Value::String(state) if state == "Stopped" => PowerState::Stopped,
        other => {
            let text = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            fault = Some(format!("state {} is neither Running nor Stopped", Quoted(&text)));
            PowerState::Running
        }
    };
    let restarted_at = time(&entry["restartedAt"]);
    if restarted_at.is_none() && !entry["restartedAt"].is_null() {
        fault.get_or_insert_with(|| "restartedAt is not an RFC 3339 time".to_owned());
    }
    (PowerAsked { state, restarted_at }, fault)
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

fn of_entry(name: &str, fault: &str) -> String {
    format!("of instance {}: {fault}", Quoted(name))
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{Kind, bare};

    use super::*;
    use crate::hub_metadata::set_annotation;

    const NOW: &str = "2027-01-31T10:00:00Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    fn wd(power: &str) -> Object {
        let mut wd = bare(Kind::WorkloadDeployment, "shop", "web");
        set_annotation(&mut wd, INSTANCE_POWER, Some(power));
        wd
    }

    fn asked(state: PowerState, restarted_at: Option<&str>) -> PowerAsked {
        PowerAsked { state, restarted_at: restarted_at.map(|it| it.parse().unwrap()) }
    }

    #[test]
    fn v9_what_cannot_be_read_asks_for_nothing_and_is_said() {
        use PowerState::{Running, Stopped};
        let long = format!(r#"{{"web-0": {{"state": "Stopped", "note": "{}"}}}}"#, "x".repeat(POWER_MAX));
        for (power, expected, faults_are) in [
            (r#"{"web-0": {"state": "Stopped"}}"#, asked(Stopped, None), 0),
            (r#"{"web-0": {"state": "Running"}}"#, asked(Running, None), 0),
            (r#"{"web-1": {"state": "Stopped"}}"#, asked(Running, None), 0),
            (r#"{"web-0": {"restartedAt": "2027-01-31T10:00:00Z"}}"#, asked(Running, Some(NOW)), 0),
            (r#"{"web-0": {"state": "Stopped", "since": 3}, "later": {"a": 1}}"#, asked(Stopped, None), 0),
            (r#"{"web-0": {"state": "Stopped", "restartedAt": "soon"}}"#, asked(Stopped, None), 1),
            (
                r#"{"web-0": {"state": "Paused", "restartedAt": "2027-01-31T10:00:00Z"}}"#,
                asked(Running, Some(NOW)),
                1,
            ),
            (r#"{"web-0": {"state": 3}, "web-1": "Stopped"}"#, asked(Running, None), 2),
            (r#"{"web-0": "Stopped"}"#, asked(Running, None), 1),
            (r#"["web-0"]"#, asked(Running, None), 1),
            ("Stopped", asked(Running, None), 1),
            ("", asked(Running, None), 1),
            (&long, asked(Running, None), 1),
        ] {
            let wd = wd(power);
            let short = &power[..power.len().min(90)];
            assert_eq!(power_of(&wd, "web-0"), expected, "{short}");
            assert_eq!(faults(&wd).len(), faults_are, "{short}: {:?}", faults(&wd));
        }
        let without = bare(Kind::WorkloadDeployment, "shop", "web");
        assert_eq!(power_of(&without, "web-0"), PowerAsked::default());
        assert_eq!(faults(&without), Vec::<String>::new());
    }

    #[test]
    fn v9_an_order_changes_its_own_instances_and_forgets_those_that_are_gone() {
        let exists = |name: &str| name != "gone-0";
        for (before, order, after) in [
            ("{}", PowerOrder::Stop, Some(r#"{"web-0":{"state":"Stopped"}}"#)),
            (r#"{"web-0":{"state":"Stopped"}}"#, PowerOrder::Start, None),
            (
                r#"{"gone-0":{"state":"Stopped"},"web-1":{"odd":1,"state":"Stopped"}}"#,
                PowerOrder::Stop,
                Some(r#"{"web-0":{"state":"Stopped"},"web-1":{"odd":1,"state":"Stopped"}}"#),
            ),
            (
                r#"{"web-0":{"state":"Stopped","odd":1}}"#,
                PowerOrder::Restart,
                Some(r#"{"web-0":{"odd":1,"restartedAt":"2027-01-31T10:00:00Z"}}"#),
            ),
            (
                r#"{"web-0":{"restartedAt":"2027-01-31T10:00:00.9Z"}}"#,
                PowerOrder::Restart,
                Some(r#"{"web-0":{"restartedAt":"2027-01-31T10:00:01Z"}}"#),
            ),
            (
                r#"{"web-0":{"restartedAt":"2027-01-31T09:00:00Z"}}"#,
                PowerOrder::Stop,
                Some(r#"{"web-0":{"restartedAt":"2027-01-31T09:00:00Z","state":"Stopped"}}"#),
            ),
            ("not JSON", PowerOrder::Stop, Some(r#"{"web-0":{"state":"Stopped"}}"#)),
            (r#"{"web-0":"Stopped"}"#, PowerOrder::Start, None),
        ] {
            let found = ordered(&wd(before), order, &["web-0"], exists, now());
            assert_eq!(found.as_ref().map(Option::as_deref), Ok(after), "{before} {order:?}");
        }
        let full = wd(&json!({"web-1": {"note": "x".repeat(POWER_MAX - 40)}}).to_string());
        assert!(ordered(&full, PowerOrder::Stop, &["web-0"], exists, now()).is_err());
        assert!(ordered(&full, PowerOrder::Stop, &["web-0"], |name| name == "web-0", now()).is_ok());
    }

    #[test]
    fn v9_a_restart_is_due_once_and_not_for_a_later_instance() {
        let mut instance = bare(Kind::Instance, "shop", "web-0");
        instance.metadata.creation_timestamp = serde_json::from_value(json!("2027-01-31T09:00:00Z")).unwrap();
        let due = |power: &str, instance: &Object| power_of(&wd(power), "web-0").restart_due(instance);
        let restart = r#"{"web-0": {"restartedAt": "2027-01-31T10:00:00Z"}}"#;
        assert_eq!(due(restart, &instance), Some(now()));
        assert_eq!(due("{}", &instance), None);
        let stopped = r#"{"web-0": {"state": "Stopped", "restartedAt": "2027-01-31T10:00:00Z"}}"#;
        assert_eq!(due(stopped, &instance), None);
        instance.data["status"] = json!({"provider": {"restartedAt": "2027-01-31T09:30:00Z"}});
        assert_eq!(due(restart, &instance), Some(now()));
        instance.data["status"] = json!({"provider": {"restartedAt": NOW}});
        assert_eq!(due(restart, &instance), None);
        instance.data["status"] = Value::Null;
        instance.metadata.creation_timestamp = serde_json::from_value(json!("2027-01-31T10:00:00Z")).unwrap();
        assert_eq!(due(restart, &instance), None);
    }
}
