//! What instances run on: their type, and a sandbox or a virtual machine.

use fedhub_api::InstanceRuntime;

use super::attached::{mounts, ports};
use super::containers;
use crate::admission::fault::{Faults, json};
use crate::admission::path::Path;
use crate::admission::types::{self, Types};

/// The faults of a runtime, which may have these types.
pub fn check(runtime: &InstanceRuntime, types: Types<'_>, at: &Path, faults: &mut Faults) {
    let InstanceRuntime { class, resources, sandbox, virtual_machine } = runtime;
    let here = at.field("resources");
    types::check(resources, here.field("instanceType"), types, faults);
    // An empty value counts as not set, as in the API.
    if let Some(requests) = resources.requests.as_ref().filter(|all| !all.is_empty()) {
        let rule = "it is not implemented: the instance type says it";
        faults.forbidden(here.field("requests"), json(requests).as_deref(), rule);
    }
    if let Some(class) = class.as_ref().filter(|class| !class.is_empty()) {
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
