//! Volumes: each has one source, and each is attached.

use std::collections::{HashMap, HashSet};

use fedhub_api::{Disk, InstanceSpec, KeyToPath, Quantity, Volume, VolumeAttachment};
use fedhub_core::names::{DNS_LABEL_RULE, is_dns_label};
use fedhub_core::quantity;

use super::attached::mount_path;
use super::metadata;
use super::scale::shown;
use crate::admission::fault::Faults;
use crate::admission::limits;
use crate::admission::path::Path;

/// The images that a disk can begin with, and how large such a disk is at least, in GiB.
const IMAGES: [&str; 1] = ["datumcloud/ubuntu-2204-lts"];
const IMAGE_NEEDS: i64 = 25;
/// The sizes of disks, in GiB.
const SIZES: std::ops::RangeInclusive<i64> = 10..=100;
const GIB: i64 = 1 << 30;

/// The faults of the volumes of an instance, and of what attaches them.
pub fn check(instance: &InstanceSpec, at: &Path, faults: &mut Faults) {
    let all = instance.volumes.as_deref().unwrap_or_default();
    let list = at.field("volumes");
    let by_name: HashMap<&str, &Volume> = all.iter().map(|volume| (&*volume.name, volume)).collect();
    let volumes = faults.within(all, limits::VOLUMES, &list);
    let items = || volumes.iter().enumerate().map(|(i, volume)| (list.item(i, &volume.name), volume));
    faults.names(items().map(|(at, volume)| (at.field("name"), &*volume.name)), is_dns_label, DNS_LABEL_RULE);
    let attached: HashSet<&str> = attachments(instance).map(|attachment| &*attachment.name).collect();
    let mut devices = HashSet::new();
    for (index, (at, volume)) in items().enumerate() {
        source(volume, &at, faults);
        if !attached.contains(&*volume.name) {
            faults.invalid(at.clone(), &volume.name, "nothing attaches this volume");
        }
        let Some(disk) = &volume.disk else { continue };
        let given = disk.device_name.clone().filter(|name| !name.is_empty());
        let device = given.unwrap_or_else(|| format!("persistent-disk-{index}"));
        if !devices.insert(device.clone()) {
            faults.duplicate(at.field("disk").field("deviceName"), &device, "another disk is that device");
        }
    }
    let at = at.field("runtime");
    let containers = instance.runtime.sandbox.iter().flat_map(|sandbox| &sandbox.containers);
    for (i, container) in containers.enumerate().take(limits::CONTAINERS) {
        let at = at.field("sandbox").field("containers").item(i, &container.name);
        let list = container.volume_attachments.as_deref().unwrap_or_default();
        each(list, &by_name, true, &at.field("volumeAttachments"), faults);
    }
    if let Some(machine) = &instance.runtime.virtual_machine {
        let at = at.field("virtualMachine").field("volumeAttachments");
        each(&machine.volume_attachments, &by_name, false, &at, faults);
    }
}

/// All attachments of a sandbox or a machine.
fn attachments(instance: &InstanceSpec) -> impl Iterator<Item = &VolumeAttachment> {
    let containers = instance.runtime.sandbox.iter().flat_map(|sandbox| &sandbox.containers);
    let machine = instance.runtime.virtual_machine.iter().flat_map(|machine| &machine.volume_attachments);
    containers.flat_map(|container| container.volume_attachments.iter().flatten()).chain(machine)
}

/// Each attachment is one of a volume that is there, and files that are attached to a container have a place
/// in it.
fn each(
    list: &[VolumeAttachment],
    volumes: &HashMap<&str, &Volume>,
    is_container: bool,
    at: &Path,
    faults: &mut Faults,
) {
    for (i, attachment) in list.iter().enumerate().take(limits::ATTACHMENTS) {
        let at = at.item(i, &attachment.name);
        let Some(volume) = volumes.get(&*attachment.name) else {
            faults.not_found(at.field("name"), &attachment.name, "there is no volume of that name");
            continue;
        };
        let is_files = volume.config_map.is_some() || volume.secret.is_some();
        if is_files && is_container && mount_path(attachment).is_none() {
            let rule = "the files of a ConfigMap or a Secret have a place in a container";
            faults.required(at.field("mountPath"), rule);
        }
    }
}

fn source(volume: &Volume, at: &Path, faults: &mut Faults) {
    let given = [volume.config_map.is_some(), volume.disk.is_some(), volume.secret.is_some()];
    if given.into_iter().filter(|given| *given).count() != 1 {
        let rule = "a volume has exactly one source: disk, configMap or secret";
        faults.forbidden(at.clone(), None, rule);
    }
    if let Some(disk) = &volume.disk {
        check_disk(disk, &at.field("disk").field("template"), faults);
    }
    if let Some(from) = &volume.config_map {
        let at = at.field("configMap");
        faults.reference(at.field("name"), "ConfigMap", &from.name);
        mode(from.default_mode, &at, faults);
        items(from.items.as_deref(), &at, faults);
    }
    if let Some(from) = &volume.secret {
        let at = at.field("secret");
        let name = from.secret_name.as_deref().unwrap_or_default();
        faults.reference(at.field("secretName"), "Secret", name);
        mode(from.default_mode, &at, faults);
        items(from.items.as_deref(), &at, faults);
    }
}

fn items(items: Option<&[KeyToPath]>, at: &Path, faults: &mut Faults) {
    if items.is_some_and(|items| !items.is_empty()) {
        faults.forbidden(at.field("items"), None, "it is not implemented: all keys are files");
    }
}

fn mode(mode: Option<i32>, at: &Path, faults: &mut Faults) {
    if let Some(mode) = mode {
        let rule = "it must be a number from 0 to 511 (0777)";
        faults.check((0..=0o777).contains(&mode), at.field("defaultMode"), mode, rule);
    }
}

fn check_disk(disk: &Disk, at: &Path, faults: &mut Faults) {
    if let Some(of_disk) = &disk.template.metadata {
        metadata::check(of_disk, &at.field("metadata"), faults);
    }
    let (spec, at) = (&disk.template.spec, at.field("spec"));
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
