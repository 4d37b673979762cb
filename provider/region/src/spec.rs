//! What servers of a region are made of, and what a change of it means (V5).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fedhub_provider::Change;
use ring::digest::{SHA256, digest};

/// What a server is made of, in the words of the region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSpec {
    /// The flavor.
    pub flavor_id: Box<str>,
    /// The image that it boots from.
    pub image_id: Box<str>,
    /// Whether it has an address from outside.
    pub public_ip: bool,
    /// The security groups that it is in. fedhub gives none.
    pub security_groups: Vec<Box<str>>,
    /// The blocks of addresses that it may send from beside its own. fedhub gives none.
    pub allowed_source_addresses: Vec<Box<str>>,
    /// What runs at its first boot.
    pub user_data: Option<UserData>,
}

/// What runs at the first boot of a server: its text where it is ours to send, and of a server that stands
/// only its digest, since there is one for each server of a list.
#[derive(Clone)]
pub struct UserData {
    digest: [u8; 32],
    encoded: Option<Box<str>>,
}

impl UserData {
    /// Returns the user data of a server that is to be made.
    pub fn new(text: &str) -> Self {
        let encoded = STANDARD.encode(text);
        Self { encoded: Some(encoded.as_str().into()), ..Self::from_encoded(&encoded) }
    }

    /// Returns the user data of a server that stands, from its base64.
    pub fn from_encoded(encoded: &str) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, encoded.as_bytes()).as_ref());
        Self { digest: bytes, encoded: None }
    }

    /// Returns its base64, where it is known.
    pub fn encoded(&self) -> Option<&str> {
        self.encoded.as_deref()
    }
}

impl PartialEq for UserData {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for UserData {}

/// Only the digest: the variables of containers are in the text.
impl fmt::Debug for UserData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "UserData({:02x}{:02x}{:02x}{:02x})",
            self.digest[0], self.digest[1], self.digest[2], self.digest[3]
        )
    }
}

impl ServerSpec {
    /// What it takes to make a server of this one of `wanted`.
    ///
    /// The service keeps the flavor of a server for its life, and hands new user data to the next boot of a
    /// new server alone: both take another server. Another image is a rebuild, which the service carries out
    /// by itself as soon as it is asked for. Networking changes while the server runs.
    pub(crate) fn change(&self, wanted: &Self) -> Change {
        if self.flavor_id != wanted.flavor_id || self.user_data != wanted.user_data {
            Change::Recreate
        } else if self.image_id != wanted.image_id {
            Change::Rebuild
        } else if self != wanted {
            Change::InPlace
        } else {
            Change::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> ServerSpec {
        ServerSpec {
            flavor_id: "f".into(),
            image_id: "i".into(),
            public_ip: false,
            security_groups: Vec::new(),
            allowed_source_addresses: Vec::new(),
            user_data: Some(UserData::new("#cloud-config\n{}\n")),
        }
    }

    #[test]
    fn v5_a_change_is_known_before_it_is_made() {
        let stands = spec();
        let other = Some(UserData::new("#cloud-config\n{\"a\":1}\n"));
        for (what, wanted, expected) in [
            ("the same", spec(), Change::Nothing),
            ("an address", ServerSpec { public_ip: true, ..spec() }, Change::InPlace),
            ("a group", ServerSpec { security_groups: vec!["g".into()], ..spec() }, Change::InPlace),
            ("an image", ServerSpec { image_id: "j".into(), public_ip: true, ..spec() }, Change::Rebuild),
            (
                "a flavor",
                ServerSpec { flavor_id: "g".into(), image_id: "j".into(), ..spec() },
                Change::Recreate,
            ),
            ("user data", ServerSpec { user_data: other, image_id: "j".into(), ..spec() }, Change::Recreate),
            ("no user data", ServerSpec { user_data: None, ..spec() }, Change::Recreate),
        ] {
            assert_eq!(stands.change(&wanted), expected, "{what}");
        }
    }

    #[test]
    fn user_data_is_compared_by_digest_and_never_printed() {
        let wanted = UserData::new("PASSWORD=secret");
        let stands = UserData::from_encoded(wanted.encoded().unwrap());
        assert_eq!(stands, wanted);
        assert_eq!(stands.encoded(), None, "a list of a thousand does not keep a thousand texts");
        let debug = format!("{wanted:?}");
        assert!(!debug.contains("secret") && !debug.contains(wanted.encoded().unwrap()), "{debug}");
    }
}
