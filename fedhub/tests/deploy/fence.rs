//! The policies of the hub that fence cells off name what the code writes, and match the subjects of the
//! roles.

use fedhub_core::names::{CELL_SOURCE, INSTANCE_CITY, LOST_CLUSTER};
use fedhub_core::object::Kind;
use serde_json::Value;

use super::{kustomize, strings};

fn objects(kind: &str) -> Vec<Value> {
    let all = kustomize::overlay("components/hub-for-cells", &[]);
    all.into_iter().filter(|object| object["kind"] == kind).collect()
}

fn named<'a>(objects: &'a [Value], name: &str) -> &'a Value {
    let found = objects.iter().find(|object| object["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

/// The expressions of a list.
fn expressions(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["expression"].as_str().unwrap()).collect()
}

#[test]
fn c10_every_subject_with_the_rights_of_a_cell_on_the_hub_is_fenced() {
    let policies = objects("ValidatingAdmissionPolicy");
    let bindings = objects("ClusterRoleBinding");
    assert_eq!(bindings.len(), 1);
    let subjects = bindings[0]["subjects"].as_array().unwrap();
    assert_eq!(subjects.len(), 1);
    assert_eq!(subjects[0]["kind"], "Group");
    let group = format!("'{}' in request.userInfo.groups", subjects[0]["name"].as_str().unwrap());
    for name in ["fedhub-cells-own-instances", "fedhub-cells-instances-only"] {
        let conditions = expressions(&named(&policies, name)["spec"]["matchConditions"]);
        assert_eq!(conditions.len(), 1, "{name}");
        assert!(conditions[0].ends_with(&group), "{name}: {}", conditions[0]);
    }
}

#[test]
fn c10_every_policy_is_bound_and_refuses() {
    let policies = objects("ValidatingAdmissionPolicy");
    let bindings = objects("ValidatingAdmissionPolicyBinding");
    assert_eq!((policies.len(), bindings.len()), (3, 3));
    let known = objects("ConfigMap");
    for policy in &policies {
        let name = policy["metadata"]["name"].as_str().unwrap();
        let (spec, binding) = (&policy["spec"], &named(&bindings, name)["spec"]);
        assert_eq!(spec["failurePolicy"], "Fail", "{name}");
        assert_eq!(binding["policyName"], name);
        assert_eq!(strings(&binding["validationActions"]), ["Deny"], "{name}");
        for validation in spec["validations"].as_array().unwrap() {
            assert_eq!(validation["reason"], "Forbidden", "{name}: a refusal is a 403");
        }
        if !spec["paramKind"].is_null() {
            let of = &binding["paramRef"];
            assert_eq!(of["namespace"], known[0]["metadata"]["namespace"], "{name}");
            assert_eq!(of["name"], known[0]["metadata"]["name"], "{name}");
        }
    }
    // Without the cells' entries no cell writes; Karmada goes on all the same.
    let on_absence =
        |name: &str| named(&bindings, name)["spec"]["paramRef"]["parameterNotFoundAction"].clone();
    assert_eq!(on_absence("fedhub-cells-own-instances"), "Deny");
    assert_eq!(on_absence("fedhub-deployments-keep-cells"), "Allow");
}

#[test]
fn c10_the_policies_read_what_the_cells_write() {
    let policies = objects("ValidatingAdmissionPolicy");
    let spec = &named(&policies, "fedhub-cells-own-instances")["spec"];
    let variables = expressions(&spec["variables"]).join("\n");
    for name in [CELL_SOURCE, INSTANCE_CITY, LOST_CLUSTER] {
        assert!(variables.contains(&format!("'{name}'")), "{name}: {variables}");
    }
    let rule = &spec["matchConstraints"]["resourceRules"][0];
    let instances = Kind::Instance.resource();
    assert_eq!(strings(&rule["apiGroups"]), [&*instances.group]);
    assert_eq!(strings(&rule["resources"]), [&*instances.plural, "instances/*"]);
    let spec = &named(&policies, "fedhub-cells-instances-only")["spec"];
    let allowed = expressions(&spec["validations"]);
    let only = format!(
        "request.resource.group == '{}' && request.resource.resource == '{}'",
        instances.group, instances.plural
    );
    assert_eq!(allowed, [only]);
}

/// Applying the component again leaves the entries of cells as they are, for it has none.
#[test]
fn c10_the_entries_of_cells_are_the_operators() {
    let known = objects("ConfigMap");
    assert!(known.len() == 1 && known[0]["data"].is_null(), "{known:?}");
    assert!(objects("ServiceAccount").is_empty());
}
