//! Network policies: ports, and blocks of addresses.

use std::net::IpAddr;

use fedhub_api::{IngressRule, IntOrString, IpBlock, NetworkPolicy, NetworkPolicyPort};

use super::attached::{PORT_NAME_RULE, is_port_name};
use crate::admission::fault::Faults;
use crate::admission::limits;
use crate::admission::path::Path;

/// The faults of a policy.
pub fn check(policy: &NetworkPolicy, at: &Path, faults: &mut Faults) {
    let rules = policy.ingress.as_deref().unwrap_or_default();
    let count: usize = rules.iter().map(size).sum();
    faults.at_most(count, limits::POLICY, "rules, ports and blocks in all", at);
    if count > limits::POLICY {
        return;
    }
    for (i, rule) in rules.iter().enumerate() {
        // Rules have no names: one that moves is another one.
        let at = at.item(i, &i.to_string());
        for (i, port) in rule.ports.iter().flatten().enumerate() {
            check_port(port, &at.field("ports").item(i, &i.to_string()), faults);
        }
        for (i, peer) in rule.from.iter().flatten().enumerate() {
            let Some(block) = &peer.ip_block else { continue };
            check_block(block, &at.field("from").item(i, &block.cidr).field("ipBlock"), faults);
        }
    }
}

/// How much there is to look at.
fn size(rule: &IngressRule) -> usize {
    let peers = rule.from.iter().flatten();
    let blocks: usize = peers
        .map(|peer| 1 + peer.ip_block.as_ref().map_or(0, |block| block.except.as_ref().map_or(0, Vec::len)))
        .sum();
    1 + blocks + rule.ports.as_ref().map_or(0, Vec::len)
}

fn check_port(port: &NetworkPolicyPort, at: &Path, faults: &mut Faults) {
    let range = 1..=65535;
    if let Some(protocol) = &port.protocol {
        faults.supported(at.field("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
    }
    match &port.port {
        None => {}
        Some(IntOrString::Int(number)) => {
            faults.check(
                range.contains(number),
                at.field("port"),
                number,
                "it must be a number from 1 to 65535",
            );
        }
        Some(IntOrString::String(name)) => faults.name(at.field("port"), name, is_port_name, PORT_NAME_RULE),
    }
    if let Some(end) = port.end_port {
        let rule = "it must be a number up to 65535, and not below port, which must be a number too";
        let first = if let Some(IntOrString::Int(first)) = port.port { Some(first) } else { None };
        let holds = range.contains(&end.into()) && first.is_some_and(|first| first <= end.into());
        faults.check(holds, at.field("endPort"), end, rule);
    }
}

fn check_block(block: &IpBlock, at: &Path, faults: &mut Faults) {
    let rule = "it must be a block of addresses, such as 192.0.2.0/24 or 2001:db8::/32";
    let whole = Block::from_text(&block.cidr);
    faults.check(whole.is_some(), at.field("cidr"), &block.cidr, rule);
    for (i, hole) in block.except.iter().flatten().enumerate() {
        let path = at.field("except").item(i, hole);
        let part = Block::from_text(hole);
        match (&whole, part) {
            (_, None) => faults.invalid(path, hole, rule),
            (Some(whole), Some(part)) if !whole.has(&part) => {
                faults.invalid(path, hole, "it must be a part of cidr, and not all of it");
            }
            _ => {}
        }
    }
}

/// A block of addresses: the bits that all of them begin with. Those of version 4 have 32 bits, which stand
/// at the top.
struct Block {
    is_v4: bool,
    bits: u128,
    length: u32,
}

impl Block {
    fn from_text(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let (is_v4, bits, most) = match address.parse().ok()? {
            IpAddr::V4(address) => (true, u128::from(address.to_bits()) << 96, 32),
            IpAddr::V6(address) => (false, address.to_bits(), 128),
        };
        let is_plain = length.chars().all(|c| c.is_ascii_digit());
        let length = length.parse().ok().filter(|length| is_plain && *length <= most)?;
        Some(Self { is_v4, bits, length })
    }

    /// Whether the other block is within this one, and smaller.
    fn has(&self, other: &Self) -> bool {
        let differing = (self.bits ^ other.bits).leading_zeros();
        self.is_v4 == other.is_v4 && self.length < other.length && differing >= self.length
    }
}
