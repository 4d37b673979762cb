//! The schema that tells what users said in their templates: the cell's own (C5).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fedhub_core::errors::{Category, Error, chain};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::Plane;

use crate::instances::{Deployment, Instance, Likeness, TemplateSchema};

/// The name of the CRD of WDs.
const CRD: &str = "workloaddeployments.compute.datumapis.com";
/// So many templates are remembered at most.
const MAX_CONFIRMED: usize = 4096;

/// The cell's schema, as far as it is known.
#[derive(Default)]
pub(super) struct CellSchema(Mutex<Known>);

struct Known {
    current: Arc<TemplateSchema>,
    /// The hashes, by that schema, of templates for which it was read.
    confirmed: BTreeSet<String>,
    /// It was said that it cannot be read.
    unreadable: bool,
}

impl Default for Known {
    fn default() -> Self {
        let current = TemplateSchema::built_in().clone();
        Self { current, confirmed: BTreeSet::new(), unreadable: false }
    }
}

impl CellSchema {
    /// The schema to judge the Instances of a WD by. Where they differ from the template in nothing that a newer schema
    /// could not have made up, the cell's CRD is asked before: it is at least as new as the object that was read by it.
    pub(super) async fn judging(&self, cell: &Plane, wd: &Object) -> Result<Arc<TemplateSchema>, Error> {
        let schema = self.known().current.clone();
        let deployment = Deployment::by(wd, &schema);
        if self.known().confirmed.contains(&deployment.template_hash) || !in_doubt(cell, &deployment) {
            return Ok(schema);
        }
        let read = match cell.get_live(Kind::CustomResourceDefinition, "", CRD).await {
            Ok(crd) => crd.and_then(|crd| TemplateSchema::of_crd_spec(crd.spec())),
            Err(error) if error.category() == Category::Forbidden => {
                if !std::mem::replace(&mut self.known().unreadable, true) {
                    tracing::warn!(
                        name = CRD,
                        error = chain(&error),
                        "cannot read the CRD: a field that a newer CRD defaults counts as a change of the template"
                    );
                }
                None
            }
            Err(error) => return Err(error.into()),
        };
        let mut known = self.known();
        if let Some(read) = read.filter(|read| *read != *known.current) {
            known.current = Arc::new(read);
            known.confirmed.clear();
        } else if known.confirmed.len() >= MAX_CONFIRMED {
            known.confirmed.clear();
        }
        let schema = known.current.clone();
        known.confirmed.insert(Deployment::by(wd, &schema).template_hash);
        Ok(schema)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the hash of any of the WD's Instances differs in a way that a schema may explain.
fn in_doubt(cell: &Plane, deployment: &Deployment<'_>) -> bool {
    let all = cell.store(Kind::Instance).objects(Some(deployment.namespace));
    all.iter().any(|object| {
        let instance = Instance::of(object);
        deployment.owns(&instance)
            && !instance.terminating
            && matches!(deployment.likeness(object), Likeness::Equal | Likeness::Extended)
    })
}
