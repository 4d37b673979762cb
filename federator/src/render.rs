//! What objects are to be: the hub namespace, policy and WD, each rendered in one place; the status is in
//! [`status`].

use fedhub_api::hub_metadata::HubMetadata;
use fedhub_cache::normalization::settled;
use fedhub_core::clock::stamp;
use fedhub_core::names::{
    CITY_CODE, SOURCE_GENERATION, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, encode_plane, policy_name,
};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, PlaneId, bare, set_field};
use fedhub_engine::{Bodies, Draft, DraftPart, Intent};
use fedhub_planes::{Write, WriteMode};
use serde_json::{Value, json};

use crate::loss;
use crate::moving::under_way;
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::snapshot::Snapshot;
use crate::status;

/// The write of a draft, by the objects that it is made of; none where what it would write stands. `verdict`
/// is that of the plan, which the status shows.
pub fn render(seen: &Snapshot, verdict: Option<&Refusal>, draft: &Draft, bodies: &Bodies) -> Option<Intent> {
    let kind = Kind::WorkloadDeployment;
    let project = bodies.get(&seen.project_key())?;
    let hub = bodies.get(&seen.hub_key()).map(AsRef::as_ref);
    if draft.part == DraftPart::Status {
        let write = status::write(seen, verdict, project, hub)?;
        return Some(Intent::PutStatus { to: seen.project_key().plane, kind, of: project.clone(), write });
    }
    let write = hub_wd(seen, &draft.part, project, hub)?;
    Some(Intent::Put { to: PlaneId::Hub, kind, write, recreate: None })
}

/// The write of the hub WD, where it is not as it should be: to follow, spec whole, our labels and
/// annotations, the mirrored annotations, and all else as it is (F4, F6, F8, I9).
fn hub_wd(seen: &Snapshot, part: &DraftPart, project: &Object, hub: Option<&Object>) -> Option<Write> {
    let mut wanted = hub
        .map_or_else(|| bare(Kind::WorkloadDeployment, &seen.hub_namespace_name, &seen.name), Object::clone);
    let metadata = hub_metadata(seen);
    let normalization = seen.spec_normalization;
    let mut differs = false;
    if let DraftPart::Unprotected { recalled } = part {
        // None is made to be deleted.
        hub?;
        HubMetadata { recalled: recalled.clone(), ..metadata }.render_unprotected(&mut wanted);
    } else {
        let spec = project.spec();
        differs = !settled(spec, wanted.spec(), normalization);
        metadata.render(project, seen.is_suspended(), &mut wanted);
        set_field(&mut wanted, "spec", spec.clone());
    }
    let Some(hub) = hub else { return Some(Write::Create(Box::new(wanted))) };
    let same_generation = wanted.annotation(SOURCE_GENERATION) == hub.annotation(SOURCE_GENERATION);
    (differs || wanted.metadata != hub.metadata).then(|| Write::Replace {
        mode: WriteMode::new(differs && same_generation, normalization),
        object: Box::new(wanted),
    })
}

/// What the labels and annotations of the hub WD are rendered from.
pub(crate) fn hub_metadata(seen: &Snapshot) -> HubMetadata {
    let resync = match &seen.hub {
        // F8: from when Karmada is to apply it again until its cell has reported.
        _ if seen.stalled => Some(stamp(seen.now)),
        Some(hub) if Progress::from_snapshot(seen, None) != Progress::Applied => {
            hub.resync().map(str::to_owned)
        }
        _ => None,
    };
    HubMetadata {
        source: seen.source(),
        source_uid: seen.project.uid.to_string(),
        source_generation: seen.project.generation,
        namespace: seen.home.namespace.clone(),
        city: seen.city().to_owned(),
        replaces_lost: loss::stands(seen),
        moving: under_way(seen).map(|moving| moving.to_string()),
        resync,
        recalled: None,
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

/// What a city's policy needs, where it is not being deleted.
pub(crate) fn policy(seen: &Snapshot) -> Option<Write> {
    let Snapshot { hub_namespace_name: namespace, policies, .. } = seen;
    let city = seen.city();
    let current = seen.policy();
    let spec = policy_spec(namespace, city);
    let normalization = current.and_then(|policy| policy.normalization);
    let differs = current.is_none_or(|p| !settled(&spec, p.object.spec(), normalization));
    if !differs && current.is_some_and(|current| current.object.label(CITY_CODE) == Some(city)) {
        return None;
    }
    let mut policy = current.map_or_else(
        || {
            bare(
                Kind::PropagationPolicy,
                namespace,
                &policy_name(city, |name| policies.iter().any(|p| p.object.name() == name)),
            )
        },
        |current| current.object.as_ref().clone(),
    );
    policy.metadata.labels.get_or_insert_default().insert(CITY_CODE.to_owned(), city.to_owned());
    set_field(&mut policy, "spec", spec);
    let object = Box::new(policy);
    Some(match current {
        Some(_) => Write::Replace { object, mode: WriteMode::new(differs, normalization) },
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
