//! The needs of a WD from the network service, given the objects that exist.
//!
//! Decides C15.

use std::iter;

use fedhub_core::hash;
use fedhub_core::names::{LOCATION, NETWORK, is_label_value};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, bare, set_field};
use serde_json::{Value, json};

use super::inputs::{NetworkFacts, place};
use super::interface::{Claims, Home, Interface};
use crate::domain::instances::{Instance, owner_reference, texts};
use crate::domain::status::gates;
use crate::domain::status::network::Network;

/// The decision about a WD's networks, and how far they are.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkPlan {
    /// Bindings to create.
    pub bindings: Vec<Object>,
    /// Subnet claims to create.
    pub claims: Vec<Object>,
    /// Bindings of this WD to delete: what is wanted in their place is ready, and no Instance needs them
    /// (C15).
    pub replaced: Vec<ObjectRef>,
    /// How far it is. The gate `Network` is opened when it is [`Network::Ready`].
    pub network: Network,
    /// Bindings that are ready, with context and subnets, and stay.
    ready: Vec<ObjectRef>,
    /// See [`Home::upstream`].
    upstream: Option<String>,
}

impl NetworkPlan {
    /// Creates a plan without any writes, given how far the network is.
    pub fn from_network(network: Network) -> Self {
        Self {
            bindings: Vec::new(),
            claims: Vec::new(),
            replaced: Vec::new(),
            network,
            ready: Vec::new(),
            upstream: None,
        }
    }

    /// Whether all networks of an Instance are ready in that location.
    pub fn serves(&self, instance: &Object, place: &str) -> bool {
        let home = self.home(instance);
        Interface::all(instance.spec())
            .all(|interface| self.ready.iter().any(|binding| binds(binding, interface.network, place, home)))
    }

    /// Whether an Instance runs on that binding and on none that stays.
    fn needs(&self, instance: &Object, binding: &Object) -> bool {
        let home = self.home(instance);
        let known = instance.spec()["location"]["name"].as_str();
        let place = binding.spec()["location"]["name"].as_str().unwrap_or_default();
        let runs = !gates::of(instance).contains(&gates::NETWORK) && known.is_none_or(|known| known == place);
        runs && Interface::all(instance.spec()).any(|interface| {
            binds(binding, interface.network, place, home)
                && !self.ready.iter().any(|ready| binds(ready, interface.network, place, home))
        })
    }

    fn home<'a>(&'a self, instance: &'a Object) -> Home<'a> {
        Home { here: instance.namespace(), upstream: self.upstream.as_deref() }
    }
}

/// Decides.
pub fn plan(inputs: &NetworkFacts<'_>) -> NetworkPlan {
    let wd = inputs.deployment;
    let home = Home::from_deployment(wd);
    let city = wd.spec()["cityCode"].as_str().unwrap_or_default();
    if let Some(blocker) = inputs.location.blocker(city)
        && !inputs.location.allows()
    {
        return NetworkPlan::from_network(Network::Misplaced(blocker));
    }
    let place = place(wd, inputs.location).map(|place| place.name);
    let upstream = home.upstream.map(str::to_owned);
    let mut plan = NetworkPlan { upstream, ..NetworkPlan::from_network(Network::Ready) };
    let mut claims = Claims::default();
    let mut far = Vec::new();
    let mut spares: Vec<&ObjectRef> = inputs
        .bindings
        .iter()
        .filter(|b| !b.is_terminating() && Instance::from_object(b).owner == Some(wd.uid()))
        .collect();
    spares.sort_by_key(|binding| binding.name());
    for interface in Interface::all(&wd.spec()["template"]["spec"]) {
        if let Some(refused) = interface.refused(home) {
            far.push(refused);
            continue;
        }
        let fitting: Vec<&ObjectRef> = spares
            .iter()
            .copied()
            .filter(|b| {
                let here = place.as_deref().or_else(|| b.spec()["location"]["name"].as_str());
                here.is_some_and(|here| binds(b, interface.network, here, home))
            })
            .collect();
        let ready =
            fitting.iter().find(|b| interface.through(inputs, b, &mut Claims::default()) == Network::Ready);
        let Some(serving) = ready.or(fitting.first()).copied() else {
            if let Some(place) = &place {
                let name = free_name(inputs, &plan.bindings, &interface, place);
                plan.bindings.extend(name.map(|name| binding(wd, interface.network, place, &name)));
            }
            far.push(unserved(inputs, &interface, place.is_some()));
            continue;
        };
        spares.retain(|spare| spare.name() != serving.name());
        let state = interface.through(inputs, serving, &mut claims);
        if state == Network::Ready {
            plan.ready.push(serving.clone());
        }
        far.push(state);
    }
    plan.claims = claims.0;
    plan.network = Network::worst(far);
    if plan.network == Network::Ready {
        spares.retain(|binding| !inputs.instances.iter().any(|instance| plan.needs(instance, binding)));
        plan.replaced = spares.into_iter().cloned().collect();
    }
    plan
}

/// The name of a binding to be created: the interface's, or where another binding has that, the first free
/// one by network and location.
fn free_name(
    inputs: &NetworkFacts<'_>,
    wanted: &[Object],
    interface: &Interface<'_>,
    place: &str,
) -> Option<String> {
    let base = format!("{}-net", inputs.deployment.name());
    let network = interface.network["name"].as_str().unwrap_or_default();
    let target = hash::text(&format!("{network}/{place}"));
    let by_target = (interface.index..).map(|number| format!("{base}-{number}-{target:016x}"));
    iter::once(format!("{base}-{}", interface.index)).chain(by_target).find(|name| {
        inputs.bindings.iter().map(AsRef::as_ref).chain(wanted).all(|binding: &Object| binding.name() != name)
    })
}

/// How far an interface without a binding is.
fn unserved(inputs: &NetworkFacts<'_>, interface: &Interface<'_>, placed: bool) -> Network {
    let what = interface.network_words();
    let city = inputs.deployment.spec()["cityCode"].as_str();
    if placed {
        return Network::from_object(&what, None);
    }
    inputs
        .location
        .blocker(city.unwrap_or_default())
        .map_or_else(|| Network::Provisioning(format!("{what}: waiting for a location")), Network::Misplaced)
}

/// Whether a binding is to that network of the WD's own namespace, in that place.
fn binds(binding: &Object, network: &Value, place: &str, home: Home<'_>) -> bool {
    let bound = &binding.spec()["network"];
    bound["name"] == network["name"]
        && home.foreign(bound).or(home.foreign(network)).is_none()
        && binding.spec()["location"]["name"] == place
}

/// A binding of the WD to a network, with all annotations of the template's metadata, for the network
/// service. Network and location never change, and a binding is not written again.
fn binding(wd: &Object, reference: &Value, place: &str, name: &str) -> Object {
    let mut binding = bare(Kind::NetworkBinding, wd.namespace(), name);
    let labels = [(NETWORK, reference["name"].as_str().unwrap_or_default()), (LOCATION, place)];
    let labels = labels.into_iter().filter(|(_, value)| is_label_value(value));
    binding.metadata.labels = Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect());
    let annotations = texts(&wd.spec()["template"]["metadata"]["annotations"]);
    binding.metadata.annotations = Some(annotations).filter(|map| !map.is_empty());
    binding.metadata.owner_references = Some(vec![owner_reference(wd.name(), wd.uid())]);
    let kind = Kind::WorkloadDeployment.resource();
    let mut network = reference.clone();
    // It is the binding's own, which has another name in the project.
    if let Some(fields) = network.as_object_mut() {
        fields.remove("namespace");
    }
    let spec = json!({
        "network": network,
        "location": {"name": place},
        "consumer": {"apiGroup": kind.group, "kind": kind.kind, "name": wd.name()},
    });
    set_field(&mut binding, "spec", spec);
    binding
}
