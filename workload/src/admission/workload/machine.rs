//! Virtual machines: who may log in, and what they boot from.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fedhub_api::InstanceTemplateSpec;

use crate::admission::fault::Faults;
use crate::admission::path::Path;

/// The annotation of a machine's template with the keys of its users.
const SSH_KEYS: &str = "compute.datumapis.com/ssh-keys";

/// The types of public keys that OpenSSH takes.
const KEY_TYPES: [&str; 7] = [
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "sk-ssh-ed25519@openssh.com",
    "ssh-ed25519",
    "ssh-rsa",
];

/// The faults of a template with a virtual machine.
pub fn check(template: &InstanceTemplateSpec, at: &Path, faults: &mut Faults) {
    let path = at.field("metadata").field("annotations").key(SSH_KEYS);
    let annotations = template.metadata.as_ref().and_then(|metadata| metadata.annotations.as_ref());
    let keys = annotations.and_then(|all| all.get(SSH_KEYS)).map_or("", String::as_str);
    let mut lines = keys.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    let rule = "each line is the name of a user, a colon and a public SSH key";
    if lines.peek().is_none() {
        faults.required(path.clone(), rule);
    }
    for line in lines.filter(|line| !is_user_key(line)) {
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
    let Some((user, key)) = line.split_once(':') else { return false };
    let mut parts = key.split_whitespace();
    let (Some(of), Some(data)) = (parts.next(), parts.next()) else { return false };
    let is_user = !user.is_empty() && !user.contains(char::is_whitespace);
    is_user && KEY_TYPES.contains(&of) && BASE64_STANDARD.decode(data).is_ok_and(|data| is_of(&data, of))
}

/// Whether the data of a key says that it is of that type, and has something more (RFC 4253, section 6.6).
fn is_of(data: &[u8], of: &str) -> bool {
    let Some((length, rest)) = data.split_first_chunk() else { return false };
    let name =
        usize::try_from(u32::from_be_bytes(*length)).ok().and_then(|length| rest.split_at_checked(length));
    name.is_some_and(|(name, key)| name == of.as_bytes() && !key.is_empty())
}
