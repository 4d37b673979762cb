//! The hash by which an Instance's template is told from another (C5).

use std::collections::BTreeMap;

use fedhub_shared::hash;
use serde_json::Value;

/// Hash of `spec.template`: of what an Instance gets from it, which are its labels, its annotations (a new
/// `compute.datumapis.com/restartedAt` is a restart) and its spec. Sixteen hexadecimal digits, so it may be a label.
///
/// It is stored in Instances and compared by later versions of this program: **if it changes for an unchanged
/// template, every Instance of every cell is replaced.** The order of keys does not matter, and a null is as good as
/// nothing.
pub fn template_hash(template: &Value) -> String {
    let metadata = &template["metadata"];
    let mut text = String::new();
    for part in [&metadata["labels"], &metadata["annotations"], &template["spec"]] {
        // No labels are as good as none.
        canonical(part.as_object().filter(|map| !map.is_empty()).map_or(&Value::Null, |_| part), &mut text);
        text.push('\n');
    }
    format!("{:016x}", hash::text(&text))
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
            // Sorted here, not by serde_json's map: a feature of it that any crate may turn on keeps the order.
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
