//! `deploy/` says what the program understands and what its code needs. A kubelet is not here to find out, and neither is
//! an installer.

mod deployments;
mod fence;
mod install;
mod kustomize;
mod rights;

use serde_json::Value;

/// What an installer may want of a cell beside what every cell does. Any of them go together.
const FEATURES: [&str; 3] = ["cell-networking", "cell-quota", "cell-referenced-data"];

/// An overlay with a Deployment: a base, and components.
type Overlay = (&'static str, Vec<&'static str>);

/// Every overlay that is offered.
fn overlays() -> Vec<Overlay> {
    let mut all = vec![
        ("base", vec![]),
        ("base", vec!["discovery-milo"]),
        ("base", vec!["metrics-auth"]),
        ("base", vec!["single-cluster"]),
        ("base", vec!["single-cluster", "cell-networking"]),
        ("base", vec!["single-cluster", "metrics-auth"]),
        ("cell", vec!["cell-metrics-auth"]),
        ("cell", vec!["cell-metrics-auth", "cell-networking", "cell-quota"]),
        ("cell", vec!["cell-quota-milo"]),
        ("cell", vec!["cell-without-write-back"]),
        ("cell", vec!["cell-without-write-back", "cell-quota", "cell-networking"]),
    ];
    for chosen in 0..1_u8 << FEATURES.len() {
        let is_chosen = |(at, _): &(usize, &str)| chosen & (1 << at) != 0;
        all.push(("cell", FEATURES.into_iter().enumerate().filter(is_chosen).map(|(_, of)| of).collect()));
    }
    all
}

/// The strings of a list.
fn strings(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().map(|item| item.as_str().unwrap()).collect()
}

#[test]
fn every_kustomization_builds_and_every_component_is_offered() {
    let mut components = Vec::new();
    for (directory, kustomization) in kustomize::all() {
        let name = directory.file_name().unwrap().to_str().unwrap().to_owned();
        match kustomization.kind.as_str() {
            "Component" => components.push(name),
            "Kustomization" => {
                let below = directory.strip_prefix(kustomize::deploy("")).unwrap();
                assert!(!kustomize::overlay(below.to_str().unwrap(), &[]).is_empty(), "{name}");
            }
            other => panic!("{name}: {other}"),
        }
    }
    assert!(components.len() >= 5, "{components:?}");
    for component in components {
        assert!(overlays().iter().any(|(_, of)| of.contains(&&*component)), "no overlay has {component}");
    }
}
