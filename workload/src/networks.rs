//! The networks that templates name, and whether they exist (W3).
//!
//! Where the project plane serves `Network`s, a Workload says which of those that its template names its
//! namespace does not have. Where it serves none, does not let them be read, or cannot be asked, nothing is
//! known of them: what was said of the Workload's newest generation stays.

use fedhub_api::facts::{Change, Workload};
use fedhub_core::message::{Quoted, named};
use fedhub_core::object::Kind;
use fedhub_planes::Plane;

/// The networks that a template names, as far as they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Networks {
    /// Nothing: the plane does not tell.
    Unknown,
    /// All but these exist.
    Known {
        /// The names of those that do not, in order.
        missing: Vec<Box<str>>,
    },
}

impl Networks {
    /// Checks which of the networks that a Workload in `namespace` names exist.
    pub fn new(project: &Plane, namespace: &str, workload: Option<&Workload>) -> Self {
        let kind = Kind::Network;
        let store = project.store(Kind::Network);
        if !project.serves(kind) || !store.synced() || project.is_failing(kind) {
            return Self::Unknown;
        }
        let named = workload.iter().flat_map(|workload| &workload.networks);
        Self::Known {
            missing: named.filter(|name| store.digest(namespace, name).is_none()).cloned().collect(),
        }
    }

    /// Returns the message of the condition `NetworkNotFound` of that Workload, if it has one.
    pub fn message(&self, workload: &Workload) -> Option<String> {
        let missing = match self {
            Self::Unknown => return workload.missing_networks.as_deref().map(str::to_owned),
            Self::Known { missing } => missing,
        };
        let names: Vec<_> = missing.iter().map(|name| Quoted(name).to_string()).collect();
        let (noun, verb) = if names.len() == 1 { ("Network", "does") } else { ("Networks", "do") };
        let names = named(&names)?;
        Some(format!("{noun} {names} {verb} not exist in the Workload's namespace"))
    }
}

/// Whether a change of a `Network` is one between being there and not.
pub fn comes_or_goes(change: &Change) -> bool {
    !matches!(change, Change::Applied { old: Some(_), .. })
}
