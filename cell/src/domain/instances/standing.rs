//! The Instances in the namespace of a WD, by what they are to it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::view::{Deployment, Instance, ordinal};

/// The Instances of a WD, by ordinal.
#[derive(Default)]
pub(super) struct Standing<'a> {
    /// The Instances of this WD, by ordinal.
    pub(super) ours: BTreeMap<u32, Instance<'a>>,
    /// The Instances of this WD without an ordinal.
    pub(super) strays: Vec<Instance<'a>>,
    /// Others, under a name that one of this WD's has or would have.
    pub(super) taken: BTreeMap<u32, Instance<'a>>,
}

impl<'a> Standing<'a> {
    /// Sorts the Instances of a namespace.
    pub(super) fn new(deployment: &Deployment<'_>, instances: &[Instance<'a>]) -> Self {
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

    /// Whether an ordinal has a Ready Instance that stays.
    pub(super) fn serves(&self, ordinal: u32) -> bool {
        self.ours.get(&ordinal).is_some_and(Instance::serves)
    }
}
