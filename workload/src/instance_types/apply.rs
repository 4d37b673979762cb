//! Performs a plan: reads of the source, writes to the hub, words for operators.

use std::collections::BTreeSet;
use std::time::Duration;

use fedhub_core::errors::{Category, Error, RequestError};
use fedhub_core::object::{Kind, ObjectRef, ObjectView};
use fedhub_engine::{Outcome, Step};
use fedhub_planes::events::ObjectReference;
use fedhub_planes::{Precondition, Write};
use tokio::time::Instant;

use super::InstanceTypes;
use super::plan::{CatalogPlan, Complaint, Reads};
use super::reconcile::CatalogReconcile;
use super::snapshot::SourceCrd;

/// The name of the CRD of types.
const CRD: &str = "instancetypes.compute.datumapis.com";

impl CatalogReconcile<'_> {
    /// Does what is planned. A copy that the hub refuses does not hold the others up.
    pub(super) async fn perform(&mut self, plan: CatalogPlan) -> Result<Step, Error> {
        let CatalogPlan { policy, copies, deletes, read, complaints } = plan;
        let (controller, mut wrote, mut failure) = (self.controller, false, None);
        // What is still to be read may change it.
        if read == Reads::Nothing {
            controller.tell(complaints);
        }
        if let Some(write) = policy {
            controller.writer().write(Kind::ClusterPropagationPolicy, write).await?;
            wrote = true;
        }
        for write in copies {
            match controller.write(write).await {
                Ok(()) => wrote = true,
                Err(error) if error.category() == Category::Invalid => {
                    failure.get_or_insert(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        let (deleted, wait) = controller.delete(&deletes).await?;
        let learned = self.read(read).await?;
        Ok(match (failure, wait) {
            // The next round decides by that, and returns what fails then.
            _ if learned => Step::Learned,
            (Some(error), _) => return Err(error.into()),
            (None, _) if wrote || deleted => Step::Updated,
            (None, Some(wait)) => Step::End(Outcome::RequeueAfter(wait)),
            (None, None) => Step::Unchanged,
        })
    }

    /// Reads what is asked of the source; returns whether that was anything.
    async fn read(&mut self, read: Reads) -> Result<bool, RequestError> {
        let source = self.controller.source.anchor();
        match read {
            Reads::Nothing => return Ok(false),
            Reads::Crd => {
                let crd = source.get_live(Kind::CustomResourceDefinition, "", CRD).await?;
                self.learned.crd = Some(SourceCrd::of(crd.as_ref()));
            }
            Reads::Types(names) => {
                for name in names {
                    let found = source.get_live(Kind::InstanceType, "", &name).await?;
                    let known =
                        if found.is_some() { &mut self.learned.there } else { &mut self.learned.gone };
                    known.insert(name);
                }
            }
        }
        Ok(true)
    }
}

impl InstanceTypes {
    async fn write(&self, write: Write) -> Result<(), RequestError> {
        let (Write::Create(object) | Write::Replace { object, .. }) = &write;
        let name = object.name().to_owned();
        if self.writer().write(Kind::InstanceType, write).await?.is_some() {
            tracing::info!(name, "copied instance type to the hub");
        }
        Ok(())
    }

    /// Deletes copies, as far as there are tokens. Returns whether it deleted any, and when there is a token for the next one.
    async fn delete(&self, copies: &[ObjectRef]) -> Result<(bool, Option<Duration>), RequestError> {
        let hub = self.planes.hub();
        for (deleted, copy) in copies.iter().enumerate() {
            let key = hub.key(Kind::InstanceType, "", copy.name());
            let taken = self.deletes.lock().take(&key, Instant::now());
            if let Err(wait) = taken {
                self.planes.metrics().deletes_withheld.with_label_values(&["rate"]).inc();
                return Ok((deleted > 0, Some(wait)));
            }
            hub.delete(Kind::InstanceType, copy, Precondition::UidAndVersion).await?;
            tracing::info!(name = copy.name(), "deleted copy of an instance type: its source has none");
        }
        Ok((!copies.is_empty(), None))
    }

    /// Tells operators what is theirs to see to, once for as long as it holds.
    fn tell(&self, complaints: BTreeSet<Complaint>) {
        let mut told = self.told.lock();
        for complaint in complaints.difference(&told) {
            if let Some(label) = complaint.withheld() {
                self.planes.metrics().deletes_withheld.with_label_values(&[label]).inc();
            }
            let (name, reason, message) = (complaint.name(), complaint.reason(), complaint.message());
            tracing::warn!(name, reason, message, "instance types need an operator");
            if let Some(operators) = self.planes.operators() {
                let resource = Kind::InstanceType.resource();
                let related = ObjectReference {
                    api_version: Some(resource.api_version.clone()),
                    kind: Some(resource.kind.clone()),
                    name: Some(name.to_owned()),
                    ..ObjectReference::default()
                };
                operators.warn(reason, Some(related), message);
            }
        }
        *told = complaints;
    }
}
