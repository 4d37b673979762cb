//! A project WD and what the hub has of it, as the federator sees them.

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::cells::{CellDown, is_city_lost};
use fedhub_core::names::{CITY_CODE, PlaneName};
use fedhub_core::object::{Key, Kind, ObjectView, PlaneId};
use fedhub_engine::Bodies;
use fedhub_federator::snapshot::{KnownPolicy, LiveRead, Snapshot, Wd};
use fedhub_federator::teardown::Teardown;
use fedhub_planes::{ProjectNamespace, ServiceState, WriteState};

use super::context::{Context, key};
use crate::audit::world::Stored;

/// A project WD, and its place on the hub.
pub struct Pair<'a> {
    pub context: &'a Context<'a>,
    pub home: &'a ProjectNamespace,
    pub wd: &'a Stored,
    /// The name of the hub namespace.
    pub space: &'a str,
}

impl<'a> Pair<'a> {
    pub fn plane(&self) -> &'a PlaneName {
        &self.home.plane
    }

    /// The hub WD.
    pub fn hub(&self) -> Option<&'a Stored> {
        self.context.world.hub.deployments.get(self.space, self.wd.object.name())
    }

    /// The hub namespace.
    pub fn namespace(&self) -> Option<&'a Stored> {
        self.context.world.hub.namespaces.get("", self.space)
    }

    pub fn wd_key(&self) -> Key {
        let plane = PlaneId::Project(self.plane().clone());
        key(plane, Kind::WorkloadDeployment, &self.home.namespace, self.wd.object.name())
    }

    pub fn hub_key(&self) -> Key {
        key(PlaneId::Hub, Kind::WorkloadDeployment, self.space, self.wd.object.name())
    }

    pub fn namespace_key(&self) -> Key {
        key(PlaneId::Hub, Kind::Namespace, "", self.space)
    }

    pub fn bodies(&self) -> Bodies {
        let hub = self.hub().map(|hub| (self.hub_key(), hub.object.clone()));
        [(self.wd_key(), self.wd.object.clone())].into_iter().chain(hub).collect()
    }

    /// All that the federator decides by. What was read is taken for a live read; whether a move has arrived
    /// is not asked.
    pub fn snapshot(&self, writes: WriteState, service: ServiceState) -> Option<Snapshot> {
        let context = self.context;
        let hub = self.hub();
        let project = Wd::new(self.wd.digest.clone())?;
        let on_hub = hub.and_then(|hub| Wd::new(hub.digest.clone()));
        let city = project.city.as_deref().unwrap_or_default();
        let cells: Vec<_> =
            context.clusters.iter().filter(|cluster| cluster.label(CITY_CODE) == Some(city)).collect();
        let its_city = on_hub.as_ref().and_then(|hub| hub.city.as_deref()).unwrap_or(city);
        let policies = context.world.hub.policies.within(self.space);
        Some(Snapshot {
            home: self.home.clone(),
            name: self.wd.object.name().to_owned(),
            hub_namespace_name: self.space.to_owned(),
            hub_namespace: self.namespace().map(|namespace| namespace.object.clone()),
            policies: policies
                .map(|policy| KnownPolicy { object: Arc::clone(&policy.object), normalization: None })
                .collect(),
            cells: cells.len(),
            cell_down: cells.first().and_then(|cell| CellDown::from_cluster(cell)),
            cell_lost: project.terminating && is_city_lost(&context.clusters, its_city),
            spec_normalization: None,
            status_normalization: None,
            writes,
            service,
            arrived: false,
            stalled: false,
            held: None,
            is_due: false,
            distrust: context.distrust(),
            last_restore: context.history().last_restore,
            teardown: Teardown::default(),
            seen_deleted: false,
            waited: Duration::ZERO,
            live: (project.terminating || service == ServiceState::Withdrawn)
                .then_some(LiveRead { cached: hub.is_some() }),
            now: context.world.now,
            project,
            hub: on_hub,
        })
    }
}
