//! Admission of Workloads, WDs and `InstanceType`s: defaults, rules and reviews (specification, W4).
//!
//! # The way through
//!
//! 1. [`judge`] compares an object with the one before it: the faults that are new ([`fault`]), warnings, and what has to be
//!    asked before it is admitted: which networks are used that were not before, which of fedhub's own annotations changed.
//! 2. Who serves reviews asks that, and adds [`NetworkUse::refused`] and [`OwnAnnotation::refused`] to the faults, so that
//!    all of them are in one answer.
//! 3. [`defaults`] is what an object has where its user says nothing.
//!
//! The rules are those of the API whose placements have `cityCodes`. Nothing in here asks anything, or knows how reviews arrive.
//!
//! Decides W4.

pub mod defaults;
mod deployment;
pub mod fault;
mod instance_type;
mod kind;
mod path;
mod types;
mod workload;

use fedhub_core::object::Object;

pub use deployment::OwnAnnotation;
pub use fault::{Fault, Problem};
use fault::{Faults, not_in};
pub use kind::Kind;
pub use path::Path;
pub use types::{Types, sets_type};
pub use workload::NetworkUse;

/// What is to be said of an object.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Why it is refused; without any it is admitted, if the questions are answered well.
    pub faults: Vec<Fault>,
    /// What its user should know.
    pub warnings: Vec<String>,
    /// Networks that its user has to have the right to use.
    pub networks: Vec<NetworkUse>,
    /// Annotations that fedhub alone may change.
    pub own_annotations: Vec<OwnAnnotation>,
}

/// Judges the object that is to be stored in place of `old`, or as a new one, where templates may have these types.
pub fn judge(kind: Kind, types: Types<'_>, old: Option<&Object>, new: &Object) -> Judgement {
    let before = old.map(|old| faults(kind, types, old)).unwrap_or_default();
    let mut judgement =
        Judgement { faults: not_in(&before, faults(kind, types, new)), ..Judgement::default() };
    match kind {
        Kind::Workload => {
            judgement.warnings = workload::warnings(types, old, new);
            judgement.networks = workload::networks(old, new);
        }
        Kind::WorkloadDeployment => judgement.own_annotations = deployment::own_annotations(old, new),
        Kind::InstanceType => {
            judgement.faults.extend(old.and_then(|old| instance_type::backwards(old, new)));
        }
    }
    judgement
}

/// All faults of an object.
fn faults(kind: Kind, types: Types<'_>, object: &Object) -> Vec<Fault> {
    let mut faults = Faults::default();
    match kind {
        Kind::Workload => workload::check(object, types, &mut faults),
        Kind::WorkloadDeployment => {}
        Kind::InstanceType => instance_type::check(object, &mut faults),
    }
    faults.into_vec()
}
