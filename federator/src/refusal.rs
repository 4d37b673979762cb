//! What keeps a WD from the hub: a refusal, as its status shows (I11; specification, sections 1 and 6), or
//! what has to be gone from there first. Plan and progress read the same answers.
//!
//! Decides I10 and I11.

use std::fmt;

use fedhub_api::cells::{CellDown, CellRefusal, Hold};
use fedhub_api::reason::Reason;
use fedhub_core::message::Quoted;
use fedhub_core::names::{LABEL_VALUE_RULE, SERVICE_NAME, is_label_value};
use fedhub_core::object::{ObjectView, TooLarge};
use fedhub_planes::ServiceState;

use crate::cleanup::CleanupBlocked;
use crate::moving::under_way;
use crate::origin::is_ours;
use crate::snapshot::Snapshot;

/// The object of another tenant that the hub has in a WD's place (I6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The hub namespace.
    Namespace,
    /// The hub WD.
    Deployment,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespace => "the hub namespace of this WorkloadDeployment carries another tenant's labels",
            Self::Deployment => {
                "the federation hub has a WorkloadDeployment of this name from another source"
            }
        })
    }
}

/// A reason on the condition `Available` that the hub writes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The WD is over the limit on the size of objects, so that its spec was not read.
    ObjectTooLarge(TooLarge),
    /// `spec.cityCode` is no label value.
    InvalidCityCode(String),
    /// The WD's name is no label value.
    InvalidName,
    /// No Cluster carries the city's code (I10).
    NoCellForCity(String),
    /// More than one Cluster carries the city's code (I10).
    AmbiguousCity(String),
    /// The object on the hub belongs to another WD (I6).
    FederationConflict(Conflict),
    /// The WD leaves the first city for the second, whose cell has not reported yet (F6); `true` if it should
    /// have by now.
    Moving(String, String, bool),
    /// The WD leaves the first city for the second, whose cell refuses it.
    RefusedByCell(String, String, CellRefusal),
    /// The WD leaves the first city for the second, whose cell is unreachable from Karmada or is declared
    /// lost (U2, C11).
    CellUnreachable(String, String, CellDown),
    /// The service of its project is suspended (W9).
    ServiceSuspended,
    /// The service of its project was withdrawn, and nothing of it is on the hub any more (W9).
    ServiceNotActive,
    /// The WD is being deleted, and its cleanup is not proven (I3); with what is waited for, if that is
    /// known.
    CleanupHeld(CleanupBlocked, Option<String>),
    /// The WD is being deleted, and these cells tear its Instances down.
    Terminating(String),
}

impl Refusal {
    /// The condition's reason.
    pub fn reason(&self) -> Reason {
        match self {
            Self::ObjectTooLarge(_) => Reason::ObjectTooLarge,
            Self::InvalidCityCode(_) => Reason::InvalidCityCode,
            Self::InvalidName => Reason::InvalidName,
            Self::NoCellForCity(_) => Reason::NoCellForCity,
            Self::AmbiguousCity(_) => Reason::AmbiguousCity,
            Self::FederationConflict(_) => Reason::FederationConflict,
            Self::Moving(..) => Reason::Moving,
            Self::RefusedByCell(..) => Reason::RefusedByCell,
            Self::CellUnreachable(..) => Reason::CellUnreachable,
            Self::ServiceSuspended => Reason::ServiceSuspended,
            Self::ServiceNotActive => Reason::ServiceNotActive,
            Self::CleanupHeld(..) => Reason::CleanupHeld,
            Self::Terminating(_) => Reason::Terminating,
        }
    }

    /// Whether it stands even where a cell reports `Available=True` (F8).
    pub fn always_stands(&self) -> bool {
        matches!(
            self,
            Self::ObjectTooLarge(_)
                | Self::AmbiguousCity(_)
                | Self::ServiceNotActive
                | Self::CleanupHeld(..)
                | Self::Terminating(_)
        )
    }

    /// The refusal that the WD itself calls for, before anything is looked up.
    pub fn from_snapshot(seen: &Snapshot) -> Option<Self> {
        let too_large = seen.project.too_large().map(Self::ObjectTooLarge);
        too_large.or_else(|| Self::of_input(&seen.name, seen.city()))
    }

    /// The refusal that the WD's name and city call for.
    pub fn of_input(name: &str, city: &str) -> Option<Self> {
        if !is_label_value(city) {
            return Some(Self::InvalidCityCode(city.to_owned()));
        }
        (name.len() > 63).then_some(Self::InvalidName)
    }

    /// The refusal that the number of cells of a city calls for.
    pub fn of_cells(city: &str, cells: usize) -> Option<Self> {
        match cells {
            0 => Some(Self::NoCellForCity(city.to_owned())),
            1 => None,
            _ => Some(Self::AmbiguousCity(city.to_owned())),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ObjectTooLarge(TooLarge { size, limit }) => write!(
                f,
                "the WorkloadDeployment is too large to be federated: {size} bytes, the limit is {limit}; move data out of its template, for example into a ConfigMap"
            ),
            Self::InvalidCityCode(city) => {
                write!(f, "spec.cityCode {} is not a valid city code: {LABEL_VALUE_RULE}", Quoted(city))
            }
            Self::InvalidName => f.write_str(
                "the name of the WorkloadDeployment is too long: it may have at most 63 characters",
            ),
            Self::NoCellForCity(city) => write!(f, "no cell serves city {}", Quoted(city)),
            Self::AmbiguousCity(city) => {
                write!(f, "more than one cell serves city {}", Quoted(city))
            }
            Self::FederationConflict(conflict) => conflict.fmt(f),
            Self::Moving(from, to, false) => write!(
                f,
                "moving from city {} to city {}: waiting for the new city's cell to report",
                Quoted(from),
                Quoted(to)
            ),
            Self::Moving(from, to, true) => {
                write!(f, "moving from city {} to city {}: {}", Quoted(from), Quoted(to), Hold::Unknown)
            }
            Self::RefusedByCell(from, to, refusal) => {
                write!(f, "moving from city {} to city {}: {refusal}", Quoted(from), Quoted(to))
            }
            Self::CellUnreachable(from, to, down) => {
                write!(f, "moving from city {} to city {}: {down}", Quoted(from), Quoted(to))
            }
            Self::ServiceSuspended => {
                write!(f, "the service {} is suspended in this project", SERVICE_NAME.1)
            }
            Self::ServiceNotActive => write!(
                f,
                "the service {} is not active in this project: nothing of the WorkloadDeployment runs",
                SERVICE_NAME.1
            ),
            Self::CleanupHeld(why, what) => f.write_str(&why.message(what.as_deref())),
            Self::Terminating(cells) => {
                write!(f, "being deleted: waiting until its cell has torn down the Instances: {cells}")
            }
        }
    }
}

/// What is being deleted on the hub in the place of what a WD needs there: it has to be gone first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remnant {
    /// The hub namespace.
    Namespace,
    /// The PropagationPolicy of the WD's city.
    Policy,
    /// The hub WD.
    Deployment,
}

impl fmt::Display for Remnant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespace => "the namespace of this WorkloadDeployment on the federation hub",
            Self::Policy => "the PropagationPolicy of this city on the federation hub",
            Self::Deployment => "the former WorkloadDeployment of this name on the federation hub",
        })
    }
}

/// Why a WD that is not being deleted is not on the hub as it is, or does not run there.
pub fn refusal(seen: &Snapshot) -> Option<Refusal> {
    Refusal::from_snapshot(seen)
        .or_else(|| conflict(seen))
        .or_else(|| Refusal::of_cells(seen.city(), seen.cells))
        .or_else(|| moving(seen))
        .or_else(|| (seen.service == ServiceState::Suspended).then_some(Refusal::ServiceSuspended))
}

/// Where the hub holds something of another tenant in our place (F3, F4, I6).
pub fn conflict(seen: &Snapshot) -> Option<Refusal> {
    if let Some(namespace) = &seen.hub_namespace
        && !seen.namespace_is_ours(namespace)
    {
        return Some(Refusal::FederationConflict(Conflict::Namespace));
    }
    let hub = seen.hub.as_ref()?;
    (!is_ours(seen, hub)).then_some(Refusal::FederationConflict(Conflict::Deployment))
}

/// What is being deleted on the hub, and has to be gone before the WD can be there.
pub fn remnant(seen: &Snapshot) -> Option<Remnant> {
    let namespace = seen.hub_namespace.as_ref()?;
    if namespace.is_terminating() {
        // It cannot be used before it is gone and made again, under the same name.
        return Some(Remnant::Namespace);
    }
    // F7: a policy that is terminating counts as absent, and no other can be made under its name.
    let policy = seen.policy();
    if policy.is_some_and(|policy| policy.object.is_terminating()) {
        return Some(Remnant::Policy);
    }
    seen.hub.as_ref().is_some_and(|hub| hub.terminating).then_some(Remnant::Deployment)
}

/// That the WD moves, and what is in its way (F6, U2).
fn moving(seen: &Snapshot) -> Option<Refusal> {
    let from = under_way(seen)?.from;
    let to = seen.city().to_owned();
    Some(match (&seen.cell_down, &seen.held) {
        (Some(down), _) => Refusal::CellUnreachable(from, to, down.clone()),
        (None, Some(Hold::Refused(refusal))) => Refusal::RefusedByCell(from, to, refusal.clone()),
        (None, hold) => Refusal::Moving(from, to, hold.is_some()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_judged_by_the_rules_of_section_6() {
        for (name, city, expected) in [
            ("wd", "DFW", None),
            ("wd", "", Some(Reason::InvalidCityCode)),
            ("wd", "New York", Some(Reason::InvalidCityCode)),
            ("wd", "-x", Some(Reason::InvalidCityCode)),
            (&*"n".repeat(64), "DFW", Some(Reason::InvalidName)),
            (&*"n".repeat(63), "DFW", None),
            ("wd", &*"C".repeat(64), Some(Reason::InvalidCityCode)),
            ("wd", &*"C".repeat(63), None),
        ] {
            let refusal = Refusal::of_input(name, city);
            assert_eq!(refusal.as_ref().map(Refusal::reason), expected, "{name} {city}");
            if let Some(refusal) = refusal {
                assert!(refusal.reason().is_refusal());
            }
        }
    }
}
