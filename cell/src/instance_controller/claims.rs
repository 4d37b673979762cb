//! Claims that have outlived their Instance (C8), are deleted because quota is off (C6), or have marks of an older
//! version or of this cell's earlier name (C10).
//!
//! Decides C8.

use fedhub_api::cells::CellId;
use fedhub_core::errors::{Error, RequestError};
use fedhub_core::names::{CELL_MANAGER, PlaneName};
use fedhub_core::object::{Key, Kind, Object, ObjectRef, PlaneId};
use fedhub_engine::Outcome;
use fedhub_planes::{Plane, Precondition};
use serde_json::Value;

use super::InstanceController;
use crate::domain::quota::claim::{self, is_free, remarked};

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Released {
    /// Its Instance is not proven gone.
    Kept,
    /// The claim is terminating: a finalizer is on it.
    Terminating,
    /// It is gone.
    Gone,
}

impl InstanceController {
    /// Reconciles a claim.
    pub(super) async fn claim(&self, project: &PlaneName, key: &Key) -> Result<Outcome, Error> {
        let Some(quota) = &self.quota else { return Ok(Outcome::AwaitChange) };
        if !self.cell.anchor().synced() {
            return Err(Error::NotEngaged(PlaneId::Cell));
        }
        let Some(project) = quota.projects.engaged(project) else {
            return Err(Error::NotEngaged(key.plane.clone()));
        };
        let there = project.store(Kind::ResourceClaim).object(&key.namespace, &key.name);
        let Some(claim) = there else { return Ok(Outcome::Unchanged) };
        if let Some(metadata) = self.remarked(&claim) {
            project.patch_metadata(Kind::ResourceClaim, &claim, metadata, CELL_MANAGER).await?;
            return Ok(Outcome::Updated);
        }
        if !self.seems_free(&claim) {
            return Ok(Outcome::Unchanged);
        }
        Ok(match self.release(&project, &claim).await? {
            Released::Gone => Outcome::Updated,
            // By the watches: of the claim, or of the Instance that the cell still has.
            Released::Terminating | Released::Kept => Outcome::AwaitChange,
        })
    }

    /// Whether there is something to be done about a claim.
    pub(super) fn is_to_keep(&self, claim: &Object) -> bool {
        self.seems_free(claim) || self.remarked(claim).is_some()
    }

    /// Whether the cell's watch shows that a claim may go, so that the cell itself is to be read.
    fn seems_free(&self, claim: &Object) -> bool {
        let Some(cell) = self.cell_id() else { return false };
        self.is_free(claim, &cell, self.instance_of(claim, &cell).as_deref())
    }

    /// How a claim that stays is marked, where it is not marked so.
    fn remarked(&self, claim: &Object) -> Option<Value> {
        let cell = self.cell_id().filter(|_| self.needs_quota())?;
        let instance = self.instance_of(claim, &cell)?;
        remarked(claim, &instance, &cell, self.is_recorded(&cell))
    }

    /// Whether the name that the cell runs under is its own by Karmada's word.
    pub(super) fn is_recorded(&self, cell: &CellId) -> bool {
        self.quota.as_ref().is_some_and(|quota| quota.identity.is_recorded(cell))
    }

    /// What the watch of the cell shows under the name of the Instance that a claim is for.
    fn instance_of(&self, claim: &Object, cell: &CellId) -> Option<ObjectRef> {
        let (namespace, name) = claim::instance_of(claim, cell)?;
        self.cell.anchor().store(Kind::Instance).object(namespace, name)
    }

    fn needs_quota(&self) -> bool {
        self.quota.as_ref().is_some_and(|quota| quota.enabled)
    }

    /// Who the cell is, where quota can be spoken to and the cell has shown it.
    pub(super) fn cell_id(&self) -> Option<CellId> {
        self.quota.as_ref()?.identity.get()
    }

    fn is_free(&self, claim: &Object, cell: &CellId, there: Option<&Object>) -> bool {
        is_free(claim, cell, self.needs_quota(), there, |uid| self.tombstones.contains(uid))
    }

    /// Deletes a claim that is free by the word of the cell itself.
    pub(super) async fn release(&self, project: &Plane, claim: &Object) -> Result<Released, RequestError> {
        let Some(cell) = self.cell_id() else { return Ok(Released::Kept) };
        let Some((namespace, name)) = claim::instance_of(claim, &cell) else { return Ok(Released::Kept) };
        let live = self.cell.anchor().get_live(Kind::Instance, namespace, name).await?;
        if !self.is_free(claim, &cell, live.as_ref()) {
            return Ok(Released::Kept);
        }
        let gone = project.delete(Kind::ResourceClaim, claim, Precondition::Uid).await?;
        Ok(if gone { Released::Gone } else { Released::Terminating })
    }
}
