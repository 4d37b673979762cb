//! What RBAC on a plane grants to fedhub's identities.

use std::collections::BTreeMap;
use std::fmt::Debug;

use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use kube::api::ListParams;
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::right::{Grant, Right, RoleId, identity, kind};
use crate::Error;
use crate::topology::Holder;
use crate::topology::planes::{Cells, Plane};

/// The roles of a plane, by kind, namespace (empty for a `ClusterRole`) and name.
type Roles = BTreeMap<(&'static str, String, String), Vec<PolicyRule>>;

/// A binding of either kind.
struct Binding {
    /// Empty for a `ClusterRoleBinding`, which gives its role in all of them.
    namespace: String,
    role: RoleRef,
    subjects: Vec<Subject>,
}

/// Every right that a binding on `plane` gives to an identity of fedhub's there.
pub async fn on(client: &Client, plane: &Plane) -> Result<Vec<Grant>, Error> {
    let mut roles = Roles::new();
    for role in list::<ClusterRole>(client, plane).await? {
        roles.insert(("ClusterRole", String::new(), role.name_any()), role.rules.unwrap_or_default());
    }
    for role in list::<Role>(client, plane).await? {
        let namespace = role.namespace().unwrap_or_default();
        roles.insert(("Role", namespace, role.name_any()), role.rules.unwrap_or_default());
    }
    let cluster = list::<ClusterRoleBinding>(client, plane).await?.into_iter().map(|binding| Binding {
        namespace: String::new(),
        role: binding.role_ref,
        subjects: binding.subjects.unwrap_or_default(),
    });
    let namespaced = list::<RoleBinding>(client, plane).await?.into_iter().map(|binding| Binding {
        namespace: binding.metadata.namespace.unwrap_or_default(),
        role: binding.role_ref,
        subjects: binding.subjects.unwrap_or_default(),
    });
    Ok(granted(&roles, cluster.chain(namespaced), plane))
}

async fn list<K>(client: &Client, plane: &Plane) -> Result<Vec<K>, Error>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let listed = Api::<K>::all(client.clone()).list(&ListParams::default()).await;
    Ok(listed.map_err(Error::api(format!("list {} on {}", K::plural(&()), plane.name)))?.items)
}

fn granted(known: &Roles, bindings: impl IntoIterator<Item = Binding>, plane: &Plane) -> Vec<Grant> {
    let mut grants = Vec::new();
    for binding in bindings {
        let everywhere = binding.namespace.is_empty();
        let key = match &*binding.role.kind {
            "Role" => ("Role", binding.namespace, binding.role.name),
            _ => ("ClusterRole", String::new(), binding.role.name),
        };
        let Some(rules) = known.get(&key) else { continue };
        let said = serde_json::json!(rules).to_string();
        let role = RoleId { name: format!("{} {}", key.0, key.2), rules: said };
        let holders: Vec<_> = Holder::on(plane, Cells::default())
            .filter(|holder| is_bound(*holder, &binding.subjects))
            .collect();
        for rule in rules {
            for holder in &holders {
                grants.extend(of_rule(rule, *holder, plane).into_iter().map(|right| Grant {
                    role: role.clone(),
                    right,
                    everywhere,
                }));
            }
        }
    }
    grants
}

/// Whether a subject is the service account, or the group of those of its namespace.
fn is_bound(holder: Holder, subjects: &[Subject]) -> bool {
    let user = holder.user();
    let group = holder.group();
    subjects.iter().any(|subject| match &*subject.kind {
        "ServiceAccount" => {
            let namespace = subject.namespace.as_deref().unwrap_or_default();
            user == format!("system:serviceaccount:{namespace}:{}", subject.name)
        }
        "Group" => subject.name == group,
        _ => subject.name == user,
    })
}

fn of_rule(rule: &PolicyRule, holder: Holder, plane: &Plane) -> Vec<Right> {
    let right = |group: &str, resource: &str, verb: &String| Right {
        plane: kind(plane),
        identity: identity(holder),
        group: group.to_owned(),
        resource: resource.to_owned(),
        verb: verb.clone(),
    };
    let mut rights = Vec::new();
    for verb in &rule.verbs {
        for path in rule.non_resource_urls.iter().flatten() {
            rights.push(right("", path, verb));
        }
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                rights.push(right(group, resource, verb));
            }
        }
    }
    rights
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::topology::planes::HUB;

    fn binding(kind: &str, name: &str, subject: serde_json::Value) -> Binding {
        let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name });
        Binding {
            namespace: "fedhub-system".to_owned(),
            role: serde_json::from_value(role).unwrap(),
            subjects: vec![serde_json::from_value(subject).unwrap()],
        }
    }

    #[test]
    fn what_is_granted_is_what_bindings_to_our_identities_say() {
        let some = json!([{ "apiGroups": ["", "a"], "resources": ["b"], "verbs": ["get", "list"] }]);
        let some: Vec<PolicyRule> = serde_json::from_value(some).unwrap();
        let known = Roles::from([
            (("ClusterRole", String::new(), "one".to_owned()), some.clone()),
            (("Role", "fedhub-system".to_owned(), "two".to_owned()), some),
        ]);
        let fedhub = json!({ "kind": "ServiceAccount", "namespace": "fedhub-system", "name": "fedhub" });
        let cells = json!({ "kind": "Group", "name": "system:serviceaccounts:fedhub-cells" });
        let other = json!({ "kind": "ServiceAccount", "namespace": "other", "name": "fedhub" });
        let plane = Plane::named(HUB).unwrap();
        let lines = |binding| {
            granted(&known, [binding], plane)
                .iter()
                .map(|Grant { role, right, .. }: &Grant| format!("{}: {right}", role.name))
                .collect::<Vec<_>>()
        };
        let all = |role: &str| {
            ["get b", "get b.a", "list b", "list b.a"].map(|it| format!("{role}: {it} on the hub for fedhub"))
        };
        assert_eq!(lines(binding("ClusterRole", "one", fedhub.clone())), all("ClusterRole one"));
        assert_eq!(lines(binding("Role", "two", fedhub.clone())), all("Role two"));
        assert_eq!(lines(binding("ClusterRole", "one", cells)).len(), 8, "of both cells");
        assert!(lines(binding("ClusterRole", "one", other)).is_empty());
        assert!(lines(binding("Role", "one", fedhub.clone())).is_empty(), "a Role of another name");
        for (namespace, everywhere) in [("", true), ("fedhub-system", false)] {
            let binding =
                Binding { namespace: namespace.to_owned(), ..binding("ClusterRole", "one", fedhub.clone()) };
            let grants = granted(&known, [binding], plane);
            assert!(
                grants.len() == 4 && grants.iter().all(|grant| grant.everywhere == everywhere),
                "{grants:?}"
            );
        }
    }
}
