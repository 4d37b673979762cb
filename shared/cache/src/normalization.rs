//! How a server normalizes what we send (I7).
//!
//! A schema may prune, default or normalize a write, so that the stored object differs from the one that was
//! sent although nothing is left to do. The pair is remembered in the store beside the object; where it is
//! not (after a restart), a dry run of the write shows it.
//!
//! Decides I7.

use fedhub_core::hash;
use serde_json::Value;

/// The part of an object that is written as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectPart {
    /// `spec`.
    Spec,
    /// `status`.
    Status,
}

/// How a server stored what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerNormalization {
    /// The server stored it unchanged.
    Kept,
    /// The server stored something else.
    Changed {
        /// Hash of what was sent.
        sent: u64,
        /// Hash of what the server made of it.
        got: u64,
    },
}

impl ServerNormalization {
    /// The normalization of a write that got this answer.
    pub fn new(sent: &Value, got: &Value) -> Self {
        if sent == got { Self::Kept } else { Self::Changed { sent: hash::json(sent), got: hash::json(got) } }
    }
}

/// Whether `current` is what the server makes of `desired`: equal, or known to be its normalization.
pub fn settled(desired: &Value, current: &Value, normalization: Option<ServerNormalization>) -> bool {
    desired == current || normalization.is_some_and(|n| n == ServerNormalization::new(desired, current))
}

/// Like [`settled`], but by the hashes that digests hold.
pub fn settled_hash(desired: u64, current: u64, normalization: Option<ServerNormalization>) -> bool {
    desired == current || normalization == Some(ServerNormalization::Changed { sent: desired, got: current })
}

/// The normalizations of one object, in little memory, as almost every server keeps almost everything.
#[derive(Debug, Default)]
pub(super) struct Normalizations {
    changed: Option<Box<[Option<ServerNormalization>; 2]>>,
    kept: [bool; 2],
}

impl Normalizations {
    pub(super) fn get(&self, part: ObjectPart) -> Option<ServerNormalization> {
        let at = part as usize;
        if self.kept[at] { Some(ServerNormalization::Kept) } else { self.changed.as_ref()?[at] }
    }

    /// Remembers a normalization; returns whether that is new.
    pub(super) fn learn(&mut self, part: ObjectPart, new: ServerNormalization) -> bool {
        let at = part as usize;
        let before = self.get(part);
        self.kept[at] = new == ServerNormalization::Kept;
        let changed = (new != ServerNormalization::Kept).then_some(new);
        if changed.is_some() || self.changed.is_some() {
            self.changed.get_or_insert_default()[at] = changed;
        }
        before != Some(new)
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
        let echo = Some(ServerNormalization::new(&sent, &got));
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
