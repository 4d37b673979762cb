//! The display of the project's objects, by their names and labels: never by a UID, which differs
//! from plane to plane.

use fedhub_api::facts::instance::deployment_name;
use fedhub_core::names::{INSTANCE_CITY, INSTANCE_INDEX, PLACEMENT_NAME, WORKLOAD_NAME};
use fedhub_core::object::{Object, ObjectView};
use fedhub_core::quantity;
use fedhub_terminal::table::age;
use jiff::Timestamp;
use serde_json::Value;

use super::{NONE, UNKNOWN};

/// When an object was made; `None` where no server has.
pub fn created(object: &Object) -> Option<Timestamp> {
    object.metadata.creation_timestamp.as_ref().map(|at| at.0)
}

/// How old an object is, as tables say it.
pub fn age_of(object: &Object, now: Timestamp) -> String {
    created(object).map_or_else(|| UNKNOWN.to_owned(), |made| age(made, now))
}

/// The object as programs get it: whole, but for what the server keeps about who wrote which field.
pub fn bare(object: &Object) -> Value {
    let mut object = object.clone();
    object.metadata.managed_fields = None;
    serde_json::to_value(object).unwrap_or_default()
}

/// The workload and city that an Instance belongs to. What its labels do not say is read from its deployment,
/// which is found by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place<'a> {
    /// The name of its Workload.
    pub workload: Option<&'a str>,
    /// The name of the Workload's placement.
    pub placement: Option<&'a str>,
    /// The code of its city.
    pub city: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// Returns the place of an Instance; `deployment` finds its deployment by name.
    pub fn new(instance: &'a Object, deployment: impl Fn(&str) -> Option<&'a Object>) -> Self {
        let said = |label: &str| instance.label(label).filter(|it| !it.is_empty());
        let by_label = Self {
            workload: said(WORKLOAD_NAME),
            placement: said(PLACEMENT_NAME),
            city: said(INSTANCE_CITY),
        };
        match deployment_name(instance).and_then(deployment).map(Self::of_deployment) {
            Some(other) if by_label.is_partial() => Self {
                workload: by_label.workload.or(other.workload),
                placement: by_label.placement.or(other.placement),
                city: by_label.city.or(other.city),
            },
            _ => by_label,
        }
    }

    /// Returns the place of a deployment.
    pub fn of_deployment(deployment: &'a Object) -> Self {
        let spec = deployment.spec();
        Self {
            workload: spec["workloadRef"]["name"].as_str(),
            placement: spec["placementName"].as_str(),
            city: spec["cityCode"].as_str(),
        }
    }

    /// Whether anything of it is not known.
    pub fn is_partial(&self) -> bool {
        self.workload.is_none() || self.city.is_none()
    }
}

/// The ordinal of an Instance, by which `web-10` comes after `web-9`.
pub fn ordinal(instance: &Object) -> Option<u64> {
    let label = instance.label(INSTANCE_INDEX).and_then(|it| it.parse().ok());
    label.or_else(|| instance.name().rsplit_once('-')?.1.parse().ok())
}

/// The specification of instances in an Instance itself, or in the template of a Workload or deployment.
pub fn instance_spec(object: &Object) -> &Value {
    let spec = object.spec();
    spec.get("template").map_or(spec, |template| &template["spec"])
}

/// The containers.
pub fn containers(instance_spec: &Value) -> impl Iterator<Item = &Value> {
    instance_spec["runtime"]["sandbox"]["containers"].as_array().into_iter().flatten()
}

/// `sandbox` or `vm`.
pub fn runtime(instance_spec: &Value) -> &'static str {
    let runtime = &instance_spec["runtime"];
    match (runtime["sandbox"].is_object(), runtime["virtualMachine"].is_object()) {
        (true, _) => "sandbox",
        (_, true) => "vm",
        _ => UNKNOWN,
    }
}

/// The name of the instance type.
pub fn instance_type(instance_spec: &Value) -> &str {
    instance_spec["runtime"]["resources"]["instanceType"].as_str().unwrap_or(UNKNOWN)
}

/// The image of the first container as tables show it, without the registry's host; how many more there are.
pub fn image(instance_spec: &Value) -> String {
    let images: Vec<&str> = containers(instance_spec).filter_map(|it| it["image"].as_str()).collect();
    match images.as_slice() {
        [] if runtime(instance_spec) == "vm" => "(vm)".to_owned(),
        [] => UNKNOWN.to_owned(),
        [one] => without_host(one).to_owned(),
        [first, others @ ..] => format!("{} +{}", without_host(first), others.len()),
    }
}

fn without_host(image: &str) -> &str {
    let host = |part: &str| part.contains(['.', ':']) || part == "localhost";
    image.split_once('/').filter(|(first, _)| host(first)).map_or(image, |(_, rest)| rest)
}

/// Whether a user means this city by what was typed: codes are written in capitals, and seldom typed so.
pub fn is_city(code: &str, typed: &str) -> bool {
    code.eq_ignore_ascii_case(typed)
}

/// An address of the first interface of an Instance; the mark of what is not known until its status has
/// interfaces.
pub fn address(instance: &Object, which: Address) -> String {
    let Some(first) = instance.status()["networkInterfaces"].get(0) else { return UNKNOWN.to_owned() };
    let (short, all) = match which {
        Address::Internal => ("networkIP", "addresses"),
        Address::External => ("externalIP", "externalAddresses"),
    };
    let address = first["assignments"][short].as_str().or_else(|| first[all].get(0)?["address"].as_str());
    address.map_or_else(|| NONE.to_owned(), |it| it.split('/').next().unwrap_or(it).to_owned())
}

/// The kind of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// The address on the network.
    Internal,
    /// The address from outside.
    External,
}

/// A quantity of CPU in cores, `0.5` or `2`; as it is written where it is none.
pub fn cores(value: &Value) -> String {
    let decimal = |millicores: i64| format!("{}.{:03}", millicores / 1000, millicores % 1000);
    let trimmed = |text: String| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    quantity::millicores(value).map_or_else(|bad| bad.0, |millicores| trimmed(decimal(millicores)))
}

/// A quantity of memory, `512 MiB` or `2 GiB`; as it is written where it is none.
pub fn memory(value: &Value) -> String {
    const UNITS: [(&str, i64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    quantity::bytes(value).map_or_else(
        |bad| bad.0,
        |bytes| {
            let unit = UNITS.iter().find(|(_, size)| bytes >= *size && bytes % size == 0);
            unit.map_or_else(|| format!("{bytes} B"), |(unit, size)| format!("{} {unit}", bytes / size))
        },
    )
}
