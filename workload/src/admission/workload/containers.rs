//! The containers of a sandbox.

use fedhub_api::{Container, EnvFromSource, EnvVar, SandboxRuntime, WorkloadSpec};
use fedhub_core::message::Quoted;
use fedhub_core::names::{DNS_LABEL_RULE, OBJECT_NAME_RULE, is_dns_label, is_object_name};

use super::attached::{mounts, ports};
use crate::admission::fault::Faults;
use crate::admission::path::Path;

/// The faults of a sandbox.
pub fn check(sandbox: &SandboxRuntime, at: &Path, faults: &mut Faults) {
    let containers = at.field("containers");
    if sandbox.containers.is_empty() {
        faults.required(containers.clone(), "a sandbox has at least one container");
    }
    let items = || sandbox.containers.iter().enumerate().map(|(i, c)| (containers.item(i, &c.name), c));
    faults.names(items().map(|(at, c)| (at.field("name"), &*c.name)), is_dns_label, DNS_LABEL_RULE);
    for (at, container) in items() {
        check_one(container, &at, faults);
    }
    for (i, secret) in sandbox.image_pull_secrets.iter().flatten().enumerate() {
        let path = at.field("imagePullSecrets").item(i, &secret.name).field("name");
        faults.name(path, &secret.name, is_object_name, OBJECT_NAME_RULE);
    }
}

fn check_one(container: &Container, at: &Path, faults: &mut Faults) {
    let is_image = |image: &str| !image.contains(char::is_whitespace);
    faults.name(
        at.field("image"),
        &container.image,
        is_image,
        "a container has an image, whose name has no white space",
    );
    if container.resources.is_some() {
        let rule = "it is not implemented: the instance type says what there is";
        faults.forbidden(at.field("resources"), None, rule);
    }
    ports(container.ports.as_deref(), &at.field("ports"), faults);
    for (i, variable) in container.env.iter().flatten().enumerate() {
        environment(variable, &at.field("env").item(i, &variable.name), faults);
    }
    for (i, source) in container.env_from.iter().flatten().enumerate() {
        all_keys(source, &at.field("envFrom"), i, faults);
    }
    let attachments = container.volume_attachments.as_deref().unwrap_or_default();
    mounts(attachments, &at.field("volumeAttachments"), faults);
}

/// A variable has a value or one source of it.
fn environment(variable: &EnvVar, at: &Path, faults: &mut Faults) {
    let is_name = |name: &str| !name.contains('=') && !name.contains(char::is_control);
    faults.name(at.field("name"), &variable.name, is_name, "a variable has a name without '='");
    let (Some(source), at) = (&variable.value_from, at.field("valueFrom")) else { return };
    if variable.value.as_ref().is_some_and(|value| !value.is_empty()) {
        faults.forbidden(at.clone(), None, "a variable has either a value or a valueFrom");
    }
    let given = [
        source.config_map_key_ref.is_some(),
        source.secret_key_ref.is_some(),
        source.field_ref.is_some(),
        source.file_key_ref.is_some(),
        source.resource_field_ref.is_some(),
    ];
    if given.into_iter().filter(|given| *given).count() != 1 {
        faults.forbidden(at.clone(), None, "a variable has exactly one source");
    }
    if let Some(from) = &source.config_map_key_ref {
        let at = at.field("configMapKeyRef");
        faults.name(at.field("name"), &from.name, is_object_name, OBJECT_NAME_RULE);
    }
    if let Some(from) = &source.secret_key_ref {
        let at = at.field("secretKeyRef");
        faults.name(at.field("name"), &from.name, is_object_name, OBJECT_NAME_RULE);
    }
}

/// All keys of a `ConfigMap` or of a Secret.
fn all_keys(source: &EnvFromSource, list: &Path, index: usize, faults: &mut Faults) {
    let of = [("configMapRef", &source.config_map_ref), ("secretRef", &source.secret_ref)];
    let mut given = of.into_iter().filter_map(|(field, of)| of.as_ref().map(|of| (field, &*of.name)));
    let (first, second) = (given.next(), given.next());
    let at = list.item(index, first.map_or("", |(_, name)| name));
    if first.is_none() || second.is_some() {
        faults.forbidden(at.clone(), None, "it has either a configMapRef or a secretRef");
    }
    for (field, name) in [first, second].into_iter().flatten() {
        faults.name(at.field(field).field("name"), name, is_object_name, OBJECT_NAME_RULE);
    }
}

/// Images whose registry the cell chooses.
pub fn warnings(spec: &WorkloadSpec) -> Vec<String> {
    let sandbox = spec.template.spec.runtime.sandbox.iter().flat_map(|sandbox| &sandbox.containers);
    let warning = |container: &Container| {
        let (name, image) = (Quoted(&container.name), Quoted(&container.image));
        format!(
            "container {name}: image {image} names no registry: name one, such as docker.io/library/nginx"
        )
    };
    sandbox.filter(|container| !names_registry(&container.image)).map(warning).collect()
}

/// Whether the first part of the name is a host, by the rule of Docker's references.
fn names_registry(image: &str) -> bool {
    image.split_once('/').is_some_and(|(host, _)| host.contains(['.', ':']) || host == "localhost")
}
