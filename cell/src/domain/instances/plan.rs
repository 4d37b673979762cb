//! The next step for a WD's Instances. The module's documentation has the rules.
//!
//! Decides C1, C2 and C4.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeBounds;

use fedhub_core::message::Quoted;

use super::ORDERED_READY;
use super::budget::Budget;
use super::build::labels;
use super::standing::Standing;
use super::view::{Deployment, Instance, Replacement};

/// The next step of a rollout, and label repairs in any case.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutPlan<'a> {
    /// The one step. What follows it is decided when its effect is seen.
    pub step: InstanceStep<'a>,
    /// Labels to put right, whatever the step is.
    pub labels: Vec<LabelPatch<'a>>,
    /// The wanted Instances that stay on an outdated template, since what they would lose has no consent, by
    /// ordinal (V5).
    pub denied: Vec<Instance<'a>>,
}

/// The next step. Every deletion has the Instance's UID as its precondition.
#[derive(Clone, Debug, PartialEq)]
pub enum InstanceStep<'a> {
    /// All Instances are there, Ready, and on the template; or, where the WD is being deleted, none is left.
    Rest,
    /// Create the Instance of this ordinal, as [`build`](super::build()) makes it.
    Create(u32),
    /// Bring this Instance to the current template, as its `replacement` says.
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
    let budget = Budget::from_settings(deployment.rolling_update, desired);
    let step = Rollout { cell: &cell, deployment, budget }.step();
    let leaving: BTreeSet<&str> = match &step {
        InstanceStep::Delete(them) => them.iter().map(|i| i.uid).collect(),
        InstanceStep::Replace(instance) if instance.replacement != Replacement::Rebuild => {
            BTreeSet::from([instance.uid])
        }
        InstanceStep::Replace(_) | InstanceStep::Rest | InstanceStep::Create(_) | InstanceStep::Wait(_) => {
            BTreeSet::new()
        }
    };
    let live = cell.ours.iter().filter(|(_, i)| !i.terminating && !leaving.contains(i.uid));
    let labels = live.filter_map(|(ordinal, instance)| patch(deployment, *ordinal, *instance)).collect();
    let wanted = cell.ours.range(budget.wanted()).map(|(_, i)| *i).filter(|i| !i.terminating);
    let denied = wanted.filter(|i| deployment.outdates(i) && !deployment.replaces(i)).collect();
    RolloutPlan { step, labels, denied }
}

fn patch<'a>(deployment: &Deployment<'_>, ordinal: u32, instance: Instance<'a>) -> Option<LabelPatch<'a>> {
    let mut set = labels(deployment, ordinal);
    set.retain(|key, value| instance.labels.and_then(|l| l.get(*key)) != Some(value));
    (!set.is_empty()).then_some(LabelPatch { instance, set })
}

/// The Instances of a WD, and what its settings allow.
struct Rollout<'r, 'a> {
    cell: &'r Standing<'a>,
    deployment: &'r Deployment<'a>,
    budget: Budget,
}

impl<'a> Rollout<'_, 'a> {
    fn step(&self) -> InstanceStep<'a> {
        if self.deployment.terminating {
            return self.clear();
        }
        if self.deployment.policy != ORDERED_READY {
            return InstanceStep::Wait(InstanceWait::UnknownPolicy(self.deployment.policy));
        }
        if !self.deployment.template["spec"].is_object() {
            return InstanceStep::Wait(InstanceWait::NoTemplate);
        }
        let strays: Vec<_> = self.cell.strays.iter().filter(|i| !i.terminating).copied().collect();
        if !strays.is_empty() {
            return InstanceStep::Delete(strays);
        }
        if let Some(step) = self.shrink() {
            return step;
        }
        match self.fill() {
            // What may be missing or added besides allows a step beside what is waited for.
            missing @ (None
            | Some(InstanceStep::Wait(InstanceWait::Deleting(_) | InstanceWait::NotReady(_)))) => self
                .surge()
                .or_else(|| self.roll())
                .or(missing)
                .or_else(|| self.leaving(self.budget.desired..))
                .unwrap_or(InstanceStep::Rest),
            Some(step) => step,
        }
    }

    /// The WD is being deleted: all go at once.
    fn clear(&self) -> InstanceStep<'a> {
        let all = || self.cell.ours.values().chain(&self.cell.strays).copied();
        let standing: Vec<_> = all().filter(|i| !i.terminating).collect();
        match all().next() {
            _ if !standing.is_empty() => InstanceStep::Delete(standing),
            Some(last) => InstanceStep::Wait(InstanceWait::Deleting(last)),
            None => InstanceStep::Rest,
        }
    }

    /// Too high ordinals go, the highest first, Ready or not (C4), and only when no other is terminating
    /// (C2). Those that a rollout added stay as long as it needs them: while any wanted Instance is outdated,
    /// and while they stand in for one that does not serve.
    fn shrink(&self) -> Option<InstanceStep<'a>> {
        let desired = self.budget.desired;
        let mut surplus = self.cell.ours.range(desired..).rev().filter(|(_, i)| !i.terminating).peekable();
        surplus.peek()?;
        let is_rolling = self.outdated() > 0;
        let is_short = self.budget.wanted().any(|wanted| !self.cell.serves(wanted));
        let (_, highest) = surplus.find(|(ordinal, i)| {
            let needed = is_rolling || is_short && i.serves();
            !(needed && self.budget.added().contains(ordinal))
        })?;
        self.leaving(desired..)
            .or_else(|| self.leaving(..desired))
            .or_else(|| Some(InstanceStep::Delete(vec![*highest])))
    }

    /// Plans the first ordinals, from 0 upwards, that have no Ready Instance: one, or in a rollout as many as
    /// may be on their way at once (C2). A terminating one is not Ready (C12): its ordinal is created again
    /// when it is gone, and those after it wait for that.
    fn fill(&self) -> Option<InstanceStep<'a>> {
        let lacking = self.budget.wanted().filter(|ordinal| !self.cell.serves(*ordinal));
        let mut waits = None;
        for ordinal in lacking.take(self.budget.width() as usize) {
            let wait = match (self.cell.ours.get(&ordinal), self.cell.taken.get(&ordinal)) {
                (None, Some(foreign)) => return Some(InstanceStep::Wait(InstanceWait::NameTaken(*foreign))),
                (None, None) if waits.is_none() || self.is_gap(ordinal) => {
                    return Some(InstanceStep::Create(ordinal));
                }
                (None, None) => break,
                (Some(it), _) if it.terminating => InstanceWait::Deleting(*it),
                (Some(it), _) if !self.deployment.replaces(it) => InstanceWait::NotReady(*it),
                // C4, unless other replacements are under way: a bad template must not take those that are
                // not Ready for a moment only.
                (Some(it), _) => match self.under_way() {
                    None => return Some(InstanceStep::Replace(*it)),
                    Some(wait) => wait,
                },
            };
            waits.get_or_insert(wait);
        }
        waits.map(InstanceStep::Wait)
    }

    /// Whether what is missing at an ordinal was there before: with Instances that were never there, each
    /// waits for its predecessor.
    fn is_gap(&self, ordinal: u32) -> bool {
        let above = self.cell.ours.range(ordinal..).next().is_some();
        above || self.cell.ours.range(..ordinal).any(|(_, i)| self.deployment.replaces(i))
    }

    /// What a replacement has to wait for, where as many as may be are under way (C2).
    fn under_way(&self) -> Option<InstanceWait<'a>> {
        let wanted = self.cell.ours.range(self.budget.wanted()).map(|(_, i)| i);
        let all = self.cell.ours.range(..self.budget.limit()).map(|(_, i)| i);
        let mut leaving = wanted.filter(|i| i.terminating);
        let mut starting = all.filter(|i| !i.terminating && !i.ready && !self.deployment.outdates(i));
        if leaving.clone().count() + starting.clone().count() < self.budget.width() as usize {
            return None;
        }
        let first = leaving.next().map(|i| InstanceWait::Deleting(*i));
        first.or_else(|| starting.next().map(|i| InstanceWait::NotReady(*i)))
    }

    /// The first of these ordinals with a terminating Instance.
    fn leaving(&self, ordinals: impl RangeBounds<u32>) -> Option<InstanceStep<'a>> {
        let mut all = self.cell.ours.range(ordinals).map(|(_, i)| i);
        all.find(|i| i.terminating).map(|i| InstanceStep::Wait(InstanceWait::Deleting(*i)))
    }

    /// How many of the wanted Instances are still to be replaced.
    fn outdated(&self) -> usize {
        let wanted = self.cell.ours.range(self.budget.wanted());
        wanted.filter(|(_, i)| !i.terminating && self.deployment.replaces(i)).count()
    }

    /// The Instances that a rollout adds, as many as it has to replace at most: they come before it replaces
    /// any (C2).
    fn surge(&self) -> Option<InstanceStep<'a>> {
        let wanted = self.outdated().min(self.budget.surge as usize);
        if wanted == 0 {
            return None;
        }
        let added = self.cell.ours.range(self.budget.added()).map(|(_, i)| i).filter(|i| !i.terminating);
        if let Some(it) = added.clone().rev().find(|i| !i.ready && self.deployment.replaces(i)) {
            let wait = self.under_way().map(InstanceStep::Wait);
            return Some(wait.unwrap_or(InstanceStep::Replace(*it)));
        }
        if added.count() >= wanted {
            return None;
        }
        let is_taken = |ordinal: &u32| self.cell.taken.get(ordinal);
        let mut absent = self.budget.added().filter(|ordinal| !self.cell.ours.contains_key(ordinal));
        match absent.clone().find(|ordinal| is_taken(ordinal).is_none()) {
            Some(free) => Some(InstanceStep::Create(free)),
            None => self.leaving(self.budget.added()).or_else(|| {
                let foreign = absent.find_map(|ordinal| is_taken(&ordinal));
                foreign.map(|it| InstanceStep::Wait(InstanceWait::NameTaken(*it)))
            }),
        }
    }

    /// Replaces the highest outdated Instance, where enough others are Ready, none too many is left, and what
    /// a rollout adds has come (C2).
    fn roll(&self) -> Option<InstanceStep<'a>> {
        let Budget { desired, surge, .. } = self.budget;
        let limit = self.budget.limit();
        let mut taken = self.cell.taken.range(..desired);
        if self.outdated() == 0
            || self.leaving(limit..).is_some()
            || taken.any(|(ordinal, _)| !self.cell.ours.contains_key(ordinal))
        {
            return None;
        }
        let serving = || self.cell.ours.range(..limit).filter(|(_, i)| i.serves());
        let (ordinal, highest) = serving().rev().find(|(_, i)| self.deployment.replaces(i))?;
        if *ordinal < desired && surge > 0 && serving().all(|(ordinal, _)| *ordinal < desired) {
            let mut added = self.cell.ours.range(desired..limit).map(|(_, i)| i);
            return added.find(|i| !i.terminating).map(|i| InstanceStep::Wait(InstanceWait::NotReady(*i)));
        }
        self.budget.spares(serving().count()).then_some(InstanceStep::Replace(*highest))
    }
}
