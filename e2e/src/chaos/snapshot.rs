//! What stands on all planes, as far as it is the same after every rollout: times, versions and UIDs differ,
//! and what they say does not.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::fixture::{Found, ways};
use super::names::{Names, Whose, name, space};
use crate::demo::objects::Kind;

/// Fields of metadata that say when and in which version, not what.
const PASSING: [&str; 7] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
];

/// Annotation of a WD on the hub and in its cell: the generation of the project's.
const SOURCE_GENERATION: &str = "federation.datumapis.com/source-generation";

/// The fields of every object, by its name and by theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<String, BTreeMap<String, String>>);

impl Snapshot {
    /// Describes what was found after a rollout of this round's template.
    pub fn new(world: &[Found], round: &str) -> Self {
        let eyes =
            Eyes { names: Names::from_world(world), round, hash: hash(world), in_cells: in_cells(world) };
        Self(world.iter().map(|found| (eyes.names.of_object(found), eyes.fields(found))).collect())
    }

    /// Lists the differences of another snapshot from this one: a line for each object that is there or not,
    /// and for each field of the others.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let names: BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        let mut lines = Vec::new();
        for name in names {
            match (self.0.get(name), other.0.get(name)) {
                (Some(_), None) => lines.push(format!("{name}: is missing")),
                (None, Some(_)) => lines.push(format!("{name}: is one too many")),
                (Some(was), Some(is)) => {
                    let fields: BTreeSet<_> = was.keys().chain(is.keys()).collect();
                    for field in fields.into_iter().filter(|field| was.get(*field) != is.get(*field)) {
                        let [was, is] = [was, is].map(|of| of.get(field).map_or("absent", String::as_str));
                        lines.push(format!("{name}: {field}: {is}, expected {was}"));
                    }
                }
                (None, None) => {}
            }
        }
        lines
    }
}

/// How values are read.
struct Eyes<'a> {
    names: Names,
    round: &'a str,
    /// The template's hash, as most Instances have it.
    hash: Option<String>,
    /// Each Instance in its cell, by namespace and name.
    in_cells: BTreeMap<(String, String), &'a Value>,
}

impl Eyes<'_> {
    fn fields(&self, found: &Found) -> BTreeMap<String, String> {
        let mut fields = Fields { eyes: self, found, flat: BTreeMap::new() };
        for (key, value) in found.object.as_object().into_iter().flatten() {
            match key.as_str() {
                "apiVersion" | "kind" => {}
                "metadata" => fields.metadata(value),
                _ => fields.enter(key, value),
            }
        }
        fields.flat
    }
}

struct Fields<'a> {
    eyes: &'a Eyes<'a>,
    found: &'a Found,
    flat: BTreeMap<String, String>,
}

impl Fields<'_> {
    fn metadata(&mut self, metadata: &Value) {
        for (key, value) in metadata.as_object().into_iter().flatten() {
            match key.as_str() {
                "uid" => {}
                "deletionTimestamp" => self.put("metadata.deletionTimestamp", "set"),
                "finalizers" => self.set("metadata.finalizers", value),
                "ownerReferences" => self.set("metadata.ownerReferences", value),
                key if PASSING.contains(&key) => {}
                key => self.enter(&format!("metadata.{key}"), value),
            }
        }
    }

    /// A list whose order means nothing.
    fn set(&mut self, path: &str, list: &Value) {
        let mut all: Vec<_> = list.as_array().into_iter().flatten().map(|one| self.words(one)).collect();
        all.sort();
        self.put(path, &all.join("; "));
    }

    /// A value in one line.
    fn words(&self, value: &Value) -> String {
        let Some(fields) = value.as_object() else { return self.text(value) };
        fields.iter().map(|(key, value)| format!("{key} {}", self.text(value))).collect::<Vec<_>>().join(", ")
    }

    fn enter(&mut self, path: &str, value: &Value) {
        match value {
            Value::Object(fields) => self.object(path, fields),
            Value::Array(list) if path.ends_with("onditions") => {
                for condition in list {
                    let kind = condition["type"].as_str().unwrap_or_default();
                    self.enter(&format!("{path}.{kind}"), condition);
                }
            }
            Value::Array(list) => {
                for (at, value) in list.iter().enumerate() {
                    self.enter(&format!("{path}[{at}]"), value);
                }
            }
            leaf => {
                let text = self.leaf(path, leaf);
                self.put(path, &text);
            }
        }
    }

    fn object(&mut self, path: &str, fields: &Map<String, Value>) {
        let is_condition = fields.contains_key("lastTransitionTime");
        for (key, value) in fields {
            // Of an Instance's conditions the cell's generation, which grows with each gate that goes.
            if is_condition && ["lastTransitionTime", "observedGeneration", "type"].contains(&key.as_str()) {
                continue;
            }
            self.enter(&format!("{path}.{key}"), value);
        }
    }

    fn leaf(&self, path: &str, leaf: &Value) -> String {
        let names = &self.eyes.names;
        let found = self.found;
        let key = path.rsplit(['.', '/']).next().unwrap_or(path);
        if ["networkIP", "address"].contains(&key) {
            let space = names.space_in_cell(found).unwrap_or_default();
            let in_cell = self.eyes.in_cells.get(&(space, name(&found.object).to_owned()));
            if in_cell.and_then(|object| object.pointer(&pointer(path))) == Some(leaf) {
                return "{its own in the cell}".to_owned();
            }
        }
        if key.ends_with("emplateHash")
            && leaf.as_str().is_some()
            && leaf.as_str() == self.eyes.hash.as_deref()
        {
            return "{this round's}".to_owned();
        }
        if let Some(whose) = whose(found, path) {
            let number = leaf.as_i64().or_else(|| leaf.as_str()?.parse().ok());
            let now = names.generation(found, whose);
            if number.is_some() && number == now {
                return "{the present one}".to_owned();
            }
        }
        self.text(leaf)
    }

    fn text(&self, leaf: &Value) -> String {
        match leaf {
            Value::String(text) if text == self.eyes.round => "{this round}".to_owned(),
            Value::String(text) => self.eyes.names.resolve(text),
            other => other.to_string(),
        }
    }

    fn put(&mut self, path: &str, text: &str) {
        self.flat.insert(path.to_owned(), text.to_owned());
    }
}

/// The object whose generation a field contains, if any: what the cell reports of itself is translated on the
/// way to the hub, and Karmada's annotations in a cell are about the hub's object.
fn whose(found: &Found, path: &str) -> Option<Whose> {
    if !path.to_lowercase().ends_with("generation") || found.kind != Kind::Deployment {
        return None;
    }
    let in_cell = ways().any(|way| way.cell.name == found.plane);
    Some(match path.strip_prefix("metadata.annotations.") {
        Some(SOURCE_GENERATION) => Whose::Projects,
        Some(_) => Whose::Hubs,
        None if in_cell => Whose::Own,
        None => Whose::Projects,
    })
}

/// The hash that most Instances have. One that has another differs by it.
fn hash(world: &[Found]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for found in world.iter().filter(|found| found.kind == Kind::Instance) {
        let hash = found.object["spec"]["controller"]["templateHash"].as_str();
        *counts.entry(hash.unwrap_or_default()).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(hash, _)| hash.to_owned())
}

/// The Instances of the cells, whose addresses they are given there.
fn in_cells(world: &[Found]) -> BTreeMap<(String, String), &Value> {
    let instances = world
        .iter()
        .filter(|found| found.kind == Kind::Instance)
        .filter(|found| ways().any(|way| way.cell.name == found.plane));
    let keyed = instances.map(|found| {
        let object = &found.object;
        ((space(object).to_owned(), name(object).to_owned()), object)
    });
    keyed.collect()
}

/// The JSON pointer of such a path, in whose keys there is no dot.
fn pointer(path: &str) -> String {
    format!("/{}", path.replace(['.', '['], "/").replace(']', ""))
}
