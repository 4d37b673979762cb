//! Which declarations of lost cells count (C11): none that a restore of the hub may have brought back (I4).

use std::sync::Arc;

use fedhub_api::cells::{Declaration, declarations, declaring};
use fedhub_api::facts::{Change, Known};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};

use crate::Planes;
use crate::registry::restores::history::Remembered;

impl Planes {
    /// The hub's Clusters, with those of their declarations that count.
    pub fn clusters(&self) -> Vec<ObjectRef> {
        let remembered = self.history().remembered();
        let clusters = self.anchor.store(Kind::Cluster).objects(None);
        clusters.iter().map(|cluster| self.believed(cluster, remembered)).collect()
    }

    /// A Cluster with those of its declarations that count.
    pub fn believed_of(&self, cluster: &ObjectRef) -> ObjectRef {
        self.believed(cluster, self.history().remembered())
    }

    fn believed(&self, cluster: &ObjectRef, remembered: Remembered) -> ObjectRef {
        declaring(cluster, self.clock().now(), |at| remembered.believes(at))
    }

    /// Why an annotation of a Cluster declares nothing, in words; `None` where each counts, or none is there.
    pub fn declaration_refusal(&self, cluster: &Object) -> Option<String> {
        Declaration::refusal(cluster, self.clock().now()).or_else(|| {
            let remembered = self.history().remembered();
            let noticed = remembered.last_restore.map(|at| format!(" at {at}")).unwrap_or_default();
            let (annotation, since) = declarations(cluster).into_iter().find_map(|(by, declared)| match declared {
                Declaration::Lost(since) if !remembered.believes(since) => Some((by, since)),
                Declaration::Lost(_) | Declaration::Invalid(_) => None,
            })?;
            Some(format!(
                "the annotation {annotation} of Cluster {} is of {since}, and the hub was found restored from a backup{noticed}: \
                 it may have been taken back, and the cell is not declared lost; take it off, or if the cell is lost, \
                 give it a later time or run `fedhub hub accept-restore`",
                cluster.name()
            ))
        })
    }

    /// Notifies all listeners of the Clusters whose declarations have begun to count or no longer do, as if
    /// the declarations had been changed just now.
    pub(crate) fn judge_declarations(&self, before: Remembered) {
        let now = self.history().remembered();
        let store = self.anchor.store(Kind::Cluster);
        for cluster in store.objects(None) {
            let without =
                declaring(&cluster, self.clock().now(), |at| before.believes(at) == now.believes(at));
            let Some(new) = store.get("", cluster.name()).filter(|_| !Arc::ptr_eq(&without, &cluster)) else {
                continue;
            };
            let change = Change::Applied { old: Some(Known { object: Some(without), ..new.clone() }), new };
            for listener in self.listeners().iter() {
                listener.changed(&self.anchor, Kind::Cluster, &change);
            }
        }
    }
}
