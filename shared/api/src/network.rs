//! Network interfaces of an instance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::IntOrString;

/// One network interface. Its name, address families, addresses and reclaim policy stay as they were created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.addresses) == has(oldSelf.addresses) && (!has(self.addresses) || self.addresses == oldSelf.addresses)",
    "message": "addresses is immutable and cannot be set, changed, or cleared after creation",
}]))]
pub struct NetworkInterface {
    /// Addresses that the interface asks for beyond the one it has on its network, by class.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4), extend("x-kubernetes-validations" = [{
        "rule": "self.all(a, self.exists_one(b, b.class == a.class))",
        "message": "Each address class may be requested at most once",
    }]))]
    pub addresses: Option<Vec<AddressRequest>>,
    /// The address families that the interface has on its network.
    #[serde(default = "ipv6_only")]
    #[schemars(length(min = 1, max = 2), extend("x-kubernetes-validations" = [
        {
            "rule": "self.all(f, self.exists_one(g, g == f))",
            "message": "Each address family may be requested at most once",
        },
        {
            "rule": "self == oldSelf",
            "message": "ipFamilies is immutable and cannot be changed after creation",
        },
    ]))]
    pub ip_families: Vec<IpFamily>,
    /// The name of the interface inside the instance.
    #[serde(default = "eth0")]
    #[schemars(length(min = 1, max = 15), extend("x-kubernetes-validations" = [{
        "rule": "self == oldSelf",
        "message": "name is immutable and cannot be changed after creation",
    }]))]
    pub name: String,
    /// The network that the interface is attached to.
    pub network: NetworkReference,
    /// Which traffic may reach the interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_policy: Option<NetworkPolicy>,
    /// What becomes of the interface's addresses when the instance is deleted.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "self == oldSelf",
        "message": "reclaimPolicy is immutable and cannot be changed after creation",
    }]))]
    pub reclaim_policy: ReclaimPolicy,
}

fn ipv6_only() -> Vec<IpFamily> {
    vec![IpFamily::DEFAULT]
}

fn eth0() -> String {
    "eth0".to_owned()
}

/// An address family.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum IpFamily {
    /// Version 4.
    IPv4,
    /// Version 6.
    IPv6,
}

impl IpFamily {
    /// The family of an interface that asks for none.
    pub const DEFAULT: Self = Self::IPv6;

    /// The name of the family in objects.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IPv4 => "IPv4",
            Self::IPv6 => "IPv6",
        }
    }
}

/// What becomes of addresses when their instance is deleted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum ReclaimPolicy {
    /// They are given back.
    #[default]
    Delete,
    /// They are kept, and go to the instance that takes this one's place.
    Retain,
}

/// A request for one address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddressRequest {
    /// The class of the address.
    #[schemars(length(min = 1, max = 63))]
    pub class: String,
}

/// A network by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkReference {
    /// The name of the network.
    pub name: String,
    /// The namespace of the network; that of the object with this reference, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Which traffic may reach an interface. It has the lowest rank of all policies there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkPolicy {
    /// What is let in: traffic that at least one of these rules allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress: Option<Vec<IngressRule>>,
}

/// Traffic that is let in: it fits `ports` and `from`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IngressRule {
    /// Where the traffic comes from, any of these; from anywhere if empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub from: Option<Vec<NetworkPolicyPeer>>,
    /// The ports that the traffic goes to, any of these; to any port if empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub ports: Option<Vec<NetworkPolicyPort>>,
}

/// One port or one range of ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyPort {
    /// The end of the range that starts with a numeric `port`, itself included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_port: Option<i32>,
    /// The port by number or by name; all ports if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<IntOrString>,
    /// The protocol; TCP if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
}

/// One source of traffic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyPeer {
    /// A block of addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_block: Option<IpBlock>,
}

/// A block of addresses with holes in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IpBlock {
    /// The block, such as `192.168.1.0/24` or `2001:db8::/64`.
    pub cidr: String,
    /// Blocks inside it that do not belong to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub except: Option<Vec<String>>,
}
