//! The rules of a Workload: its name, placements ([`placements`]), what runs ([`runtime`], [`containers`], [`machine`]),
//! volumes ([`volumes`]) and networks ([`network`]).

mod attached;
mod containers;
mod machine;
mod network;
mod placements;
mod runtime;
mod scale;
mod volumes;

use fedhub_api::WorkloadSpec;
use fedhub_core::names::{DNS_LABEL_RULE, is_dns_label};
use fedhub_core::object::{Object, ObjectView};
use serde::Deserialize;

pub use network::NetworkUse;

use super::fault::Faults;
use super::path::Path;
use super::types::{self, Types};

/// The faults of a Workload, whose template may have these types.
pub fn check(object: &Object, types: Types<'_>, faults: &mut Faults) {
    faults.name(Path::of("metadata").field("name"), object.name(), is_dns_label, DNS_LABEL_RULE);
    let at = Path::of("spec");
    let spec = match WorkloadSpec::deserialize(object.spec()) {
        Ok(spec) => spec,
        // The schema refuses it before, in words of its own: this is for planes whose schema is another.
        Err(error) => {
            return faults.forbidden(at, None, &format!("it cannot be read as that of a Workload: {error}"));
        }
    };
    placements::check(object.name(), &spec.placements, &at.field("placements"), faults);
    let (template, instance) = (at.field("template"), &spec.template.spec);
    let here = template.field("spec");
    runtime::check(&instance.runtime, types, &here.field("runtime"), faults);
    network::check(
        &instance.network_interfaces,
        object.namespace(),
        &here.field("networkInterfaces"),
        faults,
    );
    volumes::check(instance, &here, faults);
    if instance.runtime.virtual_machine.is_some() {
        machine::check(&spec.template, &template, faults);
    }
}

/// What the user of a Workload should know, and was not told when the one before it was stored.
pub fn warnings(types: Types<'_>, old: Option<&Object>, new: &Object) -> Vec<String> {
    let of = |object: &Object| {
        let Ok(spec) = WorkloadSpec::deserialize(object.spec()) else { return Vec::new() };
        let of_type = types::warning(&spec.template.spec.runtime.resources, types);
        [containers::warnings(&spec), placements::warnings(&spec), of_type.into_iter().collect()].concat()
    };
    let known = old.map(of).unwrap_or_default();
    let mut warnings = of(new);
    warnings.retain(|warning| !known.contains(warning));
    warnings
}

/// The networks that a Workload uses and the one before it did not.
pub fn networks(old: Option<&Object>, new: &Object) -> Vec<NetworkUse> {
    let of = |object: &Object| {
        let spec = WorkloadSpec::deserialize(object.spec()).ok();
        spec.map(|spec| network::uses(&spec, object.namespace())).unwrap_or_default()
    };
    let known = old.map(of).unwrap_or_default();
    let is_new = |used: &NetworkUse| !known.iter().any(|known| known.is_same(used));
    of(new).into_iter().filter(is_new).collect()
}
