//! An Instance compared with its template, where their hashes are inconclusive (C5).

use std::collections::BTreeMap;

use fedhub_core::names::is_reserved_label;
use fedhub_core::object::{Object, ObjectView};
use fedhub_core::quantity;
use serde_json::Value;

use super::template::metadata_part;
use super::view::{Deployment, Instance};

/// How an Instance compares with the template of its WD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// Its hash is the template's.
    Hashed,
    /// Its hash is another, and its content is the template's: its hash is to be put right, and nothing else
    /// is to be done.
    Equal,
    /// The Instance lacks fields that the template has, and agrees with the rest: the user has added them, or
    /// a newer schema has.
    Extended,
    /// Its content is another.
    Different,
}

impl Deployment<'_> {
    /// The view of an Instance. One of this WD's with the template's content counts as made from it, whatever
    /// its hash is (C5).
    pub fn view<'b>(&'b self, object: &'b Object) -> Instance<'b> {
        let view = Instance::from_object(object);
        if self.owns(&view) && self.likeness(object) == Likeness::Equal {
            return Instance { template_hash: Some(&self.template_hash), ..view };
        }
        view
    }

    /// Compares an Instance of this WD with its template.
    pub fn likeness(&self, instance: &Object) -> Likeness {
        let hash = instance.spec()["controller"]["templateHash"].as_str();
        if hash == Some(&*self.template_hash) {
            return Likeness::Hashed;
        }
        let schema = self.schema;
        let mut wanted = schema.said_spec(&self.template["spec"]);
        let mut stands = schema.said_spec(instance.spec());
        let own = hash.and_then(metadata_part);
        // Templates cannot set what controllers write into a spec; the location only where they name one, and
        // only our own hash shows that an earlier template named another.
        let location = own.is_none() || wanted["location"].is_null();
        for spec in [&mut wanted, &mut stands] {
            if let Some(fields) = spec.as_object_mut() {
                fields.remove("controller");
                if location {
                    fields.remove("location");
                }
            }
        }
        let (same, metadata): (Same, bool) = match own {
            Some(part) => (|a, b| a == b, Some(part) == metadata_part(&self.template_hash)),
            None => (|a, b| alike(a, b, false), carries(instance, &self.template["metadata"])),
        };
        if !metadata {
            Likeness::Different
        } else if same(&wanted, &stands) {
            Likeness::Equal
        } else if extends(&wanted, &stands, same) {
            Likeness::Extended
        } else {
            Likeness::Different
        }
    }
}

/// Whether two values say the same.
type Same = fn(&Value, &Value) -> bool;

/// Whether an Instance has the labels and annotations of a template. It may have more.
fn carries(instance: &Object, metadata: &Value) -> bool {
    let has = |field: &str, there: Option<&BTreeMap<String, String>>| {
        let wanted = metadata[field].as_object().into_iter().flatten();
        wanted
            .filter(|(key, value)| value.is_string() && !is_reserved_label(key))
            .all(|(key, value)| there.and_then(|all| all.get(key)).map(String::as_str) == value.as_str())
    };
    has("labels", instance.metadata.labels.as_ref())
        && has("annotations", instance.metadata.annotations.as_ref())
}

/// Whether two values are what two controllers make of one template. Other programs leave out what is empty,
/// and write quantities (`in_resources`) in their own way: `1` for `1000m`.
fn alike(a: &Value, b: &Value, in_resources: bool) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            let mut keys = x.keys().chain(y.keys());
            keys.all(|key| {
                let resources = matches!(key.as_str(), "requests" | "limits") || in_resources;
                alike(&a[key], &b[key], resources)
            })
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            x.iter().zip(y).all(|(x, y)| alike(x, y, false))
        }
        _ if in_resources && quantity::millicores(a).is_ok() => {
            quantity::millicores(a) == quantity::millicores(b)
        }
        _ => a == b || is_empty(a) && is_empty(b),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether `more` is `less` with fields added.
fn extends(more: &Value, less: &Value, same: Same) -> bool {
    match (more, less) {
        (Value::Object(more), Value::Object(less)) => {
            less.iter().all(|(key, value)| more.get(key).is_some_and(|more| extends(more, value, same)))
        }
        (Value::Array(more), Value::Array(less)) => {
            more.len() == less.len() && more.iter().zip(less).all(|(more, less)| extends(more, less, same))
        }
        _ => same(more, less),
    }
}
