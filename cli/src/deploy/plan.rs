//! The plan of a deployment: a pure function of the user's input and of the existing Workload.

use std::collections::BTreeSet;

use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::cities::named;
use super::described;
use super::document::Document;
use super::fault::Fault;
use super::flags::Flags;
use crate::changes::{self, Change};

/// A Workload as the user asks for it.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// A Workload by its name, and what flags say of it.
    Flags(&'a str, &'a Flags),
    /// A Workload of a file.
    Document(&'a Document),
}

impl Wanted<'_> {
    /// The name of the Workload.
    pub fn name(&self) -> &str {
        match self {
            Self::Flags(name, _) => name,
            Self::Document(document) => &document.name,
        }
    }
}

/// The plan for one Workload.
#[derive(Clone, Debug, PartialEq)]
pub struct DeployPlan {
    /// The Workload as it is to be; with the resourceVersion that the plan was made for, where it is there.
    pub object: Object,
    /// The Workload as it is; `None` where there is none.
    pub before: Option<Object>,
    /// The changes of an existing Workload. Those of a new one are not listed.
    pub changes: Vec<Change>,
    /// Placements and cities whose instances go.
    pub leaves: Vec<(String, String)>,
    /// Whether instances that run are replaced.
    pub replaces: bool,
}

impl DeployPlan {
    /// Whether there is anything to send.
    pub fn is_noop(&self) -> bool {
        self.before.is_some() && self.changes.is_empty()
    }
}

/// Decides what becomes of a Workload.
pub fn decide(
    wanted: Wanted<'_>,
    namespace: &str,
    existing: Option<&Object>,
) -> Result<DeployPlan, Vec<Fault>> {
    let mut object = match wanted {
        Wanted::Flags(name, flags) => described::desired(flags, name, namespace, existing)?,
        Wanted::Document(document) => document.desired(namespace, existing),
    };
    // The server keeps its own; those of a read need not be sent back.
    object.metadata.managed_fields = None;
    let Some(before) = existing else {
        let changes = Vec::new();
        let leaves = Vec::new();
        return Ok(DeployPlan { object, before: None, changes, leaves, replaces: false });
    };
    let after = cities(&object);
    let leaves = cities(before).into_iter().filter(|it| !after.contains(it)).collect();
    let replaces = without_disruption(before) != without_disruption(&object);
    let changes = changes::between(&said(before), &said(&object), "");
    Ok(DeployPlan { object, before: Some(before.clone()), changes, leaves, replaces })
}

/// The template of a Workload as far as other instances come of it (V5).
fn without_disruption(workload: &Object) -> Value {
    let mut template = workload.spec()["template"].clone();
    if let Some(spec) = template["spec"].as_object_mut() {
        spec.remove("disruption");
    }
    template
}

/// Returns the part of a Workload that users write.
fn said(object: &Object) -> Value {
    json!({
        "metadata": {"labels": object.metadata.labels, "annotations": object.metadata.annotations},
        "spec": object.spec(),
    })
}

/// The placements and cities of a Workload, each once.
pub fn cities(object: &Object) -> BTreeSet<(String, String)> {
    let placements = object.spec()["placements"].as_array().into_iter().flatten();
    let pairs = placements.flat_map(|placement| {
        let name = placement["name"].as_str().unwrap_or_default();
        named(placement).map(move |city| (name.to_owned(), city.to_owned()))
    });
    pairs.collect()
}
