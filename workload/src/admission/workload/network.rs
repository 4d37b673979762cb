//! Network interfaces: which networks they are on, and what may reach them ([`super::policy`]).

use std::collections::BTreeSet;

use fedhub_api::NetworkInterface;
use fedhub_core::message::Quoted;
use fedhub_core::names::{DNS_LABEL_RULE, is_dns_label};
use serde_json::Value;

use super::policy;
use crate::admission::fault::{Fault, Faults, Problem};
use crate::admission::limits;
use crate::admission::path::Path;

/// A network that an interface is on: its user needs the right `use` on it (`networks` of
/// `networking.datumapis.com`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkUse {
    /// The namespace of the network: the object's own.
    pub namespace: String,
    /// Its name.
    pub name: String,
    path: Path,
}

impl NetworkUse {
    /// The fault of a user who has not that right.
    pub fn refused(&self, user: &str) -> Fault {
        let rule = format!(
            "{} may not use this network: it needs the verb use on networks.networking.datumapis.com in namespace {}",
            Quoted(user),
            Quoted(&self.namespace)
        );
        let path = self.path.clone();
        let value = Some(self.name.clone());
        Fault { path, problem: Problem::Forbidden, value, rule }
    }
}

/// The reference of an interface to its network. It is read field by field: a template that cannot be parsed
/// as a whole is on its networks all the same.
struct Reference<'a> {
    name: &'a str,
    /// `None` where it says none, or an empty one.
    namespace: Option<&'a str>,
    at: Path,
}

impl Reference<'_> {
    fn is_of(&self, here: &str) -> bool {
        self.namespace.is_none_or(|namespace| namespace == here)
    }
}

/// The references of the interfaces in the spec of a template, which is at that path.
fn references<'a>(spec: &'a Value, at: &Path) -> impl Iterator<Item = Reference<'a>> {
    let list = &spec["networkInterfaces"];
    let at = at.field("networkInterfaces");
    list.as_array().into_iter().flatten().enumerate().map(move |(i, interface)| {
        let text = |value: &'a Value| value.as_str().filter(|text| !text.is_empty());
        let network = &interface["network"];
        let name = text(&interface["name"]).unwrap_or("eth0");
        Reference {
            name: text(&network["name"]).unwrap_or_default(),
            namespace: text(&network["namespace"]),
            at: at.item(i, name).field("network"),
        }
    })
}

/// The networks of the spec of a template, each once. One whose name is not valid is a fault already.
pub fn uses(spec: &Value, here: &str, at: &Path) -> Vec<NetworkUse> {
    let mut seen = BTreeSet::new();
    let mut is_one = |network: &Reference<'_>| {
        network.is_of(here) && is_dns_label(network.name) && seen.insert(network.name.to_owned())
    };
    let all = references(spec, at).filter(|network| is_one(network));
    all.map(|Reference { name, at, .. }| {
        let path = at.field("name");
        NetworkUse { namespace: here.to_owned(), name: name.to_owned(), path }
    })
    .collect()
}

/// The faults of the references to networks in the spec of a template in the namespace `here`.
pub fn check_references(spec: &Value, here: &str, at: &Path, faults: &mut Faults) {
    for network in references(spec, at).take(limits::INTERFACES) {
        faults.name(network.at.field("name"), network.name, is_dns_label, DNS_LABEL_RULE);
        if let Some(namespace) = network.namespace
            && !network.is_of(here)
        {
            // Its users' rights are those of another namespace, and on the hub that name is another tenant's,
            // or nobody's. With the name: another network of that namespace is another fault.
            let given = format!("{namespace}/{}", network.name);
            let rule = "a network of another namespace cannot be used";
            faults.forbidden(network.at.field("namespace"), Some(&given), rule);
        }
    }
}

/// The faults of the interfaces, their references aside.
pub fn check(all: &[NetworkInterface], at: &Path, faults: &mut Faults) {
    if all.is_empty() {
        faults.required(at.clone(), "an instance has a network interface");
    }
    for (i, interface) in faults.within(all, limits::INTERFACES, at).iter().enumerate() {
        if let Some(of) = &interface.network_policy {
            let at = at.item(i, &interface.name).field("networkPolicy");
            policy::check(of, &at.field("ingress"), faults);
        }
    }
}
