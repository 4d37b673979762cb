//! IDs of resources: UUIDs in text, lower case, which begin with a letter as names of Kubernetes have to.

use rand::Rng;
use rand::rngs::SmallRng;

/// The bytes of a UUID in its usual form; none where the text is no UUID.
pub fn parse(text: &str) -> Option<[u8; 16]> {
    if text.len() != 36 || !text.is_ascii() {
        return None;
    }
    let mut digits = String::with_capacity(32);
    for (at, character) in text.chars().enumerate() {
        match (at, character) {
            (8 | 13 | 18 | 23, '-') => {}
            (8 | 13 | 18 | 23, _) => return None,
            (_, digit) if digit.is_ascii_hexdigit() => digits.push(digit),
            _ => return None,
        }
    }
    Some(u128::from_str_radix(&digits, 16).ok()?.to_be_bytes())
}

/// The ID that the service gives to the server of a name on a network; none where the network's ID is no
/// UUID.
///
/// It is the version 5 UUID of the network and the name. Where that does not begin with a letter, its bytes
/// take the name's place, as often as it takes. So the same name on the same network is the same ID, and a
/// second server of that name is a conflict.
pub fn server_id(network: &str, name: &str) -> Option<String> {
    let network = parse(network)?;
    let mut id = version_5(&network, name.as_bytes());
    loop {
        let text = format(&id);
        if text.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Some(text);
        }
        id = version_5(&network, &id);
    }
}

/// A random ID.
pub fn random(rng: &mut SmallRng) -> String {
    let mut id: [u8; 16] = rng.random();
    // The first digit is one of a to f.
    id[0] = 0xa0 + (id[0] % 6) * 0x10 + (id[0] & 0x0f);
    format(&marked(id, 4))
}

fn version_5(namespace: &[u8; 16], name: &[u8]) -> [u8; 16] {
    let mut context = ring::digest::Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
    context.update(namespace);
    context.update(name);
    let digest = context.finish();
    let mut id = [0; 16];
    id.copy_from_slice(&digest.as_ref()[..16]);
    marked(id, 5)
}

/// With the version and the variant in their places.
fn marked(mut id: [u8; 16], version: u8) -> [u8; 16] {
    id[6] = id[6] & 0x0f | version << 4;
    id[8] = id[8] & 0x3f | 0x80;
    id
}

fn format(id: &[u8; 16]) -> String {
    let digits = format!("{:032x}", u128::from_be_bytes(*id));
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const NETWORK: &str = "a3c5e7f1-0000-4000-8000-000000000001";

    /// Computed once by another implementation of version 5.
    #[test]
    fn a_server_has_the_id_of_its_network_and_name() {
        for (name, id) in [
            ("web-2", "e63a46aa-63f7-5349-923c-f963aebbafa6"),
            // The first attempts of these begin with a digit.
            ("web-0", "ab042da0-a742-5400-8ea1-9f2e8385dfca"),
            ("web-1", "c2a462df-cfbb-5451-a656-d1c824166c45"),
            ("db", "f42c8650-7646-530d-9d07-c04345236079"),
        ] {
            assert_eq!(server_id(NETWORK, name).as_deref(), Some(id), "{name}");
        }
        assert_eq!(server_id("net-1", "web-0"), None);
    }

    #[test]
    fn a_random_id_is_a_uuid_that_begins_with_a_letter() {
        let mut rng = SmallRng::seed_from_u64(7);
        for _ in 0..100 {
            let id = random(&mut rng);
            assert!(parse(&id).is_some() && id.starts_with(|it: char| it.is_ascii_alphabetic()), "{id}");
        }
    }

    #[test]
    fn what_is_no_uuid_is_told_apart() {
        for text in ["", "abc", "a3c5e7f1000040008000000000000001", "a3c5e7f1-0000-4000-8000-00000000000g"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
