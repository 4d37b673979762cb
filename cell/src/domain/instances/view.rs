//! The input of the plan: a WD and Instances, as far as it needs them.
//!
//! Decides C3.

use std::collections::BTreeMap;

use fedhub_api::{conditions, instance_power};
use fedhub_core::object::{Object, ObjectView};
use serde_json::Value;

use super::ORDERED_READY;
use super::schema::TemplateSchema;
use super::template::template_hash;

/// A WD of this cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment<'a> {
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.namespace`, its Instances' too.
    pub namespace: &'a str,
    /// `metadata.uid`, in this cell.
    pub uid: &'a str,
    /// Whether its deletion was asked for.
    pub terminating: bool,
    /// `spec.cityCode`.
    pub city: &'a str,
    /// `spec.placementName`.
    pub placement: &'a str,
    /// `spec.workloadRef.name`.
    pub workload: &'a str,
    /// `spec.workloadRef.uid`.
    pub workload_uid: &'a str,
    /// `spec.scaleSettings.instanceManagementPolicy`; absent is [`ORDERED_READY`].
    pub policy: &'a str,
    /// `spec.scaleSettings.rollingUpdate`, null where there is none.
    pub rolling_update: &'a Value,
    /// `spec.template`, null where there is none.
    pub template: &'a Value,
    /// [`template_hash`] of it.
    pub template_hash: String,
    /// The schema that separates what the user wrote from defaults.
    pub schema: &'a TemplateSchema,
}

impl<'a> Deployment<'a> {
    /// The view of a WD by this version's schema. Fields that it lacks are empty.
    pub fn from_object(object: &'a Object) -> Self {
        Self::by(object, TemplateSchema::built_in())
    }

    /// Returns the view of a WD by `schema`. Fields that it lacks are empty.
    pub fn by(object: &'a Object, schema: &'a TemplateSchema) -> Self {
        let spec = object.spec();
        let text = |value: &'a Value| value.as_str().unwrap_or_default();
        let template = &spec["template"];
        Self {
            name: object.name(),
            namespace: object.namespace(),
            uid: object.uid(),
            terminating: object.is_terminating(),
            city: text(&spec["cityCode"]),
            placement: text(&spec["placementName"]),
            workload: text(&spec["workloadRef"]["name"]),
            workload_uid: text(&spec["workloadRef"]["uid"]),
            policy: spec["scaleSettings"]["instanceManagementPolicy"].as_str().unwrap_or(ORDERED_READY),
            rolling_update: &spec["scaleSettings"]["rollingUpdate"],
            template,
            template_hash: template_hash(template, schema),
            schema,
        }
    }

    /// Whether this WD made that Instance: by the UID of its controller, never by name or label (C3).
    pub fn owns(&self, instance: &Instance<'_>) -> bool {
        !self.uid.is_empty() && instance.owner == Some(self.uid)
    }

    /// Whether an Instance was made from another template than this WD has now.
    pub fn outdates(&self, instance: &Instance<'_>) -> bool {
        instance.template_hash != Some(&*self.template_hash)
    }

    /// Whether an Instance is to be replaced: it is outdated, and nothing forbids it (V5).
    pub fn replaces(&self, instance: &Instance<'_>) -> bool {
        self.outdates(instance) && instance.replacement != Replacement::Denied
    }
}

/// How an Instance on an outdated template comes to the new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replacement {
    /// It is deleted and created again: all that it has stored is lost.
    #[default]
    Recreate,
    /// It stays, with its UID, name and addresses, and its provider makes its boot disk anew.
    Rebuild,
    /// It stays on its template: what would be lost has no consent.
    Denied,
}

/// An Instance in the WD's namespace, whatever its controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instance<'a> {
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.uid`: the precondition of a deletion.
    pub uid: &'a str,
    /// UID of the controller in its owner references.
    pub owner: Option<&'a str>,
    /// Whether its deletion was asked for.
    pub terminating: bool,
    /// Whether its condition `Ready` is True, or says that its user stopped it: no step waits for what is not
    /// to run (V9). A terminating Instance is not Ready, whatever this is (C12).
    pub ready: bool,
    /// `spec.controller.templateHash`.
    pub template_hash: Option<&'a str>,
    /// `metadata.labels`.
    pub labels: Option<&'a BTreeMap<String, String>>,
    /// How it is replaced where it is outdated.
    pub replacement: Replacement,
}

impl<'a> Instance<'a> {
    /// The view of an Instance. How it would be replaced depends on its WD, see
    /// [`Deployment::replacement`].
    pub fn from_object(object: &'a Object) -> Self {
        let mut owners = object.metadata.owner_references.iter().flatten();
        Self {
            name: object.name(),
            uid: object.uid(),
            owner: owners.find(|o| o.controller == Some(true)).map(|o| o.uid.as_str()),
            terminating: object.is_terminating(),
            ready: conditions::is_true(object.status(), "Ready") || instance_power::is_stopped(object),
            template_hash: object.spec()["controller"]["templateHash"].as_str(),
            labels: object.metadata.labels.as_ref(),
            replacement: Replacement::default(),
        }
    }

    /// Whether it is Ready, and stays.
    pub fn serves(&self) -> bool {
        self.ready && !self.terminating
    }
}

/// The name of the Instance of an ordinal (C1).
pub fn name(deployment: &str, ordinal: u32) -> String {
    format!("{deployment}-{ordinal}")
}

/// The ordinal in an Instance's name, if [`name`] makes that name: `web-1`, but not `web-01`.
pub fn ordinal(deployment: &str, instance: &str) -> Option<u32> {
    let digits = instance.strip_prefix(deployment)?.strip_prefix('-')?;
    digits.parse().ok().filter(|ordinal: &u32| ordinal.to_string() == digits)
}
