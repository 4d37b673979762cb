//! What objects are to be: the hub namespace, policy and WD, and the metadata of the project WD, each
//! rendered in one place.

use fedhub_api::hub_metadata::HubMetadata;
use fedhub_cache::normalization::settled;
use fedhub_core::finalizers;
use fedhub_core::names::{
    CITY_CODE, FEDERATOR_FINALIZER, SOURCE_GENERATION, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, encode_plane,
    policy_name,
};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, bare, set_field};
use fedhub_planes::{Write, WriteMode};
use serde_json::{Value, json};

use crate::snapshot::{KnownPolicy, Snapshot};

/// The WD on both planes, whole.
#[derive(Clone, Debug)]
pub struct Bodies {
    /// The project WD.
    pub project: ObjectRef,
    /// The hub WD.
    pub hub: HubBody,
}

/// The hub WD, as far as a plan is rendered from it.
#[derive(Clone, Debug)]
pub enum HubBody {
    /// It was not read, which tells nothing of whether it is there.
    Unread,
    /// It is not there.
    Absent,
    /// As it was read.
    Present(ObjectRef),
}

impl HubBody {
    /// The hub WD, where it was read.
    pub fn object(&self) -> Option<&ObjectRef> {
        match self {
            Self::Present(object) => Some(object),
            Self::Unread | Self::Absent => None,
        }
    }
}

impl From<Option<ObjectRef>> for HubBody {
    fn from(read: Option<ObjectRef>) -> Self {
        read.map_or(Self::Absent, Self::Present)
    }
}

/// What is merged into the metadata of a project WD before anything is written to the hub (I2, F2).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// Whether it gets our finalizer.
    pub finalizer: bool,
    /// Annotations that it gets, or loses.
    pub annotations: Vec<(&'static str, Option<String>)>,
}

impl Mark {
    /// The metadata to merge.
    pub fn render(self, project: &Object) -> Value {
        let mut metadata =
            if self.finalizer { finalizers::with(project, FEDERATOR_FINALIZER) } else { json!({}) };
        for (key, value) in self.annotations {
            metadata["annotations"][key] = json!(value);
        }
        metadata
    }
}

/// What becomes of the hub WD.
#[derive(Clone, Debug, PartialEq)]
pub enum HubChange {
    /// It is made, or made to follow the project WD.
    Follow(HubMetadata),
    /// Its protection comes off, as it is about to be deleted, or to be recalled first.
    Unprotect(HubMetadata),
}

impl HubChange {
    /// The write of the hub WD, where it is not as it should be: to follow, spec whole, our labels and
    /// annotations, the mirrored annotations, and all else as it is (F4, F6, F8, I9).
    pub fn render(&self, seen: &Snapshot, bodies: &Bodies) -> Option<Write> {
        let mut wanted = bodies.hub.object().map_or_else(
            || bare(Kind::WorkloadDeployment, &seen.hub_namespace_name, &seen.name),
            |hub| hub.as_ref().clone(),
        );
        let (mut differs, normalization) = (false, seen.spec_normalization);
        match self {
            Self::Unprotect(metadata) => metadata.render_unprotected(&mut wanted),
            Self::Follow(metadata) => {
                let spec = bodies.project.spec();
                differs = !settled(spec, wanted.spec(), normalization);
                metadata.render(&bodies.project, seen.is_suspended(), &mut wanted);
                set_field(&mut wanted, "spec", spec.clone());
            }
        }
        let Some(hub) = bodies.hub.object() else { return Some(Write::Create(Box::new(wanted))) };
        let same_generation = wanted.annotation(SOURCE_GENERATION) == hub.annotation(SOURCE_GENERATION);
        (differs || wanted.metadata != hub.metadata).then(|| Write::Replace {
            mode: WriteMode::of(differs, same_generation, normalization),
            object: Box::new(wanted),
        })
    }
}

/// The hub namespace with our two labels right and all else as it is (F3, I9).
pub(crate) fn namespace(seen: &Snapshot, current: Option<&ObjectRef>) -> Object {
    let mut namespace =
        current.map_or_else(|| bare(Kind::Namespace, "", &seen.hub_namespace_name), |c| c.as_ref().clone());
    let labels = namespace.metadata.labels.get_or_insert_default();
    labels.insert(UPSTREAM_CLUSTER.to_owned(), encode_plane(&seen.home.plane));
    labels.insert(UPSTREAM_NAMESPACE.to_owned(), seen.home.namespace.clone());
    namespace
}

/// The one policy for a city of a hub namespace, found by its label, not by its name (F5).
pub(crate) fn carrier<'a>(city: &str, policies: &'a [KnownPolicy]) -> Option<&'a KnownPolicy> {
    let carries = |p: &&KnownPolicy| p.object.label(CITY_CODE) == Some(city);
    policies.iter().filter(carries).min_by_key(|p| p.object.is_terminating()).or_else(|| {
        // Its label was taken off by hand: by its name it is ours.
        let names = [policy_name(city, |_| false), policy_name(city, |_| true)];
        let bald = |p: &&KnownPolicy| p.object.label(CITY_CODE).is_none();
        policies.iter().filter(bald).find(|p| names.iter().any(|n| n == p.object.name()))
    })
}

/// What a city's policy needs, where it is not being deleted.
pub(crate) fn policy(namespace: &str, city: &str, policies: &[KnownPolicy]) -> Option<Write> {
    let current = carrier(city, policies);
    let (spec, normalization) = (policy_spec(namespace, city), current.and_then(|p| p.normalization));
    let differs = current.is_none_or(|p| !settled(&spec, p.object.spec(), normalization));
    if !differs && current.is_some_and(|current| current.object.label(CITY_CODE) == Some(city)) {
        return None;
    }
    let taken = |name: &str| policies.iter().any(|p| p.object.name() == name);
    let mut policy = current.map_or_else(
        || bare(Kind::PropagationPolicy, namespace, &policy_name(city, taken)),
        |current| current.object.as_ref().clone(),
    );
    policy.metadata.labels.get_or_insert_default().insert(CITY_CODE.to_owned(), city.to_owned());
    set_field(&mut policy, "spec", spec);
    let object = Box::new(policy);
    Some(match current {
        Some(_) => Write::Replace { object, mode: WriteMode::of(differs, true, normalization) },
        None => Write::Create(object),
    })
}

/// The whole spec, with the defaults of Karmada's webhook, so that what stands equals what is meant.
fn policy_spec(namespace: &str, city: &str) -> Value {
    let resource = Kind::WorkloadDeployment.resource();
    let labels = json!({"matchLabels": {CITY_CODE: city}});
    json!({
        "conflictResolution": "Abort",
        "preemption": "Never",
        "priority": 0,
        "schedulerName": "default-scheduler",
        "propagateDeps": true,
        "resourceSelectors": [{
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "namespace": namespace,
            "labelSelector": labels,
        }],
        "placement": {
            "clusterAffinity": {"labelSelector": labels},
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
        },
    })
}
