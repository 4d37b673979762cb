//! Networking of a WD in its cell: its location and, with `--networking`, its networks.
//!
//! Interface `i` of the template has the `NetworkBinding` `<WD>-net-<i>`, which asks the network service for
//! its network in the cell's location. When that is Ready, its context has to be Ready, and for each address
//! family of the interface a `SubnetClaim` of class `private`, created where there is none, and that claim's
//! subnet. A claim belongs to its context, which other WDs use too. When all of that is Ready, the gate
//! `Network` of the Instances opens.
//!
//! # Moving
//!
//! Network and location of a binding never change. Where an interface needs others, another binding takes the
//! place of the one that it has, with a hash of network and location in its name. When it is Ready, with
//! context and subnets, Instances get their new location; a binding is deleted when every Instance that needs
//! it has another Ready one. So a running Instance always has a Ready binding (C15). What a binding serves is
//! decided by its owner, network and location, and not by its name: those of earlier versions, under other
//! numbers, serve like any other.
//!
//! Without networking, the location is known all the same where the cell serves `LocationBinding`s; nothing
//! waits for it.

mod contexts;
mod inputs;
mod interface;
mod plan;

use fedhub_api::LocationReference;
use fedhub_core::object::{Object, ObjectView};

pub use contexts::contexts;
pub use inputs::{NetworkFacts, place};
pub use plan::{NetworkPlan, plan};

use crate::domain::status::network::{Location, Network};
pub(crate) use interface::{context, subnet};

/// How far the networking of a WD is.
#[derive(Clone, Debug)]
pub struct Networking {
    /// The location that the cell serves.
    pub location: Location,
    /// The plan, and how far the network is.
    pub plan: NetworkPlan,
    /// Whether networking is on.
    required: bool,
}

impl Networking {
    /// Returns the networking of a cell where it is enabled.
    pub fn on(location: Location, plan: NetworkPlan) -> Self {
        Self { location, plan, required: true }
    }

    /// Returns the networking of a cell where it is disabled: nothing is requested or waited for.
    pub fn off(location: Location) -> Self {
        Self { location, plan: NetworkPlan::from_network(Network::Ready), required: false }
    }

    /// The location to patch into an Instance that has another one or none: never one where its networks are
    /// not ready, if it runs elsewhere (C15).
    pub fn next_place(&self, wd: &Object, instance: &Object) -> Option<LocationReference> {
        let place = place(wd, &self.location)?;
        let known = instance.spec().pointer("/location/name").and_then(|name| name.as_str());
        match known {
            None => Some(place),
            Some(known) if known == place.name => None,
            Some(_) => (!self.required || self.plan.serves(instance, &place.name)).then_some(place),
        }
    }
}
