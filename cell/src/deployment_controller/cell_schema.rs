//! The cell's own schema, which separates what users wrote in their templates from defaults (C5).

use std::collections::BTreeSet;
use std::sync::Arc;

use fedhub_core::errors::{Category, Error, chain};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::{Pass, Plane};

use crate::domain::instances::{Deployment, Instance, Likeness, TemplateSchema};
use parking_lot::{Mutex, MutexGuard};

/// The name of the CRD of WDs.
const CRD: &str = "workloaddeployments.compute.datumapis.com";
/// The maximum number of templates that are remembered.
const MAX_CONFIRMED: usize = 4096;

/// The cell's schema, as far as it is known.
#[derive(Default)]
pub(super) struct CellSchema(Mutex<SchemaCache>);

struct SchemaCache {
    current: Arc<TemplateSchema>,
    /// The hashes, by that schema, of templates for which it was read.
    confirmed: BTreeSet<String>,
    /// Whether it has been logged that the schema cannot be read.
    unreadable: bool,
}

impl Default for SchemaCache {
    fn default() -> Self {
        let current = TemplateSchema::built_in().clone();
        Self { current, confirmed: BTreeSet::new(), unreadable: false }
    }
}

impl CellSchema {
    /// The schema to compare the Instances of a WD by. Where they differ from the template only in what a
    /// newer schema may have defaulted, the cell's CRD is read first: it is at least as new as the object.
    pub(super) async fn judging(
        &self,
        pass: &Pass,
        cell: &Plane,
        wd: &Object,
    ) -> Result<Arc<TemplateSchema>, Error> {
        let schema = self.cache().current.clone();
        let deployment = Deployment::by(wd, &schema);
        if self.cache().confirmed.contains(&deployment.template_hash) || !in_doubt(cell, &deployment) {
            return Ok(schema);
        }
        let read = match cell.get_live(pass, Kind::CustomResourceDefinition, "", CRD).await {
            Ok(crd) => crd.and_then(|crd| TemplateSchema::of_crd_spec(crd.spec())),
            Err(error) if error.category() == Category::Forbidden => {
                if !std::mem::replace(&mut self.cache().unreadable, true) {
                    tracing::warn!(
                        name = CRD,
                        error = chain(&error),
                        "cannot read the CRD, treating fields that a newer CRD defaults as changes of templates"
                    );
                }
                None
            }
            Err(error) => return Err(error.into()),
        };
        let mut cache = self.cache();
        if let Some(read) = read.filter(|read| *read != *cache.current) {
            cache.current = Arc::new(read);
            cache.confirmed.clear();
        } else if cache.confirmed.len() >= MAX_CONFIRMED {
            cache.confirmed.clear();
        }
        let schema = cache.current.clone();
        cache.confirmed.insert(Deployment::by(wd, &schema).template_hash);
        Ok(schema)
    }

    fn cache(&self) -> MutexGuard<'_, SchemaCache> {
        self.0.lock()
    }
}

/// Whether the hash of any of the WD's Instances differs in a way that a schema may explain.
fn in_doubt(cell: &Plane, deployment: &Deployment<'_>) -> bool {
    let all = cell.store(Kind::Instance).objects(Some(deployment.namespace));
    all.iter().any(|object| {
        let instance = Instance::from_object(object);
        deployment.owns(&instance)
            && !instance.terminating
            && matches!(deployment.likeness(object), Likeness::Equal | Likeness::Extended)
    })
}
