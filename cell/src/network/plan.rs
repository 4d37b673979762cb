//! What a WD needs of the network service, decided from what stands.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_shared::message::Quoted;
use fedhub_shared::names::{LOCATION, NETWORK, is_label_value};
use fedhub_shared::object::{Kind, Object, ObjectView, Shared, bare, set_field};
use serde_json::{Value, json};

use super::place;
use crate::instances::owner;
use crate::status::network::{Location, Network};

/// The class of the subnets that Instances are in.
const CLASS: &str = "private";
/// Their address family.
const FAMILY: &str = "IPv4";

/// What the plan looks at.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The WD.
    pub deployment: &'a Object,
    /// All bindings in its namespace.
    pub bindings: &'a [Shared],
    /// All subnet claims of the cell.
    pub claims: &'a [Shared],
    /// The location that the cell serves.
    pub location: &'a Location,
}

/// What is to be done about a WD's networks, and how far they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Bindings to create.
    pub bindings: Vec<Object>,
    /// Subnet claims to create.
    pub claims: Vec<Claim>,
    /// Bindings of this WD that its template does not need any more. Instances on an earlier template may: they are to
    /// go when there are none of those.
    pub stale: Vec<Shared>,
    /// How far it is. The gate `Network` is opened when it is [`Network::Ready`].
    pub network: Network,
}

impl Plan {
    /// Nothing to do, and that far.
    pub fn of(network: Network) -> Self {
        Self { bindings: Vec::new(), claims: Vec::new(), stale: Vec::new(), network }
    }
}

/// A subnet claim to create.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The claim, in the namespace of its context. Its owner is to be the context, whose UID only a read tells.
    pub object: Object,
    /// The name of the context.
    pub context: String,
}

/// Decides.
pub fn plan(seen: &Seen<'_>) -> Plan {
    let wd = seen.deployment;
    if !seen.location.allows() {
        let city = wd.spec()["cityCode"].as_str().unwrap_or_default();
        let words = seen.location.blocker(city).map_or_else(String::new, |b| b.message);
        return Plan::of(Network::Provisioning(words));
    }
    let place = place(wd, seen.location).map(|place| place.name);
    let own = |b: &&Shared| {
        let mut owners = b.metadata.owner_references.iter().flatten();
        !b.deleting() && owners.any(|o| o.controller == Some(true) && o.uid == wd.uid())
    };
    let mut names: BTreeSet<String> = seen.bindings.iter().map(|b| b.called().to_owned()).collect();
    let mut left: BTreeMap<&str, &Shared> =
        seen.bindings.iter().filter(own).map(|b| (b.called(), b)).collect();
    let mut plan = Plan::of(Network::Ready);
    let mut far = Vec::new();
    for network in networks(wd) {
        let what = format!("Network {}", Quoted(network["name"].as_str().unwrap_or_default()));
        let binds = |b: &Object| {
            let here = &b.spec()["location"]["name"];
            same(&b.spec()["network"], network, wd.space())
                && place.as_ref().is_none_or(|place| here == place)
        };
        let standing = left.values().find(|b| binds(b)).map(|b| b.called());
        far.push(match (standing.and_then(|name| left.remove(name)), &place) {
            (Some(binding), _) => match Network::of(&what, Some(binding)) {
                Network::Ready => subnet(seen, binding, &what, &mut plan.claims),
                not_yet => not_yet,
            },
            (None, Some(place)) => {
                plan.bindings.push(binding(wd, network, place, &mut names));
                Network::of(&what, None)
            }
            (None, None) => Network::Provisioning(format!("{what}: waiting for the cell to have a location")),
        });
    }
    plan.stale = left.into_values().cloned().collect();
    plan.network = Network::worst(far);
    plan
}

/// The distinct networks of the template's interfaces, in their order.
fn networks(wd: &Object) -> Vec<&Value> {
    let interfaces = wd.spec().pointer("/template/spec/networkInterfaces").and_then(Value::as_array);
    let mut all: Vec<&Value> = Vec::new();
    for interface in interfaces.into_iter().flatten() {
        let network = &interface["network"];
        let named = network["name"].as_str().is_some_and(|name| !name.is_empty());
        if named && !all.iter().any(|known| same(known, network, wd.space())) {
            all.push(network);
        }
    }
    all
}

/// Whether two references from this namespace are to one network.
fn same(a: &Value, b: &Value, here: &str) -> bool {
    let space = |network: &Value| network["namespace"].as_str().unwrap_or(here).to_owned();
    a["name"] == b["name"] && space(a) == space(b)
}

/// The first name `<base>-<n>` that nothing has.
fn free(base: &str, names: &mut BTreeSet<String>) -> String {
    let mut number = 0;
    let mut name = format!("{base}-{number}");
    while names.contains(&name) {
        number += 1;
        name = format!("{base}-{number}");
    }
    names.insert(name.clone());
    name
}

/// A binding of the WD to a network. Network and location of a binding never change: for others there is another one.
///
/// It gets all annotations of the template's metadata, as the Instances do: what a user tells other services there,
/// the network service may want to know too. They are copied once; a binding is not written again.
fn binding(wd: &Object, network: &Value, place: &str, names: &mut BTreeSet<String>) -> Object {
    let name = free(&format!("{}-net", wd.called()), names);
    let mut binding = bare(Kind::NetworkBinding, wd.space(), &name);
    let labels = [(NETWORK, network["name"].as_str().unwrap_or_default()), (LOCATION, place)];
    let labels = labels.into_iter().filter(|(_, value)| is_label_value(value));
    binding.metadata.labels = Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect());
    let told = wd.spec().pointer("/template/metadata/annotations").and_then(Value::as_object);
    let told: BTreeMap<String, String> = told
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect();
    binding.metadata.annotations = Some(told).filter(|map| !map.is_empty());
    binding.metadata.owner_references = Some(vec![owner(wd.called(), wd.uid())]);
    let kind = Kind::WorkloadDeployment.resource();
    let spec = json!({
        "network": network,
        "location": {"name": place},
        "consumer": {"apiGroup": kind.group, "kind": kind.kind, "name": wd.called()},
    });
    set_field(&mut binding, "spec", spec);
    binding
}

/// Namespace and name of the context that a binding got.
pub fn context(binding: &Object) -> Option<(&str, &str)> {
    let context = &binding.status()["networkContextRef"];
    Some((context["namespace"].as_str()?, context["name"].as_str()?)).filter(|(_, name)| !name.is_empty())
}

/// How far the subnet is of a network whose binding is Ready; one that nobody asked for yet is asked for.
fn subnet(seen: &Seen<'_>, binding: &Object, what: &str, wanted: &mut Vec<Claim>) -> Network {
    let Some((space, name)) = context(binding) else {
        return Network::Provisioning(format!("{what}: waiting for its context"));
    };
    let what = what.replacen("Network", "Subnet of network", 1);
    let location = &binding.spec()["location"];
    let fits = |claim: &&Shared| {
        let spec = claim.spec();
        claim.space() == space
            && spec["networkContext"]["name"] == name
            && (&spec["subnetClass"], &spec["ipFamily"]) == (&json!(CLASS), &json!(FAMILY))
            && spec["location"]["name"] == location["name"]
            && !claim.deleting()
    };
    let claim = seen.claims.iter().find(fits);
    if claim.is_none() {
        let here = seen.claims.iter().filter(|c| c.space() == space);
        let mut names = here.map(|c| c.called().to_owned()).collect();
        let mut object = bare(Kind::SubnetClaim, space, &free(name, &mut names));
        let spec = json!({
            "subnetClass": CLASS,
            "ipFamily": FAMILY,
            "networkContext": {"name": name},
            "location": location,
        });
        set_field(&mut object, "spec", spec);
        wanted.push(Claim { object, context: name.to_owned() });
    }
    Network::of(&what, claim.map(AsRef::as_ref))
}
