//! What is wrong with what a user asks for, known before anything is sent.

use std::fmt;

/// One fault of the flags or of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The flag, or the file and the field in it.
    pub at: String,
    /// What is wrong there.
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
