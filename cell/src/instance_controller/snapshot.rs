//! The state of the caches for an Instance and its surroundings, and the plan that follows from it.

use fedhub_api::instance_power;
use fedhub_cache::ObjectPart;
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView};
use serde_json::Value;

use super::InstanceController;
use super::plan::{InstancePlan, plan, plan_terminating};
use crate::domain::network;
use crate::domain::referenced_data;
use crate::domain::status::deployment::suspended;
use crate::domain::status::gates;
use crate::domain::status::instance::InstanceFacts;
use crate::domain::status::network::Network;
use crate::{maker, network_snapshot};

impl InstanceController {
    /// Plans an Instance that is being deleted.
    pub(super) fn plan_terminating(&self, instance: &Object) -> InstancePlan {
        let cell = self.cell.anchor();
        let normalization = cell.store(Kind::Instance).normalization(
            instance.namespace(),
            instance.name(),
            ObjectPart::Status,
        );
        plan_terminating(instance, self.termination_deadline, self.cell.clock().now(), normalization)
    }

    /// The Instance, if it exists and is not terminating.
    pub(super) fn living(&self, key: &Key) -> Option<ObjectRef> {
        let instance = self.cell.anchor().store(Kind::Instance).object(&key.namespace, &key.name)?;
        (!instance.is_terminating()).then_some(instance)
    }

    /// Plans an Instance with this verdict on its quota.
    pub(super) fn plan(&self, instance: &Object, quota: &Value) -> InstancePlan {
        let cell = self.cell.anchor();
        let deployment = maker(cell, instance);
        // Without its WD, the present suspension is kept (C6).
        let gated = || gates::of(instance).contains(&gates::SUSPENDED);
        let suspended = deployment
            .as_deref()
            .map_or_else(|| instance.status()["suspended"] == true || gated(), suspended);
        // Without its WD, what the user asked for stands as it was said last.
        let stopped = deployment.as_deref().map_or_else(
            || instance_power::is_stopped(instance),
            |wd| instance_power::power_of(wd, instance.name()).is_stopped(),
        );
        let network = self.network(instance, deployment.as_deref());
        let now = self.cell.clock().now();
        let data = self.data(instance, deployment.as_deref());
        let normalization = cell.store(Kind::Instance).normalization(
            instance.namespace(),
            instance.name(),
            ObjectPart::Status,
        );
        let bindings = cell.store(Kind::NetworkBinding).objects(Some(instance.namespace()));
        let contexts = network::contexts(instance, bindings.iter().map(AsRef::as_ref));
        let data = data.as_ref();
        let contexts = contexts.as_ref();
        plan(
            &InstanceFacts { instance, quota, data, network: &network, contexts, suspended, stopped, now },
            normalization,
        )
    }

    /// `ReferencedDataReady` as it is to be. Where companions are not watched, nothing waits for them (C6).
    fn data(&self, instance: &Object, deployment: Option<&Object>) -> Option<Value> {
        let cell = self.cell.anchor();
        let now = self.cell.clock().now();
        if cell.watched(Kind::Secret).is_none() {
            return referenced_data::waits(instance).then(|| referenced_data::disabled(instance, now));
        }
        referenced_data::concerns(instance).then(|| {
            referenced_data::verdict(
                instance,
                deployment,
                |kind, name| cell.store(kind).digest(instance.namespace(), name).is_some(),
                now,
            )
        })
    }

    /// The networking that an Instance reports: what a person has to act on, or else that it waits until the
    /// deployment's controller takes its gate off. The deployment reports the stages.
    fn network(&self, instance: &Object, deployment: Option<&Object>) -> Network {
        if !gates::of(instance).contains(&gates::NETWORK) {
            return Network::Ready;
        }
        match deployment.map(|wd| network_snapshot::networking(self.cell.anchor(), wd).plan.network) {
            None | Some(Network::Ready | Network::Provisioning(_)) => {
                Network::Provisioning("Waiting for the deployment's networking".to_owned())
            }
            Some(worst) => worst,
        }
    }
}
