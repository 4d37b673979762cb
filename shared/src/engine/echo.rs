//! What a server makes of what we send (I7).
//!
//! A schema may prune, default or normalise a write, so that the stored object differs from the one that was sent
//! although nothing is left to do. An echo remembers the pair; where none is remembered (after a restart), a dry
//! run of the write tells it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::hash;
use crate::object::{Key, PlaneId};

/// The part of an object that is written as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// `spec`.
    Spec,
    /// `status`.
    Status,
}

/// Hashes of what was sent and of what the server made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    sent: u64,
    got: u64,
}

impl Echo {
    /// Of a write and its answer.
    pub fn of(sent: &Value, got: &Value) -> Self {
        Self { sent: hash::json(sent), got: hash::json(got) }
    }
}

/// Whether `current` is what the server makes of `desired`: equal, or known to be its echo.
pub fn settled(desired: &Value, current: &Value, echo: Option<Echo>) -> bool {
    desired == current || echo.is_some_and(|e| e == Echo::of(desired, current))
}

/// The echoes of all objects that one controller writes.
#[derive(Default)]
pub struct Echoes(Mutex<BTreeMap<(Key, Part), Echo>>);

impl Echoes {
    /// What is remembered of that part.
    pub fn get(&self, key: &Key, part: Part) -> Option<Echo> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&(key.clone(), part)).copied()
    }

    /// Remembers the answer to a write; says whether it is another than before.
    pub fn learn(&self, key: &Key, part: Part, echo: Echo) -> bool {
        let mut echoes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        echoes.insert((key.clone(), part), echo) != Some(echo)
    }

    /// Keeps of one plane the objects that are to be kept.
    pub fn retain(&self, plane: &PlaneId, keep: impl Fn(&Key) -> bool) {
        let mut echoes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        echoes.retain(|(key, _), _| key.plane != *plane || keep(key));
    }

    /// How many parts are remembered.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, key: &Key) {
        let mut echoes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for part in [Part::Spec, Part::Status] {
            echoes.remove(&(key.clone(), part));
        }
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
        let echo = Some(Echo::of(&sent, &got));
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
