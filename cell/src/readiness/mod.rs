//! The readiness of a cell's Instances: their status, their Events, the gates `Quota` and `ReferencedData`, and the claims
//! of quota.
//!
//! A pass over an Instance asks for its quota, writes the whole status at once, takes the gates off that this status
//! satisfies, and tells its user of a turn of affairs. [`plan()`] is the pure part. Of an Instance that comes up, stages
//! that pass in a moment are not told ([`crate::status::hush`]). Of one that is being deleted, `Ready` tells what holds it,
//! and nothing else is asked or written ([`crate::status::termination`]): its copy is the write-back's, its claim that of
//! the claims' keeper.
//!
//! # Quota
//!
//! With [`Quota`] each Instance has one `ResourceClaim` in its project's plane. What it asks for is said once, and it is
//! deleted only when a live read of the cell proves its Instance gone (C8): a cell that cannot be reached keeps every
//! claim. Claims need no finalizer for that: those of this cell are watched by their label, also after a restart. The
//! mark that an older version wrote is replaced while the Instance of that UID stands, for it proves nothing after (C10).
//! A claim that carries another name of this cell is found when it is in the way, and known by the UID in its mark: it is
//! renamed, or released where its Instance is gone.
//!
//! Switched off, quota keeps nobody waiting and its claims are given back, where the credential for that is still there;
//! switched on again, what runs claims anew. A credential that fails refuses no Instance that has passed its gate.
//!
//! A project plane that cannot be asked takes no grant back; an Instance that has none yet says
//! `QuotaBackendUnavailable` and is looked at when the plane comes into sync.
//!
//! **For operators**: discovery `milo` lets a project go at once when it turns not Ready or is deleted, for only WDs with our
//! finalizer would keep it, and here only claims are watched. Until it is back, Instances of that project get no new
//! quota, and claims whose Instance has gone meanwhile stand; both are made up for when its plane is in sync again.

mod claims;
mod keys;
mod pass;
mod plan;
mod quota;

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fedhub_core::errors::Error;
use fedhub_core::object::{Kind, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, Queue};
use fedhub_planes::Planes;
use tokio::time::Instant;

pub use plan::{Plan, ending, plan};

use crate::identity::Identity;

/// What is needed to ask for quota.
pub struct Quota {
    /// The registry whose project planes show the claims of this cell.
    pub projects: Arc<Planes>,
    /// Who this cell is: by its name its claims are found, by its UID they are known (C10).
    pub identity: Arc<Identity>,
    /// Whether Instances need quota. Where they do not, the claims of this cell are given back (C6).
    pub enabled: bool,
}

/// UIDs of Instances that are gone, for as many as there is room. A claim that an older version marked with the cell's
/// name alone is this cell's only where it had the Instance (C10).
#[derive(Default)]
struct Tombstones(Mutex<VecDeque<Box<str>>>);

/// How many are kept.
const MAX_TOMBSTONES: usize = 4096;

impl Tombstones {
    fn add(&self, uid: &str) {
        let mut uids = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if uids.len() == MAX_TOMBSTONES {
            uids.pop_front();
        }
        uids.push_back(uid.into());
    }

    fn contains(&self, uid: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|gone| **gone == *uid)
    }
}

/// Keeps the status of the cell's Instances, and their claims. Listens to the registry around the cell and, with quota,
/// to [`Quota::projects`].
pub struct Readiness {
    cell: Arc<Planes>,
    queue: Arc<Queue>,
    quota: Option<Quota>,
    termination_deadline: Duration,
    tombstones: Tombstones,
    began: Instant,
    /// It was said that claims stay behind.
    told: AtomicBool,
}

impl Readiness {
    /// A controller of the Instances of `cell`, fed through `queue`; without `quota` none is asked for. An Instance that
    /// takes longer to go than `termination_deadline` is named (C12).
    pub fn new(
        cell: Arc<Planes>,
        queue: Arc<Queue>,
        quota: Option<Quota>,
        termination_deadline: Duration,
    ) -> Arc<Self> {
        let (tombstones, began, told) = (Tombstones::default(), Instant::now(), AtomicBool::new(false));
        Arc::new(Self { cell, queue, quota, termination_deadline, tombstones, began, told })
    }
}

impl Controller for Readiness {
    fn name(&self) -> &'static str {
        "readiness"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        match (&job.key.plane, job.key.kind) {
            (PlaneId::Cell, Kind::Instance) => self.instance(&job.key).await,
            (PlaneId::Project(project), Kind::ResourceClaim) => self.claim(project, &job.key).await,
            _ => Err(Error::Bug(format!("{} is none of the readiness controller's keys", job.key))),
        }
    }
}
