//! What instances run on: their type, and a sandbox or a virtual machine.

use fedhub_api::InstanceRuntime;

use super::attached::{mounts, ports};
use super::containers;
use crate::admission::fault::Faults;
use crate::admission::path::Path;
use crate::admission::types::{self, Types};

/// The faults of a runtime, which may have these types.
pub fn check(runtime: &InstanceRuntime, types: Types<'_>, at: &Path, faults: &mut Faults) {
    let InstanceRuntime { class, resources, sandbox, virtual_machine } = runtime;
    let here = at.field("resources");
    types::check(resources, here.field("instanceType"), types, faults);
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
