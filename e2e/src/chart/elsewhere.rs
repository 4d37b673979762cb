//! A release that shares nothing with its overlay but the components: it is in another namespace, and each
//! value that stands for a field is another one. A field that a template writes out, where the value belongs,
//! shows here.

use serde_json::{Value, json};

/// The namespace of that release.
pub const NAMESPACE: &str = "elsewhere";

/// Its values, after those by which it has its components.
pub const VALUES: [&str; 19] = [
    "namespace.create=false",
    "replicas=5",
    "image.repository=elsewhere.example.com/it",
    "image.tag=v9",
    "image.pullSecrets[0].name=pull",
    "resources.requests.cpu=1m",
    "resources.requests.memory=1Gi",
    "resources.limits.memory=2Gi",
    "extraArgs={--log-format=json,--shutdown-timeout=9s}",
    "secrets.hub=other-hub",
    "secrets.discovery=other-discovery",
    "secrets.quota=other-quota",
    "secrets.webhook=other-webhook",
    "secrets.metrics=other-metrics",
    "networkPolicy.apiServerPorts={443,32443}",
    "serviceMonitor.labels.release=other",
    "webhooks.dnsNames={fedhub.example.com}",
    "cell.name=cell-ams",
    "cell.city=AMS",
];

/// The objects of that release, by those of the overlay, whose namespace is `own`.
pub fn moved(objects: Vec<Value>, own: &str) -> Vec<Value> {
    objects
        .into_iter()
        .filter(|object| object["kind"] != "Namespace" || object["metadata"]["name"] != own)
        .map(|mut object| {
            move_object(&mut object, own);
            object
        })
        .collect()
}

fn move_object(object: &mut Value, own: &str) {
    set(object, "/metadata/namespace", |namespace| move_namespace(namespace, own));
    each(object, "/subjects", |subject| {
        set(subject, "/namespace", |namespace| move_namespace(namespace, own));
    });
    match object["kind"].as_str() {
        Some("Deployment") => move_deployment(&mut object["spec"]),
        Some("Certificate") => {
            set(object, "/spec/secretName", move_secret);
            each(object, "/spec/dnsNames", |name| {
                let text = name.as_str().unwrap_or_default();
                *name = text.replace(&format!(".{own}."), &format!(".{NAMESPACE}.")).into();
            });
            if object["metadata"]["name"] == "fedhub-webhook-tls" {
                extend(object, "/spec/dnsNames", &["fedhub.example.com"]);
            }
        }
        Some("ServiceMonitor") => {
            object["metadata"]["labels"]["release"] = "other".into();
            set(object, "/spec/endpoints/0/tlsConfig/ca/secret/name", move_secret);
        }
        Some("NetworkPolicy") => set(object, "/spec/egress/1/ports", |ports| {
            *ports = json!([{"port": 443, "protocol": "TCP"}, {"port": 32443, "protocol": "TCP"}]);
        }),
        Some("ConfigMap") => {
            set(object, "/data/name", |name| *name = "cell-ams".into());
            set(object, "/data/city", |city| *city = "AMS".into());
        }
        Some("Service") => set(object, "/metadata/labels/federation.datumapis.com~1cell", |name| {
            *name = "cell-ams".into();
        }),
        _ => {}
    }
}

fn move_deployment(spec: &mut Value) {
    spec["replicas"] = 5.into();
    let pod = &mut spec["template"]["spec"];
    pod["imagePullSecrets"] = json!([{"name": "pull"}]);
    each(pod, "/volumes", |volume| set(volume, "/secret/secretName", move_secret));
    let container = &mut pod["containers"][0];
    container["image"] = "elsewhere.example.com/it:v9".into();
    container["resources"] = json!({"requests": {"cpu": "1m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}});
    extend(container, "/args", &["--log-format=json", "--shutdown-timeout=9s"]);
}

fn move_namespace(namespace: &mut Value, own: &str) {
    if namespace == own {
        *namespace = NAMESPACE.into();
    }
}

fn move_secret(name: &mut Value) {
    let other = match name.as_str() {
        Some("fedhub-hub-kubeconfig") => "other-hub",
        Some("fedhub-discovery-kubeconfig") => "other-discovery",
        Some("fedhub-quota-kubeconfig") => "other-quota",
        Some("fedhub-webhook-tls") => "other-webhook",
        Some("fedhub-metrics-tls") => "other-metrics",
        _ => return,
    };
    *name = other.into();
}

/// Changes a field that is there.
fn set(object: &mut Value, path: &str, change: impl FnOnce(&mut Value)) {
    if let Some(field) = object.pointer_mut(path) {
        change(field);
    }
}

fn each(object: &mut Value, path: &str, change: impl Fn(&mut Value)) {
    object.pointer_mut(path).and_then(Value::as_array_mut).into_iter().flatten().for_each(change);
}

fn extend(object: &mut Value, path: &str, more: &[&str]) {
    if let Some(list) = object.pointer_mut(path).and_then(Value::as_array_mut) {
        list.extend(more.iter().map(|one| Value::from(*one)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_moved_where_it_is_the_release_s_and_stays_where_it_is_another() {
        let objects = vec![
            json!({"kind": "Namespace", "metadata": {"name": "own"}}),
            json!({"kind": "Namespace", "metadata": {"name": "other"}}),
            json!({"kind": "Role", "metadata": {"name": "own", "namespace": "own"}}),
            json!({"kind": "RoleBinding", "metadata": {"namespace": "other"}, "subjects": [{"namespace": "own"}]}),
        ];
        let expected = [
            json!({"kind": "Namespace", "metadata": {"name": "other"}}),
            json!({"kind": "Role", "metadata": {"name": "own", "namespace": NAMESPACE}}),
            json!({"kind": "RoleBinding", "metadata": {"namespace": "other"}, "subjects": [{"namespace": NAMESPACE}]}),
        ];
        assert_eq!(moved(objects, "own"), expected);
    }
}
