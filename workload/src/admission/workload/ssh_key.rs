//! Public keys, as OpenSSH writes them: the name of the algorithm, and in base64 the same with the key (RFC
//! 4253, section 6.6).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Whether a text is a user's public key: algorithm, key, and perhaps a comment. Options before it,
/// certificates and keys of DSA are none.
pub fn is_public_key(text: &str) -> bool {
    let mut parts = text.split_whitespace();
    let (Some(algorithm), Some(data)) = (parts.next(), parts.next()) else { return false };
    BASE64_STANDARD.decode(data).is_ok_and(|data| is_key_of(algorithm, &data))
}

/// Whether the data is that of a key of that algorithm, to its last byte.
fn is_key_of(algorithm: &str, data: &[u8]) -> bool {
    let Some(fields) = fields(data) else { return false };
    match (algorithm, fields.as_slice()) {
        (_, [name, ..]) if *name != algorithm.as_bytes() => false,
        ("ssh-ed25519", [_, key]) => key.len() == 32,
        ("sk-ssh-ed25519@openssh.com", [_, key, application]) => key.len() == 32 && !application.is_empty(),
        ("ssh-rsa", [_, exponent, modulus]) => is_exponent(exponent) && is_positive(modulus),
        ("ecdsa-sha2-nistp256", [_, b"nistp256", point]) => is_point(point, 32),
        ("ecdsa-sha2-nistp384", [_, b"nistp384", point]) => is_point(point, 48),
        ("ecdsa-sha2-nistp521", [_, b"nistp521", point]) => is_point(point, 66),
        ("sk-ecdsa-sha2-nistp256@openssh.com", [_, b"nistp256", point, application]) => {
            is_point(point, 32) && !application.is_empty()
        }
        _ => false,
    }
}

/// The fields, each with its length before it; `None` where the data does not end with one, or has more than
/// a key does.
fn fields(mut data: &[u8]) -> Option<Vec<&[u8]>> {
    const MOST: usize = 4;
    let mut fields = Vec::new();
    while !data.is_empty() {
        let (length, rest) = data.split_first_chunk()?;
        let (field, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        fields.push(field);
        data = rest;
        if fields.len() > MOST {
            return None;
        }
    }
    Some(fields)
}

/// A number above 0 in as few bytes as it has (RFC 4251, `mpint`).
fn is_positive(number: &[u8]) -> bool {
    match number {
        [0, next, ..] => *next >= 0x80,
        [first, ..] => (1..0x80).contains(first),
        [] => false,
    }
}

/// An exponent that implementations take: odd, from 3, of at most 32 bits.
fn is_exponent(number: &[u8]) -> bool {
    is_positive(number)
        && number.len() <= 5
        && number.last().is_some_and(|last| last % 2 == 1)
        && number != [1]
}

/// A point whose coordinates have that many bytes, uncompressed (SEC 1, section 2.3.3).
fn is_point(point: &[u8], bytes: usize) -> bool {
    point.len() == 1 + 2 * bytes && point.first() == Some(&4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key as ssh-keygen writes it, of these fields.
    fn key(algorithm: &str, fields: &[&[u8]]) -> String {
        let mut data = Vec::new();
        for field in fields {
            data.extend(u32::try_from(field.len()).unwrap().to_be_bytes());
            data.extend(*field);
        }
        format!("{algorithm} {}", BASE64_STANDARD.encode(data))
    }

    fn point(bytes: usize) -> Vec<u8> {
        [vec![4], vec![7; 2 * bytes]].concat()
    }

    #[test]
    fn w4_a_public_key_is_of_its_algorithm_to_its_last_byte() {
        let (sk, of) = ("sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com");
        let modulus = [&[0, 0x80][..], &[1; 255]].concat();
        for good in [
            key("ssh-ed25519", &[b"ssh-ed25519", &[7; 32]]),
            key("ssh-ed25519", &[b"ssh-ed25519", &[7; 32]]) + " op@example.com",
            key(sk, &[sk.as_bytes(), &[7; 32], b"ssh:"]),
            key("ssh-rsa", &[b"ssh-rsa", &[1, 0, 1], &modulus]),
            key("ecdsa-sha2-nistp256", &[b"ecdsa-sha2-nistp256", b"nistp256", &point(32)]),
            key("ecdsa-sha2-nistp384", &[b"ecdsa-sha2-nistp384", b"nistp384", &point(48)]),
            key("ecdsa-sha2-nistp521", &[b"ecdsa-sha2-nistp521", b"nistp521", &point(66)]),
            key(of, &[of.as_bytes(), b"nistp256", &point(32), b"ssh:"]),
        ] {
            assert!(is_public_key(&good), "{good}");
        }
        for bad in [
            String::new(),
            "ssh-ed25519".to_owned(),
            "ssh-ed25519 !".to_owned(),
            "ssh-ed25519 AAAA".to_owned(),
            key("ssh-ed25519", &[]),
            key("ssh-ed25519", &[b"ssh-rsa", &[7; 32]]),
            key("ssh-ed25519", &[b"ssh-ed25519", &[7; 31]]),
            key("ssh-ed25519", &[b"ssh-ed25519", &[7; 32], b""]),
            key("ssh-rsa", &[b"ssh-rsa", &[1, 0, 1]]),
            key("ssh-rsa", &[b"ssh-rsa", &[], &modulus]),
            key("ssh-rsa", &[b"ssh-rsa", &[1], &modulus]),
            key("ssh-rsa", &[b"ssh-rsa", &[4], &modulus]),
            key("ssh-rsa", &[b"ssh-rsa", &[1, 0, 1], &[0x80; 256]]),
            key("ssh-rsa", &[b"ssh-rsa", &[1, 0, 1], &[0]]),
            key("ecdsa-sha2-nistp256", &[b"ecdsa-sha2-nistp256", b"nistp384", &point(32)]),
            key("ecdsa-sha2-nistp256", &[b"ecdsa-sha2-nistp256", b"nistp256", &point(31)]),
            key("ecdsa-sha2-nistp256", &[b"ecdsa-sha2-nistp256", b"nistp256", &[2; 65]]),
            key("ssh-dss", &[b"ssh-dss", b"p", b"q", b"g", b"y"]),
            key("ssh-ed25519-cert-v01@openssh.com", &[b"ssh-ed25519-cert-v01@openssh.com", &[7; 32]]),
            format!("no-pty {}", key("ssh-ed25519", &[b"ssh-ed25519", &[7; 32]])),
        ] {
            assert!(!is_public_key(&bad), "{bad}");
        }
        // What follows a whole key, in the same base64.
        let mut data = [&[0, 0, 0, 11][..], b"ssh-ed25519", &[0, 0, 0, 32], &[7; 32]].concat();
        assert!(is_key_of("ssh-ed25519", &data));
        data.push(0);
        assert!(!is_key_of("ssh-ed25519", &data));
    }
}
