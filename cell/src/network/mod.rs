//! Networking of a WD in its cell: which location it is in and, with `--networking`, that its networks are there.
//!
//! Interface `i` of the template has the `NetworkBinding` `<WD>-net-<i>`, which asks the network service for its network in
//! the cell's location. When that is Ready, the context that it names has to be Ready, and for each address family of the
//! interface a `SubnetClaim` of class `private`, made if none stands there, and the subnet that the claim got. A claim
//! belongs to its context, which other WDs use too, and not to a WD. When all of that is Ready, the gate `Network` of the
//! Instances is opened.
//!
//! # Moving
//!
//! Network and location of a binding never change. Where an interface needs another one than stands under its name, a
//! stand-in takes its place: `<WD>-net-<i>-<n>`. When that is Ready, with context and subnets, Instances are told their new
//! location; a binding goes when no Instance needs it any more that no Ready one serves; then the name is free for the
//! binding that is wanted, and when that is Ready the stand-in goes. So there is no moment at which an Instance that runs
//! has no Ready binding (C15). What earlier versions made under other numbers is a stand-in like any other.
//!
//! # Without networking
//!
//! The location is known all the same where the cell serves `LocationBinding`s. Nothing waits for it then.
//!
//! [`look`] reads the stores, [`plan()`] decides (pure), and the controller of WDs performs what it says.

mod apply;
mod contexts;
mod interface;
mod plan;
mod seen;

use fedhub_api::LocationReference;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_planes::Plane;

pub(crate) use apply::{apply, create};
pub use contexts::contexts;
pub use plan::{Plan, plan};
pub use seen::{Seen, place};

use crate::instances::Instance;
use crate::status::network::{Location, Network};
use interface::{context, subnet};

/// What the cell's stores tell of a WD's networking.
#[derive(Clone, Debug)]
pub struct View {
    /// The location that the cell serves.
    pub location: Location,
    /// What is to be done, and how far it is.
    pub plan: Plan,
    /// Whether networking is on.
    networking: bool,
}

impl View {
    /// Where networking is off: nobody asks for anything, and nothing is waited for.
    pub fn off(location: Location) -> Self {
        Self { location, plan: Plan::of(Network::Ready), networking: false }
    }

    /// The location that an Instance of the WD is to be told, where it was told another one or none: never one where its
    /// networks are not ready, if it runs elsewhere (C15).
    pub fn next_place(&self, wd: &Object, instance: &Object) -> Option<LocationReference> {
        let place = place(wd, &self.location)?;
        let told = instance.spec().pointer("/location/name").and_then(|name| name.as_str());
        match told {
            None => Some(place),
            Some(told) if told == place.name => None,
            Some(_) => (!self.networking || self.plan.serves(instance, &place.name)).then_some(place),
        }
    }
}

/// Looks at a WD's networking, without a request.
pub fn look(cell: &Plane, wd: &Object) -> View {
    let location = location(cell, wd);
    let controls = |object: &Object| Instance::of(object).owner == Some(wd.uid());
    let mut instances = cell.store(Kind::Instance).objects(Some(wd.namespace()));
    instances.retain(|instance| controls(instance));
    let bindings = cell.store(Kind::NetworkBinding).objects(Some(wd.namespace()));
    let (mut contexts, mut claims, mut subnets) = (Vec::new(), Vec::new(), Vec::new());
    let mut known: Vec<(&str, &str)> =
        bindings.iter().filter(|binding| controls(binding)).filter_map(|binding| context(binding)).collect();
    known.sort_unstable();
    known.dedup();
    let mut spaces: Vec<&str> = Vec::new();
    for (space, name) in known {
        contexts.extend(cell.store(Kind::NetworkContext).object(space, name));
        if !spaces.contains(&space) {
            spaces.push(space);
            claims.extend(cell.store(Kind::SubnetClaim).objects(Some(space)));
        }
    }
    for claim in &claims {
        if let Some((space, name)) = subnet(claim) {
            subnets.extend(cell.store(Kind::Subnet).object(space, name));
        }
    }
    let seen = Seen {
        deployment: wd,
        instances: &instances,
        bindings: &bindings,
        contexts: &contexts,
        claims: &claims,
        subnets: &subnets,
        location: &location,
    };
    let plan = plan(&seen);
    View { location, plan, networking: true }
}

/// What is known of a WD's location where networking is off. What is in doubt blocks nothing then.
pub fn look_without_networking(cell: &Plane, wd: &Object) -> View {
    View::off(match location(cell, wd) {
        serving @ Location::Serving(_) => serving,
        _ => Location::Unasked,
    })
}

fn location(cell: &Plane, wd: &Object) -> Location {
    let city = wd.spec()["cityCode"].as_str().unwrap_or_default();
    let locations = cell.store(Kind::LocationBinding).objects(None);
    Location::of(city, locations.iter().map(AsRef::as_ref))
}

/// The bindings that an object of the network service matters to: those that got that context, or the context of that
/// claim, or of the claim that got that subnet.
pub(crate) fn users(cell: &Plane, kind: Kind, object: &Object) -> Vec<ObjectRef> {
    let of_context = |space: &str, name: &str| {
        let mut bindings = cell.store(Kind::NetworkBinding).objects(None);
        bindings.retain(|binding| context(binding) == Some((space, name)));
        bindings
    };
    match kind {
        Kind::NetworkContext => of_context(object.namespace(), object.name()),
        Kind::SubnetClaim => object.spec()["networkContext"]["name"]
            .as_str()
            .map_or_else(Vec::new, |name| of_context(object.namespace(), name)),
        Kind::Subnet => {
            let mut claims = cell.store(Kind::SubnetClaim).objects(Some(object.namespace()));
            claims.retain(|claim| subnet(claim) == Some((object.namespace(), object.name())));
            claims.iter().flat_map(|claim| users(cell, Kind::SubnetClaim, claim)).collect()
        }
        _ => Vec::new(),
    }
}
