//! What was asked of a server.

use fedhub_fake_apiserver::{ApiServer, AuditEntry};

/// Where the record of a server ends now.
pub fn position(server: &ApiServer) -> usize {
    server.audit().len()
}

/// The requests since `from` that `counts` holds for, in short: `create instances/wd-0`.
pub fn requests(server: &ApiServer, from: usize, counts: impl Fn(&AuditEntry) -> bool) -> Vec<String> {
    server.audit()[from..].iter().filter(|entry| counts(entry)).map(AuditEntry::short).collect()
}

/// The requests for single objects since `from`, Events aside, in short.
pub fn asked(server: &ApiServer, from: usize) -> Vec<String> {
    requests(server, from, |entry| entry.is_single() && entry.resource != "events")
}

/// The writes since `from`, Events aside, in short.
pub fn writes(server: &ApiServer, from: usize) -> Vec<String> {
    requests(server, from, |entry| entry.is_write() && entry.resource != "events")
}
