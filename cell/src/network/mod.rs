//! Networking of a WD in its cell (off by default): which location it is in, and that its networks are there.
//!
//! For each distinct network of the template's interfaces a `NetworkBinding` asks the network service for that network
//! in the cell's location. When it is Ready, its context has to have a subnet: a `SubnetClaim` of class `private` for
//! IPv4, made if none stands there. A claim belongs to its context, which other WDs use too, and not to a WD. When all
//! claims are Ready, the gate `Network` of the Instances is opened.
//!
//! [`look`] reads the stores, [`plan`] decides (pure), and the controller of WDs performs what it says.

mod apply;
mod plan;

use fedhub_shared::api::LocationReference;
use fedhub_shared::object::{Kind, Object, ObjectView, Shared};
use fedhub_shared::planes::Plane;

pub(crate) use apply::{apply, create};
use plan::context;
pub use plan::{Claim, Plan, Seen, plan};

use crate::status::network::{Location, Network};

/// What the cell's stores tell of a WD's networking.
#[derive(Clone, Debug)]
pub struct View {
    /// The location that the cell serves.
    pub location: Location,
    /// What is to be done, and how far it is.
    pub plan: Plan,
}

impl View {
    /// Where networking is off: nobody asks for anything, and nothing is waited for.
    pub fn off() -> Self {
        Self { location: Location::Unasked, plan: Plan::of(Network::Ready) }
    }
}

/// Looks at a WD's networking, without a request.
pub fn look(cell: &Plane, deployment: &Object) -> View {
    let city = deployment.spec()["cityCode"].as_str().unwrap_or_default();
    let locations = cell.store(Kind::LocationBinding).objects(None);
    let location = Location::of(city, locations.iter().map(AsRef::as_ref));
    let bindings = cell.store(Kind::NetworkBinding).objects(Some(deployment.space()));
    let claims = cell.store(Kind::SubnetClaim).objects(None);
    let seen = Seen { deployment, bindings: &bindings, claims: &claims, location: &location };
    let plan = plan(&seen);
    View { location, plan }
}

/// The bindings that a subnet claim matters to: those that got its context.
pub(crate) fn users(cell: &Plane, claim: &Object) -> Vec<Shared> {
    let Some(name) = claim.spec()["networkContext"]["name"].as_str() else { return Vec::new() };
    let mut bindings = cell.store(Kind::NetworkBinding).objects(None);
    bindings.retain(|binding| context(binding) == Some((claim.space(), name)));
    bindings
}

/// The location that a WD is known to be in: the one that the cell serves, or, while it says none, the one that was
/// known before. `None` also where they contradict each other.
pub fn place(deployment: &Object, location: &Location) -> Option<LocationReference> {
    let name = match location {
        Location::Serving(name) => Some(name.as_str()),
        Location::Missing => deployment.status().pointer("/location/name").and_then(|name| name.as_str()),
        Location::Unasked | Location::Ambiguous(_) | Location::Elsewhere { .. } => None,
    };
    name.map(|name| LocationReference { name: name.to_owned(), namespace: None })
}
