//! How an Instance on an outdated template is replaced, and whether it may be (V5).

use fedhub_api::conditions;
use fedhub_api::disruption::{boot_disk, consents, disks};
use fedhub_core::names::FORMER_TEMPLATE_HASH;
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::template::metadata_part;
use super::view::{Deployment, Replacement};

impl Deployment<'_> {
    /// How an outdated Instance is to be replaced. `rebuilds` is whether the cell's provider can make a boot
    /// disk anew.
    ///
    /// A rebuild takes an explicit consent, since its provider asks the Instance for that as well. An
    /// Instance that no provider has ever run has stored nothing, and needs none.
    pub fn replacement(&self, instance: &Object, rebuilds: bool) -> Replacement {
        let wanted = &self.template["spec"];
        if has_run(instance) && !consents(wanted, instance.spec()) {
            Replacement::Denied
        } else if rebuilds && wanted["disruption"] == "Allow" && self.differs_in_boot_image(instance) {
            Replacement::Rebuild
        } else {
            Replacement::Recreate
        }
    }

    /// The disks that an Instance loses when it comes to this template.
    pub fn lost<'i>(&self, instance: &'i Object, rebuilds: bool) -> Vec<&'i str> {
        let spec = instance.spec();
        match boot_disk(spec) {
            Some(boot) if rebuilds && self.differs_in_boot_image(instance) => vec![boot],
            _ => disks(spec).collect(),
        }
    }

    /// Adds to a merge patch what brings an Instance to this template that differs in the image of its boot
    /// disk.
    pub fn rebuild(&self, instance: &Object, patch: &mut Value) {
        patch["spec"]["volumes"] = self.template["spec"]["volumes"].clone();
        patch["spec"]["controller"]["templateHash"] = json!(self.template_hash);
        if instance.annotation(FORMER_TEMPLATE_HASH).is_some() {
            // By it the provider would count as having observed the hash of now.
            patch["metadata"]["annotations"][FORMER_TEMPLATE_HASH] = Value::Null;
        }
    }

    /// Whether the image of the boot disk is all in which an Instance differs from this template. Only our
    /// own hash tells what the metadata of its template was.
    fn differs_in_boot_image(&self, instance: &Object) -> bool {
        let own = instance.spec()["controller"]["templateHash"].as_str().and_then(metadata_part);
        let spec = &self.template["spec"];
        own.is_some()
            && own == metadata_part(&self.template_hash)
            && boot_disk(spec).is_some()
            && self.without_boot_image(spec) == self.without_boot_image(instance.spec())
    }

    /// A spec as the user wrote it, less the image of its boot disk.
    fn without_boot_image(&self, spec: &Value) -> Value {
        let mut rest = self.schema.said_spec(spec);
        let boot = boot_disk(&rest).map(str::to_owned);
        let volumes = rest["volumes"].as_array_mut().into_iter().flatten();
        for volume in volumes.filter(|volume| volume["name"].as_str() == boot.as_deref()) {
            if let Some(image) = volume.pointer_mut("/disk/template/spec/populator/image") {
                *image = Value::Null;
            }
        }
        if let Some(fields) = rest.as_object_mut() {
            // The cell writes these two.
            fields.remove("controller");
            fields.remove("location");
        }
        rest
    }
}

/// Whether an Instance was changed in place, and its provider has not come to the new template yet. Until
/// then its condition `Ready` may still be about the earlier one.
pub fn is_rebuilding(instance: &Object) -> bool {
    let observed = instance.status()["controller"]["observedTemplateHash"].as_str();
    let wanted = instance.spec()["controller"]["templateHash"].as_str();
    observed.is_some()
        && wanted.is_some()
        && observed != wanted
        && observed != instance.annotation(FORMER_TEMPLATE_HASH)
}

/// Whether a provider may have run an Instance, so that something may be stored on it.
fn has_run(instance: &Object) -> bool {
    let status = instance.status();
    status["controller"]["observedTemplateHash"].is_string()
        || status["provider"]["serverId"].is_string()
        || conditions::is_true(status, "Programmed")
}
