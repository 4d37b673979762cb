//! The validation of single values by a CRD's schema: lengths, bounds, patterns, enumerations; and the
//! default of `status`. Types, required fields and the rules for lists are not checked, and other defaults
//! not set: tests store objects with only the fields that they are about.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::Value;

use crate::field_fault::FieldFault;

/// The rules for a value and for all values in it.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    properties: BTreeMap<String, Schema>,
    additional: Option<Box<Schema>>,
    items: Option<Box<Schema>>,
    min_length: Option<usize>,
    max_length: Option<usize>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    pattern: Option<Regex>,
    allowed: Vec<Value>,
    /// The default value.
    default: Option<Value>,
}

/// The CRDs of `deploy/`.
const CRDS: [&str; 11] = [
    include_str!("../../../deploy/crds/compute.datumapis.com_instances.yaml"),
    include_str!("../../../deploy/crds/compute.datumapis.com_instancetypes.yaml"),
    include_str!("../../../deploy/crds/compute.datumapis.com_workloaddeployments.yaml"),
    include_str!("../../../deploy/crds/compute.datumapis.com_workloadrollouts.yaml"),
    include_str!("../../../deploy/crds/compute.datumapis.com_workloads.yaml"),
    include_str!("../../../deploy/external-crds/networking.datumapis.com_locationbindings.yaml"),
    include_str!("../../../deploy/external-crds/networking.datumapis.com_networkbindings.yaml"),
    include_str!("../../../deploy/external-crds/networking.datumapis.com_networkcontexts.yaml"),
    include_str!("../../../deploy/external-crds/networking.datumapis.com_subnetclaims.yaml"),
    include_str!("../../../deploy/external-crds/networking.datumapis.com_subnets.yaml"),
    include_str!("../../../deploy/external-crds/quota.miloapis.com_resourceclaims.yaml"),
];

/// The schemas by `plural.group` and version.
static SCHEMAS: LazyLock<BTreeMap<(String, String), Arc<Schema>>> = LazyLock::new(|| {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all = BTreeMap::new();
    for crd in CRDS {
        let crd: Value = serde_saphyr::from_str(crd).unwrap_or_default();
        for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
            let schema = Schema::new(&version["schema"]["openAPIV3Schema"]);
            all.insert((text(&crd["metadata"]["name"]), text(&version["name"])), Arc::new(schema));
        }
    }
    all
});

impl Schema {
    /// The schema of a resource, by its `plural.group` and version, where `deploy/` has one.
    pub(crate) fn find(qualified: &str, version: &str) -> Option<Arc<Self>> {
        SCHEMAS.get(&(qualified.to_owned(), version.to_owned())).cloned()
    }

    fn new(schema: &Value) -> Self {
        let inner = |key: &str| schema[key].is_object().then(|| Box::new(Self::new(&schema[key])));
        let length = |key: &str| schema[key].as_u64().and_then(|n| usize::try_from(n).ok());
        let properties = schema["properties"].as_object().into_iter().flatten();
        Self {
            properties: properties.map(|(name, of)| (name.clone(), Self::new(of))).collect(),
            additional: inner("additionalProperties"),
            items: inner("items"),
            min_length: length("minLength"),
            max_length: length("maxLength"),
            minimum: schema["minimum"].as_f64(),
            maximum: schema["maximum"].as_f64(),
            pattern: schema["pattern"].as_str().and_then(|p| Regex::new(p).ok()),
            allowed: schema["enum"].as_array().cloned().unwrap_or_default(),
            default: schema.get("default").cloned(),
        }
    }

    /// Returns the default of the status.
    pub(crate) fn unreported(&self) -> Option<&Value> {
        self.properties.get("status")?.default.as_ref()
    }

    /// Adds what is wrong with `new`. What stood at the same place before may stay (ratcheting).
    pub(crate) fn check(&self, path: &str, old: Option<&Value>, new: &Value, faults: &mut Vec<FieldFault>) {
        if old == Some(new) {
            return;
        }
        match new {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    if let Some(schema) = self.properties.get(name).or(self.additional.as_deref()) {
                        schema.check(&at, old.and_then(|old| old.get(name)), value, faults);
                    }
                }
            }
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    if let Some(schema) = &self.items {
                        let before = old.and_then(|old| old.get(index));
                        schema.check(&format!("{path}[{index}]"), before, value, faults);
                    }
                }
            }
            Value::String(text) => self.text(path, text, faults),
            Value::Number(_) => self.number(path, new, faults),
            Value::Null | Value::Bool(_) => {}
        }
        if !self.allowed.is_empty() && !self.allowed.contains(new) {
            let allowed: Vec<String> = self.allowed.iter().map(Value::to_string).collect();
            faults.push(FieldFault::unsupported(path, new, &allowed.join(", ")));
        }
    }

    fn text(&self, path: &str, text: &str, faults: &mut Vec<FieldFault>) {
        let length = text.chars().count();
        if let Some(max) = self.max_length.filter(|max| length > *max) {
            faults.push(FieldFault::too_long(path, max));
        }
        if let Some(min) = self.min_length.filter(|min| length < *min) {
            let rule = format!("{path} in body should be at least {min} chars long");
            faults.push(FieldFault::invalid(path, &Value::from(text), &rule));
        }
        if let Some(pattern) = self.pattern.as_ref().filter(|p| !p.is_match(text)) {
            let rule = format!("{path} in body should match '{pattern}'");
            faults.push(FieldFault::invalid(path, &Value::from(text), &rule));
        }
    }

    fn number(&self, path: &str, value: &Value, faults: &mut Vec<FieldFault>) {
        let Some(number) = value.as_f64() else { return };
        if let Some(min) = self.minimum.filter(|min| number < *min) {
            let rule = format!("{path} in body should be greater than or equal to {min}");
            faults.push(FieldFault::invalid(path, value, &rule));
        }
        if let Some(max) = self.maximum.filter(|max| number > *max) {
            let rule = format!("{path} in body should be less than or equal to {max}");
            faults.push(FieldFault::invalid(path, value, &rule));
        }
    }
}
