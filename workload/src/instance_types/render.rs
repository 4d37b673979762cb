//! The desired copies and policy.

use fedhub_cache::normalization::settled;
use fedhub_core::names::{CATALOG, CATALOG_POLICY, CATALOG_UID};
use fedhub_core::object::{Kind, Object, ObjectView, bare, set_field};
use fedhub_planes::{Write, WriteMode};
use serde_json::{Value, json};

use super::snapshot::OnHub;

/// The write of a copy, where it is not as it should be: the label, the mark of the source, the spec, and all
/// else as it is (I9). `crd` is the UID of the source's CRD where that was read; where it was not, any mark
/// will do.
pub fn copy(declared: &Object, stands: Option<&OnHub>, crd: Option<&str>) -> Option<Write> {
    let (key, value) = CATALOG;
    let mut wanted = stands.map_or_else(
        || bare(Kind::InstanceType, "", declared.name()),
        |stands| stands.object.as_ref().clone(),
    );
    wanted.metadata.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    if let Some(uid) = crd.or_else(|| wanted.annotation(CATALOG_UID).is_none().then_some("")) {
        let annotations = wanted.metadata.annotations.get_or_insert_default();
        annotations.insert(CATALOG_UID.to_owned(), uid.to_owned());
    }
    write(wanted, declared.spec().clone(), stands)
}

/// The write of the policy, where it is not as it should be.
pub fn policy(stands: Option<&OnHub>) -> Option<Write> {
    let wanted = stands.map_or_else(
        || bare(Kind::ClusterPropagationPolicy, "", CATALOG_POLICY),
        |stands| stands.object.as_ref().clone(),
    );
    write(wanted, policy_spec(), stands)
}

/// The write that makes `stands` what is wanted, with that spec.
fn write(mut wanted: Object, spec: Value, stands: Option<&OnHub>) -> Option<Write> {
    let Some(OnHub { object, normalization }) = stands else {
        set_field(&mut wanted, "spec", spec);
        return Some(Write::Create(Box::new(wanted)));
    };
    let differs = !settled(&spec, object.spec(), *normalization);
    if !differs && wanted.metadata == object.metadata {
        return None;
    }
    set_field(&mut wanted, "spec", spec);
    Some(Write::Replace {
        mode: WriteMode::new(differs && wanted.metadata == object.metadata, *normalization),
        object: Box::new(wanted),
    })
}

/// The whole spec, with the defaults of Karmada's webhook, so that what stands equals what is meant. No
/// placement means every cell. What a cell has under the name of a type gives way to it.
fn policy_spec() -> Value {
    let resource = Kind::InstanceType.resource();
    let (key, value) = CATALOG;
    json!({
        "conflictResolution": "Overwrite",
        "preemption": "Never",
        "priority": 0,
        "schedulerName": "default-scheduler",
        "resourceSelectors": [{
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "labelSelector": {"matchLabels": {key: value}},
        }],
        "placement": {},
    })
}
