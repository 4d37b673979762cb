//! The containers of a sandbox.

use fedhub_api::{
    Container, ContainerResources, EnvFromSource, EnvVar, InstanceTemplateSpec, SandboxRuntime,
};
use fedhub_core::message::Quoted;
use fedhub_core::names::{DNS_LABEL_RULE, is_dns_label};

use super::attached::{mounts, ports};
use crate::admission::fault::{Faults, json};
use crate::admission::limits;
use crate::admission::path::Path;

/// The faults of a sandbox.
pub fn check(sandbox: &SandboxRuntime, at: &Path, faults: &mut Faults) {
    let containers = at.field("containers");
    if sandbox.containers.is_empty() {
        faults.required(containers.clone(), "a sandbox has at least one container");
    }
    let list = faults.within(&sandbox.containers, limits::CONTAINERS, &containers);
    let items = || list.iter().enumerate().map(|(i, c)| (containers.item(i, &c.name), c));
    faults.names(items().map(|(at, c)| (at.field("name"), &*c.name)), is_dns_label, DNS_LABEL_RULE);
    for (at, container) in items() {
        check_one(container, &at, faults);
    }
    let secrets = sandbox.image_pull_secrets.as_deref();
    let at = at.field("imagePullSecrets");
    let secrets = faults.within(secrets.unwrap_or_default(), limits::PULL_SECRETS, &at);
    for (i, secret) in secrets.iter().enumerate() {
        faults.reference(at.item(i, &secret.name).field("name"), "Secret", &secret.name);
    }
}

fn check_one(container: &Container, at: &Path, faults: &mut Faults) {
    faults.name(
        at.field("image"),
        &container.image,
        |image| !image.contains(char::is_whitespace),
        "a container has an image, whose name has no white space",
    );
    if let Some(resources) = container.resources.as_ref().filter(|all| says_something(all)) {
        let rule = "it is not implemented: the instance type says what there is";
        faults.forbidden(at.field("resources"), json(resources).as_deref(), rule);
    }
    ports(container.ports.as_deref(), &at.field("ports"), faults);
    let all = container.env.as_deref().unwrap_or_default();
    let env = at.field("env");
    for (i, variable) in faults.within(all, limits::VARIABLES, &env).iter().enumerate() {
        environment(variable, &env.item(i, &variable.name), faults);
    }
    let all = container.env_from.as_deref().unwrap_or_default();
    let env_from = at.field("envFrom");
    for (i, source) in faults.within(all, limits::SOURCES, &env_from).iter().enumerate() {
        all_keys(source, &env_from, i, faults);
    }
    let attachments = container.volume_attachments.as_deref().unwrap_or_default();
    mounts(attachments, &at.field("volumeAttachments"), faults);
}

/// What says nothing is not set, as the API has it.
fn says_something(resources: &ContainerResources) -> bool {
    [&resources.limits, &resources.requests].into_iter().flatten().any(|all| !all.is_empty())
}

/// A variable has a value or one source of it.
fn environment(variable: &EnvVar, at: &Path, faults: &mut Faults) {
    faults.name(
        at.field("name"),
        &variable.name,
        |name| !name.contains('=') && !name.contains(char::is_control),
        "a variable has a name without '='",
    );
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
    for (field, is_given) in [
        ("fieldRef", source.field_ref.is_some()),
        ("fileKeyRef", source.file_key_ref.is_some()),
        ("resourceFieldRef", source.resource_field_ref.is_some()),
    ] {
        if is_given {
            let rule = "it is not implemented: a variable takes its value from a ConfigMap or a Secret";
            faults.forbidden(at.field(field), None, rule);
        }
    }
    if let Some(from) = &source.config_map_key_ref {
        let at = at.field("configMapKeyRef");
        faults.reference(at.field("name"), "ConfigMap", &from.name);
    }
    if let Some(from) = &source.secret_key_ref {
        let at = at.field("secretKeyRef");
        faults.reference(at.field("name"), "Secret", &from.name);
    }
}

/// All keys of a `ConfigMap` or of a Secret.
fn all_keys(source: &EnvFromSource, list: &Path, index: usize, faults: &mut Faults) {
    let of =
        [("configMapRef", "ConfigMap", &source.config_map_ref), ("secretRef", "Secret", &source.secret_ref)];
    let mut given =
        of.into_iter().filter_map(|(field, kind, of)| of.as_ref().map(|of| (field, kind, &*of.name)));
    let first = given.next();
    let second = given.next();
    let at = list.item(index, first.map_or("", |(_, _, name)| name));
    if first.is_none() || second.is_some() {
        faults.forbidden(at.clone(), None, "it has either a configMapRef or a secretRef");
    }
    for (field, kind, name) in [first, second].into_iter().flatten() {
        faults.reference(at.field(field).field("name"), kind, name);
    }
}

/// Images whose registry the cell chooses.
pub fn warnings(template: &InstanceTemplateSpec) -> Vec<String> {
    let sandbox = template.spec.runtime.sandbox.iter().flat_map(|sandbox| &sandbox.containers);
    let sandbox = sandbox.take(limits::CONTAINERS);
    sandbox
        .filter(|container| !names_registry(&container.image))
        .map(|container| {
            let name = Quoted(&container.name);
            let image = Quoted(&container.image);
            format!(
                "container {name}: image {image} names no registry: name one, such as docker.io/library/nginx"
            )
        })
        .collect()
}

/// Whether the first part of the name is a host, by the rule of Docker's references.
fn names_registry(image: &str) -> bool {
    image.split_once('/').is_some_and(|(host, _)| host.contains(['.', ':']) || host == "localhost")
}
