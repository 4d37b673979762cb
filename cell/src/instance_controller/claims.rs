//! Claims that have outlived their Instance (C8), or are deleted because quota is off (C6).
//!
//! Decides C8.

use fedhub_api::cells::CellId;
use fedhub_core::errors::{Error, RequestError};
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Key, Kind, Object, ObjectRef, PlaneId};
use fedhub_engine::Outcome;
use fedhub_planes::{Pass, Plane, Precondition};

use super::InstanceController;
use crate::domain::quota::claim::{self, is_free};

/// The result of releasing a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Released {
    /// Its Instance is not proven gone.
    Kept,
    /// The claim is terminating: a finalizer is on it.
    Terminating,
    /// The claim is gone.
    Gone,
}

impl InstanceController {
    /// Reconciles a claim.
    pub(super) async fn claim(&self, pass: &Pass, project: &PlaneName, key: &Key) -> Result<Outcome, Error> {
        let Some(quota) = &self.quota else { return Ok(Outcome::AwaitChange) };
        if !self.cell.anchor().synced() {
            return Err(Error::NotEngaged(PlaneId::Cell));
        }
        let Some(project) = quota.projects.engaged(project) else {
            return Err(Error::NotEngaged(key.plane.clone()));
        };
        let there = project.store(Kind::ResourceClaim).object(&key.namespace, &key.name);
        let Some(claim) = there else { return Ok(Outcome::Unchanged) };
        if !self.seems_free(&claim) {
            return Ok(Outcome::Unchanged);
        }
        Ok(match self.release(pass, &project, &claim).await? {
            Released::Gone => Outcome::Updated,
            // By the watches: of the claim, or of the Instance that the cell still has.
            Released::Terminating | Released::Kept => Outcome::AwaitChange,
        })
    }

    /// Whether the cell's watch shows that a claim may go, so that the cell itself is to be read.
    pub(super) fn seems_free(&self, claim: &Object) -> bool {
        let Some(cell) = self.cell_id() else { return false };
        self.is_free(claim, &cell, self.instance_of(claim, &cell).as_deref())
    }

    /// Returns the Instance of the name that a claim is for, as the cell's watch shows it.
    fn instance_of(&self, claim: &Object, cell: &CellId) -> Option<ObjectRef> {
        let (namespace, name) = claim::instance_of(claim, cell)?;
        self.cell.anchor().store(Kind::Instance).object(namespace, name)
    }

    fn needs_quota(&self) -> bool {
        self.quota.as_ref().is_some_and(|quota| quota.enabled)
    }

    /// Returns the identity of the cell, if quota is configured and the cell has shown it.
    pub(super) fn cell_id(&self) -> Option<CellId> {
        self.quota.as_ref()?.identity.get()
    }

    fn is_free(&self, claim: &Object, cell: &CellId, there: Option<&Object>) -> bool {
        is_free(claim, cell, self.needs_quota(), there)
    }

    /// Deletes a claim that is free by the word of the cell itself.
    pub(super) async fn release(
        &self,
        pass: &Pass,
        project: &Plane,
        claim: &Object,
    ) -> Result<Released, RequestError> {
        let Some(cell) = self.cell_id() else { return Ok(Released::Kept) };
        let Some((namespace, name)) = claim::instance_of(claim, &cell) else { return Ok(Released::Kept) };
        let live = self.cell.anchor().get_live(pass, Kind::Instance, namespace, name).await?;
        if !self.is_free(claim, &cell, live.as_ref()) {
            return Ok(Released::Kept);
        }
        let gone = project.delete(pass, Kind::ResourceClaim, claim, Precondition::Uid).await?;
        Ok(if gone { Released::Gone } else { Released::Terminating })
    }
}
