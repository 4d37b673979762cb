//! The inputs of the plan of a WD's networking.

use fedhub_api::LocationReference;
use fedhub_core::object::{Object, ObjectRef, ObjectView};

use crate::domain::status::network::Location;

/// The input of the plan.
#[derive(Clone, Copy, Debug)]
pub struct NetworkFacts<'a> {
    /// The WD.
    pub deployment: &'a Object,
    /// Its own Instances (C3), terminating ones too.
    pub instances: &'a [ObjectRef],
    /// All bindings in its namespace.
    pub bindings: &'a [ObjectRef],
    /// The contexts that its bindings got.
    pub contexts: &'a [ObjectRef],
    /// All subnet claims in the namespaces of those.
    pub claims: &'a [ObjectRef],
    /// The subnets that those claims got.
    pub subnets: &'a [ObjectRef],
    /// The location that the cell serves.
    pub location: &'a Location,
}

/// The location of a WD: the one that the cell serves, or, while it names none, the one that was known
/// before. `None` also where the cell's locations contradict each other.
pub fn place(deployment: &Object, location: &Location) -> Option<LocationReference> {
    let name = match location {
        Location::Serving(name) => Some(name.as_str()),
        Location::Missing | Location::Unasked => {
            deployment.status().pointer("/location/name").and_then(|name| name.as_str())
        }
        Location::Ambiguous(_) | Location::Elsewhere { .. } => None,
    };
    name.map(|name| LocationReference { name: name.to_owned(), namespace: None })
}
