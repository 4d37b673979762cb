//! What a server makes of what we send (I7).
//!
//! A schema may prune, default or normalise a write, so that the stored object differs from the one that was sent
//! although nothing is left to do. An echo remembers the pair, in the store beside the object; where none is
//! remembered (after a restart), a dry run of the write tells it.
//!
//! Decides I7.

use fedhub_core::hash;
use serde_json::Value;

/// The part of an object that is written as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `spec`.
    Spec,
    /// `status`.
    Status,
}

/// What a server made of what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerNormalization {
    /// It kept it as it was.
    Kept,
    /// It made something else of it.
    Changed {
        /// Hash of what was sent.
        sent: u64,
        /// Hash of what the server made of it.
        got: u64,
    },
}

impl ServerNormalization {
    /// Of a write and its answer.
    pub fn of(sent: &Value, got: &Value) -> Self {
        if sent == got { Self::Kept } else { Self::Changed { sent: hash::json(sent), got: hash::json(got) } }
    }

    /// Whether the part with the hash `current` is what the server made of the one with the hash `desired`.
    pub fn explains(self, desired: u64, current: u64) -> bool {
        desired == current || self == Self::Changed { sent: desired, got: current }
    }
}

/// Whether `current` is what the server makes of `desired`: equal, or known to be its echo.
pub fn settled(desired: &Value, current: &Value, echo: Option<ServerNormalization>) -> bool {
    desired == current || echo.is_some_and(|e| e == ServerNormalization::of(desired, current))
}

/// The echoes of one object: in little room, for almost every server keeps almost everything.
#[derive(Debug, Default)]
pub(super) struct Normalizations {
    changed: Option<Box<[Option<ServerNormalization>; 2]>>,
    kept: [bool; 2],
}

impl Normalizations {
    pub(super) fn get(&self, part: Part) -> Option<ServerNormalization> {
        let at = part as usize;
        if self.kept[at] { Some(ServerNormalization::Kept) } else { self.changed.as_ref()?[at] }
    }

    /// Says whether it is another than before.
    pub(super) fn learn(&mut self, part: Part, echo: ServerNormalization) -> bool {
        let (at, before) = (part as usize, self.get(part));
        self.kept[at] = echo == ServerNormalization::Kept;
        let changed = (echo != ServerNormalization::Kept).then_some(echo);
        if changed.is_some() || self.changed.is_some() {
            self.changed.get_or_insert_default()[at] = changed;
        }
        before != Some(echo)
    }

    pub(super) fn heap(&self) -> usize {
        if self.changed.is_some() { size_of::<[Option<ServerNormalization>; 2]>() } else { 0 }
    }
}

/// JSON pointers of what was sent and is not, or is not the same, in the answer. At most `limit` of them.
pub fn lost(sent: &Value, got: &Value, limit: usize) -> Vec<String> {
    fn walk(sent: &Value, got: &Value, at: &str, limit: usize, out: &mut Vec<String>) {
        if out.len() >= limit || sent == got {
            return;
        }
        match (sent, got) {
            (Value::Object(a), Value::Object(b)) => {
                for (k, v) in a {
                    let at = format!("{at}/{k}");
                    match b.get(k) {
                        Some(w) => walk(v, w, &at, limit, out),
                        None if out.len() < limit => out.push(at),
                        None => {}
                    }
                }
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                for (i, (v, w)) in a.iter().zip(b).enumerate() {
                    walk(v, w, &format!("{at}/{i}"), limit, out);
                }
            }
            _ => out.push(at.to_owned()),
        }
    }
    let mut out = Vec::new();
    walk(sent, got, "", limit, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn i7_an_echo_settles_only_the_very_pair_that_it_was_learnt_of() {
        let sent = json!({"a": 1, "unknown": true});
        let got = json!({"a": 1, "default": 2});
        let echo = Some(ServerNormalization::of(&sent, &got));
        assert!(settled(&sent, &sent, None));
        assert!(!settled(&sent, &got, None));
        assert!(settled(&sent, &got, echo));
        assert!(!settled(&json!({"a": 2, "unknown": true}), &got, echo), "the source changed");
        assert!(!settled(&sent, &json!({"a": 9, "default": 2}), echo), "the target was edited");
    }

    #[test]
    fn i1_what_was_pruned_is_named() {
        let sent = json!({"a": {"b": 1, "c": [1, {"d": 2}]}, "e": 3});
        let got = json!({"a": {"c": [1, {}]}, "e": 4, "added": 1});
        assert_eq!(lost(&sent, &got, 9), ["/a/b", "/a/c/1/d", "/e"]);
        assert_eq!(lost(&sent, &got, 1).len(), 1);
        assert!(lost(&sent, &sent, 9).is_empty());
    }
}
