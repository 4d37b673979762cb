//! The next step for a WD's Instances. The module's documentation has the rules.
//!
//! Decides C1, C2 and C4.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeBounds;

use fedhub_core::message::Quoted;

use super::ORDERED_READY;
use super::build::labels;
use super::view::{Deployment, Instance, ordinal};

/// The next step of a rollout, and label repairs in any case.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutPlan<'a> {
    /// The one step. What follows it is decided when its effect is seen.
    pub step: InstanceStep<'a>,
    /// Labels to put right, whatever the step is.
    pub labels: Vec<LabelPatch<'a>>,
}

/// The next step. Every deletion has the Instance's UID as its precondition.
#[derive(Clone, Debug, PartialEq)]
pub enum InstanceStep<'a> {
    /// All Instances are there, Ready, and on the template; or, where the WD is being deleted, none is left.
    Rest,
    /// Create the Instance of this ordinal, as [`build`](super::build()) makes it.
    Create(u32),
    /// Delete this Instance, so that it is created again on the current template.
    Replace(Instance<'a>),
    /// Delete these Instances, for good.
    Delete(Vec<Instance<'a>>),
    /// Waits until this has changed.
    Wait(InstanceWait<'a>),
}

/// The reason for which a WD waits. The text is for its user.
#[derive(Clone, Debug, PartialEq)]
pub enum InstanceWait<'a> {
    /// An Instance that is being deleted is to be gone.
    Deleting(Instance<'a>),
    /// An Instance on the template of now is to become Ready.
    NotReady(Instance<'a>),
    /// The Instance's name is taken by an object that this WD did not make (C3).
    NameTaken(Instance<'a>),
    /// `instanceManagementPolicy` is none that is known.
    UnknownPolicy(&'a str),
    /// The WD has no `spec.template.spec`.
    NoTemplate,
}

impl fmt::Display for InstanceWait<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleting(instance) => write!(f, "waiting for Instance {} to be deleted", instance.name),
            Self::NotReady(instance) => write!(f, "waiting for Instance {} to become Ready", instance.name),
            Self::NameTaken(instance) => write!(
                f,
                "Instance {} exists and does not belong to this deployment, whose own Instance of that name cannot \
                 be created",
                instance.name
            ),
            Self::UnknownPolicy(policy) => {
                write!(
                    f,
                    "instance management policy {} is not supported, use {ORDERED_READY}",
                    Quoted(policy)
                )
            }
            Self::NoTemplate => f.write_str("the deployment has no instance template"),
        }
    }
}

/// Labels of a live Instance that are missing or wrong. Others are left as they are (I9).
#[derive(Clone, Debug, PartialEq)]
pub struct LabelPatch<'a> {
    /// The Instance.
    pub instance: Instance<'a>,
    /// The labels to set.
    pub set: BTreeMap<&'static str, String>,
}

/// Decides, from all Instances in the WD's namespace, its own and others.
pub fn plan<'a>(deployment: &Deployment<'a>, desired: u32, instances: &[Instance<'a>]) -> RolloutPlan<'a> {
    let cell = Standing::new(deployment, instances);
    let step = cell.step(deployment, desired);
    let leaving: BTreeSet<&str> = match &step {
        InstanceStep::Delete(them) => them.iter().map(|i| i.uid).collect(),
        InstanceStep::Replace(instance) => BTreeSet::from([instance.uid]),
        InstanceStep::Rest | InstanceStep::Create(_) | InstanceStep::Wait(_) => BTreeSet::new(),
    };
    let live = cell.ours.iter().filter(|(_, i)| !i.terminating && !leaving.contains(i.uid));
    let labels = live.filter_map(|(ordinal, instance)| patch(deployment, *ordinal, *instance)).collect();
    RolloutPlan { step, labels }
}

fn patch<'a>(deployment: &Deployment<'_>, ordinal: u32, instance: Instance<'a>) -> Option<LabelPatch<'a>> {
    let mut set = labels(deployment, ordinal);
    set.retain(|key, value| instance.labels.and_then(|l| l.get(*key)) != Some(value));
    (!set.is_empty()).then_some(LabelPatch { instance, set })
}

/// The Instances of a WD, by ordinal.
#[derive(Default)]
struct Standing<'a> {
    /// The Instances of this WD, by ordinal.
    ours: BTreeMap<u32, Instance<'a>>,
    /// The Instances of this WD without an ordinal.
    strays: Vec<Instance<'a>>,
    /// Others, under a name that one of this WD's has or would have.
    taken: BTreeMap<u32, Instance<'a>>,
}

impl<'a> Standing<'a> {
    fn new(deployment: &Deployment<'_>, instances: &[Instance<'a>]) -> Self {
        let mut cell = Self::default();
        for instance in instances {
            match (deployment.owns(instance), ordinal(deployment.name, instance.name)) {
                (true, Some(ordinal)) => match cell.ours.entry(ordinal) {
                    Entry::Vacant(slot) => _ = slot.insert(*instance),
                    // No API server has two of one name. One stays, the one worth more.
                    Entry::Occupied(mut slot) => {
                        let worth = |i: &Instance<'_>| (!i.terminating, i.ready);
                        let better = worth(instance) > worth(slot.get());
                        cell.strays.push(if better { slot.insert(*instance) } else { *instance });
                    }
                },
                (true, None) => cell.strays.push(*instance),
                (false, Some(ordinal)) => _ = cell.taken.insert(ordinal, *instance),
                (false, None) => {}
            }
        }
        cell
    }

    fn step(&self, deployment: &Deployment<'a>, desired: u32) -> InstanceStep<'a> {
        if deployment.terminating {
            return self.clear();
        }
        if deployment.policy != ORDERED_READY {
            return InstanceStep::Wait(InstanceWait::UnknownPolicy(deployment.policy));
        }
        if !deployment.template["spec"].is_object() {
            return InstanceStep::Wait(InstanceWait::NoTemplate);
        }
        let strays: Vec<_> = self.strays.iter().filter(|i| !i.terminating).copied().collect();
        if !strays.is_empty() {
            return InstanceStep::Delete(strays);
        }
        self.shrink(desired)
            .or_else(|| self.fill(deployment, desired))
            .or_else(|| self.leaving(desired..))
            .or_else(|| self.roll(deployment, desired))
            .unwrap_or(InstanceStep::Rest)
    }

    /// The WD is being deleted: all go at once.
    fn clear(&self) -> InstanceStep<'a> {
        let all = || self.ours.values().chain(&self.strays).copied();
        let standing: Vec<_> = all().filter(|i| !i.terminating).collect();
        match all().next() {
            _ if !standing.is_empty() => InstanceStep::Delete(standing),
            Some(last) => InstanceStep::Wait(InstanceWait::Deleting(last)),
            None => InstanceStep::Rest,
        }
    }

    /// Too high ordinals go, the highest first, Ready or not (C4), and only when no other is terminating
    /// (C2).
    fn shrink(&self, desired: u32) -> Option<InstanceStep<'a>> {
        let (_, highest) = self.ours.range(desired..).rev().find(|(_, i)| !i.terminating)?;
        self.leaving(desired..)
            .or_else(|| self.leaving(..desired))
            .or_else(|| Some(InstanceStep::Delete(vec![*highest])))
    }

    /// Plans the first ordinal, from 0 upwards, that has no Ready Instance (C2). A terminating one is not
    /// Ready (C12): its ordinal is created again when it is gone, and those after it wait for that.
    fn fill(&self, deployment: &Deployment<'_>, desired: u32) -> Option<InstanceStep<'a>> {
        let serves = |ordinal: &u32| self.ours.get(ordinal).is_some_and(|i| i.ready && !i.terminating);
        let lacking = (0..desired).find(|ordinal| !serves(ordinal))?;
        Some(match (self.ours.get(&lacking), self.taken.get(&lacking)) {
            (None, Some(foreign)) => InstanceStep::Wait(InstanceWait::NameTaken(*foreign)),
            (None, None) => InstanceStep::Create(lacking),
            (Some(it), _) if it.terminating => InstanceStep::Wait(InstanceWait::Deleting(*it)),
            (Some(it), _) if !deployment.outdates(it) => InstanceStep::Wait(InstanceWait::NotReady(*it)),
            // C4, unless another replacement is under way: a bad template must not take one that is not Ready
            // for a moment only.
            (Some(it), _) => self.under_way(deployment, desired).unwrap_or(InstanceStep::Replace(*it)),
        })
    }

    /// What a replacement has to wait for (C2).
    fn under_way(&self, deployment: &Deployment<'_>, desired: u32) -> Option<InstanceStep<'a>> {
        self.leaving(..desired).or_else(|| {
            self.ours
                .range(..desired)
                .map(|(_, i)| i)
                .find(|i| !i.ready && !deployment.outdates(i))
                .map(|i| InstanceStep::Wait(InstanceWait::NotReady(*i)))
        })
    }

    /// The first of these ordinals with a terminating Instance.
    fn leaving(&self, ordinals: impl RangeBounds<u32>) -> Option<InstanceStep<'a>> {
        let mut all = self.ours.range(ordinals).map(|(_, i)| i);
        all.find(|i| i.terminating).map(|i| InstanceStep::Wait(InstanceWait::Deleting(*i)))
    }

    /// All are there and Ready, and none too many is left: the highest outdated one is replaced (C2).
    fn roll(&self, deployment: &Deployment<'_>, desired: u32) -> Option<InstanceStep<'a>> {
        let mut all = self.ours.range(..desired).rev();
        all.find(|(_, i)| deployment.outdates(i)).map(|(_, i)| InstanceStep::Replace(*i))
    }
}
