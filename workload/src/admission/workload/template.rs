//! The rules of a template, of whichever kind it is in: its metadata, what runs, volumes, and networks.

use fedhub_api::InstanceTemplateSpec;
use fedhub_core::message::Quoted;
use fedhub_core::names::is_reserved_label;

use super::{containers, machine, metadata, network, runtime, volumes};
use crate::admission::fault::Faults;
use crate::admission::path::Path;
use crate::admission::types::{self, Types};

/// The faults of a template, which may have these types. What it says of networks is checked as it stands,
/// see [`network`].
pub fn check(template: &InstanceTemplateSpec, types: Types<'_>, at: &Path, faults: &mut Faults) {
    if let Some(of) = &template.metadata {
        metadata::check(of, &at.field("metadata"), faults);
    }
    let instance = &template.spec;
    let here = at.field("spec");
    if let Some(location) = &instance.location {
        let rule = "it cannot be chosen: the cell sets it";
        faults.forbidden(here.field("location"), Some(&location.name), rule);
    }
    if let Some(controller) = &instance.controller {
        let rule = "only the cell sets it";
        faults.forbidden(here.field("controller"), Some(&controller.template_hash), rule);
    }
    runtime::check(&instance.runtime, types, &here.field("runtime"), faults);
    network::check(&instance.network_interfaces, &here.field("networkInterfaces"), faults);
    volumes::check(instance, &here, faults);
    if instance.runtime.virtual_machine.is_some() {
        machine::check(template, at, faults);
    }
}

/// Returns the warnings for the user of a template.
pub fn warnings(template: &InstanceTemplateSpec, types: Types<'_>) -> Vec<String> {
    let mut warnings = containers::warnings(template);
    let labels = template.metadata.iter().filter_map(|metadata| metadata.labels.as_ref());
    let reserved = labels.flat_map(|labels| labels.keys()).filter(|key| is_reserved_label(key));
    warnings.extend(reserved.map(|key| {
        format!("the template's label {} has no effect: fedhub sets it on instances", Quoted(key))
    }));
    warnings.extend(types::warning(&template.spec.runtime.resources, types));
    warnings
}
