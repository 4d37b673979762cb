//! The needs of one interface from the network service, and how far they are met.

use std::collections::BTreeSet;

use fedhub_api::IpFamily;
use fedhub_core::message::Quoted;
use fedhub_core::names::UPSTREAM_NAMESPACE;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, bare, set_field};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

use super::inputs::NetworkFacts;
use crate::domain::status::network::Network;

/// The class of the subnets that Instances are in.
const CLASS: &str = "private";

/// An interface of a template or of an Instance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface<'a> {
    /// Its place among the interfaces.
    pub index: usize,
    /// Its name; a template of an older schema may give none.
    pub name: &'a str,
    /// The reference to its network.
    pub network: &'a Value,
    families: Option<&'a Vec<Value>>,
}

impl<'a> Interface<'a> {
    /// The interfaces of the spec of an Instance, or of a template, that name a network.
    pub(super) fn all(spec: &'a Value) -> impl Iterator<Item = Self> {
        let all = spec["networkInterfaces"].as_array().into_iter().flatten().enumerate();
        all.map(|(index, interface)| Self {
            index,
            name: interface["name"].as_str().unwrap_or("eth0"),
            network: &interface["network"],
            families: interface["ipFamilies"].as_array().filter(|families| !families.is_empty()),
        })
        .filter(|interface| interface.network["name"].as_str().is_some_and(|name| !name.is_empty()))
    }

    fn families(&self) -> Vec<&'a str> {
        match self.families {
            Some(families) => families.iter().filter_map(Value::as_str).collect(),
            None => vec![IpFamily::DEFAULT.as_str()],
        }
    }

    /// Returns the name of its network in messages.
    pub(super) fn network_words(&self) -> String {
        format!("Network {}", Quoted(self.network["name"].as_str().unwrap_or_default()))
    }

    /// Why its network is never asked for, where that is of another namespace than the one that the WD is in:
    /// that would be another tenant's, in which the cell writes by rights of its own (I6).
    pub(super) fn refused(&self, home: Home<'_>) -> Option<Network> {
        let foreign = home.foreign(self.network)?;
        Some(Network::NotFound(format!(
            "{}: its namespace {} is another one than the deployment's: leave it out",
            self.network_words(),
            Quoted(foreign)
        )))
    }

    /// How far that binding of its network is, with all that comes behind it.
    pub(super) fn through(
        &self,
        inputs: &NetworkFacts<'_>,
        binding: &Object,
        claims: &mut Claims,
    ) -> Network {
        let what = self.network_words();
        match Network::from_object(&what, Some(binding)) {
            Network::Ready => {}
            not_yet => return not_yet,
        }
        let Some((space, name)) = context(binding) else {
            return Network::Provisioning(format!("{what}: waiting for its context"));
        };
        let context = inputs.contexts.iter().find(|c| (c.namespace(), c.name()) == (space, name));
        match Network::from_object(
            &what.replacen("Network", "Context of network", 1),
            context.map(AsRef::as_ref),
        ) {
            Network::Ready => {}
            not_yet => return not_yet,
        }
        let Some(context) = context else { return Network::Ready };
        let far: Vec<_> = self
            .families()
            .iter()
            .map(|family| self.subnet(inputs, binding, context, family, claims))
            .collect();
        Network::worst(far)
    }

    /// The state of the subnet of a family; a missing claim is requested.
    fn subnet(
        &self,
        inputs: &NetworkFacts<'_>,
        binding: &Object,
        context: &Object,
        family: &str,
        claims: &mut Claims,
    ) -> Network {
        let space = context.namespace();
        let location = &binding.spec()["location"];
        let what = self.network_words().replacen("Network", "Subnet of network", 1);
        let what = format!("{what} ({family})");
        let carried = context.spec()["ipFamilies"].as_array();
        if carried.is_some_and(|carried| !carried.iter().any(|other| other == family)) {
            let network = self.network_words();
            let interface = Quoted(self.name);
            return Network::NotCarried(format!(
                "{network} has no {family}, which interface {interface} asks for"
            ));
        }
        let fits = |claim: &&ObjectRef| {
            let spec = claim.spec();
            claim.namespace() == space
                && spec["networkContext"]["name"] == context.name()
                && (&spec["subnetClass"], &spec["ipFamily"]) == (&json!(CLASS), &json!(family))
                && spec["location"]["name"] == location["name"]
                && !claim.is_terminating()
        };
        let Some(claim) = inputs.claims.iter().find(fits) else {
            claims.want(inputs, context, location, family);
            return Network::from_object(&what, None);
        };
        match Network::from_object(&what, Some(claim)) {
            Network::Ready => {}
            not_yet => return not_yet,
        }
        let Some((space, name)) = subnet(claim) else {
            return Network::Provisioning(format!("{what}: waiting for its claim to name it"));
        };
        let subnet = inputs.subnets.iter().find(|s| (s.namespace(), s.name()) == (space, name));
        Network::from_object(&what, subnet.map(AsRef::as_ref))
    }
}

/// The one namespace whose networks a WD may be on, which has one name in the cell and another one in the
/// project.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home<'a> {
    /// Its name in the cell.
    pub here: &'a str,
    /// Its name in the project, where the WD came from one: its user knows no other.
    pub upstream: Option<&'a str>,
}

impl<'a> Home<'a> {
    /// Returns the home of a WD. Only the federator writes the label.
    pub(super) fn from_deployment(wd: &'a Object) -> Self {
        Self { here: wd.namespace(), upstream: wd.label(UPSTREAM_NAMESPACE) }
    }

    /// The namespace that a reference to a network says, if that is another one; one that is empty is none.
    pub(super) fn foreign<'b>(&self, network: &'b Value) -> Option<&'b str> {
        let namespace = network["namespace"].as_str().filter(|namespace| !namespace.is_empty())?;
        (namespace != self.here && Some(namespace) != self.upstream).then_some(namespace)
    }
}

/// Namespace and name of the context that a binding got.
pub(crate) fn context(binding: &Object) -> Option<(&str, &str)> {
    let context = &binding.status()["networkContextRef"];
    Some((context["namespace"].as_str()?, context["name"].as_str()?)).filter(|(_, name)| !name.is_empty())
}

/// Namespace and name of the subnet that a claim got.
pub(crate) fn subnet(claim: &Object) -> Option<(&str, &str)> {
    Some((claim.namespace(), claim.status().pointer("/subnetRef/name")?.as_str()?))
}

/// Subnet claims to create.
#[derive(Debug, Default)]
pub(super) struct Claims(pub(super) Vec<Object>);

impl Claims {
    /// Requests a subnet, once.
    fn want(&mut self, inputs: &NetworkFacts<'_>, context: &Object, location: &Value, family: &str) {
        let spec = json!({
            "subnetClass": CLASS,
            "ipFamily": family,
            "networkContext": {"name": context.name()},
            "location": location,
        });
        let here = |object: &&Object| object.namespace() == context.namespace();
        if self.0.iter().filter(here).any(|wanted| *wanted.spec() == spec) {
            return;
        }
        let standing = inputs.claims.iter().map(AsRef::as_ref);
        let taken: BTreeSet<&str> = standing.chain(&self.0).filter(here).map(ObjectView::name).collect();
        let mut names = (0..).map(|number| format!("{}-{number}", context.name()));
        let Some(name) = names.find(|name| !taken.contains(name.as_str())) else { return };
        let mut claim = bare(Kind::SubnetClaim, context.namespace(), &name);
        // A claim ends with its context, which is not its controller.
        let kind = Kind::NetworkContext.resource();
        claim.metadata.owner_references = Some(vec![OwnerReference {
            api_version: kind.api_version.clone(),
            kind: kind.kind.clone(),
            name: context.name().to_owned(),
            uid: context.uid().to_owned(),
            controller: None,
            block_owner_deletion: None,
        }]);
        set_field(&mut claim, "spec", spec);
        self.0.push(claim);
    }
}
