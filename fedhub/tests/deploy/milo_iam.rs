//! The objects for a Milo's IAM protect what the CRDs define, and grant what the `ClusterRole`s do.
//!
//! Their fields are those of `iam.miloapis.com/v1alpha1` (github.com/milo-os/milo, config/crd/bases/iam).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{kustomize::overlay, strings};

/// Services whose resources a Milo protects itself, or the service does.
const OF_MILO: [&str; 7] = [
    "admissionregistration.k8s.io/",
    "apiextensions.k8s.io/",
    "authorization.k8s.io/",
    "core.miloapis.com/",
    "resourcemanager.miloapis.com/",
    "networking.datumapis.com/",
    "services.miloapis.com/",
];

/// For a Milo that protects resources alone, and for one that protects their subresources apart.
const MILOS: [&str; 2] = ["components/milo-iam", "components/milo-iam-subresources"];

fn objects(milo: &str, kind: &str) -> Vec<Value> {
    let all = overlay(milo, &[]);
    all.into_iter().filter(|object| object["kind"] == kind).collect()
}

/// Whether subresources are protected there.
fn has_subresources(milo: &str) -> bool {
    milo.ends_with("-subresources")
}

fn permissions(role: &Value) -> BTreeSet<String> {
    strings(&role["spec"]["includedPermissions"]).into_iter().map(str::to_owned).collect()
}

/// Every permission that there is by these objects.
fn protected(milo: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for object in objects(milo, "ProtectedResource") {
        let spec = &object["spec"];
        let of =
            format!("{}/{}", spec["serviceRef"]["name"].as_str().unwrap(), spec["plural"].as_str().unwrap());
        all.extend(strings(&spec["permissions"]).into_iter().map(|verb| format!("{of}.{verb}")));
        for sub in spec["subresources"].as_array().into_iter().flatten() {
            let name = sub["name"].as_str().unwrap();
            all.extend(strings(&sub["permissions"]).into_iter().map(|verb| format!("{of}/{name}.{verb}")));
        }
    }
    all
}

/// The rules of these directories' `ClusterRole`s as permissions. Where a Milo's authorization does not tell
/// a subresource from its resource, the resource's permission is asked for.
fn granted(directories: &[&str]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let objects = directories.iter().flat_map(|directory| overlay(directory, &[]));
    for role in objects.filter(|object| object["kind"] == "ClusterRole") {
        for rule in role["rules"].as_array().unwrap() {
            for group in strings(&rule["apiGroups"]) {
                let service = if group.is_empty() { "core.miloapis.com" } else { group };
                for resource in strings(&rule["resources"]) {
                    let whole = resource.split('/').next().unwrap();
                    for verb in strings(&rule["verbs"]) {
                        all.extend([resource, whole].map(|on| format!("{service}/{on}.{verb}")));
                    }
                }
            }
        }
    }
    all
}

#[test]
fn a_role_grants_what_the_cluster_roles_of_its_identity_grant() {
    for milo in MILOS {
        let roles = objects(milo, "Role");
        for (name, directories) in [
            (
                "compute.datumapis.com-fedhub",
                &["components/milo", "components/milo-instance-types", "components/webhooks-milo"][..],
            ),
            ("compute.datumapis.com-fedhub-cell", &["components/milo-for-cells"]),
        ] {
            let role = roles.iter().find(|role| role["metadata"]["name"] == name).unwrap();
            let mut granted = granted(directories);
            granted.retain(|permission| has_subresources(milo) || permission.matches('/').count() == 1);
            assert_eq!(permissions(role), granted, "{milo}: {name}");
        }
    }
}

/// A role with a permission that nothing defines is never Ready.
#[test]
fn every_permission_is_of_a_protected_resource() {
    for milo in MILOS {
        let protected = protected(milo);
        let roles = objects(milo, "Role");
        let names: BTreeSet<_> =
            roles.iter().map(|role| role["metadata"]["name"].as_str().unwrap()).collect();
        for role in &roles {
            for permission in permissions(role) {
                let known =
                    protected.contains(&permission) || OF_MILO.iter().any(|of| permission.starts_with(of));
                assert!(known, "{milo}: {permission}");
            }
            for inherited in role["spec"]["inheritedRoles"].as_array().into_iter().flatten() {
                assert!(names.contains(inherited["name"].as_str().unwrap()), "{inherited}");
            }
        }
    }
}

#[test]
fn what_is_protected_is_what_the_crds_define() {
    let mut crds = overlay("crds", &[]);
    crds.extend(overlay("external-crds", &[]));
    for object in objects(MILOS[1], "ProtectedResource") {
        let spec = &object["spec"];
        let group = spec["serviceRef"]["name"].as_str().unwrap();
        let plural = spec["plural"].as_str().unwrap();
        let singular = spec["singular"].as_str().unwrap();
        assert_eq!(object["metadata"]["name"], format!("{group}-{singular}"));
        if group == "events.k8s.io" {
            continue;
        }
        let crd = crds.iter().find(|crd| crd["metadata"]["name"] == format!("{plural}.{group}"));
        let crd = &crd.unwrap_or_else(|| panic!("no CRD {plural}.{group}"))["spec"];
        assert_eq!((&crd["names"]["kind"], &crd["names"]["singular"]), (&spec["kind"], &spec["singular"]));
        let served: BTreeSet<_> = crd["versions"][0]["subresources"].as_object().unwrap().keys().collect();
        let subresources = spec["subresources"].as_array().unwrap();
        let protected: BTreeSet<_> = subresources.iter().map(|sub| sub["name"].as_str().unwrap()).collect();
        assert_eq!(served.into_iter().map(String::as_str).collect::<BTreeSet<_>>(), protected, "{plural}");
    }
}

/// A server-side apply of a field that is not declared is refused, whatever the flags.
#[test]
fn a_milo_that_protects_resources_alone_is_sent_no_subresources() {
    let of = |milo| objects(milo, "ProtectedResource");
    assert!(of(MILOS[0]).iter().all(|object| object["spec"].get("subresources").is_none()));
    assert_eq!(
        of(MILOS[0]),
        of(MILOS[1])
            .into_iter()
            .map(|mut object| {
                object["spec"].as_object_mut().unwrap().remove("subresources");
                object
            })
            .collect::<Vec<_>>()
    );
}

#[test]
fn every_kind_of_the_crds_is_protected() {
    let protected = objects(MILOS[0], "ProtectedResource");
    for crd in overlay("crds", &[]) {
        let kind = &crd["spec"]["names"]["kind"];
        assert!(protected.iter().any(|object| object["spec"]["kind"] == *kind), "{kind}");
    }
}
