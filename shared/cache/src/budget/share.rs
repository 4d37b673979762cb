//! Memory that is taken and given back: of all planes, or the share of one.

use std::collections::BTreeMap;
use std::sync::Arc;

use fedhub_core::object::PlaneId;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Permits are counted in units of this.
const UNIT: usize = 1 << 10;
/// The share of large objects in the memory of objects that wait: one in so many. And that of one plane in
/// the memory of reads and in that of reconciles.
pub const SHARE: usize = 8;

/// Shares of planes, which exist for as long as they are in use.
pub type Shares = Mutex<BTreeMap<PlaneId, Share>>;

/// A number of bytes that can be taken and given back.
#[derive(Clone, Debug)]
pub struct Share {
    units: u32,
    left: Arc<Semaphore>,
}

impl Share {
    /// Creates a share of `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        let units = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX).max(1);
        Self { units, left: Arc::new(Semaphore::new(units as usize)) }
    }

    /// The share of one plane in `of`.
    pub fn for_plane(shares: &Shares, plane: &PlaneId, of: &Self) -> Self {
        let mut shares = shares.lock();
        shares.retain(|_, share| Arc::strong_count(&share.left) > 1);
        shares.entry(plane.clone()).or_insert_with(|| Self::new(of.bytes() / SHARE)).clone()
    }

    /// How many bytes it has, taken or not.
    pub fn bytes(&self) -> usize {
        self.units as usize * UNIT
    }

    /// Takes `bytes` bytes, or all there are.
    pub async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).min(self.units);
        // Never closed.
        self.left.clone().acquire_many_owned(units).await.ok()
    }
}
