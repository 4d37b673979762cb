//! A provider of tests: a region in memory that is as bad as a real one may be. Its reads lag behind its
//! writes, answers get lost, what was asked for is carried out late or refused, deletions take their time,
//! and servers vanish from lists.

mod calls;
mod cell;
mod region;

pub use cell::Cell;
pub use region::{Faults, Region, SETTLE, Spec};

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::Notify;

/// Where a process ends: at the point of so many that all awaits pass.
#[derive(Default)]
pub struct Fuse {
    left: AtomicU32,
    blown: Notify,
}

impl Fuse {
    /// The process ends at the point after so many.
    pub fn set(&self, points: u32) {
        self.left.store(points + 1, Ordering::Relaxed);
    }

    /// A point at which the process may end: nothing that comes after it happens then.
    pub async fn point(&self) {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return;
        }
        self.left.store(left - 1, Ordering::Relaxed);
        if left == 1 {
            self.blown.notify_one();
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the process is to end.
    pub async fn blown(&self) {
        self.blown.notified().await;
    }
}

/// A server that somebody else made, and that has the tag of an Instance.
pub fn stranger(id: &fedhub_provider::ServerId, place: fedhub_provider::Place, tag: &str) -> region::Stands {
    region::Stands {
        id: id.clone(),
        name: id.to_string().into(),
        place,
        tag: Some(tag.into()),
        spec: Spec::default(),
        phase: fedhub_provider::Phase::Running,
        until: None,
        deleting: None,
        made_for: None,
    }
}
