//! Claims that have outlived their Instance (C8).

use fedhub_shared::engine::Outcome;
use fedhub_shared::errors::{Error, RequestError};
use fedhub_shared::names::PlaneName;
use fedhub_shared::object::{Key, Kind, Object, PlaneId};
use fedhub_shared::planes::Plane;

use super::Readiness;
use crate::quota::claim::{self, outlived};

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
        let Some(claim) = there.filter(|claim| self.seems_outlived(claim)) else {
            return Ok(Outcome::InOrder);
        };
        Ok(match self.release(&project, &claim, &quota.cell_name).await? {
            Released::Gone => Outcome::Wrote,
            // By the watches: of the claim, or of the Instance that the cell still has.
            Released::Going | Released::Kept => Outcome::Waits,
        })
    }

    /// Whether the watch of the cell shows the Instance of a claim of this cell no more: worth a look at the cell itself.
    pub(super) fn seems_outlived(&self, claim: &Object) -> bool {
        let Some(quota) = &self.quota else { return false };
        let Some((namespace, name)) = claim::instance_of(claim, &quota.cell_name) else { return false };
        let there = self.cell.anchor().store(Kind::Instance).object(namespace, name);
        outlived(claim, &quota.cell_name, there.as_deref())
    }

    /// Deletes a claim whose Instance the cell itself says is gone.
    async fn release(
        &self,
        project: &Plane,
        claim: &Object,
        cell_name: &str,
    ) -> Result<Released, RequestError> {
        let Some((namespace, name)) = claim::instance_of(claim, cell_name) else { return Ok(Released::Kept) };
        let live = self.cell.anchor().live(Kind::Instance, namespace, name).await?;
        if !outlived(claim, cell_name, live.as_ref()) {
            return Ok(Released::Kept);
        }
        let gone = project.delete(Kind::ResourceClaim, claim, false).await?;
        Ok(if gone { Released::Gone } else { Released::Going })
    }
}
