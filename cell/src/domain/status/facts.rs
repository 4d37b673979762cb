//! The input of a deployment's status, and which of its Instances answer for it.
//!
//! An Instance of an earlier template is on its way out, whatever keeps it from being ready: it is replaced
//! by one of the newest template, and only that one shows whether the template is good. Were its reason the
//! deployment's, a template that mends a city would count as the failure that it mends, and be rolled back
//! (R6). What keeps it from leaving is a matter of the deployment all the same (C12).

use fedhub_api::conditions::{find, is_true, said};
use fedhub_api::reason::{Reason, needs_action};
use fedhub_core::object::{Object, ObjectRef, ObjectView};
use jiff::Timestamp;

use super::READY;
use super::blocker::ConditionUpdate;
use super::network::{Location, Network};
use crate::domain::instances::{Budget, Instance, ordinal};

/// The input of a deployment's status.
#[derive(Clone, Copy, Debug)]
pub struct DeploymentFacts<'a> {
    /// The WD, with the status that stands.
    pub deployment: &'a Object,
    /// Its own Instances (C3), terminating ones too, in any order.
    pub instances: &'a [ObjectRef],
    /// How many are wanted.
    pub desired: u32,
    /// The hash of its template.
    pub template_hash: &'a str,
    /// How far its networking is.
    pub network: &'a Network,
    /// The location that the cell serves.
    pub location: &'a Location,
    /// The condition of its autoscaler, if it scales (C13).
    pub scaling: Option<&'a ConditionUpdate>,
    /// Any other obstacle to creating its Instances.
    pub obstacle: Option<&'a ConditionUpdate>,
    /// The obstacle to deleting one of its Instances.
    pub held: Option<&'a ConditionUpdate>,
    /// The time now.
    pub now: Timestamp,
}

impl<'a> DeploymentFacts<'a> {
    /// The Instances that are not terminating: terminating ones are neither ready nor current (C12).
    pub(super) fn staying(&self) -> impl Iterator<Item = &'a ObjectRef> + Clone + use<'a> {
        self.instances.iter().filter(|i| !i.is_terminating())
    }

    /// Whether an Instance was made from the newest template.
    pub(super) fn is_of_newest(&self, instance: &Object) -> bool {
        Instance::from_object(instance).template_hash == Some(self.template_hash)
    }

    /// The Instances that stay and whose reasons are the deployment's: those of the newest template.
    pub(super) fn answering(&self) -> impl Iterator<Item = &'a ObjectRef> {
        self.staying().filter(|i| self.is_of_newest(i))
    }

    /// The Instances that stay and are not ready, those first that a person has to act on, then by ordinal:
    /// the message does not depend on the order of a list (I7).
    pub(super) fn unready(&self) -> impl Iterator<Item = &'a ObjectRef> {
        let mut all: Vec<_> = self.staying().filter(|i| !is_true(i.status(), READY)).collect();
        all.sort_by_key(|i| {
            let reason = find(i.status(), READY).map_or("", |c| said(c).1);
            // Names differ in the ordinal alone, so a shorter one has a smaller ordinal.
            (!needs_action(reason), i.name().len(), i.name())
        });
        all.into_iter()
    }

    /// The terminating Instances whose `Ready` has that reason, by ordinal, with its message.
    pub(super) fn terminating(
        &self,
        reason: Reason,
    ) -> impl Iterator<Item = (&'a ObjectRef, &'a str)> + use<'a> {
        let mut all: Vec<_> = self
            .instances
            .iter()
            .filter(|i| i.is_terminating())
            .filter_map(|i| Some((i, said(find(i.status(), READY)?))))
            .filter(|(_, (_, is, _))| *is == reason)
            .map(|(i, (_, _, message))| (i, message))
            .collect();
        all.sort_by_key(|(i, _)| (i.name().len(), i.name().to_owned()));
        all.into_iter()
    }

    /// Whether an Instance's ordinal is wanted, so that it is created again.
    pub(super) fn is_wanted(&self, instance: &Object) -> bool {
        ordinal(self.deployment.name(), instance.name()).is_some_and(|ordinal| ordinal < self.desired)
    }

    /// Whether an Instance is one that a rollout adds to the wanted ones (C2).
    pub(super) fn is_added(&self, instance: &Object) -> bool {
        let settings = &self.deployment.spec()["scaleSettings"]["rollingUpdate"];
        ordinal(self.deployment.name(), instance.name())
            .is_some_and(|ordinal| Budget::from_settings(settings, self.desired).added().contains(&ordinal))
    }
}
