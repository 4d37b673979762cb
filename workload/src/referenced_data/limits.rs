//! How much content the sources of a WD may have, each and together: the one rule, for the plan, which knows
//! the sizes of what was read before, and for the pass that reads the rest.

use fedhub_core::object::Kind;

use super::desired::SourceFault;
use super::snapshot::{DataSource, Snapshot, SourceState};
use super::{SOURCE_LIMIT, TOTAL_LIMIT};

/// The part of [`TOTAL_LIMIT`] that a WD has used.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataAllowance {
    used: usize,
}

impl DataAllowance {
    /// Counts `bytes` bytes for a source, or returns which limit they exceed.
    pub fn take(&mut self, bytes: usize) -> Result<(), SourceFault> {
        if bytes > SOURCE_LIMIT {
            return Err(SourceFault::TooLarge(bytes));
        }
        if self.used + bytes > TOTAL_LIMIT {
            return Err(SourceFault::TooLargeTogether(self.used + bytes));
        }
        self.used += bytes;
        Ok(())
    }

    /// Counts the sources whose companions are in order, or only need to be counted: these `counts`.
    pub fn used(seen: &Snapshot, counts: &[(Kind, String)]) -> Self {
        let is_counted =
            |source: &DataSource| counts.iter().any(|(k, n)| (*k, n) == (source.kind, &source.name));
        let has = seen.sources.iter().filter(|source| is_settled(seen, source) || is_counted(source));
        Self { used: has.map(|source| known_bytes(seen, source)).sum() }
    }
}

/// Whether the companion of a source is in order. What is there keeps its place: it goes before what is yet
/// to be copied.
pub fn is_settled(seen: &Snapshot, source: &DataSource) -> bool {
    seen.kept_companion(source).is_some_and(|companion| match source.state {
        SourceState::Stands { version, .. } => companion.facts.copied_from == version,
        SourceState::Unauthorized => true,
        _ => false,
    })
}

/// How many bytes a source has, as far as that is known: of its companion, or of a read that found it too
/// large.
pub fn known_bytes(seen: &Snapshot, source: &DataSource) -> usize {
    let companion = seen.companion(source.kind, &source.name);
    match source.state {
        SourceState::Stands { version, bytes } => {
            let copied = companion.filter(|c| c.facts.copied_from == version);
            bytes.max(copied.map_or(0, |c| c.facts.bytes as usize))
        }
        SourceState::Unauthorized => companion.map_or(0, |c| c.facts.bytes as usize),
        _ => 0,
    }
}
