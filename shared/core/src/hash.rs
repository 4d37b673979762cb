//! Hashes: [`text`] for what is stored and compared by other processes, [`KeyedHasher`] for what this process
//! compares with itself.

use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::sync::LazyLock;

use serde_json::Value;

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a (64 bit) of a text: the same on every machine, build and run.
pub fn text(text: &str) -> u64 {
    text.as_bytes().iter().fold(OFFSET, |h, b| (h ^ u64::from(*b)).wrapping_mul(PRIME))
}

/// Hash of a JSON value by [`KeyedHasher`]; the order of an object's keys does not matter.
pub fn json(value: &Value) -> u64 {
    KeyedHasher::default().json(value).end()
}

/// A hash of several parts, keyed with a secret of this process: two different objects have one hash by
/// chance only (2^-64), and a tenant, who does not know the secret, cannot make an edit that goes unnoticed.
#[derive(Clone)]
pub struct KeyedHasher(DefaultHasher);

impl Default for KeyedHasher {
    fn default() -> Self {
        static SECRET: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        Self(SECRET.build_hasher())
    }
}

impl KeyedHasher {
    /// Adds a text.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.0.write(text.as_bytes());
        // No byte of UTF-8: where a text ends is part of it.
        self.0.write_u8(0xff);
        self
    }

    /// Adds a text that may be absent, which hashes differently from an empty one.
    #[must_use]
    pub fn maybe(mut self, text: Option<&str>) -> Self {
        self.0.write_u8(u8::from(text.is_some()));
        match text {
            Some(text) => self.text(text),
            None => self,
        }
    }

    /// Adds a number.
    #[must_use]
    pub fn number(mut self, number: u64) -> Self {
        self.0.write_u64(number);
        self
    }

    /// Adds a JSON value.
    #[must_use]
    pub fn json(mut self, value: &Value) -> Self {
        walk(&mut self.0, value);
        self
    }

    /// The hash of all parts.
    pub fn end(self) -> u64 {
        self.0.finish()
    }
}

fn walk(state: &mut DefaultHasher, value: &Value) {
    let text = |state: &mut DefaultHasher, text: &str| {
        state.write(text.as_bytes());
        state.write_u8(0xff);
    };
    match value {
        Value::Null => state.write_u8(0),
        Value::Bool(b) => state.write_u8(1 + u8::from(*b)),
        Value::Number(number) => {
            if let Some(whole) = number.as_i64() {
                state.write_u8(3);
                state.write_i64(whole);
            } else {
                state.write_u8(4);
                text(state, &number.to_string());
            }
        }
        Value::String(s) => {
            state.write_u8(5);
            text(state, s);
        }
        Value::Array(items) => {
            state.write_u8(6);
            for item in items {
                walk(state, item);
            }
            state.write_u8(7);
        }
        Value::Object(map) => {
            state.write_u8(8);
            // serde_json's map is ordered by key (without its feature `preserve_order`).
            for (key, value) in map {
                text(state, key);
                walk(state, value);
            }
            state.write_u8(9);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_values_hash_equally_and_shapes_differ() {
        assert_eq!(super::json(&json!({"a": 1, "b": [2]})), super::json(&json!({"b": [2], "a": 1})));
        let all = [
            json!(null),
            json!({}),
            json!([]),
            json!(""),
            json!(0),
            json!(0.0),
            json!(u64::MAX),
            json!(-1),
            json!("0"),
            json!([[]]),
            json!([[], []]),
            json!({"a": {}}),
            json!({"a": {"b": 1}}),
            json!({"a": {}, "b": 1}),
            json!(["ab"]),
            json!(["a", "b"]),
        ];
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                assert_ne!(super::json(a), super::json(b), "{a} {b}");
            }
        }
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let ends = [
            KeyedHasher::default().text("ab").text("c").end(),
            KeyedHasher::default().text("a").text("bc").end(),
            KeyedHasher::default().text("abc").end(),
            KeyedHasher::default().maybe(Some("abc")).end(),
            KeyedHasher::default().maybe(None).text("abc").end(),
            KeyedHasher::default().maybe(Some("")).text("abc").end(),
        ];
        for (i, a) in ends.iter().enumerate() {
            assert!(ends[i + 1..].iter().all(|b| a != b), "{i}");
        }
    }

    #[test]
    fn the_hash_of_a_text_never_changes() {
        assert_eq!(text("DFW"), 0xe033_7b19_91bc_57e8);
    }
}
