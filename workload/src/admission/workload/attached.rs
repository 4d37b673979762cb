//! The common parts of containers and machines: ports, and volumes that are mounted.

use std::collections::BTreeSet;

use fedhub_api::{NamedPort, VolumeAttachment};

use crate::admission::fault::Faults;
use crate::admission::limits;
use crate::admission::path::Path;

/// The rule of [`is_port_name`], for messages.
pub const PORT_NAME_RULE: &str = "it must have 1 to 15 lower-case letters, digits or '-', at least one letter, and no '-' \
                                  at an end or beside another";

/// The ports of one container, or of a machine.
pub fn ports(ports: Option<&[NamedPort]>, at: &Path, faults: &mut Faults) {
    let ports = faults.within(ports.unwrap_or_default(), limits::PORTS, at);
    let items = || ports.iter().enumerate().map(|(i, port)| (at.item(i, &port.name), port));
    let names = items().map(|(at, port)| (at.field("name"), &*port.name));
    faults.names(names, is_port_name, PORT_NAME_RULE);
    for (at, NamedPort { port, protocol, .. }) in items() {
        let range = "it must be a number from 1 to 65535";
        faults.check((1..=65535).contains(port), at.field("port"), port, range);
        if let Some(protocol) = protocol {
            faults.supported(at.field("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
        }
    }
}

/// A name of a service as IANA registers them (RFC 6335).
pub fn is_port_name(name: &str) -> bool {
    (1..=15).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && name.contains(|c: char| c.is_ascii_lowercase())
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// Checks that no two volumes of one container, or of a machine, are mounted at one place.
pub fn mounts(attachments: &[VolumeAttachment], at: &Path, faults: &mut Faults) {
    let mut places = BTreeSet::new();
    for (i, attachment) in faults.within(attachments, limits::ATTACHMENTS, at).iter().enumerate() {
        let Some(written) = mount_path(attachment) else { continue };
        let path = at.item(i, &attachment.name).field("mountPath");
        let Some(place) = place(written) else {
            faults.invalid(path, written, "it must be an absolute path without '..'");
            continue;
        };
        if !places.insert(place) {
            faults.duplicate(path, written, "another volume is mounted there");
        }
    }
}

/// Where an attachment is mounted, as it is written; an empty path is none.
pub fn mount_path(attachment: &VolumeAttachment) -> Option<&str> {
    attachment.mount_path.as_deref().filter(|path| !path.is_empty())
}

/// The parts of a path: one place may be written in several ways.
fn place(path: &str) -> Option<Vec<&str>> {
    let parts = || path.split('/').filter(|part| !part.is_empty() && *part != ".");
    (path.starts_with('/') && parts().all(|part| part != "..")).then(|| parts().collect())
}
