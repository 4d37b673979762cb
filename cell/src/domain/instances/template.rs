//! The hash that identifies the template of an Instance (C5).
//!
//! Decides C5.

use std::collections::BTreeMap;

use fedhub_core::hash;
use serde_json::Value;

use super::schema::TemplateSchema;

/// The version of the algorithm, with which every hash begins.
const VERSION: &str = "v2-";

/// Hash of `spec.template`: `v2-<metadata>-<spec>`, sixteen hexadecimal digits each, so that it may be a
/// label: labels and annotations (a new `compute.datumapis.com/restartedAt` is a restart), and the spec as
/// the user wrote it. The order of keys does not matter; nulls and defaults in `schema` count as absent.
///
/// It is stored in Instances and compared by later versions of this program. An algorithm that gives an
/// unchanged template another hash needs another version: Instances of other versions are compared by content
/// first.
pub fn template_hash(template: &Value, schema: &TemplateSchema) -> String {
    let metadata = &template["metadata"];
    let mut text = String::new();
    for part in [&metadata["labels"], &metadata["annotations"]] {
        // No labels are as good as none.
        canonical(part.as_object().filter(|map| !map.is_empty()).map_or(&Value::Null, |_| part), &mut text);
        text.push('\n');
    }
    let mut spec = String::new();
    canonical(&schema.said_spec(&template["spec"]), &mut spec);
    format!("{VERSION}{:016x}-{:016x}", hash::text(&text), hash::text(&spec))
}

/// The part of a hash for labels and annotations; `None` for a hash of another version, or of another
/// controller.
pub(super) fn metadata_part(hash: &str) -> Option<&str> {
    let hex = |part: &&str| part.len() == 16 && part.bytes().all(|b| b.is_ascii_hexdigit());
    let (metadata, spec) = hash.strip_prefix(VERSION)?.split_once('-')?;
    hex(&spec).then_some(metadata).filter(hex)
}

/// JSON without spaces, keys sorted, nulls in objects left out.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            // Sorted here, not by serde_json's map: a feature of it that any crate may turn on keeps the
            // order.
            let sorted: BTreeMap<_, _> = map.iter().filter(|(_, value)| !value.is_null()).collect();
            for (key, value) in sorted {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}
