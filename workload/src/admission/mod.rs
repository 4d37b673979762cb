//! Admission of Workloads, `WorkloadRollout`s, WDs and `InstanceType`s: defaults, rules and reviews
//! (specification, W4).
//!
//! # The way through
//!
//! 1. [`judge`] compares an object with the one before it: the faults that are new ([`fault`]), warnings, and
//!    what has to be asked before it is admitted: which networks a new or changed template is on, which of
//!    fedhub's own annotations changed. [`judge_scale`] is the same for the scale of a WD.
//! 2. Who serves reviews asks that, and adds [`NetworkUse::refused`] and [`OwnAnnotation::refused`] to the
//!    faults, so that all of them are in one answer. Where [`Judgement::exempts_fedhub`], nothing of it holds
//!    for fedhub itself.
//! 3. [`defaults`] is what an object has where its user says nothing, and [`rollout::patch`] whose the
//!    approvals of a rollout are.
//!
//! However large an object is, a review ends soon: lists are looked at as far as `limits` says, and no step
//! takes longer than its input is long.
//!
//! The rules are those of the API whose placements have `cityCodes`. Nothing in here asks anything, or knows
//! how reviews arrive.
//!
//! Decides W4.

pub mod defaults;
mod deployment;
pub mod fault;
mod instance_type;
mod kind;
mod limits;
pub mod path;
pub mod rollout;
mod types;
mod workload;

use std::collections::BTreeSet;

use fedhub_api::{WorkloadDeploymentSpec, WorkloadSpec};
use fedhub_core::object::Object;

pub use deployment::OwnAnnotation;
pub use fault::{Fault, Problem};
use fault::{Faults, not_in};
pub use kind::Kind;
pub use path::Path;
pub use types::{TypeCatalog, Types, sets_type};
pub use workload::NetworkUse;
use workload::Templated;

/// The judgement of an object.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Why it is refused; without any it is admitted, if the questions are answered well.
    pub faults: Vec<Fault>,
    /// The warnings for its user.
    pub warnings: Vec<String>,
    /// Networks that its user has to have the right to use.
    pub networks: Vec<NetworkUse>,
    /// Annotations that fedhub alone may change.
    pub own_annotations: Vec<OwnAnnotation>,
    /// Whether nothing of this holds for fedhub itself: it writes such objects, of what was reviewed before.
    pub exempts_fedhub: bool,
}

/// Judges the object that is to be stored in place of `old`, or as a new one, where templates may have these
/// types.
pub fn judge(kind: Kind, types: Types<'_>, old: Option<&Object>, new: &Object) -> Judgement {
    match kind {
        Kind::Workload => {
            let mut judgement = templated::<WorkloadSpec>(types, old, new);
            judgement.warnings.extend(old.and_then(|old| workload::disruption::warning(old, new)));
            judgement
        }
        Kind::WorkloadDeployment => {
            let mut judgement = templated::<WorkloadDeploymentSpec>(types, old, new);
            judgement.faults.extend(compared(deployment::check_power, old, new));
            Judgement {
                own_annotations: deployment::own_annotations(old, new),
                exempts_fedhub: true,
                ..judgement
            }
        }
        Kind::WorkloadRollout => {
            Judgement { faults: compared(rollout::check, old, new), ..Judgement::default() }
        }
        Kind::InstanceType => {
            let mut faults = compared(instance_type::check, old, new);
            faults.extend(old.and_then(|old| instance_type::backwards(old, new)));
            Judgement { faults, ..Judgement::default() }
        }
    }
}

/// Judges the scale of a WD (`autoscaling/v1`, of the subresource `scale`) that is to be stored in place of
/// `old`.
pub fn judge_scale(old: Option<&Object>, new: &Object) -> Judgement {
    Judgement { faults: compared(deployment::check_scale, old, new), ..Judgement::default() }
}

/// Judges an object whose instances are made from a template.
fn templated<S: Templated>(types: Types<'_>, old: Option<&Object>, new: &Object) -> Judgement {
    if old.is_some_and(|old| old.data.get("spec") == new.data.get("spec")) {
        return Judgement::default();
    }
    let before = old.map(|old| workload::findings::<S>(old, types)).unwrap_or_default();
    let found = workload::findings::<S>(new, types);
    let told: BTreeSet<_> = before.warnings.into_iter().collect();
    let faults = not_in(&before.faults, found.faults);
    let mut warnings = found.warnings;
    warnings.retain(|warning| !told.contains(warning));
    Judgement { faults, warnings, networks: workload::networks(old, new), ..Judgement::default() }
}

/// The faults that are new.
fn compared(check: fn(&Object, &mut Faults), old: Option<&Object>, new: &Object) -> Vec<Fault> {
    let of = |object: &Object| {
        let mut faults = Faults::default();
        check(object, &mut faults);
        faults.into_vec()
    };
    not_in(&old.map(of).unwrap_or_default(), of(new))
}
