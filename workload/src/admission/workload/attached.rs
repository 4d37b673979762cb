//! What containers and machines have alike: ports, and volumes that are mounted.

use std::collections::BTreeSet;

use fedhub_api::{NamedPort, VolumeAttachment};

use crate::admission::fault::Faults;
use crate::admission::path::Path;

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
    let mut places = BTreeSet::new();
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
