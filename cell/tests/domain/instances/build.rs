//! A new Instance: what it gets from the template, and what it is given.

use fedhub_api::LocationReference;
use fedhub_cell::domain::instances::{Deployment, Gate, Instance, build, labels};
use fedhub_core::names::{INSTANCE_LABELS, SERVICE_NAME, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE};
use fedhub_core::object::{Object, ObjectView};
use serde_json::json;

use super::support::*;

fn built(wd: &Object) -> Object {
    build(&Deployment::from_object(wd), 4, None, [])
}

#[test]
fn c1_it_has_the_deployment_s_name_and_its_ordinal() {
    let wd = wd(template(1));
    let instance = built(&wd);
    assert_eq!((instance.namespace(), instance.name()), ("ns-a", "web-4"));
    let types = instance.types.clone().unwrap();
    assert_eq!((&*types.api_version, &*types.kind), ("compute.datumapis.com/v1alpha", "Instance"));
}

#[test]
fn c3_it_is_the_deployment_s() {
    let wd = wd(template(1));
    let instance = built(&wd);
    let owners = instance.metadata.owner_references.clone().unwrap();
    assert_eq!(owners.len(), 1);
    assert_eq!(
        (&*owners[0].api_version, &*owners[0].kind),
        ("compute.datumapis.com/v1alpha", "WorkloadDeployment")
    );
    assert_eq!((&*owners[0].name, &*owners[0].uid), (WD, WD_UID));
    assert_eq!((owners[0].controller, owners[0].block_owner_deletion), (Some(true), Some(true)));
    let view = Instance::from_object(&instance);
    assert!(Deployment::from_object(&wd).owns(&view));
    assert!(!Deployment::from_object(&wd).outdates(&view) && !view.ready && !view.terminating);
}

#[test]
fn its_labels_are_the_template_s_and_those_of_the_wire_contract() {
    let mut template = template(1);
    template["metadata"]["labels"]["compute.datumapis.com/instance-index"] = json!("9");
    template["metadata"]["labels"][UPSTREAM_CLUSTER] = json!("cluster-another");
    template["metadata"]["labels"][UPSTREAM_NAMESPACE] = json!("another");
    let wd = wd(template);
    let instance = built(&wd);
    for (key, value) in [
        ("app", "web"),
        ("compute.datumapis.com/workload-uid", "uid-of-shop"),
        ("compute.datumapis.com/workload-name", "shop"),
        ("compute.datumapis.com/workload-deployment-uid", WD_UID),
        ("compute.datumapis.com/workload-deployment-name", WD),
        ("compute.datumapis.com/placement-name", "us"),
        ("compute.datumapis.com/city-code", "DFW"),
        ("compute.datumapis.com/instance-index", "4"),
        ("services.miloapis.com/service-name", "compute.datumapis.com"),
    ] {
        assert_eq!(instance.label(key), Some(value), "{key}");
    }
    assert_eq!(instance.metadata.labels.as_ref().unwrap().len(), 9, "whose it is, a template has no say in");
    // All that the write-back needs, the two that it takes from elsewhere aside.
    let own = labels(&Deployment::from_object(&wd), 4);
    let wants = INSTANCE_LABELS.into_iter().filter(|k| ![UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE].contains(k));
    assert!(wants.chain([SERVICE_NAME.0]).all(|key| own.contains_key(key)));
    // And so nothing is left to repair.
    let held = [Held { labels: instance.metadata.labels.clone().unwrap(), ..Held::slot(4) }];
    assert!(planned(&wd, 9, &held, |plan| plan.labels.is_empty()));
}

#[test]
fn i1_annotations_and_spec_travel_whole() {
    let mut from = template(1);
    from["spec"]["unknown"] = json!({"deep": [1, null, {"x": 0.5}]});
    from["spec"]["controller"] = json!({"templateHash": "forged", "schedulingGates": []});
    from["spec"]["location"] = json!({"name": "said"});
    let wd = wd(from.clone());
    let instance = built(&wd);
    assert_eq!(instance.annotation("release"), Some("1"));
    let mut spec = instance.spec().clone();
    let controller = spec.as_object_mut().unwrap().remove("controller").unwrap();
    assert_eq!(controller, json!({"templateHash": Deployment::from_object(&wd).template_hash}));
    from["spec"].as_object_mut().unwrap().remove("controller");
    assert_eq!(spec, from["spec"]);
    assert!(instance.data.get("status").is_none());
}

#[test]
fn it_is_told_its_location_and_its_gates_in_their_order() {
    let wd = wd(template(1));
    let wd = Deployment::from_object(&wd);
    let at = |namespace: Option<&str>| LocationReference {
        name: "dfw-1".to_owned(),
        namespace: namespace.map(str::to_owned),
    };
    let instance =
        build(&wd, 0, Some(&at(None)), [Gate::ReferencedData, Gate::Network, Gate::Quota, Gate::Quota]);
    assert_eq!(instance.spec()["location"], json!({"name": "dfw-1"}));
    assert_eq!(
        instance.spec()["controller"]["schedulingGates"],
        json!([{"name": "Network"}, {"name": "Quota"}, {"name": "ReferencedData"}])
    );
    let instance = build(&wd, 0, Some(&at(Some("places"))), [Gate::Quota]);
    assert_eq!(instance.spec()["location"], json!({"name": "dfw-1", "namespace": "places"}));
    assert_eq!(instance.spec()["controller"]["schedulingGates"], json!([{"name": "Quota"}]));
}

#[test]
fn an_instance_is_looked_at_as_it_stands() {
    let mut object = built(&wd(template(1)));
    object.metadata.uid = Some("uid-of-it".to_owned());
    object.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now()));
    object.metadata.owner_references.as_mut().unwrap()[0].controller = Some(false);
    for (status, ready) in [("True", true), ("False", false), ("Unknown", false)] {
        object.data["status"] = json!({"conditions": [{"type": "Ready", "status": status}]});
        let view = Instance::from_object(&object);
        assert_eq!((view.name, view.uid, view.ready, view.terminating), ("web-4", "uid-of-it", ready, true));
        assert_eq!(view.owner, None, "an owner that is no controller did not make it");
        assert_eq!(view.labels, object.metadata.labels.as_ref());
    }
}
