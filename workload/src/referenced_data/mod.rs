//! `ConfigMap`s and Secrets that templates refer to, copied beside the WDs of the hub (specification, W5 and
//! W6).
//!
//! A copy is a *companion*: an object of the same name and type in the hub namespace, with the label
//! `referenced-data`. Karmada brings it into the cell with the WD, whose annotation
//! `expected-referenced-data` names it. A companion may be of several WDs of its namespace, which its
//! annotation `referenced-by` counts, and goes with the last of them.
//!
//! # The way through
//!
//! 1. `triggers` maps an event to the keys of WDs, and has a project plane's `ConfigMap`s and Secrets
//!    watched, by their metadata, for as long as a WD there refers to any.
//! 2. [`snapshot`] is what the caches say of a WD's sources and companions.
//! 3. [`plan`] decides, as a pure function: what is copied, counted and released, and what is said of it.
//!    [`limits`] is how much content there may be.
//! 4. [`apply`] reads what is to be copied (`live`: what a deletion needs), writes where that differs, and
//!    says so last: a companion is on the hub before the annotation that names it.
//! 5. [`desired`] renders annotations, condition and companions.

pub mod apply;
pub mod desired;
pub mod limits;
mod live;
pub mod plan;
mod reconcile;
pub mod snapshot;
mod triggers;

use std::collections::BTreeMap;
use std::sync::Arc;

use fedhub_cache::digest::Version;
use fedhub_core::object::Key;
use fedhub_engine::Queue;
use fedhub_planes::Planes;
use parking_lot::Mutex;

/// The most bytes of content that one source may have (W5).
pub const SOURCE_LIMIT: usize = 256 << 10;
/// The most that all sources of a WD may have together (W5).
pub const TOTAL_LIMIT: usize = 1 << 20;

/// Why a version of a source is not copied, which only reading it has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Uncopied {
    /// The source, or all of a WD together, are too large; the source has this many bytes.
    TooLarge(usize),
    /// See [`snapshot::Unsupported::TokenSecret`].
    TokenSecret,
}

/// Copies referenced data to the hub.
pub struct ReferencedData {
    planes: Arc<Planes>,
    queue: Arc<Queue>,
    /// Sources that were read and not copied: the version, hashed, and why, which only reading it shows.
    uncopied: Mutex<BTreeMap<Key, (u64, Uncopied)>>,
    /// Companions that somebody else has written, each with that version: their content is compared with the
    /// source's.
    edited: Mutex<BTreeMap<Key, Version>>,
}

impl ReferencedData {
    /// A controller over `planes`, fed through `queue`.
    pub fn new(planes: Arc<Planes>, queue: Arc<Queue>) -> Arc<Self> {
        Arc::new(Self { planes, queue, uncopied: Mutex::default(), edited: Mutex::default() })
    }

    /// How many sources it remembers that were not copied.
    pub fn remembered(&self) -> usize {
        self.uncopied.lock().len()
    }
}
