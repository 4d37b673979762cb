//! UIDs and resourceVersions in little room: what servers give is a UUID and a number, anything else is kept
//! as it is.

use std::fmt;

/// A UID, as exact as its text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Uid {
    /// A UUID in its canonical form.
    Uuid([u8; 16]),
    /// Anything else.
    Other(Box<str>),
}

/// The positions of the hyphens in a canonical UUID.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl Uid {
    /// Creates a UID from its text.
    pub fn new(text: &str) -> Self {
        uuid(text.as_bytes()).map_or_else(|| Self::Other(text.into()), Self::Uuid)
    }

    /// Whether that text is this UID.
    pub fn is(&self, text: &str) -> bool {
        *self == Self::new(text)
    }
}

fn uuid(text: &[u8]) -> Option<[u8; 16]> {
    if text.len() != 36 || HYPHENS.iter().any(|at| text[*at] != b'-') {
        return None;
    }
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        // Upper case would not be given back as it was.
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let mut digits = text.iter().enumerate().filter(|(at, _)| !HYPHENS.contains(at)).map(|(_, c)| digit(*c));
    let mut bytes = [0; 16];
    for byte in &mut bytes {
        *byte = digits.next()?? << 4 | digits.next()??;
    }
    Some(bytes)
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(text) => f.write_str(text),
            Self::Uuid(bytes) => {
                for (at, byte) in bytes.iter().enumerate() {
                    if matches!(at, 4 | 6 | 8 | 10) {
                        f.write_str("-")?;
                    }
                    write!(f, "{byte:02x}")?;
                }
                Ok(())
            }
        }
    }
}

/// A resourceVersion, as exact as its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version {
    /// A number, as servers give it.
    Number(u64),
    /// Anything else; boxed, so that a number takes no more room for it.
    Other(Box<Box<str>>),
}

impl Version {
    /// Creates a version from its text.
    pub fn new(text: &str) -> Self {
        match text.parse::<u64>() {
            Ok(number) if number.to_string() == text => Self::Number(number),
            _ => Self::Other(Box::new(text.into())),
        }
    }

    /// Whether this is older than `other`. Versions of one server may be compared as numbers; where one is no
    /// number, neither is older.
    pub fn older_than(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Number(a), Self::Number(b)) if a < b)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_uuid_takes_sixteen_bytes_and_anything_else_stays_as_it_is() {
        let text = "0d0c6a3e-9f2b-4c55-8a1e-00ff12ab34cd";
        assert!(matches!(Uid::new(text), Uid::Uuid(_)));
        assert_eq!(Uid::new(text).to_string(), text);
        let upper = text.to_uppercase();
        for odd in ["", "uid-1", &text[1..], &upper, "0d0c6a3e-9f2b-4c55-8a1e-00ff12ab34cg"] {
            assert!(matches!(Uid::new(odd), Uid::Other(_)), "{odd}");
            assert!(Uid::new(odd).is(odd) && !Uid::new(odd).is(text));
        }
        assert!(matches!(Version::new("12"), Version::Number(12)));
        for odd in ["", "012", "+1", "x", "99999999999999999999999"] {
            assert!(matches!(Version::new(odd), Version::Other(_)), "{odd}");
        }
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(uid in "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[ -~]{0,40}",
                                  version in "[0-9]{0,21}|[a-z0-9+]{1,8}") {
            prop_assert_eq!(Uid::new(&uid).to_string(), uid);
            prop_assert_eq!(Version::new(&version).to_string(), version);
        }
    }
}
