//! `deploy/` says what the program understands and what its code needs. A kubelet is not here to find out,
//! and neither is an installer.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

mod deployments;
mod fence;
mod install;
mod kustomize;
mod milo_iam;
mod milo_service;
mod own_writes;
mod restricted;
mod rights;
mod webhooks;

use serde_json::Value;

/// What an installer may want of a cell beside what every cell does. Any of them go together.
const FEATURES: [&str; 3] = ["cell-networking", "cell-quota", "cell-referenced-data"];

/// An overlay with a Deployment.
#[derive(Clone, Debug)]
struct Overlay {
    /// A directory of `deploy/`.
    directory: &'static str,
    /// Components that are added to those of the directory.
    added: Vec<&'static str>,
}

impl Overlay {
    fn new(directory: &'static str, added: &[&'static str]) -> Self {
        Self { directory, added: added.to_vec() }
    }

    fn objects(&self) -> Vec<Value> {
        kustomize::overlay(self.directory, &self.added)
    }

    fn has(&self, component: &str) -> bool {
        self.added.contains(&component)
            || kustomize::components(self.directory).iter().any(|own| own == component)
    }

    fn is_cell(&self) -> bool {
        self.directory == "cell" || self.directory == "overlays/cell"
    }
}

/// Every overlay that is offered.
fn overlays() -> Vec<Overlay> {
    let mut all = vec![
        Overlay::new("base", &[]),
        Overlay::new("base", &["discovery-milo"]),
        Overlay::new("base", &["single-cluster"]),
        Overlay::new("base", &["single-cluster", "cell-networking"]),
        Overlay::new("base", &["projected-hub-token"]),
        Overlay::new("base", &["metrics-auth"]),
        Overlay::new("base", &["single-cluster", "metrics-auth"]),
        Overlay::new("base", &["instance-types"]),
        Overlay::new("base", &["webhooks"]),
        Overlay::new("base", &["webhooks", "webhooks-trust-network"]),
        Overlay::new("base", &["metrics-auth", "network-policy", "webhooks", "webhooks-cert-manager"]),
        Overlay::new("base", &["single-cluster", "webhooks", "webhooks-cert-manager"]),
        Overlay::new("cell", &["cell-metrics-auth"]),
        Overlay::new("cell", &["cell-metrics-auth", "cell-networking", "cell-quota"]),
        Overlay::new("cell", &["cell-quota-milo"]),
        Overlay::new("cell", &["cell-provider"]),
        Overlay::new("cell", &["cell-without-write-back"]),
        Overlay::new("cell", &["cell-without-write-back", "cell-quota", "cell-networking"]),
    ];
    for chosen in 0..1_u8 << FEATURES.len() {
        let added: Vec<_> = FEATURES
            .into_iter()
            .enumerate()
            .filter(|(at, _)| chosen & (1 << at) != 0)
            .map(|(_, of)| of)
            .collect();
        all.push(Overlay::new("cell", &added));
    }
    for directory in
        ["overlays/management-plane", "overlays/milo", "overlays/cell", "overlays/single-cluster"]
    {
        all.push(Overlay::new(directory, &[]));
        let metrics = if directory == "overlays/cell" { "cell-metrics-auth" } else { "metrics-auth" };
        for monitor in [&["metrics-cert-manager", "service-monitor"][..], &["service-monitor-self-signed"]] {
            all.push(Overlay::new(directory, &[&[metrics][..], monitor, &["projected-hub-token"]].concat()));
        }
    }
    all.push(Overlay::new("overlays/cell", &FEATURES));
    all.push(Overlay::new("overlays/single-cluster", &["cell-networking"]));
    all
}

/// The strings of a list.
fn strings(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().map(|item| item.as_str().unwrap()).collect()
}

#[test]
fn every_kustomization_builds_and_every_component_and_overlay_is_offered() {
    let mut components = Vec::new();
    for (directory, kustomization) in kustomize::all() {
        let name = directory.file_name().unwrap().to_str().unwrap().to_owned();
        let below = directory.strip_prefix(kustomize::deploy("")).unwrap().to_str().unwrap().to_owned();
        match kustomization.kind.as_str() {
            "Component" => components.push(name),
            "Kustomization" => {
                assert!(!kustomize::overlay(&below, &[]).is_empty(), "{name}");
                let offered = overlays().iter().any(|overlay| overlay.directory == below);
                assert!(offered || !below.starts_with("overlays/"), "nothing tests {below}");
            }
            other => panic!("{name}: {other}"),
        }
    }
    assert!(components.len() >= 5, "{components:?}");
    for component in components {
        assert!(overlays().iter().any(|overlay| overlay.has(&component)), "no overlay has {component}");
    }
}

/// Several may be applied to one plane, where the last one wins.
#[test]
fn a_namespace_says_the_same_wherever_it_is_and_holds_no_pod_but_restricted_ones() {
    for (directory, kustomization) in kustomize::all() {
        if kustomization.kind == "Component" {
            continue;
        }
        let below = directory.strip_prefix(kustomize::deploy("")).unwrap().to_str().unwrap();
        for object in kustomize::overlay(below, &[]) {
            if object["kind"] == "Namespace" {
                let enforced = &object["metadata"]["labels"]["pod-security.kubernetes.io/enforce"];
                assert_eq!(enforced, "restricted", "{below}");
            }
        }
    }
}
