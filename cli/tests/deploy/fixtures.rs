//! Workloads, command lines and servers to begin with.

use fedhub_cli::args::{Command, parse};
use fedhub_cli::deploy::DeployArgs;
use fedhub_cli::deploy::fault::Fault;
use fedhub_cli::deploy::plan::{DeployPlan, Wanted, decide};
use fedhub_cli::host::program::Program;
use fedhub_core::object::Object;
use serde_json::{Value, json};

/// A Workload as a server stores it, with a part of almost everything.
pub fn web() -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha",
        "kind": "Workload",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "labels": {"team": "shop"},
            "annotations": {"example.com/note": "mine"},
        },
        "spec": {
            "template": {
                "metadata": {"annotations": {"compute.datumapis.com/restartedAt": "2026-01-01T00:00:00Z"}},
                "spec": {
                    "runtime": {
                        "resources": {"instanceType": "datumcloud/d1-standard-2"},
                        "sandbox": {"containers": [{
                            "name": "app",
                            "image": "ghcr.io/example/web:1",
                            "env": [
                                {"name": "LEVEL", "value": "info"},
                                {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "web", "key": "token"}}},
                            ],
                            "envFrom": [{"configMapRef": {"name": "web"}}],
                            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
                            "volumeAttachments": [{"name": "settings", "mountPath": "/etc/web"}],
                        }]},
                    },
                    "networkInterfaces": [{
                        "name": "eth0",
                        "ipFamilies": ["IPv6"],
                        "reclaimPolicy": "Delete",
                        "network": {"name": "default"},
                    }],
                    "volumes": [{"name": "settings", "configMap": {"name": "web"}}],
                },
            },
            "placements": [{
                "name": "america",
                "cityCodes": ["DFW", "ORD"],
                "scaleSettings": {"minReplicas": 1, "instanceManagementPolicy": "OrderedReady"},
            }],
        },
    })
}

/// Returns the Workload `web` with a second placement.
pub fn two_placements() -> Value {
    let mut web = web();
    let europe = json!({
        "name": "europe",
        "cityCodes": ["LHR"],
        "scaleSettings": {"minReplicas": 2, "instanceManagementPolicy": "OrderedReady"},
    });
    web["spec"]["placements"].as_array_mut().unwrap().push(europe);
    web
}

/// What a server made of a Workload.
pub fn object(value: &Value) -> Object {
    serde_json::from_value(value.clone()).unwrap()
}

/// The arguments of `deploy` with these words, and how they are not understood.
pub fn args(words: &[&str]) -> Result<DeployArgs, String> {
    let line: Vec<_> = ["deploy"].iter().chain(words).map(Into::into).collect();
    match parse(Program::Datumctl, &line).map_err(|error| error.to_string())?.command {
        Command::Deploy(args) => Ok(*args),
        other => panic!("{other:?}"),
    }
}

/// What becomes of `web` by these flags.
pub fn plan(words: &[&str], existing: Option<&Value>) -> Result<DeployPlan, Vec<Fault>> {
    let args = args(&[&["web"], words].concat()).unwrap();
    decide(Wanted::Flags("web", &args.flags), "default", existing.map(object).as_ref())
}

/// What changes, a line for each field.
pub fn lines(plan: &DeployPlan) -> Vec<String> {
    plan.changes.iter().map(fedhub_cli::changes::Change::line).collect()
}

/// Faults as they are told.
pub fn told(faults: &[Fault]) -> Vec<String> {
    faults.iter().map(ToString::to_string).collect()
}
