//! Volumes: each has one source, and each is attached.

use std::collections::BTreeSet;

use fedhub_api::{Disk, InstanceSpec, Quantity, Volume, VolumeAttachment};
use fedhub_core::names::{DNS_LABEL_RULE, OBJECT_NAME_RULE, is_dns_label, is_object_name};
use fedhub_core::quantity;

use super::scale::shown;
use crate::admission::fault::Faults;
use crate::admission::path::Path;

/// The images that a disk can begin with, and how large such a disk is at least, in GiB.
const IMAGES: [&str; 1] = ["datumcloud/ubuntu-2204-lts"];
const IMAGE_NEEDS: i64 = 25;
/// The sizes of disks, in GiB.
const SIZES: std::ops::RangeInclusive<i64> = 10..=100;
const GIB: i64 = 1 << 30;

/// The faults of the volumes of an instance, and of what attaches them.
pub fn check(instance: &InstanceSpec, at: &Path, faults: &mut Faults) {
    let volumes = instance.volumes.as_deref().unwrap_or_default();
    let list = at.field("volumes");
    let items = || volumes.iter().enumerate().map(|(i, volume)| (list.item(i, &volume.name), volume));
    faults.names(items().map(|(at, volume)| (at.field("name"), &*volume.name)), is_dns_label, DNS_LABEL_RULE);
    let attachments = attachments(instance, &at.field("runtime"));
    let attached: BTreeSet<_> = attachments.iter().map(|(_, attachment)| &*attachment.name).collect();
    let mut devices = BTreeSet::new();
    for (index, (at, volume)) in items().enumerate() {
        source(volume, &at, faults);
        if !attached.contains(&*volume.name) {
            faults.invalid(at.clone(), &volume.name, "nothing attaches this volume");
        }
        let Some(disk) = &volume.disk else { continue };
        let device = disk.device_name.clone().unwrap_or_else(|| format!("persistent-disk-{index}"));
        if !devices.insert(device.clone()) {
            faults.duplicate(at.field("disk").field("deviceName"), &device, "another disk is that device");
        }
    }
    for (at, attachment) in &attachments {
        if !volumes.iter().any(|volume| volume.name == attachment.name) {
            faults.not_found(at.field("name"), &attachment.name, "there is no volume of that name");
        }
    }
}

/// All attachments of a sandbox or a machine.
fn attachments<'a>(instance: &'a InstanceSpec, at: &Path) -> Vec<(Path, &'a VolumeAttachment)> {
    let sandbox = instance.runtime.sandbox.iter().flat_map(|sandbox| &sandbox.containers).enumerate();
    let mut found = Vec::new();
    let mut add = |list: Path, all: &'a [VolumeAttachment]| {
        found.extend(all.iter().enumerate().map(|(i, one)| (list.item(i, &one.name), one)));
    };
    for (i, container) in sandbox {
        let at = at.field("sandbox").field("containers").item(i, &container.name);
        add(at.field("volumeAttachments"), container.volume_attachments.as_deref().unwrap_or_default());
    }
    if let Some(machine) = &instance.runtime.virtual_machine {
        add(at.field("virtualMachine").field("volumeAttachments"), &machine.volume_attachments);
    }
    found
}

fn source(volume: &Volume, at: &Path, faults: &mut Faults) {
    let given = [volume.config_map.is_some(), volume.disk.is_some(), volume.secret.is_some()];
    if given.into_iter().filter(|given| *given).count() != 1 {
        let rule = "a volume has exactly one source: disk, configMap or secret";
        faults.forbidden(at.clone(), None, rule);
    }
    if let Some(disk) = &volume.disk {
        check_disk(disk, &at.field("disk").field("template").field("spec"), faults);
    }
    if let Some(from) = &volume.config_map {
        let at = at.field("configMap");
        faults.name(at.field("name"), &from.name, is_object_name, OBJECT_NAME_RULE);
        mode(from.default_mode, &at, faults);
        if from.items.is_some() {
            faults.forbidden(at.field("items"), None, "it is not implemented: all keys are files");
        }
    }
    if let Some(from) = &volume.secret {
        let (at, name) = (at.field("secret"), from.secret_name.as_deref().unwrap_or_default());
        faults.name(at.field("secretName"), name, is_object_name, OBJECT_NAME_RULE);
        mode(from.default_mode, &at, faults);
    }
}

fn mode(mode: Option<i32>, at: &Path, faults: &mut Faults) {
    if let Some(mode) = mode {
        let rule = "it must be a number from 0 to 511 (0777)";
        faults.check((0..=0o777).contains(&mode), at.field("defaultMode"), mode, rule);
    }
}

fn check_disk(disk: &Disk, at: &Path, faults: &mut Faults) {
    let spec = &disk.template.spec;
    faults.supported(at.field("type"), &spec.type_, &["pd-standard"]);
    let populator = at.field("populator");
    let image = spec.populator.as_ref().and_then(|populator| populator.image.as_ref());
    if let Some(of) = &spec.populator
        && image.is_some() == of.filesystem.is_some()
    {
        faults.forbidden(populator.clone(), None, "it has either an image or a filesystem");
    }
    if let Some(image) = image {
        faults.supported(populator.field("image").field("name"), &image.name, &IMAGES);
    }
    let path = at.field("resources").field("requests").key("storage");
    let requests = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    match requests.and_then(|requests| requests.get("storage")) {
        Some(size) => storage(size, image.is_some(), path, faults),
        // The size of a disk with an image is that of the image.
        None if image.is_some() => {}
        None => faults.required(path, "a disk without an image needs a size"),
    }
}

fn storage(size: &Quantity, has_image: bool, path: Path, faults: &mut Faults) {
    let bytes = serde_json::to_value(size).ok().and_then(|value| quantity::bytes(&value).ok());
    let whole = bytes.filter(|bytes| bytes % GIB == 0).map(|bytes| bytes / GIB);
    match whole {
        Some(gib) if has_image && SIZES.contains(&gib) && gib < IMAGE_NEEDS => {
            faults.invalid(path, shown(size), "a disk with an image has at least 25Gi");
        }
        Some(gib) if SIZES.contains(&gib) => {}
        _ => faults.invalid(path, shown(size), "it must be a whole number of Gi from 10Gi to 100Gi"),
    }
}
