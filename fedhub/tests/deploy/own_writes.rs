//! The policy of the hub that fences fedhub itself names what the code writes, and matches the subject of the
//! role. That it decides as it should is for the suite `hub-fenced`, on a real API server.

use std::collections::BTreeSet;

use fedhub_core::names::{
    CATALOG_POLICY, COPIED_FROM, REFERENCED_DATA, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, hub_namespace,
};
use fedhub_core::object::Kind;
use serde_json::Value;

use super::{kustomize, strings};

fn object(kind: &str) -> Value {
    let all = kustomize::overlay("components/hub", &[]);
    let mut found: Vec<_> = all.into_iter().filter(|object| object["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{kind}");
    found.remove(0)
}

/// All that the policy says in CEL, a line for each expression.
fn expressions(policy: &Value) -> Vec<String> {
    let lists = ["variables", "validations"].map(|list| policy["spec"][list].as_array().unwrap());
    let all = lists.into_iter().flatten().map(|item| item["expression"].as_str().unwrap().to_owned());
    all.collect()
}

#[test]
fn i14_fedhub_is_fenced_on_the_hub_under_the_name_that_its_rights_are_bound_to() {
    let policy = object("ValidatingAdmissionPolicy");
    let binding = object("ValidatingAdmissionPolicyBinding");
    let subject = &object("ClusterRoleBinding")["subjects"][0];
    let text = |field: &str| subject[field].as_str().unwrap();
    assert_eq!(text("kind"), "ServiceAccount");
    let user = format!("'system:serviceaccount:{}:{}'", text("namespace"), text("name"));
    let conditions = policy["spec"]["matchConditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 1, "whatever is added lets something through");
    assert_eq!(conditions[0]["expression"], format!("request.userInfo.username == {user}"));
    assert_eq!(policy["spec"]["failurePolicy"], "Fail");
    let rule = &policy["spec"]["matchConstraints"]["resourceRules"][0];
    assert_eq!(strings(&rule["resources"]), ["*/*"]);
    assert_eq!(strings(&rule["operations"]), ["*"]);
    assert_eq!(binding["spec"]["policyName"], policy["metadata"]["name"]);
    assert_eq!(strings(&binding["spec"]["validationActions"]), ["Deny"]);
    for validation in policy["spec"]["validations"].as_array().unwrap() {
        assert_eq!(validation["reason"], "Forbidden", "a refusal is a 403");
    }
}

/// What the role lets it write, and nothing else, is what the policy knows.
#[test]
fn i14_the_policy_knows_each_kind_that_the_role_lets_fedhub_write() {
    let role = object("ClusterRole");
    let is_write =
        |rule: &&Value| strings(&rule["verbs"]).iter().any(|verb| !matches!(*verb, "get" | "list" | "watch"));
    let written: BTreeSet<String> = role["rules"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_write)
        .flat_map(|rule| {
            let group = strings(&rule["apiGroups"])[0];
            strings(&rule["resources"]).into_iter().map(move |plural| format!("{group}/{plural}"))
        })
        .collect();
    let policy = object("ValidatingAdmissionPolicy");
    let variables = policy["spec"]["variables"].as_array().unwrap();
    let known = variables.iter().filter(|it| it["name"] == "isNamespaced" || it["name"] == "isClusterScoped");
    let known: BTreeSet<String> = known
        .flat_map(|it| it["expression"].as_str().unwrap().split('\'').skip(1).step_by(2))
        .map(str::to_owned)
        .collect();
    assert_eq!(known, written);
}

#[test]
fn i14_the_policy_reads_what_fedhub_writes() {
    let all = expressions(&object("ValidatingAdmissionPolicy")).join("\n");
    for name in [REFERENCED_DATA, COPIED_FROM, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, CATALOG_POLICY] {
        assert!(all.contains(&format!("'{name}'")), "{name}");
    }
    assert!(all.contains(&format!(".startsWith('{}')", hub_namespace(""))), "the names of hub namespaces");
    for kind in [Kind::WorkloadDeployment, Kind::InstanceType] {
        let resource = kind.resource();
        assert!(all.contains(&format!("it.kind == '{}'", resource.kind)), "{}", resource.kind);
        assert!(all.contains(&format!("startsWith('{}/')", resource.group)), "{}", resource.group);
    }
    for secret in ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"] {
        assert!(all.contains(&format!("'{secret}'")), "{secret}");
    }
}
