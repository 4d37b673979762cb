//! What only fedhub may say on a WD, what may be asked of the power of its instances, and how many of them
//! its scale may ask for.

use fedhub_api::instance_power;
use fedhub_core::message::Quoted;
use fedhub_core::names::{EXPECTED_REFERENCED_DATA, INSTANCE_POWER};
use fedhub_core::object::{Object, ObjectView};

use super::fault::{Fault, Faults, Problem};
use super::path::Path;
use super::workload::replicas;

/// An annotation that fedhub alone may add, change and remove, and that is added, changed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnAnnotation(&'static str);

impl OwnAnnotation {
    /// The fault of a user who is not fedhub.
    pub fn refused(&self, user: &str) -> Fault {
        Fault {
            path: Path::from_field("metadata").field("annotations").key(self.0),
            problem: Problem::Forbidden,
            value: None,
            rule: format!("only fedhub may add, change or remove it, and the user is {}", Quoted(user)),
        }
    }
}

/// The annotations of that kind that differ.
pub fn own_annotations(old: Option<&Object>, new: &Object) -> Vec<OwnAnnotation> {
    [EXPECTED_REFERENCED_DATA]
        .into_iter()
        .filter(|key| old.and_then(|old| old.annotation(key)) != new.annotation(key))
        .map(OwnAnnotation)
        .collect()
}

/// The most faults of an annotation that are named.
const NAMED: usize = 20;

/// The faults of what a WD asks of the power of its instances, which would be ignored (V9).
pub fn check_power(wd: &Object, faults: &mut Faults) {
    let value = wd.annotation(INSTANCE_POWER).unwrap_or_default();
    for fault in instance_power::faults(wd).iter().take(NAMED) {
        let path = Path::from_field("metadata").field("annotations").key(INSTANCE_POWER);
        faults.invalid(path, value, fault);
    }
}

/// The faults of a WD's scale (`autoscaling/v1`).
pub fn check_scale(scale: &Object, faults: &mut Faults) {
    if let Some(wanted) = scale.spec()["replicas"].as_i64() {
        replicas(wanted, Path::from_field("spec").field("replicas"), faults);
    }
}
