//! IDs of the region service: UUIDs, and the rule by which it names servers.

use std::fmt;
use std::str::FromStr;

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// A UUID. The service refuses whatever is none with 400, and a path is made of nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid([u8; 16]);

/// A text that is not a UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a UUID such as 6ba7b810-9dad-11d1-80b4-00c04fd430c8")]
pub struct NotAUuid;

/// Where a UUID has its dashes.
const DASHES: [usize; 4] = [8, 13, 18, 23];
/// The length of a UUID as text.
const LENGTH: usize = 36;

impl Uuid {
    /// The ID that the service gives to the server of a name on a network: so a second one of a name is
    /// refused, and the ID of a server is known before it is made (V1, V3).
    ///
    /// It is the UUID of version 5 of the name in the namespace of the network. One that does not begin with
    /// a letter is no name of an object of Kubernetes: that of its bytes takes its place, until one does.
    #[must_use]
    pub fn for_server(network: Self, name: &str) -> Self {
        let mut id = Self::version_5(network, name.as_bytes());
        // Whether it begins with a letter: its first digit is one of a to f.
        while id.0[0] < 0xa0 {
            id = Self::version_5(network, &id.0);
        }
        id
    }

    /// The UUID of version 5 (RFC 9562) of a name in a namespace.
    fn version_5(namespace: Self, name: &[u8]) -> Self {
        let mut hash = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
        hash.update(&namespace.0);
        hash.update(name);
        let hash = hash.finish();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.as_ref()[..16]);
        bytes[6] = (bytes[6] & 0x0f) | 0x50;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Self(bytes)
    }
}

impl FromStr for Uuid {
    type Err = NotAUuid;

    fn from_str(text: &str) -> Result<Self, NotAUuid> {
        let text = text.as_bytes();
        if text.len() != LENGTH || DASHES.iter().any(|at| text[*at] != b'-') {
            return Err(NotAUuid);
        }
        let mut bytes = [0; 16];
        let digits = (0..LENGTH).filter(|at| !DASHES.contains(at));
        for (n, at) in digits.enumerate() {
            let digit = char::from(text[at]).to_digit(16).ok_or(NotAUuid)?;
            let digit = u8::try_from(digit).map_err(|_| NotAUuid)?;
            bytes[n / 2] |= digit << (4 * (1 - n % 2));
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, byte) in self.0.iter().enumerate() {
            if matches!(n, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'de> Deserialize<'de> for Uuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|NotAUuid| D::Error::custom(format_args!("{text:?} is {NotAUuid}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_read_in_either_case_and_nothing_else_is() {
        let text = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
        assert_eq!(text.parse::<Uuid>().unwrap().to_string(), text);
        assert_eq!(text.to_uppercase().parse::<Uuid>().unwrap().to_string(), text);
        for wrong in
            ["", "x", &text[1..], "6ba7b8109dad11d180b400c04fd430c8", "{6ba7b810-9dad-11d1-80b4-00c04fd43}"]
        {
            assert_eq!(wrong.parse::<Uuid>(), Err(NotAUuid), "{wrong}");
        }
        assert_eq!("../../api/v2/servers/../../../../../".parse::<Uuid>(), Err(NotAUuid));
        assert_eq!("é-ba7b810-9dad-11d1-80b4-00c04fd430".parse::<Uuid>(), Err(NotAUuid));
    }

    /// The example of RFC 9562, appendix A.4.
    #[test]
    fn the_id_of_a_name_is_that_of_the_standard() {
        let dns = "6ba7b810-9dad-11d1-80b4-00c04fd430c8".parse().unwrap();
        let expected = "2ed6657d-e927-568b-95e1-2665a8aea6a2";
        assert_eq!(Uuid::version_5(dns, b"www.example.com").to_string(), expected);
    }

    #[test]
    fn v3_the_id_of_a_server_is_that_of_the_services_rule() {
        let network = "a3c5e7f1-0000-4000-8000-000000000001";
        let parsed = network.parse().unwrap();
        for name in (0..100).map(|n| format!("web-{n}")) {
            let expected = fedhub_region::server_id(network, &name);
            assert_eq!(Some(Uuid::for_server(parsed, &name).to_string()), expected, "{name}");
        }
    }
}
