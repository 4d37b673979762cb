//! What a role has no business with, it may not do.

use std::collections::BTreeSet;

use serde_json::Value;

use super::plane::{COMPUTE, NETWORKING, Plane, QUOTA, Who, cell, hub, management, project};
use crate::deploy::strings;

#[test]
fn no_role_has_a_wildcard_or_may_write_what_rights_are_made_of() {
    for plane in [management(), hub(), project(), cell()] {
        for who in [Who::Management, Who::Cell] {
            for rule in plane.rules(who, Some(who.namespace())) {
                for part in ["apiGroups", "resources", "verbs"] {
                    assert!(!strings(&rule[part]).contains(&"*"), "{who:?} on {}: {rule}", plane.name);
                }
            }
            for group in ["rbac.authorization.k8s.io", "apiextensions.k8s.io", "admissionregistration.k8s.io"]
            {
                let rules = plane.rules(who, Some(who.namespace()));
                let writes = |rule: &&&Value| {
                    let verbs: BTreeSet<_> = strings(&rule["verbs"]).into_iter().collect();
                    strings(&rule["apiGroups"]).contains(&group)
                        && !verbs.is_subset(&BTreeSet::from(["get", "list", "watch"]))
                };
                assert_eq!(rules.iter().find(writes), None, "{who:?} on {}", plane.name);
            }
        }
    }
}

/// Cells hold credentials for what is not theirs: these may be in the wrong hands one day.
#[test]
fn no_role_may_do_what_is_not_its_business() {
    for (plane, who, group, resources, verbs) in [
        // A city's work is the federator's, and Karmada's.
        (hub(), Who::Cell, COMPUTE, "workloaddeployments", "create update patch delete"),
        (hub(), Who::Cell, "", "namespaces", "create update patch delete"),
        (hub(), Who::Cell, "cluster.karmada.io", "clusters", "create update patch delete"),
        (hub(), Who::Cell, "", "secrets", "get list watch"),
        (hub(), Who::Management, "", "secrets", "deletecollection"),
        (hub(), Who::Management, "", "namespaces", "delete"),
        // Only a command of operators patches them, with their credentials.
        (hub(), Who::Management, COMPUTE, "workloaddeployments", "patch"),
        // Users make Workloads, and say how they roll out.
        (project(), Who::Management, COMPUTE, "workloads", "create update delete"),
        (project(), Who::Management, COMPUTE, "workloadrollouts", "get create update patch delete"),
        (project(), Who::Management, "", "configmaps", "patch delete"),
        (project(), Who::Management, "", "secrets", "create update patch delete"),
        (project(), Who::Management, NETWORKING, "locationbindings networks", "create update patch delete"),
        (project(), Who::Cell, COMPUTE, "workloaddeployments", "get list watch update patch"),
        (project(), Who::Cell, COMPUTE, "instances", "get list watch create update patch delete"),
        (project(), Who::Cell, QUOTA, "resourceclaims", "update deletecollection"),
        (project(), Who::Cell, QUOTA, "resourceclaims/status", "get update patch"),
        (management(), Who::Cell, "coordination.k8s.io", "leases", "get create update patch"),
        (cell(), Who::Cell, COMPUTE, "workloaddeployments", "create update delete"),
        (cell(), Who::Cell, COMPUTE, "instances", "update deletecollection"),
        (cell(), Who::Cell, COMPUTE, "workloaddeployments/status instances/status", "patch"),
        (cell(), Who::Cell, COMPUTE, "instances/finalizers", "update"),
        // What the network service is asked for is never changed, and its own objects are read.
        (cell(), Who::Cell, NETWORKING, "networkbindings", "update patch"),
        (cell(), Who::Cell, NETWORKING, "subnetclaims", "update patch delete"),
        (cell(), Who::Cell, NETWORKING, "networkbindings/finalizers networkcontexts/finalizers", "update"),
        (cell(), Who::Cell, NETWORKING, "networkcontexts subnets", "create update patch delete"),
        (cell(), Who::Cell, NETWORKING, "locationbindings", "create update patch delete"),
        (cell(), Who::Cell, "autoscaling", "horizontalpodautoscalers", "update"),
        (cell(), Who::Cell, "", "secrets", "get create update patch delete"),
        (cell(), Who::Management, COMPUTE, "instances", "get list watch"),
    ] {
        for (resource, verb) in
            resources.split(' ').flat_map(|resource| verbs.split(' ').map(move |verb| (resource, verb)))
        {
            let allowed = plane.allows(who, Some(who.namespace()), group, resource, verb);
            assert!(!allowed, "{who:?} may {verb} {resource} on {}", plane.name);
        }
    }
    // Without the component that is about them, not even their names.
    let plain = Plane::new("a cell", &["cell"]);
    for resource in ["configmaps", "secrets"] {
        assert!(!plain.allows(Who::Cell, Some("fedhub-cells"), "", resource, "list"), "{resource}");
    }
    // The management role's Secrets are not the cells'.
    assert!(!management().allows(Who::Cell, Some("fedhub-system"), "", "secrets", "list"));
}
