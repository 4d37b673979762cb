//! How many Instances may be missing, and how many too many, while a new template replaces them.

use std::ops::Range;

use fedhub_api::{IntOrPercent, RollingUpdate};
use serde_json::Value;

/// What a WD with a number of wanted Instances allows a rollout (C2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many Instances are wanted.
    pub desired: u32,
    /// How many of them may be missing.
    pub unavailable: u32,
    /// How many may be there beyond them.
    pub surge: u32,
}

impl Budget {
    /// Reads `spec.scaleSettings.rollingUpdate` of a WD. What is absent or cannot be used counts as the
    /// default, by which one Instance is replaced at a time and none is added.
    pub fn from_settings(rolling_update: &Value, desired: u32) -> Self {
        let field = |name: &str| serde_json::from_value::<IntOrPercent>(rolling_update[name].clone()).ok();
        let settings =
            RollingUpdate { max_surge: field("maxSurge"), max_unavailable: field("maxUnavailable") };
        let (unavailable, surge) = settings.resolve(desired);
        Self { desired, unavailable, surge }
    }

    /// The ordinals that are wanted.
    pub fn wanted(&self) -> Range<u32> {
        0..self.desired
    }

    /// The ordinals that a rollout may add.
    pub fn added(&self) -> Range<u32> {
        self.desired..self.limit()
    }

    /// The first ordinal that is too many even during a rollout.
    pub fn limit(&self) -> u32 {
        self.desired.saturating_add(self.surge)
    }

    /// How many Instances may be on their way at once.
    pub fn width(&self) -> u32 {
        self.unavailable.saturating_add(self.surge).max(1)
    }

    /// Whether a ready Instance may go where so many are ready.
    pub fn spares(&self, ready: usize) -> bool {
        ready > self.desired.saturating_sub(self.unavailable) as usize
    }
}
