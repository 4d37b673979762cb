//! What registers the API with a Milo: its quota is of what cells claim, its metrics are of kinds that the
//! CRDs define.
//!
//! Their fields are those of `quota.miloapis.com/v1alpha1` (github.com/milo-os/milo),
//! `services.miloapis.com/v1alpha1` (github.com/milo-os/service-catalog) and
//! `resourcemetrics.miloapis.com/v1alpha1` (github.com/milo-os/resource-metrics).

use std::collections::BTreeSet;

use fedhub_api::cells::CellId;
use fedhub_api::instance_types::Size;
use fedhub_cell::domain::quota::claim;
use fedhub_core::names::{PlaneName, SERVICE_NAME, WORKLOAD_DEPLOYMENT_UID, WORKLOAD_UID};
use fedhub_core::object::{Kind, Object, ObjectView, bare};
use fedhub_planes::ProjectNamespace;
use serde_json::Value;

use super::{kustomize::overlay, strings};

fn objects(kind: &str) -> Vec<Value> {
    let all = overlay("components/milo-service", &[]);
    all.into_iter().filter(|object| object["kind"] == kind).collect()
}

fn types(of: &Value) -> BTreeSet<String> {
    let each = of.as_array().unwrap().iter();
    each.map(|one| one["resourceType"].as_str().unwrap().to_owned()).collect()
}

/// What a cell claims for an Instance whose size is known.
fn a_claim() -> Object {
    let cell = CellId { name: "dfw".into(), uid: "1".into() };
    let consumer = ProjectNamespace { plane: PlaneName::new("acme").unwrap(), namespace: "default".into() };
    let size = Size { millicores: 1000, mebibytes: 2048 };
    claim::of(&bare(Kind::Instance, "ns-1", "web-0"), &cell, &consumer, size)
}

/// A Milo refuses a claim of a type that is not registered for its consumer, or not for the kind that it is
/// for.
#[test]
fn c6_what_cells_claim_is_registered_and_granted() {
    let claim = a_claim();
    let claimed = types(&claim.spec()["requests"]);
    let consumer = &claim.spec()["consumerRef"];
    let registrations = objects("ResourceRegistration");
    let registered: BTreeSet<_> =
        registrations.iter().map(|one| one["spec"]["resourceType"].as_str().unwrap().to_owned()).collect();
    assert_eq!(registered, claimed);
    for one in &registrations {
        let spec = &one["spec"];
        for field in ["apiGroup", "kind"] {
            assert_eq!(spec["consumerType"][field], consumer[field], "the claim's consumer");
        }
        let allowed = spec["claimingResources"].as_array().unwrap();
        let claims = |kind: &&Value| {
            ["apiGroup", "kind"].iter().all(|field| kind[*field] == claim.spec()["resourceRef"][*field])
        };
        assert!(allowed.iter().any(|kind| claims(&kind)), "what the claim is for: {spec}");
    }
    let [policy] = &objects("GrantCreationPolicy")[..] else { panic!("one policy") };
    let template = &policy["spec"]["target"]["resourceGrantTemplate"]["spec"];
    assert_eq!(types(&template["allowances"]), claimed);
    assert_eq!(template["consumerRef"]["kind"], consumer["kind"]);
}

#[test]
fn metrics_are_of_kinds_and_labels_that_there_are() {
    let [policy] = &objects("ResourceMetricsPolicy")[..] else { panic!("one policy") };
    let crds = overlay("crds", &[]);
    let plurals: BTreeSet<_> =
        crds.iter().map(|crd| crd["spec"]["names"]["plural"].as_str().unwrap()).collect();
    let generators = policy["spec"]["generators"].as_array().unwrap();
    let names: BTreeSet<_> = generators.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), generators.len(), "a name twice");
    for generator in generators {
        assert_eq!(generator["resource"]["group"], "compute.datumapis.com");
        assert!(plurals.contains(generator["resource"]["resource"].as_str().unwrap()), "{generator}");
    }
    let text = policy.to_string();
    let of_labels: BTreeSet<_> =
        text.split("labels['").skip(1).map(|rest| rest.split('\'').next().unwrap()).collect();
    assert_eq!(of_labels, BTreeSet::from([WORKLOAD_UID, WORKLOAD_DEPLOYMENT_UID]));
}

#[test]
fn the_service_is_the_one_that_objects_are_labelled_with() {
    let [service] = &objects("Service")[..] else { panic!("one Service") };
    assert_eq!(service["spec"]["serviceName"], SERVICE_NAME.1);
    let [configuration] = &objects("ServiceConfiguration")[..] else { panic!("one configuration") };
    assert_eq!(configuration["spec"]["serviceRef"]["name"], service["metadata"]["name"]);
    let monitored = configuration["spec"]["monitoredResourceTypes"].as_array().unwrap();
    let kinds: Vec<_> = monitored.iter().map(|one| one["gvk"]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, strings(&serde_json::json!(["Instance"])));
}
