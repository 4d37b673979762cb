//! Stable hashes: the same on every machine, build and run, so that they may be compared with stored ones.

use serde_json::Value;

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

fn feed(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |h, b| (h ^ u64::from(*b)).wrapping_mul(PRIME))
}

/// FNV-1a (64 bit) of a text.
pub fn text(text: &str) -> u64 {
    feed(OFFSET, text.as_bytes())
}

/// Hash of a JSON value; the order of an object's keys does not matter.
pub fn json(value: &Value) -> u64 {
    fn walk(h: u64, value: &Value) -> u64 {
        match value {
            Value::Null => feed(h, b"n"),
            Value::Bool(b) => feed(h, if *b { b"t" } else { b"f" }),
            Value::Number(n) => feed(feed(h, b"#"), n.to_string().as_bytes()),
            Value::String(s) => feed(feed(feed(h, b"\""), s.as_bytes()), &[0]),
            Value::Array(items) => feed(items.iter().fold(feed(h, b"["), walk), b"]"),
            Value::Object(map) => {
                // serde_json's map is ordered by key (without its feature `preserve_order`).
                let h =
                    map.iter().fold(feed(h, b"{"), |h, (k, v)| walk(feed(feed(h, k.as_bytes()), &[0]), v));
                feed(h, b"}")
            }
        }
    }
    walk(OFFSET, value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn equal_values_hash_equally_and_shapes_differ() {
        assert_eq!(super::json(&json!({"a": 1, "b": [2]})), super::json(&json!({"b": [2], "a": 1})));
        let all = [
            json!(null),
            json!({}),
            json!([]),
            json!(""),
            json!(0),
            json!("0"),
            json!([[]]),
            json!({"a": {}}),
        ];
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                assert_ne!(super::json(a), super::json(b), "{a} {b}");
            }
        }
    }
}
