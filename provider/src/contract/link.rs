//! How a server and an Instance know each other.

use std::fmt;

use fedhub_core::hash;
use fedhub_core::object::{Object, ObjectView};

/// The longest name of a server: a DNS label.
const NAME_MAX: usize = 63;

/// The ID of a server, which the provider gave.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerId(pub Box<str>);

/// The ID of an allocation of quota, which the provider gave. Empty where the provider has no quota.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AllocationId(pub Box<str>);

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for AllocationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where servers are: what they are listed by (V8).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The region, by its name in the provider's configuration.
    pub region: Box<str>,
    /// The project, as the provider knows it.
    pub project: Box<str>,
    /// The network, as the provider knows it.
    pub network: Box<str>,
}

/// What links a server to its Instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// Where the server is to be.
    pub place: Place,
    /// The UID of the Instance: the value of the tag.
    pub instance: Box<str>,
    /// The name of the server: the same for each attempt for this Instance, and of no other one. A DNS label.
    pub name: Box<str>,
}

impl Link {
    /// The link of an Instance whose server is to be, or is, at `place`. The name is that of the Instance,
    /// cut, and ten hexadecimal digits of a hash of its UID: an Instance of the same name that comes after it
    /// has another one.
    pub fn new(place: Place, instance: &Object) -> Self {
        let hash = format!("{:016x}", hash::text(instance.uid()));
        let cut: String = instance
            .name()
            .chars()
            .map(|char| if char.is_ascii_alphanumeric() { char.to_ascii_lowercase() } else { '-' })
            .take(NAME_MAX - 11)
            .collect();
        let name = format!("{}-{}", cut.trim_matches('-'), &hash[..10]);
        let name = name.trim_matches('-').into();
        Self { place, instance: instance.uid().into(), name }
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{Kind, bare};

    use super::*;

    #[test]
    fn v1_a_server_has_one_name_for_each_uid() {
        let place = Place { region: "r".into(), project: "p".into(), network: "n".into() };
        let name = |name: &str, uid: &str| {
            let mut instance = bare(Kind::Instance, "ns", name);
            instance.metadata.uid = Some(uid.to_owned());
            Link::new(place.clone(), &instance).name
        };
        assert_eq!(name("web-0", "a"), name("web-0", "a"));
        assert_ne!(name("web-0", "a"), name("web-0", "b"));
        for long in [&"x".repeat(63), "a.b", "-", "web-0"] {
            let made = name(long, "a");
            assert!(fedhub_core::names::is_dns_label(&made), "{long}: {made}");
        }
    }
}
