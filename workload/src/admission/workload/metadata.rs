//! Metadata of a template: what no API server would take of the objects that are made from it.

use std::collections::BTreeMap;

use fedhub_api::TemplateMetadata;
use fedhub_core::names::{LABEL_VALUE_RULE, is_label_value, is_object_name};

use crate::admission::fault::{Faults, json};
use crate::admission::limits;
use crate::admission::path::Path;

/// The most that all annotations of an object may have, in bytes, with their keys.
const ANNOTATIONS_MAX: usize = 256 << 10;

const KEY_RULE: &str = "a key has 1 to 63 letters, digits, '-', '_' or '.', begins and ends with a letter or digit, and may \
                        have the name of a domain and '/' before it";

/// The faults of the metadata.
pub fn check(metadata: &TemplateMetadata, at: &Path, faults: &mut Faults) {
    // Name and namespace are accepted: see `TemplateMetadata`.
    let TemplateMetadata { annotations, finalizers, labels, name: _, namespace: _ } = metadata;
    if let Some(labels) = labels {
        let at = at.field("labels");
        keys(labels, &at, str::to_owned, faults);
        for (key, value) in labels.iter().take(limits::METADATA) {
            let holds = value.is_empty() || is_label_value(value);
            faults.check(holds, at.key(key), value, LABEL_VALUE_RULE);
        }
    }
    if let Some(annotations) = annotations {
        let at = at.field("annotations");
        let size: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
        faults.at_most(size, ANNOTATIONS_MAX, "bytes in all", &at);
        // An API server regards no case in them.
        keys(annotations, &at, str::to_lowercase, faults);
    }
    if let Some(finalizers) = finalizers.as_ref().filter(|all| !all.is_empty()) {
        let rule = "nothing would take them off an instance that is deleted";
        faults.forbidden(at.field("finalizers"), json(finalizers).as_deref(), rule);
    }
}

/// The faults of keys, as `read` reads them.
fn keys(all: &BTreeMap<String, String>, at: &Path, read: fn(&str) -> String, faults: &mut Faults) {
    faults.at_most(all.len(), limits::METADATA, "keys", at);
    for key in all.keys().take(limits::METADATA) {
        faults.check(is_key(&read(key)), at.key(key), key, KEY_RULE);
    }
}

/// Whether it can be the key of a label: a name, and perhaps a domain before it.
fn is_key(key: &str) -> bool {
    let (domain, name) = key.split_once('/').map_or((None, key), |(domain, name)| (Some(domain), name));
    is_label_value(name) && domain.is_none_or(is_object_name)
}
