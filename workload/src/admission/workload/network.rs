//! Network interfaces: which networks they are on, and what may reach them.

use std::net::IpAddr;

use fedhub_api::{IntOrString, NetworkInterface, NetworkPolicy, NetworkPolicyPort, WorkloadSpec};
use fedhub_core::message::Quoted;
use fedhub_core::names::{DNS_LABEL_RULE, is_dns_label};

use crate::admission::fault::{Fault, Faults, Problem};
use crate::admission::path::Path;

/// A network that an interface is on: its user needs the right `use` on it (`networks` of `networking.datumapis.com`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkUse {
    /// The namespace of the network: the Workload's own.
    pub namespace: String,
    /// Its name.
    pub name: String,
    path: Path,
}

impl NetworkUse {
    /// Whether it is the same network, on whichever interface.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.namespace, &self.name) == (&other.namespace, &other.name)
    }

    /// The fault of a user who has not that right.
    pub fn refused(&self, user: &str) -> Fault {
        let rule = format!(
            "{} may not use this network: it needs the verb use on networks.networking.datumapis.com in namespace {}",
            Quoted(user),
            Quoted(&self.namespace)
        );
        let (path, value) = (self.path.clone(), Some(self.name.clone()));
        Fault { path, problem: Problem::Forbidden, value, rule }
    }
}

/// The path of the interfaces of a Workload.
fn interfaces() -> Path {
    Path::of("spec").field("template").field("spec").field("networkInterfaces")
}

/// The networks of a Workload's template, each once. One whose name is not valid is a fault already.
pub fn uses(spec: &WorkloadSpec, here: &str) -> Vec<NetworkUse> {
    let mut found: Vec<NetworkUse> = Vec::new();
    for (i, interface) in spec.template.spec.network_interfaces.iter().enumerate() {
        let (namespace, name) = (here.to_owned(), interface.network.name.clone());
        let path = interfaces().item(i, &interface.name).field("network").field("name");
        let used = NetworkUse { namespace, name, path };
        let is_known = found.iter().any(|known| known.is_same(&used));
        if is_dns_label(&used.name) && is_here(interface, here) && !is_known {
            found.push(used);
        }
    }
    found
}

fn is_here(interface: &NetworkInterface, here: &str) -> bool {
    interface.network.namespace.as_deref().is_none_or(|namespace| namespace == here)
}

/// The faults of the interfaces of a template in the namespace `here`.
pub fn check(all: &[NetworkInterface], here: &str, at: &Path, faults: &mut Faults) {
    if all.is_empty() {
        faults.required(at.clone(), "an instance has a network interface");
    }
    for (i, interface) in all.iter().enumerate() {
        let at = at.item(i, &interface.name);
        let network = at.field("network");
        faults.name(network.field("name"), &interface.network.name, is_dns_label, DNS_LABEL_RULE);
        if !is_here(interface, here) {
            // Its users' rights are those of another namespace, and on the hub that name is another tenant's, or nobody's.
            let given = interface.network.namespace.as_deref();
            let rule = "a network of another namespace cannot be used";
            faults.forbidden(network.field("namespace"), given, rule);
        }
        if let Some(policy) = &interface.network_policy {
            check_policy(policy, &at.field("networkPolicy").field("ingress"), faults);
        }
    }
}

fn check_policy(policy: &NetworkPolicy, at: &Path, faults: &mut Faults) {
    for (i, rule) in policy.ingress.iter().flatten().enumerate() {
        // Rules have no names: one that moves is another one.
        let at = at.item(i, &i.to_string());
        for (i, port) in rule.ports.iter().flatten().enumerate() {
            check_port(port, &at.field("ports").item(i, &i.to_string()), faults);
        }
        for (i, peer) in rule.from.iter().flatten().enumerate() {
            let Some(block) = &peer.ip_block else { continue };
            let at = at.field("from").item(i, &block.cidr).field("ipBlock");
            let rule = "it must be a block of addresses, such as 192.0.2.0/24 or 2001:db8::/32";
            faults.check(is_block(&block.cidr), at.field("cidr"), &block.cidr, rule);
            for (i, hole) in block.except.iter().flatten().enumerate() {
                faults.check(is_block(hole), at.field("except").item(i, hole), hole, rule);
            }
        }
    }
}

fn check_port(port: &NetworkPolicyPort, at: &Path, faults: &mut Faults) {
    if let Some(protocol) = &port.protocol {
        faults.supported(at.field("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
    }
    if let Some(end) = port.end_port {
        let rule = "it must be a number up to 65535, and not below port, which must be a number too";
        let holds = matches!(port.port, Some(IntOrString::Int(first)) if (first..=65535).contains(&end));
        faults.check(holds, at.field("endPort"), end, rule);
    }
}

fn is_block(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    let is_plain = length.chars().all(|c| c.is_ascii_digit());
    is_plain && length.parse::<u8>().is_ok_and(|length| length <= most)
}
