//! The rules of a Workload and of a WD: names, placements ([`placements`]), numbers ([`scale`]), and the
//! template that both have ([`template`]): what runs ([`runtime`], [`containers`], [`machine`]), volumes
//! ([`volumes`]) and networks ([`network`]).

mod attached;
mod containers;
pub mod disruption;
mod machine;
mod metadata;
mod network;
mod placements;
mod policy;
mod runtime;
mod scale;
mod ssh_key;
mod template;
mod unreadable;
mod volumes;

use fedhub_api::{InstanceTemplateSpec, WorkloadDeploymentSpec, WorkloadSpec};
use fedhub_core::names::{DNS_LABEL_RULE, LABEL_VALUE_RULE, RESTARTED_AT, is_dns_label, is_label_value};
use fedhub_core::object::{Object, ObjectView};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use network::NetworkUse;
pub use scale::replicas;

use super::fault::{Fault, Faults};
use super::path::Path;
use super::types::Types;

/// The spec of a kind whose instances are made from a template.
pub trait Templated: DeserializeOwned {
    /// The template.
    fn template(&self) -> &InstanceTemplateSpec;

    /// The faults of the name, which stand also where the spec cannot be read.
    fn check_name(_object: &Object, _faults: &mut Faults) {}

    /// The faults of all but the template.
    fn check(&self, object: &Object, at: &Path, faults: &mut Faults);

    /// Returns warnings for its user, besides those of the template.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Templated for WorkloadSpec {
    fn template(&self) -> &InstanceTemplateSpec {
        &self.template
    }

    fn check_name(object: &Object, faults: &mut Faults) {
        faults.name(Path::from_field("metadata").field("name"), object.name(), is_dns_label, DNS_LABEL_RULE);
    }

    fn check(&self, object: &Object, at: &Path, faults: &mut Faults) {
        placements::check(object.name(), &self.placements, &at.field("placements"), faults);
    }

    fn warnings(&self) -> Vec<String> {
        placements::warnings(self)
    }
}

impl Templated for WorkloadDeploymentSpec {
    fn template(&self) -> &InstanceTemplateSpec {
        &self.template
    }

    fn check(&self, _: &Object, at: &Path, faults: &mut Faults) {
        // Without these its Instances have no labels by which the project would see them.
        let workload = at.field("workloadRef");
        for (path, value) in [
            (at.field("placementName"), &self.placement_name),
            (workload.field("name"), &self.workload_ref.name),
            (workload.field("uid"), &self.workload_ref.uid),
        ] {
            faults.name(path, value, is_label_value, LABEL_VALUE_RULE);
        }
        scale::check(&self.scale_settings, &at.field("scaleSettings"), faults);
        if let Some(wanted) = self.replicas {
            replicas(wanted.into(), at.field("replicas"), faults);
        }
    }
}

/// The findings in one object.
#[derive(Debug, Default)]
pub struct Findings {
    /// Its faults.
    pub faults: Vec<Fault>,
    /// The warnings for its user.
    pub warnings: Vec<String>,
}

/// Returns the findings in an object with such a spec, whose template may have these types.
pub fn findings<S: Templated>(object: &Object, types: Types<'_>) -> Findings {
    let mut faults = Faults::default();
    let mut warnings = Vec::new();
    let at = Path::from_field("spec");
    S::check_name(object, &mut faults);
    match S::deserialize(object.spec()) {
        Ok(spec) => {
            spec.check(object, &at, &mut faults);
            template::check(spec.template(), types, &at.field("template"), &mut faults);
            warnings.extend(template::warnings(spec.template(), types));
            warnings.extend(spec.warnings());
        }
        // The schema refuses it before, in words of its own: this is for planes whose schema is another.
        Err(error) => unreadable::check(object.spec(), &error, &at, &mut faults),
    }
    let (spec, at) = template_spec(object);
    network::check_references(spec, object.namespace(), &at, &mut faults);
    Findings { faults: faults.into_vec(), warnings }
}

fn template_spec(object: &Object) -> (&Value, Path) {
    (&object.spec()["template"]["spec"], Path::from_field("spec").field("template").field("spec"))
}

/// The networks that the user of an object has to have the right to use: all of a template that is new or
/// says something else. Whoever changes what runs on a network uses it; whoever scales, moves or restarts
/// what another has made does not.
pub fn networks(old: Option<&Object>, new: &Object) -> Vec<NetworkUse> {
    let (spec, at) = template_spec(new);
    let is_same = old.is_some_and(|old| template_spec(old).0 == spec && marks(old) == marks(new));
    if is_same { Vec::new() } else { network::uses(spec, new.namespace(), &at) }
}

/// Returns the metadata of the template besides the request for a restart, such as who may log in.
fn marks(object: &Object) -> Vec<(&str, &str, &Value)> {
    /// The annotation that asks for a restart, also as kubectl writes it.
    const RESTARTS: [&str; 2] = [RESTARTED_AT, "kubectl.kubernetes.io/restartedAt"];
    let metadata = &object.spec()["template"]["metadata"];
    let of = |field: &'static str| {
        metadata[field]
            .as_object()
            .into_iter()
            .flatten()
            .map(move |(key, value)| (field, key.as_str(), value))
    };
    let said = of("annotations").filter(|(_, key, _)| !RESTARTS.contains(key)).chain(of("labels"));
    let mut said: Vec<_> = said.collect();
    said.sort_unstable_by_key(|(field, key, _)| (*field, *key));
    said
}
