//! The record of all requests and changes.

use std::collections::VecDeque;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::operation::Operation;

/// One line of the record.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its number. None is left out, and none comes twice.
    pub number: u64,
    /// When it was.
    pub at: Timestamp,
    /// What it was.
    #[serde(flatten)]
    pub event: Event,
}

/// What the record is of.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "event")]
pub enum Event {
    /// A request, as it was answered.
    Request {
        /// What was asked.
        operation: Operation,
        /// The path, with its query.
        path: String,
        /// The body; never of a request for a token.
        #[serde(skip_serializing_if = "Value::is_null")]
        body: Value,
        /// The status of the answer; none where there was no answer.
        status: Option<u16>,
        /// Whether it changed something.
        acted: bool,
    },
    /// A change of a server or an allocation.
    Change {
        /// Its ID.
        id: String,
        /// The Instance that its tag named when it was made.
        instance: Option<String>,
        /// What changed.
        what: &'static str,
    },
    /// Something that a provider must never do.
    Violation {
        /// What it was.
        what: String,
    },
}

/// The record, of a bounded length.
#[derive(Debug, Default)]
pub struct Journal {
    entries: VecDeque<Entry>,
    next: u64,
    most: usize,
}

impl Journal {
    /// An empty one, of at most so many entries.
    pub fn new(most: usize) -> Self {
        Self { entries: VecDeque::new(), next: 0, most }
    }

    /// Writes a line, and forgets the oldest where there are too many.
    pub fn write(&mut self, at: Timestamp, event: Event) {
        self.entries.push_back(Entry { number: self.next, at, event });
        self.next += 1;
        while self.entries.len() > self.most {
            self.entries.pop_front();
        }
    }

    /// All lines from this number on.
    pub fn since(&self, number: u64) -> Vec<Entry> {
        self.entries.iter().filter(|entry| entry.number >= number).cloned().collect()
    }
}
