//! Objects to begin with, and edits of them.

use fedhub_core::object::Object;
use fedhub_workload::admission::{Fault, Judgement, Kind, Types, judge};
use serde_json::{Value, json};

/// No messages.
pub const NONE: [&str; 0] = [];

/// A Workload without a fault that has a part of almost everything.
pub fn workload() -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha",
        "kind": "Workload",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "template": {"spec": {
                "runtime": {
                    "resources": {"instanceType": "datumcloud/d1-standard-2"},
                    "sandbox": {
                        "imagePullSecrets": [{"name": "registry"}],
                        "containers": [{
                            "name": "app",
                            "image": "ghcr.io/example/web:1",
                            "env": [{"name": "LEVEL", "value": "info"}],
                            "envFrom": [{"configMapRef": {"name": "web"}}],
                            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
                            "volumeAttachments": [{"name": "settings", "mountPath": "/etc/web"}],
                        }],
                    },
                },
                "networkInterfaces": [{
                    "name": "eth0",
                    "network": {"name": "default"},
                    "networkPolicy": {"ingress": [{
                        "ports": [{"port": 8080, "endPort": 8081}],
                        "from": [{"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.128/25"]}}],
                    }]},
                }],
                "volumes": [{"name": "settings", "configMap": {"name": "web", "defaultMode": 420}}],
            }},
            "placements": [{
                "name": "america",
                "cityCodes": ["DFW", "ORD"],
                "scaleSettings": {
                    "minReplicas": 1,
                    "maxReplicas": 3,
                    "instanceManagementPolicy": "OrderedReady",
                    "metrics": [{"resource": {"name": "cpu", "target": {"averageUtilization": 70}}}],
                },
            }],
        },
    })
}

/// A Workload without a fault that runs a virtual machine.
pub fn machine() -> Value {
    let mut workload = workload();
    let template = &mut workload["spec"]["template"];
    template["metadata"] = json!({"annotations": {"compute.datumapis.com/ssh-keys":
        "op:ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f op@example.com\n"}});
    let spec = &mut template["spec"];
    spec["runtime"] = json!({
        "resources": {"instanceType": "datumcloud/d1-standard-2"},
        "virtualMachine": {
            "ports": [{"name": "ssh", "port": 22}],
            "volumeAttachments": [{"name": "boot"}, {"name": "data"}],
        },
    });
    let disk = |spec: Value| json!({"template": {"spec": spec}});
    spec["volumes"] = json!([
        {"name": "boot", "disk": disk(json!({
            "resources": {"requests": {"storage": "25Gi"}},
            "populator": {"image": {"name": "datumcloud/ubuntu-2204-lts"}},
        }))},
        {"name": "data", "disk": disk(json!({
            "resources": {"requests": {"storage": "10Gi"}},
            "populator": {"filesystem": {"type": "ext4"}},
        }))},
    ]);
    workload
}

/// A WD without a fault, of [`workload`].
pub fn deployment() -> Value {
    let spec = workload()["spec"].take();
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha",
        "kind": "WorkloadDeployment",
        "metadata": {"name": "web-america-dfw", "namespace": "shop"},
        "spec": {
            "cityCode": "DFW",
            "placementName": "america",
            "scaleSettings": spec["placements"][0]["scaleSettings"],
            "template": spec["template"],
            "workloadRef": {"name": "web", "uid": "0d0c6a3e-9f2b-4c55-8a1e-000000000001"},
        },
    })
}

/// A rollout without a fault, of [`workload`].
pub fn rollout() -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha",
        "kind": "WorkloadRollout",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "annotations": {"compute.datumapis.com/approved": r#"[{"wave": "canary", "gate": "After"}]"#},
        },
        "spec": {
            "workloadRef": {"name": "web"},
            "waves": [
                {"name": "canary", "cities": ["DFW"], "approval": "After", "soak": "5m"},
                {"name": "rest", "maxConcurrent": 2, "maxFailures": 1},
            ],
            "progressDeadline": "10m",
        },
    })
}

/// A type of instances without a fault.
pub fn instance_type() -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha",
        "kind": "InstanceType",
        "metadata": {"name": "d1-standard-2"},
        "spec": {
            "displayName": "Standard 2",
            "resources": {"cpu": "1", "memory": "2Gi"},
            "lifecycle": {"phase": "Active"},
        },
    })
}

/// Returns the object with another value at a JSON pointer; null removes the field.
pub fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let at = object.pointer_mut(parent).unwrap_or_else(|| panic!("there is no {parent}"));
    match (at, value) {
        (Value::Object(map), Value::Null) => {
            map.remove(&key.replace("~1", "/")).unwrap();
        }
        (Value::Object(map), value) => {
            map.insert(key.replace("~1", "/"), value);
        }
        (Value::Array(list), value) if key == "-" => list.push(value),
        (Value::Array(list), Value::Null) => {
            list.remove(key.parse().unwrap());
        }
        (at, value) => at[key.parse::<usize>().unwrap()] = value,
    }
    object
}

pub fn object(value: &Value) -> Object {
    serde_json::from_value(value.clone()).unwrap()
}

pub fn judged(kind: Kind, old: Option<&Value>, new: &Value) -> Judgement {
    judge(kind, Types::BuiltIn, old.map(object).as_ref(), &object(new))
}

/// The faults of a new object, as its user reads them.
pub fn faults(kind: Kind, new: &Value) -> Vec<String> {
    judged(kind, None, new).faults.iter().map(Fault::to_string).collect()
}
