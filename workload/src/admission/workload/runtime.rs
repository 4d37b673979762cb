//! What instances run on: their type, and a sandbox or a virtual machine.

use fedhub_api::{InstanceRuntime, NamedPort, VolumeAttachment, instance_types};

use super::containers;
use crate::admission::fault::Faults;
use crate::admission::path::Path;

/// The faults of a runtime.
pub fn check(runtime: &InstanceRuntime, at: &Path, faults: &mut Faults) {
    let InstanceRuntime { class, resources, sandbox, virtual_machine } = runtime;
    let here = at.field("resources");
    match &*resources.instance_type {
        "" => faults.required(here.field("instanceType"), "it says how much CPU and memory an instance has"),
        name => faults.supported(here.field("instanceType"), name, &instance_types::NAMES),
    }
    if resources.requests.is_some() {
        faults.forbidden(here.field("requests"), None, "it is not implemented: the instance type says it");
    }
    if let Some(class) = class {
        faults.forbidden(at.field("class"), Some(class), "classes of runtimes are not implemented");
    }
    match (sandbox, virtual_machine) {
        (None, None) => faults.required(at.clone(), "it must have a sandbox or a virtualMachine"),
        (Some(_), Some(_)) => {
            let rule = "it must have either a sandbox or a virtualMachine, not both";
            faults.forbidden(at.field("virtualMachine"), None, rule);
        }
        _ => {}
    }
    if let Some(sandbox) = sandbox {
        containers::check(sandbox, &at.field("sandbox"), faults);
    }
    if let Some(machine) = virtual_machine {
        let at = at.field("virtualMachine");
        ports(machine.ports.as_deref(), &at.field("ports"), faults);
        mounts(&machine.volume_attachments, &at.field("volumeAttachments"), faults);
    }
}

/// The ports of one container, or of a machine.
pub fn ports(ports: Option<&[NamedPort]>, at: &Path, faults: &mut Faults) {
    let items = || ports.into_iter().flatten().enumerate().map(|(i, port)| (at.item(i, &port.name), port));
    let rule = "it must have 1 to 15 lower-case letters, digits or '-', at least one letter, and no '-' at an \
                end or beside another";
    faults.names(items().map(|(at, port)| (at.field("name"), &*port.name)), is_port_name, rule);
    for (at, NamedPort { port, protocol, .. }) in items() {
        let range = "it must be a number from 1 to 65535";
        faults.check((1..=65535).contains(port), at.field("port"), port, range);
        if let Some(protocol) = protocol {
            faults.supported(at.field("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
        }
    }
}

/// A name of a service as IANA registers them (RFC 6335).
fn is_port_name(name: &str) -> bool {
    (1..=15).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && name.contains(|c: char| c.is_ascii_lowercase())
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// No two volumes of one container, or of a machine, are at one place.
pub fn mounts(attachments: &[VolumeAttachment], at: &Path, faults: &mut Faults) {
    let mut places = std::collections::BTreeSet::new();
    for (i, attachment) in attachments.iter().enumerate() {
        let Some(place) = &attachment.mount_path else { continue };
        let path = at.item(i, &attachment.name).field("mountPath");
        if !place.starts_with('/') {
            faults.invalid(path, place, "it must be an absolute path");
        } else if !places.insert(place) {
            faults.duplicate(path, place, "another volume is mounted there");
        }
    }
}
