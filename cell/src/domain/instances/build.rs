//! A new Instance, and the labels that it has to have.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_api::LocationReference;
use fedhub_core::names::{
    INSTANCE_CITY, INSTANCE_INDEX, PLACEMENT_NAME, SERVICE_NAME, WORKLOAD_DEPLOYMENT_NAME,
    WORKLOAD_DEPLOYMENT_UID, WORKLOAD_NAME, WORKLOAD_UID, is_reserved_label,
};
use fedhub_core::object::{Kind, Object, bare, set_field};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

use super::view::{Deployment, name};
use crate::domain::status::gates;

/// The condition for which an Instance waits before it is started. The order is that of `schedulingGates`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// Its networks are ready.
    Network,
    /// Its quota is granted.
    Quota,
    /// The objects that its template refers to exist.
    ReferencedData,
    /// Its WD is not suspended.
    Suspended,
}

impl Gate {
    /// The gate's name in `schedulingGates`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Network => gates::NETWORK,
            Self::Quota => gates::QUOTA,
            Self::ReferencedData => gates::REFERENCED_DATA,
            Self::Suspended => gates::SUSPENDED,
        }
    }
}

/// The labels that an Instance of this WD has to have (specification, section 3). The two upstream labels are
/// the write-back's.
pub fn labels(deployment: &Deployment<'_>, ordinal: u32) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        (INSTANCE_INDEX, ordinal.to_string()),
        (WORKLOAD_DEPLOYMENT_NAME, deployment.name.to_owned()),
        (WORKLOAD_DEPLOYMENT_UID, deployment.uid.to_owned()),
        (WORKLOAD_NAME, deployment.workload.to_owned()),
        (WORKLOAD_UID, deployment.workload_uid.to_owned()),
        (PLACEMENT_NAME, deployment.placement.to_owned()),
        (INSTANCE_CITY, deployment.city.to_owned()),
        (SERVICE_NAME.0, SERVICE_NAME.1.to_owned()),
    ])
}

/// The Instance of an ordinal, to be created. The template travels whole (I1); what this program manages
/// overrides it.
pub fn build(
    deployment: &Deployment<'_>,
    ordinal: u32,
    location: Option<&LocationReference>,
    gates: impl IntoIterator<Item = Gate>,
) -> Object {
    let mut object = bare(Kind::Instance, deployment.namespace, &name(deployment.name, ordinal));
    let metadata = &deployment.template["metadata"];
    let mut all = texts(&metadata["labels"]);
    all.retain(|key, _| !is_reserved_label(key));
    all.extend(labels(deployment, ordinal).into_iter().map(|(key, value)| (key.to_owned(), value)));
    object.metadata.labels = Some(all);
    object.metadata.annotations = Some(texts(&metadata["annotations"])).filter(|map| !map.is_empty());
    object.metadata.owner_references = Some(vec![owner_reference(deployment.name, deployment.uid)]);

    let mut spec = deployment.template["spec"].as_object().cloned().unwrap_or_default();
    if let Some(location) = location {
        spec.insert("location".to_owned(), json!(location));
    }
    let gates: BTreeSet<Gate> = gates.into_iter().collect();
    let mut controller = json!({"templateHash": deployment.template_hash});
    if !gates.is_empty() {
        controller["schedulingGates"] = gates.iter().map(|gate| json!({"name": gate.as_str()})).collect();
    }
    spec.insert("controller".to_owned(), controller);
    set_field(&mut object, "spec", Value::Object(spec));
    object
}

/// The controller reference of an object that belongs to a WD.
pub fn owner_reference(name: &str, uid: &str) -> OwnerReference {
    let kind = Kind::WorkloadDeployment.resource();
    OwnerReference {
        api_version: kind.api_version.clone(),
        kind: kind.kind.clone(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The entries of a map of labels or annotations.
pub(crate) fn texts(map: &Value) -> BTreeMap<String, String> {
    let pairs = map.as_object().into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}
