//! The schema of a WD's template, as far as its defaults are concerned.

use std::sync::{Arc, LazyLock};

use fedhub_api::crds;
use fedhub_core::object::Kind;
use serde_json::{Map, Value};

/// Which fields of a template the schema defaults.
///
/// A server shows a defaulted field wherever an object lacks it, so that a newer CRD changes every template
/// that is read although no user changed any. The schema in use is the cell's; [`TemplateSchema::built_in`]
/// is this version's, until that one has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateSchema {
    /// The schema of `spec.template`.
    template: Value,
}

impl TemplateSchema {
    /// The schema of this version's CRD.
    pub fn built_in() -> &'static Arc<Self> {
        static BUILT_IN: LazyLock<Arc<TemplateSchema>> = LazyLock::new(|| {
            let crds = crds::all().unwrap_or_default();
            let plural = &Kind::WorkloadDeployment.resource().plural;
            let crd = crds.iter().find(|crd| crd.spec.names.plural == *plural);
            let spec = crd.and_then(|crd| serde_json::to_value(&crd.spec).ok()).unwrap_or_default();
            Arc::new(
                TemplateSchema::of_crd_spec(&spec)
                    .unwrap_or_else(|| TemplateSchema::from_template(Value::Null)),
            )
        });
        &BUILT_IN
    }

    /// Creates a schema from that of `spec.template`.
    pub fn from_template(template: Value) -> Self {
        Self { template }
    }

    /// Reads the schema from the `spec` of the `CustomResourceDefinition` of WDs; `None` if it has no
    /// template in the version in use.
    pub fn of_crd_spec(spec: &Value) -> Option<Self> {
        let versions = spec["versions"].as_array()?;
        let version = versions.iter().find(|v| v["name"] == *Kind::WorkloadDeployment.resource().version)?;
        let template = version.pointer("/schema/openAPIV3Schema/properties/spec/properties/template")?;
        Some(Self::from_template(template.clone()))
    }

    /// The `spec` of a template, or of an Instance, as the user wrote it: without defaults and nulls, and
    /// without `disruption`, by which alone no Instance becomes another (V5).
    pub fn said_spec(&self, spec: &Value) -> Value {
        let mut spec = said(spec, &self.template["properties"]["spec"]);
        if let Some(fields) = spec.as_object_mut() {
            fields.remove("disruption");
        }
        spec
    }
}

fn said(value: &Value, schema: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| said(item, &schema["items"])).collect(),
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                let schema = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
                let value = said(value, schema);
                let defaulted = schema.get("default").is_some_and(|default| said(default, schema) == value);
                if !defaulted {
                    kept.insert(name.clone(), value);
                }
            }
            Value::Object(kept)
        }
        scalar => scalar.clone(),
    }
}
