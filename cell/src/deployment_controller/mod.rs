//! The controller of WDs in a cell: each has its Instances, its networks and a status.
//!
//! # Reconciling a WD
//!
//! 1. Terminating: delete all of its Instances; when the watch shows none, remove its finalizer. An Instance
//!    that the watch missed is reclaimed by the cell's own garbage collector.
//! 2. Add the finalizer, before anything is created for the WD.
//! 3. Its autoscaler, where it scales: [`crate::domain::autoscaling`].
//! 4. Its networks: [`crate::domain::network`].
//! 5. The one step that [`crate::domain::instances::plan()`] names, and one patch per Instance: labels, a
//!    missing location, the hash of its template where only that differs (C5), what its template says of
//!    `disruption`, the new template where it is changed in place (V5), and every gate that opens with the
//!    gate `Network`.
//! 6. The status, where it differs. Stages of an Instance that is coming up are debounced
//!    ([`crate::domain::status::debounce`]): each status of a WD travels to the project.
//!
//! A write that the cell refuses ends neither the reconcile nor the work on others: the status reports the
//! reason, and the key is requeued.
//!
//! # Gates
//!
//! An Instance is created with the gate `Network` while its networks are not ready, with `Quota` and
//! `ReferencedData` where these features are on (and its template refers to data), and with `Suspended` where
//! its WD is suspended, so that it cannot boot. `Network` opens only for the current template: an Instance on
//! an earlier one waits for networks that are no longer requested, and is replaced. Where networking is off,
//! it opens for all, and the bindings of the cell's WDs are deleted once (C6).
//!
//! # Suspension
//!
//! A suspended WD keeps its Instances. None of them is Ready, so replacements wait until the WD is resumed;
//! creation and scale-down follow their rules.

mod apply;
mod autoscaler;
mod cell_schema;
mod disruption;
mod finalize;
mod plan;
mod reconcile;
mod triggers;
mod unbind;
mod unread;

use std::collections::BTreeSet;
use std::sync::Arc;

use fedhub_core::object::Object;
use fedhub_engine::Queue;
use fedhub_planes::Planes;

use crate::domain::instances::{self, Instance, Replacement, is_rebuilding};
use crate::network_index::NetworkIndex;
use cell_schema::CellSchema;
use parking_lot::{Mutex, MutexGuard};

/// The features of the cell that decide how Instances are created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeploymentControllerConfig {
    /// Instances need quota.
    pub quota: bool,
    /// Instances need networks.
    pub networking: bool,
    /// Instances wait for what their templates refer to.
    pub referenced_data: bool,
    /// The provider of Instances can make the boot disk of one anew (V5).
    pub rebuilds: bool,
}

/// Creates and deletes the Instances of a cell's WDs.
pub struct DeploymentController {
    cell: Arc<Planes>,
    queue: Arc<Queue>,
    config: DeploymentControllerConfig,
    /// UIDs of Instances whose deletion completed at once, until the watch shows it: they are not deleted
    /// again.
    gone: Mutex<BTreeSet<String>>,
    schema: CellSchema,
    networks: NetworkIndex,
}

impl DeploymentController {
    /// A controller over the registry around the cell, fed through `queue`.
    pub fn new(cell: Arc<Planes>, queue: Arc<Queue>, config: DeploymentControllerConfig) -> Arc<Self> {
        Arc::new(Self {
            cell,
            queue,
            config,
            gone: Mutex::default(),
            schema: CellSchema::default(),
            networks: NetworkIndex::default(),
        })
    }

    fn gone(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.gone.lock()
    }

    /// An Instance as the plan for that WD is to see it.
    fn view<'a>(&self, deployment: &'a instances::Deployment<'_>, object: &'a Object) -> Instance<'a> {
        let view = deployment.view(object);
        let rebuilds = self.config.rebuilds;
        let replacement = if deployment.owns(&view) && deployment.outdates(&view) {
            deployment.replacement(object, rebuilds)
        } else {
            Replacement::default()
        };
        Instance {
            terminating: view.terminating || self.gone().contains(view.uid),
            ready: view.ready && !(rebuilds && is_rebuilding(object)),
            replacement,
            ..view
        }
    }
}
