//! Claims that have outlived their Instance (C8), or are given back because quota is off (C6).

use fedhub_api::cells::CellId;
use fedhub_core::errors::{Error, RequestError};
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Key, Kind, Object, PlaneId};
use fedhub_engine::Outcome;
use fedhub_planes::Plane;

use super::Readiness;
use crate::quota::claim::{self, is_free};

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Released {
    /// Its Instance is not proven gone.
    Kept,
    /// It is on its way out: somebody's finalizer is on it.
    Going,
    /// It is gone.
    Gone,
}

impl Readiness {
    /// A pass over a claim.
    pub(super) async fn claim(&self, project: &PlaneName, key: &Key) -> Result<Outcome, Error> {
        let Some(quota) = &self.quota else { return Ok(Outcome::Waits) };
        if !self.cell.anchor().synced() {
            return Err(Error::NotEngaged(PlaneId::Cell));
        }
        let Some(project) = quota.projects.engaged(project) else {
            return Err(Error::NotEngaged(key.plane.clone()));
        };
        let there = project.store(Kind::ResourceClaim).object(&key.namespace, &key.name);
        let Some(claim) = there.filter(|claim| self.seems_free(claim)) else {
            return Ok(Outcome::InOrder);
        };
        Ok(match self.release(&project, &claim).await? {
            Released::Gone => Outcome::Wrote,
            // By the watches: of the claim, or of the Instance that the cell still has.
            Released::Going | Released::Kept => Outcome::Waits,
        })
    }

    /// Whether by the watch of the cell a claim of this cell may go: worth a look at the cell itself.
    pub(super) fn seems_free(&self, claim: &Object) -> bool {
        let Some(cell) = self.cell_id() else { return false };
        let Some((namespace, name)) = claim::instance_of(claim, &cell) else { return false };
        let there = self.cell.anchor().store(Kind::Instance).object(namespace, name);
        self.is_free(claim, &cell, there.as_deref())
    }

    /// Who the cell is, where quota can be spoken to and the cell has shown it.
    pub(super) fn cell_id(&self) -> Option<CellId> {
        self.quota.as_ref()?.identity.get()
    }

    fn is_free(&self, claim: &Object, cell: &CellId, there: Option<&Object>) -> bool {
        let needed = self.quota.as_ref().is_some_and(|quota| quota.enabled);
        is_free(claim, cell, needed, there, |uid| self.tombstones.contains(uid))
    }

    /// Deletes a claim that is free by the word of the cell itself.
    async fn release(&self, project: &Plane, claim: &Object) -> Result<Released, RequestError> {
        let Some(cell) = self.cell_id() else { return Ok(Released::Kept) };
        let Some((namespace, name)) = claim::instance_of(claim, &cell) else { return Ok(Released::Kept) };
        let live = self.cell.anchor().live(Kind::Instance, namespace, name).await?;
        if !self.is_free(claim, &cell, live.as_ref()) {
            return Ok(Released::Kept);
        }
        let gone = project.delete(Kind::ResourceClaim, claim, false).await?;
        Ok(if gone { Released::Gone } else { Released::Going })
    }
}
