//! A pass over an Instance.

use fedhub_api::transitions::{self, Signal};
use fedhub_cache::Part;
use fedhub_core::errors::Error;
use fedhub_core::names::CELL_MANAGER;
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::Outcome;
use fedhub_planes::PlaneWriter;
use fedhub_planes::events::reference_to;
use serde_json::Value;

use super::plan::{Plan, ending, plan};
use super::quota::Asked;
use super::{Readiness, keys::owner};
use crate::data;
use crate::instances::Instance;
use crate::network;
use crate::status::deployment::suspended;
use crate::status::gates::{self, opening};
use crate::status::instance::Seen;
use crate::status::network::Network;

impl Readiness {
    pub(super) async fn instance(&self, key: &Key) -> Result<Outcome, Error> {
        if !self.cell.anchor().synced() {
            return Err(Error::NotEngaged(PlaneId::Cell));
        }
        let Some(instance) = self.living(key) else { return self.leaving(key).await };
        let Asked { quota, failed, rest, again: ask_again } = self.ask(&instance).await?;
        // It may have changed while its project was asked.
        let Some(instance) = self.living(key).filter(|now| now.uid() == instance.uid()) else {
            return Ok(Outcome::AwaitChange);
        };
        let Plan { status, opens, again } = self.plan(&instance, &quota);
        let cell = self.cell.anchor();
        let writer = PlaneWriter { plane: cell, manager: CELL_MANAGER, metrics: self.cell.metrics() };
        let mut stands: ObjectRef = instance.clone();
        if let Some(write) = status
            && let Some(stored) = writer.write_status(key.kind, &instance, write).await?
        {
            stands = stored;
        }
        let mut opened = Ok(None);
        if let Some(opens) = opens
            && let Some(patch) = opening(&stands, opens)
        {
            opened = writer.patch(key.kind, &stands, patch).await.map(Some);
        }
        self.tell(&instance, stands.status());
        let wrote = opened?.is_some() || stands.version() != instance.version();
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(match again.into_iter().chain(ask_again).min() {
            Some(wait) => Outcome::RequeueAfter(wait.max(rest)),
            None if wrote => Outcome::Updated,
            None => Outcome::Unchanged,
        })
    }

    /// A pass over an Instance that is being deleted, if it is still there.
    async fn leaving(&self, key: &Key) -> Result<Outcome, Error> {
        let cell = self.cell.anchor();
        let Some(instance) = cell.store(key.kind).object(&key.namespace, &key.name) else {
            return Ok(Outcome::Unchanged);
        };
        let Plan { status, again, .. } = self.ending(&instance);
        let mut wrote = false;
        if let Some(write) = status {
            let writer = PlaneWriter { plane: cell, manager: CELL_MANAGER, metrics: self.cell.metrics() };
            match writer.write_status(key.kind, &instance, write).await {
                Ok(Some(stored)) => {
                    wrote = true;
                    self.tell(&instance, stored.status());
                }
                Ok(None) => {}
                // Its event is on the way.
                Err(error) if error.code() == Some(404) => return Ok(Outcome::AwaitChange),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(match again {
            Some(wait) => Outcome::RequeueAfter(wait),
            None if wrote => Outcome::Updated,
            None => Outcome::Unchanged,
        })
    }

    /// What there is to do about an Instance that is being deleted.
    pub(super) fn ending(&self, instance: &Object) -> Plan {
        let cell = self.cell.anchor();
        let echo =
            cell.store(Kind::Instance).normalization(instance.namespace(), instance.name(), Part::Status);
        ending(instance, self.termination_deadline, self.cell.clock().now(), echo)
    }

    /// The Instance, if it is there and not on its way out.
    pub(super) fn living(&self, key: &Key) -> Option<ObjectRef> {
        let instance = self.cell.anchor().store(Kind::Instance).object(&key.namespace, &key.name)?;
        (!instance.is_terminating()).then_some(instance)
    }

    /// What there is to do about an Instance with that verdict on its quota.
    pub(super) fn plan(&self, instance: &Object, quota: &Value) -> Plan {
        let cell = self.cell.anchor();
        let made_by = Instance::of(instance).owner;
        let deployment = owner(instance)
            .and_then(|name| cell.store(Kind::WorkloadDeployment).object(instance.namespace(), name))
            .filter(|wd| Some(wd.uid()) == made_by);
        // Without its WD nobody says that this has changed (C6).
        let gated = || gates::of(instance).contains(&gates::SUSPENDED);
        let stands = || instance.status()["suspended"] == true || gated();
        let suspended = deployment.as_deref().map_or_else(stands, suspended);
        let network = self.network(instance, deployment.as_deref());
        let now = self.cell.clock().now();
        let data = self.data(instance, deployment.as_deref());
        let echo =
            cell.store(Kind::Instance).normalization(instance.namespace(), instance.name(), Part::Status);
        let bindings = cell.store(Kind::NetworkBinding).objects(Some(instance.namespace()));
        let contexts = network::contexts(instance, bindings.iter().map(AsRef::as_ref));
        let (data, contexts) = (data.as_ref(), contexts.as_ref());
        plan(&Seen { instance, quota, data, network: &network, contexts, suspended, now }, echo)
    }

    /// `ReferencedDataReady` as it is to be. Where companions are not watched, nothing waits for them (C6).
    fn data(&self, instance: &Object, deployment: Option<&Object>) -> Option<Value> {
        let (cell, now) = (self.cell.anchor(), self.cell.clock().now());
        if cell.watched(Kind::Secret).is_none() {
            return data::waits(instance).then(|| data::disabled(instance, now));
        }
        let is_there = |kind, name: &str| cell.store(kind).digest(instance.namespace(), name).is_some();
        data::concerns(instance).then(|| data::verdict(instance, deployment, is_there, now))
    }

    /// What of its deployment's networking an Instance tells: that somebody has to do something, or else that it waits
    /// for it, until the deployment's controller takes its gate off. The stages on the way are told by the deployment.
    fn network(&self, instance: &Object, deployment: Option<&Object>) -> Network {
        if !gates::of(instance).contains(&gates::NETWORK) {
            return Network::Ready;
        }
        match deployment.map(|wd| network::look(self.cell.anchor(), wd).plan.network) {
            None | Some(Network::Ready | Network::Provisioning(_)) => {
                Network::Provisioning("Waiting for the deployment's networking".to_owned())
            }
            Some(worst) => worst,
        }
    }

    /// Tells the user of a turn of affairs.
    fn tell(&self, instance: &Object, new: &Value) {
        if let Some(turn) = transitions::of_instance(Signal::of_instance(instance.status()), new) {
            self.cell.anchor().events.turn(reference_to(Kind::Instance, instance), turn);
        }
    }
}
