//! The CRDs of the group's kinds, generated from the types, and those of other services' kinds that fedhub
//! uses.
//!
//! The files in `deploy/crds` and `deploy/external-crds`, and `docs/reference/api.md`, are checked in and
//! compared with the types by unit tests; `make crds` writes them anew.

use std::io::{self, Write};
use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceValidation,
};
use kube::CustomResourceExt;
use schemars::JsonSchema;
use serde_json::{Value, json};
use thiserror::Error;

use super::external::networking::{
    LocationBinding, LocationBindingSpec, LocationBindingStatus, NetworkBinding, NetworkBindingSpec,
    NetworkBindingStatus, NetworkContext, NetworkContextSpec, NetworkContextStatus, Subnet, SubnetClaim,
    SubnetClaimSpec, SubnetClaimStatus, SubnetSpec, SubnetStatus, ready_pending, subnet_pending,
};
use super::external::quota::{ResourceClaim, ResourceClaimSpec, ResourceClaimStatus, unevaluated};
use super::instance_status::unreported;
use super::{
    Instance, InstanceSpec, InstanceStatus, InstanceType, InstanceTypeSpec, InstanceTypeStatus, Workload,
    WorkloadDeployment, WorkloadDeploymentSpec, WorkloadDeploymentStatus, WorkloadRollout,
    WorkloadRolloutSpec, WorkloadRolloutStatus, WorkloadSpec, WorkloadStatus, schema,
};

#[cfg(test)]
mod reference;

/// Why the CRDs could not be produced. The first two would be faults in the types, which the unit tests
/// exclude.
#[derive(Debug, Error)]
pub enum CrdError {
    /// A derived schema is none that a CRD can hold.
    #[error("a schema does not fit into a CRD: {0}")]
    Schema(#[from] serde_json::Error),
    /// A CRD could not be written as YAML.
    #[error("a CRD cannot be written as YAML: {0}")]
    Yaml(#[from] serde_saphyr::ser::Error),
    /// The output was closed or full.
    #[error("cannot write the CRDs: {0}")]
    Write(#[from] io::Error),
}

/// The CRDs: Instance, WorkloadDeployment, Workload, `WorkloadRollout`, `InstanceType`.
pub fn all() -> Result<Vec<CustomResourceDefinition>, CrdError> {
    Ok(vec![
        crd::<Instance, InstanceSpec, InstanceStatus>(
            "One running copy of a workload in one location.",
            &[],
            Some(unreported()),
        )?,
        crd::<WorkloadDeployment, WorkloadDeploymentSpec, WorkloadDeploymentStatus>(
            "One placement of a Workload in one city: a number of instances of one template.",
            &[],
            Some(super::deployment::unreported()),
        )?,
        crd::<Workload, WorkloadSpec, WorkloadStatus>(
            "Instances of one template, placed in one or more cities.",
            &["spec"],
            None,
        )?,
        crd::<WorkloadRollout, WorkloadRolloutSpec, WorkloadRolloutStatus>(
            "In which order and by which gates the cities of a Workload get a new template.",
            &["spec"],
            None,
        )?,
        crd::<InstanceType, InstanceTypeSpec, InstanceTypeStatus>(
            "How much CPU and memory an instance has, by a name that templates refer to.",
            &["spec"],
            None,
        )?,
    ])
}

/// Whether a resource is among those of [`all`].
pub fn ours(group: &str, plural: &str) -> bool {
    static OURS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
        let crds = all().unwrap_or_default();
        crds.into_iter().map(|crd| (crd.spec.group, crd.spec.names.plural)).collect()
    });
    OURS.iter().any(|(g, p)| g == group && p == plural)
}

/// The CRDs of other services' kinds, as far as fedhub uses them: for clusters that lack them.
pub fn external() -> Result<Vec<CustomResourceDefinition>, CrdError> {
    Ok(vec![
        crd::<LocationBinding, LocationBindingSpec, LocationBindingStatus>(
            "A location that workloads can be placed in. On a cell: the location that the cell is in.",
            &["spec"],
            None,
        )?,
        crd::<NetworkBinding, NetworkBindingSpec, NetworkBindingStatus>(
            "Asks that a network be there in a location.",
            &["spec"],
            Some(ready_pending()),
        )?,
        crd::<NetworkContext, NetworkContextSpec, NetworkContextStatus>(
            "One network in one location.",
            &["spec"],
            Some(ready_pending()),
        )?,
        crd::<SubnetClaim, SubnetClaimSpec, SubnetClaimStatus>(
            "Asks for a subnet of a network in a location.",
            &["spec"],
            Some(subnet_pending()),
        )?,
        crd::<Subnet, SubnetSpec, SubnetStatus>(
            "A subnet of a network in a location.",
            &["spec"],
            Some(subnet_pending()),
        )?,
        crd::<ResourceClaim, ResourceClaimSpec, ResourceClaimStatus>(
            "Asks for a share of a consumer's quota, all of it or nothing.",
            &["spec"],
            Some(unevaluated()),
        )?,
    ])
}

/// The name of each CRD's file, and its content.
pub fn files(crds: &[CustomResourceDefinition]) -> Result<Vec<(String, String)>, CrdError> {
    let mut files = Vec::new();
    for crd in crds {
        let name = format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
        files.push((name, yaml(crd)?));
    }
    Ok(files)
}

/// fedhub's own CRDs as one stream of YAML documents, as `kubectl apply -f -` reads it.
pub fn to_yaml() -> Result<String, CrdError> {
    let documents: Vec<String> = files(&all()?)?.into_iter().map(|(_, yaml)| yaml).collect();
    Ok(documents.concat())
}

/// Writes [`to_yaml`] to an output.
pub fn print(output: &mut impl Write) -> Result<(), CrdError> {
    output.write_all(to_yaml()?.as_bytes())?;
    Ok(output.flush()?)
}

fn crd<K: CustomResourceExt, Spec: JsonSchema, Status: JsonSchema>(
    description: &str,
    required: &[&str],
    status_default: Option<Value>,
) -> Result<CustomResourceDefinition, CrdError> {
    let mut status = schema::of::<Status>();
    if let Some(default) = status_default {
        status["default"] = default;
    }
    let mut schema = json!({
        "description": description,
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": schema::of::<Spec>(),
            "status": status,
        },
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }

    let mut crd = K::crd();
    crd.spec.names.list_kind = Some(format!("{}List", crd.spec.names.kind));
    for version in &mut crd.spec.versions {
        version.schema = Some(CustomResourceValidation {
            open_api_v3_schema: Some(serde_json::from_value(schema.clone())?),
        });
    }
    Ok(crd)
}

fn yaml(crd: &CustomResourceDefinition) -> Result<String, CrdError> {
    let mut value = serde_json::to_value(crd)?;
    whole_numbers(&mut value);
    Ok(format!("---\n{}", serde_saphyr::to_string(&value)?))
}

/// `minimum` and `maximum` are floats in k8s-openapi; `1` reads better than `1.0`.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Number(number) => {
            if let Some(whole) = number.as_f64().filter(|_| number.is_f64()).and_then(whole) {
                *value = json!(whole);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn whole(float: f64) -> Option<i64> {
    format!("{float}").parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use serde::de::DeserializeOwned;

    use super::*;

    pub(super) fn repository(path: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
    }

    fn deploy(path: &str) -> PathBuf {
        repository("deploy").join(path)
    }

    /// Each directory below `deploy`, and its CRDs.
    fn directories() -> [(&'static str, Vec<CustomResourceDefinition>); 2] {
        [("crds", all().unwrap()), ("external-crds", external().unwrap())]
    }

    #[test]
    fn checked_in_files_are_current() {
        let update = std::env::var_os("UPDATE_CRDS").is_some();
        for (directory, crds) in directories() {
            for (name, yaml) in files(&crds).unwrap() {
                let path = deploy(directory).join(&name);
                if update {
                    fs::write(&path, &yaml).unwrap();
                }
                let stored = fs::read_to_string(&path).unwrap_or_default();
                assert!(
                    stored == yaml,
                    "deploy/{directory}/{name} is not what the types say: \
                     run `UPDATE_CRDS=1 cargo test -p fedhub-api crds` and commit the result"
                );
            }
        }
    }

    #[test]
    fn yaml_says_the_same_as_the_types() {
        for (_, crds) in directories() {
            for (crd, (name, yaml)) in crds.iter().zip(files(&crds).unwrap()) {
                let mut expected = serde_json::to_value(crd).unwrap();
                whole_numbers(&mut expected);
                assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), expected, "{name}");
            }
        }
    }

    #[test]
    fn kustomizations_name_every_file() {
        for (directory, crds) in directories() {
            let kustomization = fs::read_to_string(deploy(directory).join("kustomization.yaml")).unwrap();
            for (name, _) in files(&crds).unwrap() {
                assert!(kustomization.contains(&format!("- {name}\n")), "{name} is missing");
            }
        }
    }

    /// A keyword that k8s-openapi does not know would vanish on its way into the CRD without a word.
    #[test]
    fn no_keyword_is_lost() {
        fn check<K: CustomResourceExt, Spec: JsonSchema, Status: JsonSchema>() {
            let crd = crd::<K, Spec, Status>("", &[], None).unwrap();
            let mut stored = serde_json::to_value(&crd.spec.versions[0].schema).unwrap();
            let properties = &mut stored["openAPIV3Schema"]["properties"];
            whole_numbers(properties);
            for (field, derived) in [("spec", schema::of::<Spec>()), ("status", schema::of::<Status>())] {
                assert_eq!(properties[field], derived, "{} of {}", field, crd.spec.names.kind);
            }
        }
        check::<Workload, WorkloadSpec, WorkloadStatus>();
        check::<WorkloadDeployment, WorkloadDeploymentSpec, WorkloadDeploymentStatus>();
        check::<Instance, InstanceSpec, InstanceStatus>();
        check::<WorkloadRollout, WorkloadRolloutSpec, WorkloadRolloutStatus>();
        check::<InstanceType, InstanceTypeSpec, InstanceTypeStatus>();
        check::<LocationBinding, LocationBindingSpec, LocationBindingStatus>();
        check::<NetworkBinding, NetworkBindingSpec, NetworkBindingStatus>();
        check::<NetworkContext, NetworkContextSpec, NetworkContextStatus>();
        check::<SubnetClaim, SubnetClaimSpec, SubnetClaimStatus>();
        check::<Subnet, SubnetSpec, SubnetStatus>();
        check::<ResourceClaim, ResourceClaimSpec, ResourceClaimStatus>();
    }

    /// What the API server calls structural, and no `nullable`: a null is refused or defaulted, never stored.
    #[test]
    fn schemas_are_structural() {
        fn check(at: &str, schema: &Value) {
            let int_or_string = schema["x-kubernetes-int-or-string"] == true;
            assert!(int_or_string || schema["type"].is_string(), "{at} has no type: {schema}");
            assert!(schema["type"] != "array" || schema["items"].is_object(), "{at} has no items");
            for keyword in ["nullable", "oneOf", "not", "$ref", "const", "title"] {
                assert!(schema.get(keyword).is_none(), "{at} has {keyword}");
            }
            assert!(int_or_string || schema.get("anyOf").is_none(), "{at} has anyOf");
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let at = format!("{at}.{name}");
                assert!(property["description"].is_string(), "{at} is not described");
                check(&at, property);
            }
            for keyword in ["items", "additionalProperties"] {
                if let Some(inner) = schema.get(keyword) {
                    check(&format!("{at}.{keyword}"), inner);
                }
            }
        }
        check("Workload.spec", &schema::of::<WorkloadSpec>());
        check("Workload.status", &schema::of::<WorkloadStatus>());
        check("WorkloadDeployment.spec", &schema::of::<WorkloadDeploymentSpec>());
        check("WorkloadDeployment.status", &schema::of::<WorkloadDeploymentStatus>());
        check("Instance.spec", &schema::of::<InstanceSpec>());
        check("Instance.status", &schema::of::<InstanceStatus>());
        check("WorkloadRollout.spec", &schema::of::<WorkloadRolloutSpec>());
        check("WorkloadRollout.status", &schema::of::<WorkloadRolloutStatus>());
        check("InstanceType.spec", &schema::of::<InstanceTypeSpec>());
        check("InstanceType.status", &schema::of::<InstanceTypeStatus>());
        check("LocationBinding.spec", &schema::of::<LocationBindingSpec>());
        check("LocationBinding.status", &schema::of::<LocationBindingStatus>());
        check("NetworkBinding.spec", &schema::of::<NetworkBindingSpec>());
        check("NetworkBinding.status", &schema::of::<NetworkBindingStatus>());
        check("NetworkContext.spec", &schema::of::<NetworkContextSpec>());
        check("NetworkContext.status", &schema::of::<NetworkContextStatus>());
        check("SubnetClaim.spec", &schema::of::<SubnetClaimSpec>());
        check("SubnetClaim.status", &schema::of::<SubnetClaimStatus>());
        check("Subnet.spec", &schema::of::<SubnetSpec>());
        check("Subnet.status", &schema::of::<SubnetStatus>());
        check("ResourceClaim.spec", &schema::of::<ResourceClaimSpec>());
        check("ResourceClaim.status", &schema::of::<ResourceClaimStatus>());
    }

    /// The schema requires counters, so that a default without them would be refused with every object.
    #[test]
    fn u1_an_unreported_deployment_has_its_conditions_and_all_that_is_required() {
        let unreported = super::super::deployment::unreported();
        let status: WorkloadDeploymentStatus = serde_json::from_value(unreported.clone()).unwrap();
        let conditions = status.conditions.unwrap();
        let types: Vec<&str> = conditions.iter().map(|c| c.type_.as_str()).collect();
        assert_eq!(types, ["Available", "ReplicasReady", "Federated"]);
        assert!(conditions.iter().all(|c| c.status == "Unknown" && c.reason == "Pending"));
        let schema = schema::of::<WorkloadDeploymentStatus>();
        for required in schema["required"].as_array().unwrap() {
            assert!(unreported.get(required.as_str().unwrap()).is_some(), "{required}");
        }
    }

    #[test]
    fn u1_columns_say_what_users_and_operators_look_for() {
        let columns = |crd: &CustomResourceDefinition, wide: bool| -> Vec<String> {
            let all = crd.spec.versions[0].additional_printer_columns.iter().flatten();
            all.filter(|c| (c.priority == Some(1)) == wide).map(|c| c.name.clone()).collect()
        };
        let all = all().unwrap();
        let [instance, deployment, _, rollout, type_] = all.as_slice() else { panic!("five kinds") };
        assert_eq!(columns(deployment, false), ["City", "Ready", "Up-to-date", "Available", "Reason", "Age"]);
        assert_eq!(columns(deployment, true)[..3], ["Message", "Generation Seen", "Hub Namespace"]);
        let narrow = ["Ready", "Reason", "City", "Location", "Network IP", "External IP", "Age"];
        assert_eq!(columns(instance, false), narrow);
        assert_eq!(columns(instance, true), ["Message", "Quota"]);
        assert_eq!(columns(rollout, false), ["Strategy", "Revision", "Progressing", "Stalled", "Age"]);
        assert_eq!(columns(type_, false), ["Phase", "CPU", "Memory", "Ready", "Age"]);
    }

    #[test]
    fn an_unreported_status_is_readable() {
        let status: InstanceStatus = serde_json::from_value(unreported()).unwrap();
        let types: Vec<String> = status.conditions.unwrap().into_iter().map(|c| c.type_).collect();
        assert_eq!(types, ["Programmed", "Available", "Ready", "QuotaGranted"]);
    }

    fn read<T: DeserializeOwned>(file: &str) -> T {
        serde_saphyr::from_str(&fs::read_to_string(deploy(file)).unwrap()).unwrap()
    }

    const INSTANCE_TYPE: &str = "samples/instancetype.yaml";
    const ROLLOUT: &str = "samples/workloadrollout.yaml";

    /// Samples name no field that the types do not have.
    #[test]
    fn samples_survive_the_types() {
        for file in ["minimal", "sandbox", "vm", "multi-placement"] {
            let file = format!("samples/{file}.yaml");
            let written: Value = read(&file);
            let typed: Workload = read(&file);
            assert_contains(&file, &serde_json::to_value(typed).unwrap(), &written);
        }
        let (written, typed): (Value, InstanceType) = (read(INSTANCE_TYPE), read(INSTANCE_TYPE));
        assert_contains(INSTANCE_TYPE, &serde_json::to_value(typed).unwrap(), &written);
        let (written, typed): (Value, WorkloadRollout) = (read(ROLLOUT), read(ROLLOUT));
        assert_contains(ROLLOUT, &serde_json::to_value(typed).unwrap(), &written);
    }

    fn assert_contains(at: &str, whole: &Value, part: &Value) {
        match part {
            Value::Object(fields) => {
                for (name, field) in fields {
                    assert_contains(&format!("{at}.{name}"), &whole[name], field);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    assert_contains(&format!("{at}[{index}]"), &whole[index], item);
                }
            }
            _ => assert_eq!(whole, part, "{at}"),
        }
    }
}
