//! Workloads in files: each document is read and checked as a whole, and all of them before the first is
//! sent.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_api::{GROUP, VERSION};
use fedhub_core::message::Quoted;
use fedhub_core::names::{CURRENT_REVISION, DNS_LABEL_RULE, RECORDED_TEMPLATE, RESTARTED_AT, is_dns_label};
use fedhub_core::object::{Kind, Object, ObjectView, bare, set_field};
use serde_json::{Map, Value, json};

use super::cities::{CITY_RULE, named, repeated};
use super::container::{IMAGE_RULE, is_image};
use super::fault::Fault;
use super::schema;
use crate::scale::settings::maximum_fault;

/// The metadata that a server and its controllers write. A file that was made from an object has it, and it
/// is ignored.
const SERVERS_METADATA: [&str; 10] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];
/// The metadata that a file says.
const METADATA: [&str; 4] = ["name", "namespace", "labels", "annotations"];
/// Annotations that are other writers' records.
const RECORDS: [&str; 3] =
    [CURRENT_REVISION, RECORDED_TEMPLATE, "kubectl.kubernetes.io/last-applied-configuration"];

/// A Workload of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The name of its source in messages: `web.yaml`, or `web.yaml, document 2`.
    pub source: String,
    /// The name of the Workload.
    pub name: String,
    /// Its namespace, where the document names one.
    pub namespace: Option<String>,
    /// Labels that it is to have.
    pub labels: BTreeMap<String, String>,
    /// Annotations that it is to have.
    pub annotations: BTreeMap<String, String>,
    /// Its spec, as written.
    pub spec: Value,
}

/// The Workloads of a text, YAML or JSON, or all that is wrong with them.
pub fn read(source: &str, text: &str) -> Result<Vec<Document>, Vec<Fault>> {
    let options = serde_saphyr::options! { with_snippet: false };
    let values: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| vec![Fault::new(source, format!("it is not valid YAML: {error}"))])?;
    let values: Vec<Value> = values.into_iter().flat_map(listed).collect();
    let mut documents = Vec::new();
    let mut faults = Vec::new();
    let many = values.len() > 1;
    for (index, value) in values.into_iter().enumerate() {
        let source = if many { format!("{source}, document {}", index + 1) } else { source.to_owned() };
        match document(source, value) {
            Ok(document) => documents.push(document),
            Err(wrong) => faults.extend(wrong),
        }
    }
    if documents.is_empty() && faults.is_empty() {
        faults.push(Fault::new(source, "there is nothing in it"));
    }
    if faults.is_empty() { Ok(documents) } else { Err(faults) }
}

/// Checks that no two documents, of whichever files, are of one Workload.
pub fn distinct(documents: &[Document]) -> Vec<Fault> {
    let mut seen = BTreeSet::new();
    let again = documents.iter().filter(|document| !seen.insert(&document.name));
    let rule = |document: &Document| format!("an earlier document is of the workload {}, too", document.name);
    again.map(|document| Fault::new(&document.source, rule(document))).collect()
}

/// The items of a list, as `-o json` prints several objects.
fn listed(value: Value) -> Vec<Value> {
    match value {
        Value::Object(mut fields) if fields.get("kind").is_some_and(|kind| kind == "List") => {
            match fields.remove("items") {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            }
        }
        value => vec![value],
    }
}

fn document(source: String, value: Value) -> Result<Document, Vec<Fault>> {
    let Value::Object(mut fields) = value else {
        return Err(vec![Fault::new(source, "it is not an object with apiVersion, kind, metadata and spec")]);
    };
    let text = |field: &str| fields.get(field).and_then(Value::as_str).unwrap_or_default();
    let version = text("apiVersion");
    let kind = text("kind");
    let wanted = format!("{GROUP}/{VERSION}");
    if (version, kind) != (&*wanted, "Workload") {
        let rule = format!(
            "it is of apiVersion {} and kind {}: deploy takes those of {wanted} and Workload",
            Quoted(version),
            Quoted(kind)
        );
        return Err(vec![Fault::new(source, rule)]);
    }
    let mut faults = Vec::new();
    let at = |path: &str| format!("{source}: {path}");
    let top = ["apiVersion", "kind", "metadata", "spec", "status"];
    for name in fields.keys().filter(|name| !top.contains(&name.as_str())) {
        faults.push(Fault::new(at(name), schema::unknown(name, top.into_iter())));
    }
    let metadata = match fields.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    check_metadata(&metadata, &at("metadata"), &mut faults);
    let namespace = metadata.get("namespace").and_then(Value::as_str).map(str::to_owned);
    let labels = texts(&metadata, "labels", &at("metadata"), &mut faults);
    let mut annotations = texts(&metadata, "annotations", &at("metadata"), &mut faults);
    annotations.retain(|key, _| !RECORDS.contains(&key.as_str()));
    let spec = fields.remove("spec").unwrap_or_else(|| json!({}));
    schema::check(schema::spec(), &schema::with_instance_type(spec.clone(), None), &at("spec"), &mut faults);
    faults.extend(images(&spec, &at("spec")));
    faults.extend(maximums(&spec, &at("spec")));
    faults.extend(cities(&spec, &at("spec")));
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(Document { source, name, namespace, labels, annotations, spec })
}

/// The images that are none.
fn images<'a>(spec: &'a Value, at: &'a str) -> impl Iterator<Item = Fault> + use<'a> {
    let containers = spec.pointer("/template/spec/runtime/sandbox/containers").and_then(Value::as_array);
    let images = containers.into_iter().flatten().map(|it| it["image"].as_str()).enumerate();
    images.filter_map(move |(index, image)| {
        let image = image.filter(|image| !is_image(image))?;
        let field = format!("{at}.template.spec.runtime.sandbox.containers[{index}].image");
        Some(Fault::new(format!("{field} {}", Quoted(image)), IMAGE_RULE))
    })
}

/// The maximums that are below the minimums of their placements.
fn maximums<'a>(spec: &'a Value, at: &'a str) -> impl Iterator<Item = Fault> + use<'a> {
    let placements = spec["placements"].as_array().into_iter().flatten().enumerate();
    placements.filter_map(move |(index, placement)| {
        let rule = maximum_fault(&placement["scaleSettings"])?;
        Some(Fault::new(format!("{at}.placements[{index}].scaleSettings.maxReplicas"), rule))
    })
}

/// The cities that stand in their placements already.
fn cities<'a>(spec: &'a Value, at: &'a str) -> impl Iterator<Item = Fault> + use<'a> {
    let placements = spec["placements"].as_array().into_iter().flatten().enumerate();
    placements.flat_map(move |(index, placement)| {
        let codes: Vec<&str> = named(placement).collect();
        repeated(&codes).into_iter().map(move |(place, code)| {
            Fault::new(format!("{at}.placements[{index}].cityCodes[{place}] {}", Quoted(code)), CITY_RULE)
        })
    })
}

fn check_metadata(metadata: &Map<String, Value>, at: &str, faults: &mut Vec<Fault>) {
    let known = || METADATA.into_iter().chain(SERVERS_METADATA);
    for name in metadata.keys().filter(|name| !known().any(|known| known == name.as_str())) {
        faults.push(Fault::new(format!("{at}.{name}"), schema::unknown(name, METADATA.into_iter())));
    }
    match metadata.get("name").and_then(Value::as_str) {
        None => faults.push(Fault::new(format!("{at}.name"), "it is required")),
        Some(name) if !is_dns_label(name) => {
            faults.push(Fault::new(format!("{at}.name {}", Quoted(name)), DNS_LABEL_RULE));
        }
        Some(_) => {}
    }
    if metadata.get("namespace").is_some_and(|it| !it.is_null() && !it.is_string()) {
        faults.push(Fault::new(format!("{at}.namespace"), "it must be text: quote it"));
    }
}

fn texts(
    metadata: &Map<String, Value>,
    field: &str,
    at: &str,
    faults: &mut Vec<Fault>,
) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    match metadata.get(field) {
        None | Some(Value::Null) => {}
        Some(Value::Object(map)) => {
            for (key, value) in map {
                match value {
                    Value::String(text) => drop(texts.insert(key.clone(), text.clone())),
                    _ => faults.push(Fault::new(format!("{at}.{field}.{key}"), "it must be text: quote it")),
                }
            }
        }
        Some(_) => faults.push(Fault::new(format!("{at}.{field}"), "it must be a map of texts")),
    }
    texts
}

impl Document {
    /// The fault of a document that names another namespace than the one that commands work in.
    pub fn misplaced(&self, namespace: &str) -> Option<Fault> {
        let other = self.namespace.as_ref().filter(|other| *other != namespace)?;
        let rule = format!("this command works in the namespace {}: leave it out", Quoted(namespace));
        Some(Fault::new(format!("{}: metadata.namespace {}", self.source, Quoted(other)), rule))
    }

    /// The Workload that the document asks for. Its spec is the whole one; labels and annotations that it
    /// does not name stay, and so do the type of the instances and the last restart.
    pub fn desired(&self, namespace: &str, existing: Option<&Object>) -> Object {
        let mut object = existing.cloned().unwrap_or_else(|| bare(Kind::Workload, namespace, &self.name));
        for (map, given) in [
            (&mut object.metadata.labels, &self.labels),
            (&mut object.metadata.annotations, &self.annotations),
        ] {
            if !given.is_empty() {
                map.get_or_insert_default().extend(given.clone());
            }
        }
        let before = existing.map(ObjectView::spec);
        let spec = schema::with_instance_type(self.spec.clone(), before);
        let mut spec = schema::completed(schema::spec(), spec);
        keep_restart(&mut spec, before);
        set_field(&mut object, "spec", spec);
        object
    }
}

/// The restart of before, where the file says none: else each deployment of a file would restart all
/// instances.
fn keep_restart(spec: &mut Value, before: Option<&Value>) {
    let last = before.map(|before| &before["template"]["metadata"]["annotations"][RESTARTED_AT]);
    let Some(last) = last.filter(|last| last.is_string()) else { return };
    let Some(template) = spec.get_mut("template").and_then(Value::as_object_mut) else { return };
    let metadata = template.entry("metadata").or_insert_with(|| json!({}));
    let Some(metadata) = metadata.as_object_mut() else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.entry(RESTARTED_AT).or_insert_with(|| last.clone());
    }
}
