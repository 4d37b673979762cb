//! The identity of the cell, and whether the hub agrees (C10, C11).
//!
//! A cell is identified by the UID of its namespace `kube-system`, which every mark of it carries. What
//! another cluster marked under the same name is left alone, and the process is not ready, unless Karmada
//! recorded this cluster for that name. A cell that is declared lost and runs all the same writes nothing new
//! outside of itself: others may have taken over.
//!
//! Decides C10.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fedhub_api::cells::{
    CellId, CellSource, KUBE_SYSTEM, declaring, is_copy_lost, lost_by, redeclares, source_lost_since,
};
use fedhub_api::facts::{Change, Known};
use fedhub_core::names::{LOST, LOST_CLUSTER, lost_cluster};
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId};
use fedhub_planes::{Plane, Planes};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};

/// Why a cell is not ready although it is in sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityFault {
    /// The cell has no namespace that identifies it.
    Unidentified,
    /// Another cluster writes under this cell's name.
    NameTaken {
        /// The cell's name.
        name: Arc<str>,
        /// UID of the `kube-system` of the other cluster.
        by: Arc<str>,
        /// How many copies and claims of it this process sees.
        objects: usize,
    },
    /// An operator declared the cell lost.
    DeclaredLost {
        /// Its Cluster on the hub.
        cluster: String,
        /// When it was declared lost.
        since: Timestamp,
    },
}

impl IdentityFault {
    /// Every metric label.
    pub const LABELS: [&'static str; 3] = ["unidentified", "name_taken", "declared_lost"];

    /// The metric label.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Unidentified => "unidentified",
            Self::NameTaken { .. } => "name_taken",
            Self::DeclaredLost { .. } => "declared_lost",
        }
    }
}

impl fmt::Display for IdentityFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unidentified => {
                write!(
                    f,
                    "cell: no namespace {KUBE_SYSTEM}, whose UID identifies the cell: nothing is written back"
                )
            }
            Self::NameTaken { name, by, objects } => write!(
                f,
                "cell: another cluster (kube-system {by}) uses the cell name {name}: its {objects} copies and quota claims \
                 are left alone; give each cluster a --cell-name of its own or, if the other one is gone for good, declare it \
                 lost by the annotation {}=<RFC 3339 time> of a Cluster on the hub",
                lost_cluster(by)
            ),
            Self::DeclaredLost { cluster, since } => write!(
                f,
                "cell: declared lost since {since} (annotation {LOST}, or {LOST_CLUSTER} and its UID, of Cluster {cluster} on \
                 the hub): nothing new is written to the hub and no quota is claimed until the annotation is removed"
            ),
        }
    }
}

/// The identity of the cell.
pub struct Identity {
    name: Arc<str>,
    cell: Arc<Planes>,
    /// The registry around the hub, where there is one.
    hub: Option<Arc<Planes>>,
    /// The objects that another cluster marked under this cell's name, with the UID of that cluster.
    twins: Mutex<BTreeMap<Key, Arc<str>>>,
}

impl Identity {
    /// Creates the identity of the cell `name`. `cell` is the registry around the cell, `hub` the registry
    /// around the hub.
    pub fn new(name: &str, cell: Arc<Planes>, hub: Option<Arc<Planes>>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), cell, hub, twins: Mutex::default() })
    }

    /// The identity of the cell; `None` while it has none to show.
    pub fn get(&self) -> Option<CellId> {
        let namespace = self.cell.anchor().store(Kind::Namespace).object("", KUBE_SYSTEM)?;
        let uid = Some(namespace.uid()).filter(|uid| !uid.is_empty())?;
        Some(CellId { name: self.name.clone(), uid: uid.into() })
    }

    /// Whether a change is one of who the cell is.
    pub fn is_changed_by(plane: &Plane, kind: Kind, change: &Change) -> bool {
        plane.id == PlaneId::Cell && kind == Kind::Namespace && *change.known().name == *KUBE_SYSTEM
    }

    /// Whether a change may declare a cell lost, or take that back.
    pub fn declares(plane: &Plane, kind: Kind, change: &Change) -> bool {
        if plane.id != PlaneId::Hub || kind != Kind::Cluster {
            return false;
        }
        let (before, now) = match change {
            Change::Applied { old, new } => (old.as_ref(), Some(new)),
            Change::Deleted { last, .. } => (Some(last), None),
        };
        let object = |known: Option<&Known>| known.and_then(|known| known.object.clone());
        redeclares(object(before).as_deref(), object(now).as_deref())
    }

    /// Returns the Cluster by which this cell is declared lost, and when that was declared.
    pub fn declared_lost(&self, cell: &CellId) -> Option<(String, Timestamp)> {
        let clusters = self.clusters();
        let (cluster, since) = lost_by(&clusters, &cell.name, Some(&cell.uid))?;
        Some((cluster.name().to_owned(), since))
    }

    /// Whether the cell that a copy on the hub is of is declared lost, so that another may take its place.
    pub fn is_of_lost_cell(&self, copy: &Object) -> bool {
        is_copy_lost(&self.clusters(), copy)
    }

    fn clusters(&self) -> Vec<ObjectRef> {
        let all = self.hub.iter().flat_map(|hub| hub.hub().store(Kind::Cluster).objects(None));
        let now = self.cell.clock().now();
        all.map(|cluster| declaring(&cluster, now, |_| true)).collect()
    }

    /// Remembers the mark of a copy or a claim; `None` where it is gone or has none.
    pub fn note(&self, key: &Key, source: Option<&CellSource>) {
        let named = source.zip(self.get()).filter(|(source, cell)| *source.cell == *cell.name);
        let uid = named.and_then(|(source, cell)| {
            source.cell_uid.as_deref().filter(|uid| **uid != *cell.uid).map(Arc::<str>::from)
        });
        let mut twins = self.twins();
        let Some(uid) = uid else {
            twins.remove(key);
            return;
        };
        if twins.is_empty() {
            tracing::warn!(cell = %self.name, cluster = %uid, %key, "another cluster uses this cell's name, leaving its objects alone");
        }
        twins.insert(key.clone(), uid);
    }

    /// Forgets what was noted of a plane that has left.
    pub fn forget(&self, plane: &PlaneId) {
        self.twins().retain(|key, _| key.plane != *plane);
    }

    fn twins(&self) -> MutexGuard<'_, BTreeMap<Key, Arc<str>>> {
        self.twins.lock()
    }

    /// The reasons why the cell is not ready; none before it is in sync.
    pub fn faults(&self) -> Vec<IdentityFault> {
        if !self.cell.anchor().synced() {
            return Vec::new();
        }
        let Some(cell) = self.get() else { return vec![IdentityFault::Unidentified] };
        let lost =
            self.declared_lost(&cell).map(|(cluster, since)| IdentityFault::DeclaredLost { cluster, since });
        lost.into_iter().chain(self.name_taken(&cell)).collect()
    }

    /// Whether Karmada recorded this very cluster for its cell's name.
    fn is_recorded(&self, cell: &CellId) -> bool {
        let recorded =
            |cluster: &ObjectRef| *cluster.name() == *cell.name && cluster.spec()["id"] == *cell.uid;
        self.clusters().iter().any(recorded)
    }

    /// A cluster that Karmada recorded for this name stays ready beside one that borrows it.
    fn name_taken(&self, cell: &CellId) -> Option<IdentityFault> {
        if self.is_recorded(cell) {
            return None;
        }
        let clusters = self.clusters();
        let lives = |uid: &Arc<str>| {
            let source = CellSource {
                cell: cell.name.to_string(),
                cell_uid: Some(uid.to_string()),
                instance_uid: String::new(),
            };
            source_lost_since(&clusters, &source).is_none()
        };
        let twins = self.twins();
        let living: Vec<_> = twins.values().filter(|uid| lives(uid)).collect();
        let by = (*living.first()?).clone();
        Some(IdentityFault::NameTaken { name: cell.name.clone(), by, objects: living.len() })
    }
}
