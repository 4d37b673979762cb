//! Cleanup after a lost cell (C11): copies of its Instances on the hub, and quota claims in project planes.
//!
//! Only an operator declares a cell lost, by an annotation of its Cluster. Then its copies go from the hub,
//! and by their deletion, which the projector sees, their projections from the projects (I4); and its claims
//! are released. While the hub is held to be restored, nothing is: the declaration may be one that was taken
//! back (I4). A reconcile is of one project plane. Claims are not watched here: they are listed while a cell
//! is declared lost, and at no other time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fedhub_api::cells::{
    CellSource, Declaration, declarations, declares, is_copy_lost, redeclares, source_lost_since,
};
use fedhub_api::facts::{Change, Known};
use fedhub_api::reason::Reason;
use fedhub_core::errors::{Error, RequestError};
use fedhub_core::names::{PlaneName, SOURCE_CLUSTER};
use fedhub_core::object::{Key, Kind, Object, ObjectView, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, Queue};
use fedhub_planes::Listener;
use fedhub_planes::events::reference;
use fedhub_planes::{Pass, Plane, Planes, Precondition, ProjectNamespace, WriteState};

use crate::rate_limits::DeleteLimits;

/// The most objects of one list that one reconcile deletes.
const BATCH: usize = 64;
/// When a plane is retried whose bucket is empty, or while the hub is not trusted.
const RETRY: Duration = Duration::from_mins(1);

/// Releases what lost cells left behind.
pub struct LostCells {
    planes: Arc<Planes>,
    queue: Arc<Queue>,
    /// A declaration may be a mistake, and a cell that is alive may create again what is deleted.
    delete_limits: DeleteLimits,
    /// Whether any cell is declared lost.
    any: AtomicBool,
}

impl LostCells {
    /// Creates a controller over `planes`, fed through `queue`, which deletes at most `deletes_per_minute`
    /// objects of a project in a minute.
    pub fn new(planes: Arc<Planes>, queue: Arc<Queue>, deletes_per_minute: u32) -> Arc<Self> {
        let delete_limits = DeleteLimits::new(deletes_per_minute);
        Arc::new(Self { planes, queue, delete_limits, any: AtomicBool::new(false) })
    }

    fn enqueue(&self, plane: &PlaneName) {
        if self.any.load(Ordering::Acquire) && self.planes.ready(plane) {
            let id = PlaneId::Project(plane.clone());
            let key = Key {
                plane: id.clone(),
                kind: Kind::Cluster,
                namespace: Box::default(),
                name: "lost".into(),
            };
            self.queue.add(key, &id);
        }
    }

    /// Enqueues every project plane, by the declarations that stand now.
    fn resync(&self) {
        let clusters = self.planes.hub().store(Kind::Cluster).objects(None);
        self.any.store(clusters.iter().any(|cluster| declares(cluster)), Ordering::Release);
        for project in self.planes.projects() {
            if let PlaneId::Project(name) = &project.id {
                self.enqueue(name);
            }
        }
    }

    async fn release(&self, pass: &Pass, name: &PlaneName, project: &Plane) -> Result<Outcome, Error> {
        let hub = self.planes.hub();
        let clusters = self.planes.clusters();
        if !clusters.iter().any(|cluster| declares(cluster)) {
            return Ok(Outcome::Unchanged);
        }
        if let Some(distrust) = self.planes.distrust() {
            self.planes.metrics().deletes_withheld.with_label_values(&[distrust.label()]).inc();
            tracing::debug!(plane = %name, reason = distrust.label(), "skipping cleanup after a lost cell: the hub is not trusted");
            return Ok(Outcome::RequeueAfter(RETRY));
        }
        let is_lost = |source: &CellSource| source_lost_since(&clusters, source).is_some();
        let mut copies = 0;
        let mut claims = 0;
        let mut due = true;
        for namespace in self.planes.tenants().of_plane(name) {
            if !due || !hub.store(Kind::Instance).any(Some(&namespace), |_| true) {
                continue;
            }
            let left = |copy: &Object| !copy.is_terminating() && is_copy_lost(&clusters, copy);
            let left = hub.list_metadata(pass, Kind::Instance, Some(&namespace), None, BATCH, left).await?;
            let deleted = self.delete(pass, name, hub, Kind::Instance, left).await?;
            copies += deleted.0;
            due &= deleted.1;
        }
        if due {
            let left = |claim: &Object| {
                !claim.is_terminating()
                    && CellSource::from_object(claim).is_some_and(|source| is_lost(&source))
            };
            let listed = project
                .list_metadata(pass, Kind::ResourceClaim, None, Some(SOURCE_CLUSTER), BATCH, left)
                .await;
            match listed {
                Ok(left) => {
                    let deleted = self.delete(pass, name, project, Kind::ResourceClaim, left).await?;
                    claims += deleted.0;
                    due &= deleted.1;
                }
                // There is no quota service.
                Err(error) if error.code() == Some(404) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if copies + claims > 0 {
            tracing::info!(plane = %name, copies, claims, "cleaned up after a lost cell");
        }
        Ok(match (due, copies + claims) {
            (false, _) => Outcome::RequeueAfter(RETRY),
            (true, 0) => Outcome::Unchanged,
            // There may be more than one list has shown.
            (true, _) => Outcome::RequeueAfter(Duration::ZERO),
        })
    }

    /// Deletes those objects, as far as there are tokens. Returns how many it deleted, and whether there was
    /// a token for each.
    async fn delete(
        &self,
        pass: &Pass,
        name: &PlaneName,
        plane: &Plane,
        kind: Kind,
        objects: Vec<Object>,
    ) -> Result<(usize, bool), RequestError> {
        for (deleted, object) in objects.iter().enumerate() {
            if self.delete_limits.take(name, &plane.key(kind, object.namespace(), object.name())).is_err() {
                self.planes.metrics().deletes_withheld.with_label_values(&["rate"]).inc();
                tracing::warn!(plane = %name, left = objects.len() - deleted, "delaying cleanup after a lost cell: deletions are rate-limited");
                return Ok((deleted, false));
            }
            plane.delete(pass, kind, object, Precondition::Uid).await?;
        }
        Ok((objects.len(), true))
    }

    fn cluster_changed(&self, change: &Change) {
        let seen = change.known();
        let there = matches!(change, Change::Applied { .. });
        let now = seen.object.as_deref().filter(|_| there);
        let before = |known: &Known| known.object.clone();
        let old = if there { change.old().and_then(before) } else { before(seen) };
        let refusal = |cluster: &Object| self.planes.declaration_refusal(cluster);
        if let Some(refusal) =
            now.and_then(refusal).filter(|now| old.as_deref().and_then(refusal).as_ref() != Some(now))
        {
            tracing::warn!(cluster = &*seen.name, error = refusal, "ignoring declaration of a lost cell");
            if let Some(operators) = self.planes.operators()
                && self.planes.leads()
            {
                operators.warn(Reason::LostCellRefused, Some(reference(Kind::Cluster, seen)), refusal);
            }
        }
        if !redeclares(old.as_deref(), now) {
            return;
        }
        let old = old.map(|cluster| self.planes.believed_of(&cluster));
        let new = seen.object.as_ref().filter(|_| there).map(|cluster| self.planes.believed_of(cluster));
        let was = old.as_deref().map(declarations).unwrap_or_default();
        let is = new.as_deref().map(declarations).unwrap_or_default();
        for (annotation, declaration) in &is {
            if let Declaration::Lost(since) = declaration
                && was.get(annotation) != Some(declaration)
            {
                tracing::warn!(cluster = &*seen.name, %annotation, %since, "cell declared lost: releasing what it held");
            }
        }
        for annotation in was.keys().filter(|annotation| !is.contains_key(*annotation)) {
            tracing::warn!(cluster = &*seen.name, %annotation, "cell no longer declared lost");
        }
        self.resync();
    }
}

impl Controller for LostCells {
    fn name(&self) -> &'static str {
        "lost_cells"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        let PlaneId::Project(name) = &job.key.plane else {
            return Err(Error::Bug(format!("{} is not a key of the controller of lost cells", job.key)));
        };
        if !self.planes.hub().synced() {
            return Err(Error::NotEngaged(PlaneId::Hub));
        }
        if !self.any.load(Ordering::Acquire) {
            return Ok(Outcome::Unchanged);
        }
        let project = self.planes.engaged(name).ok_or_else(|| Error::NotEngaged(job.key.plane.clone()))?;
        // When it is resumed, it is enqueued again.
        match project.write_state() {
            WriteState::Active => self.release(&job.pass, name, &project).await,
            WriteState::Suspended | WriteState::Paused => Ok(Outcome::AwaitChange),
        }
    }
}

impl Listener for LostCells {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        match (&plane.id, kind) {
            (PlaneId::Hub, Kind::Cluster) => self.cluster_changed(change),
            // A cell that is declared lost may still write.
            (PlaneId::Hub, Kind::Instance) if self.any.load(Ordering::Acquire) => {
                let copy = change.known().object.as_deref();
                let lost = copy.is_some_and(|copy| is_copy_lost(&self.planes.clusters(), copy));
                let namespace = plane.store(Kind::Namespace).object("", &change.known().namespace);
                if let (true, Some(home)) =
                    (lost, namespace.as_deref().and_then(ProjectNamespace::from_hub_namespace))
                {
                    self.enqueue(&home.plane);
                }
            }
            _ => {}
        }
    }

    fn synced(&self, plane: &Plane, _kind: Kind) {
        if !plane.synced() {
            return;
        }
        self.queue.mark_healthy(&plane.id);
        match &plane.id {
            PlaneId::Hub => self.resync(),
            PlaneId::Project(name) => self.enqueue(name),
            PlaneId::Management | PlaneId::Cell => {}
        }
    }

    fn left(&self, plane: &Plane) {
        self.queue.forget(&plane.id);
    }
}
