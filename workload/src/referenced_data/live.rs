//! Reads past every cache, for what is deleted or released on no less (I3, I4).

use fedhub_api::facts::Digest;
use fedhub_core::errors::Error;
use fedhub_core::names::{COPIED_FROM, FEDERATION_NAMESPACE, REFERENCED_DATA, is_hub_namespace};
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};
use fedhub_planes::{DATA_KINDS, ProjectNamespace};

use super::reconcile::DataReconcile;
use super::snapshot::{Snapshot, StandingCompanion, standing};

impl DataReconcile<'_> {
    /// The companions on the hub that count the WD, past every cache.
    pub(super) async fn read_live(&self, seen: &Snapshot) -> Result<Vec<StandingCompanion>, Error> {
        let hub = self.controller.planes.hub();
        let token = seen.token();
        let mut found = Vec::new();
        for space in self.spaces(seen).await? {
            for kind in DATA_KINDS {
                // The label does not select them, because one may have lost it.
                let listed =
                    hub.list_metadata(self.pass, kind, Some(&space), None, usize::MAX, is_companion).await?;
                let companions = listed.iter().filter_map(|companion| {
                    let digest = Digest::new(&PlaneId::Hub, kind, companion);
                    standing(&space, kind, companion.name(), &digest)
                });
                found.extend(companions.filter(|companion| companion.facts.is_of(&token)));
            }
        }
        Ok(found)
    }

    /// The hub namespaces in which the WD may have companions: those whose labels name its project namespace.
    /// One that the WD records and that has lost its labels proves nothing.
    async fn spaces(&self, seen: &Snapshot) -> Result<Vec<String>, Error> {
        let mut spaces = self.controller.planes.tenants().of(self.home);
        let wd = self
            .project
            .get_or_fetch(self.pass, Kind::WorkloadDeployment, &self.home.namespace, &seen.name)
            .await?;
        let recorded = wd.as_ref().and_then(|wd| wd.annotation(FEDERATION_NAMESPACE)).map(str::to_owned);
        // A tenant can write anything there, and it becomes part of the request's path.
        let is_news = |recorded: &String| is_hub_namespace(recorded) && !spaces.contains(recorded);
        if let Some(recorded) = recorded.filter(is_news)
            && let Some(namespace) =
                self.controller.planes.hub().get_live(self.pass, Kind::Namespace, "", &recorded).await?
        {
            match ProjectNamespace::from_hub_namespace(&namespace) {
                Some(home) if home == *self.home => spaces.push(recorded),
                Some(_) => {}
                None => return Err(Error::NotEngaged(PlaneId::Hub)),
            }
        }
        Ok(spaces)
    }
}

/// Whether an object on the hub is a companion, and not another's. One that has lost its label says what it
/// is the copy of.
pub(super) fn is_companion(object: &Object) -> bool {
    object.label(REFERENCED_DATA) == Some("true") || object.annotation(COPIED_FROM).is_some()
}
