//! Faults of a user's input that are found before anything is sent.

use std::fmt;

/// A fault of the flags or of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The flag, or the file and the field in it.
    pub at: String,
    /// The rule that is violated.
    pub rule: String,
}

impl Fault {
    /// A fault.
    pub fn new(at: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { at: at.into(), rule: rule.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.rule)
    }
}
