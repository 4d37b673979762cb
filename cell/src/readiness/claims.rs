//! Claims that have outlived their Instance (C8), or are given back because quota is off (C6).

use fedhub_shared::engine::Outcome;
use fedhub_shared::errors::{Error, RequestError};
use fedhub_shared::names::PlaneName;
use fedhub_shared::object::{Key, Kind, Object, PlaneId};
use fedhub_shared::planes::Plane;

use super::Quota;
use super::Readiness;
use crate::quota::claim::{self, Whose, outlived, whose};

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
        Ok(match release(self.cell.anchor(), &project, &claim, quota).await? {
            Released::Gone => Outcome::Wrote,
            // By the watches: of the claim, or of the Instance that the cell still has.
            Released::Going | Released::Kept => Outcome::Waits,
        })
    }

    /// Whether by the watch of the cell a claim of this cell may go: worth a look at the cell itself.
    pub(super) fn seems_free(&self, claim: &Object) -> bool {
        let Some(quota) = &self.quota else { return false };
        let Some((namespace, name)) = claim::instance_of(claim, &quota.cell_name) else { return false };
        let there = self.cell.anchor().store(Kind::Instance).object(namespace, name);
        is_free(claim, quota, there.as_deref())
    }
}

/// Whether a claim may go: its Instance is gone (C8), or runs without quota now (C6). `there` is what stands in the cell
/// under the Instance's name.
fn is_free(claim: &Object, quota: &Quota, there: Option<&Object>) -> bool {
    let given_back = |instance| !quota.enabled && whose(claim, instance, &quota.cell_name) == Whose::Ours;
    outlived(claim, &quota.cell_name, there) || there.is_some_and(given_back)
}

/// Deletes a claim that is free by the word of the cell itself.
async fn release(
    cell: &Plane,
    project: &Plane,
    claim: &Object,
    quota: &Quota,
) -> Result<Released, RequestError> {
    let Some((namespace, name)) = claim::instance_of(claim, &quota.cell_name) else {
        return Ok(Released::Kept);
    };
    let live = cell.live(Kind::Instance, namespace, name).await?;
    if !is_free(claim, quota, live.as_ref()) {
        return Ok(Released::Kept);
    }
    let gone = project.delete(Kind::ResourceClaim, claim, false).await?;
    Ok(if gone { Released::Gone } else { Released::Going })
}
