//! The state of the caches for networking in the cell.

use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::Plane;

use crate::domain::instances::Instance;
use crate::domain::network::{NetworkFacts, Networking, context, plan, subnet};
use crate::domain::status::network::Location;

/// The networking of a WD where that is on.
pub(crate) fn networking(cell: &Plane, wd: &Object) -> Networking {
    let location = location(cell, wd);
    let controls = |object: &Object| Instance::from_object(object).owner == Some(wd.uid());
    let mut instances = cell.store(Kind::Instance).objects(Some(wd.namespace()));
    instances.retain(|instance| controls(instance));
    let bindings = cell.store(Kind::NetworkBinding).objects(Some(wd.namespace()));
    let mut contexts = Vec::new();
    let mut claims = Vec::new();
    let mut subnets = Vec::new();
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
    let inputs = NetworkFacts {
        deployment: wd,
        instances: &instances,
        bindings: &bindings,
        contexts: &contexts,
        claims: &claims,
        subnets: &subnets,
        location: &location,
    };
    let plan = plan(&inputs);
    Networking::on(location, plan)
}

/// The location of a WD where networking is off. What is in doubt blocks nothing then.
pub(crate) fn without_networking(cell: &Plane, wd: &Object) -> Networking {
    Networking::off(match location(cell, wd) {
        serving @ Location::Serving(_) => serving,
        _ => Location::Unasked,
    })
}

fn location(cell: &Plane, wd: &Object) -> Location {
    let city = wd.spec()["cityCode"].as_str().unwrap_or_default();
    let locations = cell.store(Kind::LocationBinding).objects(None);
    Location::from_bindings(city, locations.iter().map(AsRef::as_ref))
}
