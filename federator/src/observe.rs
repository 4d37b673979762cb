//! What a pass over one WD knows before it decides.

use fedhub_api::cells::CellDown;
use fedhub_cache::ServerNormalization;
use fedhub_core::names::{PlaneName, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, decode_plane};
use fedhub_core::object::{Object, ObjectRef, ObjectView};
use fedhub_planes::Distrust;
use jiff::Timestamp;

use crate::moving::Bound;

/// Everything that [`crate::plan::plan`] decides by.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The plane of the WD.
    pub plane: PlaneName,
    /// The WD in the project plane.
    pub project: ObjectRef,
    /// The name of its hub namespace, from the UID of the project namespace.
    pub hub_namespace_name: String,
    /// That namespace, if the hub has it.
    pub hub_namespace: Option<ObjectRef>,
    /// The WD of that name in it.
    pub hub: Option<ObjectRef>,
    /// The `PropagationPolicies` of that namespace.
    pub policies: Vec<Known>,
    /// How many Clusters carry the WD's city code.
    pub cells: usize,
    /// The first of them, where Karmada does not reach it.
    pub cell_down: Option<CellDown>,
    /// Whether every cell of the city that the hub WD is in, or else was to be in, is declared lost (C11).
    pub cell_lost: bool,
    /// What the hub made of the last spec that was sent.
    pub spec_normalization: Option<ServerNormalization>,
    /// What the project plane made of the last status that was sent.
    pub status_normalization: Option<ServerNormalization>,
    /// Whether the project is suspended: its plane is read and not written.
    pub suspended: bool,
    /// What Karmada's `ResourceBinding` says, where the hub WD records a move (F6).
    pub bound: Option<Bound>,
    /// Whether Karmada is to apply the hub WD anew (F8).
    pub stalled: bool,
    /// Why what the hub lacks may have been lost, if there is reason to think so (F9).
    pub distrust: Option<Distrust>,
    /// When the hub was last noticed to have been restored, also after it is trusted again.
    pub last_restore: Option<Timestamp>,
    /// Whether its hub WD was seen deleted, while this WD was being deleted.
    pub seen_deleted: bool,
    /// What live reads said, where the plan asked for them.
    pub live: Option<Live>,
    /// The time now.
    pub now: Timestamp,
}

/// An object of ours, and what its server made of the last spec that was sent.
#[derive(Clone, Debug)]
pub struct Known {
    /// The object.
    pub object: ObjectRef,
    /// The echo of its spec.
    pub echo: Option<ServerNormalization>,
}

/// The hub as live reads show it, past every store (I3).
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// The hub namespace.
    pub namespace: Option<ObjectRef>,
    /// The WD in it.
    pub deployment: Option<ObjectRef>,
}

impl Observed {
    /// What is seen of a WD while nothing is known of the hub.
    pub fn without_hub(
        plane: PlaneName,
        project: ObjectRef,
        status_normalization: Option<ServerNormalization>,
        now: Timestamp,
    ) -> Self {
        Self {
            plane,
            project,
            hub_namespace_name: String::new(),
            hub_namespace: None,
            hub: None,
            policies: Vec::new(),
            cells: 0,
            cell_down: None,
            cell_lost: false,
            spec_normalization: None,
            bound: None,
            stalled: false,
            status_normalization,
            suspended: false,
            distrust: None,
            last_restore: None,
            seen_deleted: false,
            live: None,
            now,
        }
    }

    /// `spec.cityCode`, empty where there is none.
    pub fn city(&self) -> &str {
        city(&self.project)
    }

    /// Whether that hub namespace may be used for this WD: it names this plane and namespace, or nobody yet.
    pub fn namespace_is_ours(&self, namespace: &Object) -> bool {
        let plane = namespace.label(UPSTREAM_CLUSTER);
        let space = namespace.label(UPSTREAM_NAMESPACE);
        plane.is_none_or(|p| decode_plane(p).as_ref() == Some(&self.plane))
            && space.is_none_or(|s| s == self.project.namespace())
    }

    /// Whether the labels of that hub namespace name this plane and namespace, both of them.
    pub fn namespace_names_us(&self, namespace: &Object) -> bool {
        let labels = [UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE].map(|label| namespace.label(label));
        labels.iter().all(Option::is_some) && self.namespace_is_ours(namespace)
    }
}

/// `spec.cityCode` of a WD, empty where there is none.
pub fn city(deployment: &Object) -> &str {
    deployment.spec().get("cityCode").and_then(serde_json::Value::as_str).unwrap_or_default()
}
