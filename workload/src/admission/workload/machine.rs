//! Virtual machines: who may log in, and what they boot from.

use fedhub_api::InstanceTemplateSpec;

use super::ssh_key::is_public_key;
use crate::admission::fault::Faults;
use crate::admission::limits;
use crate::admission::path::Path;

/// The annotation of a machine's template with the keys of its users.
const SSH_KEYS: &str = "compute.datumapis.com/ssh-keys";

/// The faults of a template with a virtual machine.
pub fn check(template: &InstanceTemplateSpec, at: &Path, faults: &mut Faults) {
    let path = at.field("metadata").field("annotations").key(SSH_KEYS);
    let annotations = template.metadata.as_ref().and_then(|metadata| metadata.annotations.as_ref());
    let keys = annotations.and_then(|all| all.get(SSH_KEYS)).map_or("", String::as_str);
    let lines = || keys.lines().map(str::trim).filter(|line| !line.is_empty());
    let count = lines().count();
    let rule = "each line is the name of a user, a colon and a public SSH key";
    if count == 0 {
        faults.required(path.clone(), rule);
    }
    faults.at_most(count, limits::SSH_KEYS, "lines", &path);
    for line in lines().take(limits::SSH_KEYS).filter(|line| !is_user_key(line)) {
        faults.invalid(path.clone(), line, rule);
    }
    boots(template, &at.field("spec"), faults);
}

/// The first volume of a machine is a disk with an image on it.
fn boots(template: &InstanceTemplateSpec, at: &Path, faults: &mut Faults) {
    let machine = template.spec.runtime.virtual_machine.iter();
    let Some(first) = machine.flat_map(|machine| &machine.volume_attachments).next() else { return };
    let mut volumes = template.spec.volumes.iter().flatten();
    // One that is not there is another fault.
    let Some(volume) = volumes.find(|volume| volume.name == first.name) else { return };
    let populator = volume.disk.as_ref().and_then(|disk| disk.template.spec.populator.as_ref());
    if populator.is_none_or(|populator| populator.image.is_none()) {
        let path = at.field("runtime").field("virtualMachine").field("volumeAttachments");
        let rule = "a machine boots from its first volume, which must be a disk with an image";
        faults.invalid(path.item(0, &first.name).field("name"), &first.name, rule);
    }
}

fn is_user_key(line: &str) -> bool {
    line.split_once(':').is_some_and(|(user, key)| {
        !user.is_empty() && !user.contains(char::is_whitespace) && is_public_key(key)
    })
}
