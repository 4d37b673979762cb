//! Reads and writes of a teardown that the hub WD waits for: see [`crate::teardown`].

use fedhub_api::facts::{DigestExt, Known};
use fedhub_cache::digest::Uid;
use fedhub_core::errors::RequestError;
use fedhub_core::names::{WORKLOAD_DEPLOYMENT_NAME, binding_name};
use fedhub_core::object::{Kind, ObjectView};
use fedhub_planes::{Pass, Precondition};

use crate::Federator;
use crate::snapshot::{Snapshot, awaits_cleanup};
use crate::teardown::{self, Left};

/// The most copies that are read: any keeps the hub WD, and few are named.
const MOST: usize = 64;

impl Federator {
    /// Whether the cache has copies of Instances of the hub WD with that UID.
    pub(crate) fn has_copies(&self, space: &str, wd: &str, uid: &Uid) -> bool {
        let uid = uid.to_string();
        self.planes.hub().store(Kind::Instance).any(Some(space), |copy| {
            let facts = copy.digest.instance();
            facts.is_some_and(|facts| facts.is_controlled_by(&uid) && facts.deployment(copy.name) == Some(wd))
        })
    }

    /// The copies of the WD's Instances that the hub has, and whose cells may be waited for.
    pub(crate) async fn copies_left(&self, pass: &Pass, seen: &Snapshot) -> Result<Vec<Left>, RequestError> {
        let Some(hub) = &seen.hub else { return Ok(Vec::new()) };
        let clusters = self.planes.clusters();
        let uid = hub.uid.to_string();
        let its = format!("{WORKLOAD_DEPLOYMENT_NAME}={}", seen.name);
        let space = Some(&*seen.hub_namespace_name);
        let hub = self.planes.hub();
        let copies = hub
            .list_metadata(pass, Kind::Instance, space, Some(&its), MOST, |copy| {
                teardown::left_of(copy, &uid, &clusters).is_some()
            })
            .await?;
        Ok(copies.iter().filter_map(|copy| teardown::left_of(copy, &uid, &clusters)).collect())
    }

    /// Makes Karmada delete a hub WD in its cells, by deleting the `ResourceBinding` that Karmada made for
    /// it. Returns whether there was one.
    pub(crate) async fn unbind(&self, pass: &Pass, space: &str, wd: &str) -> Result<bool, RequestError> {
        let hub = self.planes.hub();
        let kind = Kind::ResourceBinding;
        let name = binding_name(&Kind::WorkloadDeployment.resource().kind, wd);
        let binding = hub.get_live(pass, kind, space, &name).await?;
        let Some(binding) = binding.filter(|binding| !binding.is_terminating()) else { return Ok(false) };
        hub.delete(pass, kind, &binding, Precondition::Uid).await?;
        Ok(true)
    }

    /// The copy of an Instance is gone: with the last one of a WD that is to leave the hub, that may go on.
    pub(crate) fn copy_gone(&self, copy: &Known) {
        let kind = Kind::WorkloadDeployment;
        let Some(wd) = copy.digest.instance().and_then(|facts| facts.deployment(&copy.name)) else { return };
        let Some(home) = self.labelled(&copy.namespace) else { return };
        let Some(project) = self.planes.project(&home.plane) else { return };
        let Some(hub_wd) = self.planes.hub().store(kind).digest(&copy.namespace, wd) else { return };
        let known = project.store(kind).digest(&home.namespace, wd);
        if known.is_some_and(|known| awaits_cleanup(&project, &known))
            && !self.has_copies(&copy.namespace, wd, &hub_wd.uid)
        {
            self.enqueue(&home.plane, &home.namespace, wd);
        }
    }
}
