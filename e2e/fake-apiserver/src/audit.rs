//! A record of every request, for tests that assert what was asked of a server, and above all what was not. A
//! server that runs for long keeps the counts only.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: &'static str,
    /// The API group, empty for the core group.
    pub group: String,
    /// The plural; for paths that are no resource's, the path.
    pub resource: String,
    /// Such as `status`.
    pub subresource: Option<String>,
    /// Empty for cluster-scoped requests, lists over all namespaces included.
    pub namespace: Option<String>,
    /// Empty for collections.
    pub name: Option<String>,
    /// The header of that name.
    pub user_agent: Option<String>,
    /// Whether nothing was to be stored.
    pub dry_run: bool,
    /// The body of a write, if it was JSON.
    pub body: Option<Value>,
    /// The answer's code; 0 if there was none.
    pub code: u16,
}

impl AuditEntry {
    /// Whether this asks for a change: dry runs do not, and attempts that failed or changed nothing do.
    pub fn is_write(&self) -> bool {
        is_write(self.verb, self.dry_run)
    }

    /// Whether this asks about one object.
    pub fn is_single(&self) -> bool {
        !matches!(self.verb, "watch" | "list")
    }

    /// The request in short: `create instances/web-0`, `update instances/status/web-0 (dry)`.
    pub fn short(&self) -> String {
        let dry = if self.dry_run { " (dry)" } else { "" };
        let sub = self.subresource.as_ref().map(|s| format!("/{s}")).unwrap_or_default();
        let sent = self.body.as_ref().and_then(|b| b["metadata"]["name"].as_str());
        let name = self.name.as_deref().or(sent).unwrap_or_default();
        format!("{} {}{sub}/{name}{dry}", self.verb, self.resource)
    }
}

fn is_write(verb: &str, dry_run: bool) -> bool {
    !dry_run && !matches!(verb, "get" | "list" | "watch")
}

/// Requests that are alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RequestKind {
    /// As [`AuditEntry::verb`].
    pub verb: &'static str,
    /// The plural, with `/status` for that subresource; for paths that are no resource's, the path.
    pub resource: String,
    /// Whether nothing was to be stored.
    pub dry_run: bool,
    /// The answer's code; 0 if there was none.
    pub code: u16,
}

impl RequestKind {
    /// As [`AuditEntry::is_write`].
    pub fn is_write(&self) -> bool {
        is_write(self.verb, self.dry_run)
    }
}

/// A point in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(usize);

/// The record.
pub(crate) struct Audit {
    entries: Vec<AuditEntry>,
    cleared: usize,
    /// Whether there are entries, not counts only.
    pub entries_kept: bool,
    pub counts: BTreeMap<RequestKind, u64>,
}

impl Audit {
    pub(crate) fn new(entries_kept: bool) -> Self {
        Self { entries: Vec::new(), cleared: 0, entries_kept, counts: BTreeMap::new() }
    }

    pub(crate) fn count(&mut self, request: RequestKind) {
        *self.counts.entry(request).or_default() += 1;
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.cleared + self.entries.len())
    }

    /// Begins an entry; the answer's code comes later, if ever.
    pub(crate) fn begin(&mut self, entry: AuditEntry) -> Mark {
        let mark = self.mark();
        self.entries.push(entry);
        mark
    }

    pub(crate) fn answered(&mut self, mark: Mark, code: u16) {
        let index = mark.0.checked_sub(self.cleared);
        if let Some(entry) = index.and_then(|index| self.entries.get_mut(index)) {
            entry.code = code;
        }
    }

    pub(crate) fn since(&self, mark: Mark) -> &[AuditEntry] {
        self.entries.get(mark.0.saturating_sub(self.cleared)..).unwrap_or_default()
    }

    pub(crate) fn all(&self) -> &[AuditEntry] {
        &self.entries
    }

    pub(crate) fn clear(&mut self) {
        self.cleared += self.entries.len();
        self.entries.clear();
    }
}
