//! The objects that give a Workload a public URL: a service over its instances, and a proxy in front of that.
//! Both are named like the Workload, say in labels that they are its, and go with it.

use fedhub_api::conditions::{find, said};
use fedhub_core::names::{WORKLOAD_NAME, WORKLOAD_UID};
use fedhub_core::object::{Kind, Object, ObjectView};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

/// The name of the port that is published.
pub const PORT: &str = "http";

/// Something of the Workload's name is there that is not its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameTaken;

/// The kind of the service.
pub fn service_resource() -> ApiResource {
    resource("NetworkService", "networkservices")
}

/// The kind of the proxy.
pub fn proxy_resource() -> ApiResource {
    resource("HTTPProxy", "httpproxies")
}

fn resource(kind: &str, plural: &str) -> ApiResource {
    let kind = GroupVersionKind::gvk("networking.datumapis.com", "v1alpha", kind);
    ApiResource::from_gvk_with_plural(&kind, plural)
}

/// The number of the Workload's port that is published.
pub fn port(workload: &Object) -> Option<i64> {
    let containers = workload.spec().pointer("/template/spec/runtime/sandbox/containers")?.as_array()?;
    let mut ports = containers.iter().flat_map(|it| it["ports"].as_array().into_iter().flatten());
    ports.find(|port| port["name"] == PORT)?["port"].as_i64()
}

/// The service as it is to be; `None` where it is so already.
pub fn service(workload: &Object, port: i64, existing: Option<&Object>) -> Result<Option<Object>, NameTaken> {
    let mut service = ours(workload, &service_resource(), existing)?;
    let spec = spec_of(&mut service);
    // A selector that a user made narrower stays.
    if spec["networkInterfaces"]["selector"]["matchLabels"][WORKLOAD_NAME] != *workload.name() {
        let selector = json!({"matchLabels": {WORKLOAD_NAME: workload.name()}});
        put(spec, "networkInterfaces", json!({"selector": selector}));
    }
    let mut ports = spec["ports"].as_array().cloned().unwrap_or_default();
    let wanted = json!({"name": PORT, "port": port, "protocol": "TCP"});
    match ports.iter_mut().find(|it| it["name"] == PORT) {
        Some(port) => *port = wanted,
        None => ports.push(wanted),
    }
    put(spec, "ports", Value::Array(ports));
    Ok(changed(service, existing))
}

/// The proxy as it is to be; `None` where it is so already. Of one that is there, only the backend that is
/// the Workload's is touched: host names and further rules are the user's.
pub fn proxy(workload: &Object, existing: Option<&Object>) -> Result<Option<Object>, NameTaken> {
    let mut proxy = ours(workload, &proxy_resource(), existing)?;
    let spec = spec_of(&mut proxy);
    let mut rules = spec["rules"].as_array().cloned().unwrap_or_default();
    let backend = json!({"name": workload.name(), "port": PORT});
    if rules.is_empty() {
        rules.push(json!({"backends": [{"networkService": backend}]}));
    }
    let backends = rules.iter_mut().filter_map(|rule| rule["backends"].as_array_mut()).flatten();
    let services = backends.filter_map(|it| it.get_mut("networkService"));
    for service in services.filter(|service| service["name"] == *workload.name()) {
        *service = backend.clone();
    }
    put(spec, "rules", Value::Array(rules));
    Ok(changed(proxy, existing))
}

/// Whether an object is the Workload's, so that it may be changed where a URL is asked for.
pub fn is_ours(object: &Object, workload: &str) -> bool {
    object.label(WORKLOAD_NAME) == Some(workload)
}

/// Whether an object is this very Workload's, and not that of an earlier one of its name.
pub fn is_of(object: &Object, workload: &Object) -> bool {
    is_ours(object, workload.name()) && object.label(WORKLOAD_UID) == Some(workload.uid())
}

fn ours(workload: &Object, kind: &ApiResource, existing: Option<&Object>) -> Result<Object, NameTaken> {
    let mut object = match existing {
        Some(object) if is_ours(object, workload.name()) => object.clone(),
        Some(_) => return Err(NameTaken),
        None => Object::new(workload.name(), kind),
    };
    let labels = object.metadata.labels.get_or_insert_default();
    labels.insert(WORKLOAD_NAME.to_owned(), workload.name().to_owned());
    labels.insert(WORKLOAD_UID.to_owned(), workload.uid().to_owned());
    let owners = object.metadata.owner_references.get_or_insert_default();
    // One of an earlier Workload of that name would have it collected.
    owners.retain(|it| it.kind != Kind::Workload.resource().kind || it.uid == workload.uid());
    if !owners.iter().any(|it| it.uid == workload.uid()) {
        owners.push(OwnerReference {
            api_version: Kind::Workload.resource().api_version.clone(),
            kind: Kind::Workload.resource().kind.clone(),
            name: workload.name().to_owned(),
            uid: workload.uid().to_owned(),
            ..OwnerReference::default()
        });
    }
    Ok(object)
}

/// The spec, which is made where there is none.
fn spec_of(object: &mut Object) -> &mut Value {
    if !object.data.is_object() {
        object.data = json!({});
    }
    if !object.data["spec"].is_object() {
        object.data["spec"] = json!({});
    }
    &mut object.data["spec"]
}

fn put(spec: &mut Value, field: &str, value: Value) {
    if let Some(fields) = spec.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

fn changed(object: Object, existing: Option<&Object>) -> Option<Object> {
    Some(object).filter(|object| existing != Some(object))
}

/// How far a URL has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Url {
    /// The URL answers.
    Live(String),
    /// The URL does not answer yet, for this reason in the platform's words.
    Pending(String),
}

/// The URL of a proxy.
pub fn url(proxy: &Object) -> Url {
    let status = proxy.status();
    let waits = |kind: &str, is_needed: bool| match find(status, kind).map(said) {
        Some(("True", _, _)) => None,
        None if !is_needed => None,
        None => Some("the platform has not taken it up".to_owned()),
        Some((_, reason, "")) => Some(reason.to_owned()),
        Some((_, _, message)) => Some(message.to_owned()),
    };
    if let Some(why) = waits("Programmed", true).or_else(|| waits("CertificatesReady", false)) {
        return Url::Pending(why);
    }
    match address(proxy) {
        Some(url) => Url::Live(url),
        None => Url::Pending("it has no host name yet".to_owned()),
    }
}

/// Returns the address at which a proxy answers, or will.
pub fn address(proxy: &Object) -> Option<String> {
    let host = proxy.status()["canonicalHostname"].as_str().filter(|host| !host.is_empty())?;
    Some(format!("https://{host}"))
}
