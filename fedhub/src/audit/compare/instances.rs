//! Instances on the hub and in projects: what the projector would write is what differs.

use std::time::Duration;

use fedhub_api::facts::instance::of_deployment;
use fedhub_api::facts::{DigestExt, ProjectedFrom};
use fedhub_core::message::Quoted;
use fedhub_core::names::{INSTANCE_CITY, MOVING, PlaneName};
use fedhub_core::object::{Key, Kind, Object, ObjectView, PlaneId};
use fedhub_engine::{Intent, Plan};
use fedhub_federator::hub_namespace::HubNamespace;
use fedhub_planes::{ProjectNamespace, Write, WriteState};
use fedhub_projector::plan::plan;
use fedhub_projector::quarantine::Reason;
use fedhub_projector::render::render;
use fedhub_projector::snapshot::{Confirmed, Live, Snapshot, is_copy};
use fedhub_projector::unreachable::too_early;
use fedhub_projector::verdict::ProjectionVerdict;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::Value;

use super::context::{Context, Draft, Findings, key, key_of};
use super::differ::{Differs, objects, statuses};
use crate::audit::finding::Discrepancy;
use crate::audit::world::{Part, Project, Stored, changed};

const WD: Kind = Kind::WorkloadDeployment;
const INSTANCE: Kind = Kind::Instance;
/// `--projection-grace` of `fedhub run`, unless it is set there.
const PROJECTION_GRACE: Duration = Duration::from_mins(15);

pub fn compare(context: &Context<'_>, findings: &mut Findings<'_>) {
    for instance in context.world.hub.instances.iter() {
        let Some(namespace) = context.world.hub.namespaces.get("", instance.object.namespace()) else {
            continue;
        };
        let Some(home) = ProjectNamespace::from_hub_namespace(&namespace.object) else {
            let subject = key_of(PlaneId::Hub, INSTANCE, instance);
            let since = changed(&instance.object, Part::Spec).max(changed(&namespace.object, Part::Spec));
            let rests_on = vec![key_of(PlaneId::Hub, Kind::Namespace, namespace)];
            let detail = Reason::Unidentifiable.to_string();
            let discrepancy = Discrepancy::InstanceQuarantined;
            findings.add("", Draft { discrepancy, subject, detail, since, rests_on });
            continue;
        };
        if let Some(project) = context.world.projects.get(&home.plane) {
            let it = Copy { context, home: &home, project, namespace, name: instance.object.name() };
            let city = it.city(instance);
            let draft = it.compare();
            city.into_iter().chain(draft).for_each(|draft| findings.add(home.plane.as_str(), draft));
        }
    }
    for (plane, project) in &context.world.projects {
        for projection in project.instances.iter() {
            let wd_gone = wd_gone(plane, project, projection);
            if let Some(draft) = wd_gone.or_else(|| left(context, plane, project, projection)) {
                findings.add(plane.as_str(), draft);
            }
        }
    }
}

/// The place of a hub Instance, which may be empty.
pub struct Copy<'a> {
    pub context: &'a Context<'a>,
    pub home: &'a ProjectNamespace,
    pub project: &'a Project,
    /// The hub namespace.
    pub namespace: &'a Stored,
    pub name: &'a str,
}

impl<'a> Copy<'a> {
    fn instance(&self) -> Option<&'a Stored> {
        self.context.world.hub.instances.get(self.namespace.object.name(), self.name)
    }

    fn projection(&self) -> Option<&'a Stored> {
        self.project.instances.get(&self.home.namespace, self.name)
    }

    /// The name of the WD: of the hub Instance, else of the projection.
    fn deployment(&self) -> Option<&'a str> {
        self.instance()
            .or_else(|| self.projection())
            .and_then(|stored| stored.digest.instance()?.deployment(stored.object.name()))
    }

    fn hub_wd(&self) -> Option<&'a Stored> {
        self.context.world.hub.deployments.get(self.namespace.object.name(), self.deployment()?)
    }

    fn owner(&self) -> Option<&'a Stored> {
        self.project.deployments.get(&self.home.namespace, self.deployment()?)
    }

    fn hub_key(&self) -> Key {
        key(PlaneId::Hub, INSTANCE, self.namespace.object.name(), self.name)
    }

    fn projection_key(&self) -> Key {
        key(PlaneId::Project(self.home.plane.clone()), INSTANCE, &self.home.namespace, self.name)
    }

    /// All that the projector decides by; what was read is taken for live reads.
    pub fn snapshot(&self) -> Snapshot {
        let world = self.context.world;
        let instance = self.instance();
        let digest = |stored: Option<&Stored>| stored.map(|stored| stored.digest.clone());
        let object = |stored: Option<&'a Stored>| stored.map(|stored| stored.object.clone());
        let facts = instance.and_then(|it| it.digest.instance());
        let created = instance.and_then(|it| it.object.metadata.creation_timestamp.as_ref());
        Snapshot {
            key: self.hub_key(),
            target: self.home.clone(),
            hub_namespace: self.namespace.object.clone(),
            instance: digest(instance),
            deployment: self.deployment().map(str::to_owned),
            hub_deployment: digest(self.hub_wd()),
            owner: digest(self.owner()),
            confirmed: Some(Confirmed {
                owner: digest(self.owner()),
                created: created.map_or(Timestamp::UNIX_EPOCH, |at| at.0),
            }),
            projection: digest(self.projection()),
            seen_deleted: None,
            distrust: self.context.distrust(),
            refetched: false,
            live: Some(Live {
                namespace: Some(self.namespace.object.clone()),
                instance: object(instance),
                deployment: object(self.hub_wd()),
                copies: if instance.is_none() { self.copies() } else { 0 },
            }),
            down: facts.and_then(|facts| self.context.unreachable.get(facts.city)),
            spec_normalization: None,
            status_normalization: None,
            writes: WriteState::Active,
            withdrawn: false,
            since_event: Duration::MAX,
            grace: PROJECTION_GRACE,
            now: world.now,
        }
    }

    /// How many of the hub's Instances are the hub WD's and not being deleted.
    fn copies(&self) -> u64 {
        let Some(wd) = self.hub_wd() else { return 0 };
        let instances = self.context.world.hub.instances.within(self.namespace.object.name());
        instances.filter(|it| is_copy(&it.digest, it.object.name(), &wd.object)).count() as u64
    }

    fn draft(&self, discrepancy: Discrepancy, part: Part, detail: impl Into<String>) -> Draft {
        let times = [self.instance(), self.projection(), self.owner()].into_iter().flatten();
        let mut rests_on = vec![self.hub_key(), self.projection_key()];
        if let Some(name) = self.deployment() {
            let plane = PlaneId::Project(self.home.plane.clone());
            rests_on.push(key(plane, WD, &self.home.namespace, name));
            rests_on.push(key(PlaneId::Hub, WD, self.namespace.object.name(), name));
        }
        Draft {
            discrepancy,
            subject: self.projection_key(),
            detail: detail.into(),
            since: times.filter_map(|stored| changed(&stored.object, part)).max(),
            rests_on,
        }
    }

    /// A copy of another city than its WDs, where these agree.
    fn city(&self, instance: &Stored) -> Option<Draft> {
        let hub = self.hub_wd().filter(|hub| hub.object.annotation(MOVING).is_none())?;
        let is = instance.object.label(INSTANCE_CITY)?;
        let wanted = hub.digest.city()?;
        let agree = self.owner().is_some_and(|owner| owner.digest.city() == Some(wanted));
        let detail = || format!("it is of city {}, and its WD of {}", Quoted(is), Quoted(wanted));
        (is != wanted && agree && !instance.object.is_terminating()).then(|| Draft {
            subject: self.hub_key(),
            ..self.draft(Discrepancy::WrongCity, Part::Spec, detail())
        })
    }

    fn compare(&self) -> Option<Draft> {
        let seen = self.snapshot();
        let instance = self.instance()?;
        if seen.down.as_ref().is_some_and(|down| too_early(down, seen.now).is_some()) {
            return None;
        }
        let Plan { intents, verdict } = plan(&seen);
        match verdict {
            Some(ProjectionVerdict::Quarantined(reason)) => return self.quarantined(reason),
            Some(ProjectionVerdict::Parked) => return self.parked(instance),
            Some(ProjectionVerdict::Withheld(_)) | None => {}
        }
        let stored = [(self.hub_key(), Some(instance)), (self.projection_key(), self.projection())];
        let bodies = stored.into_iter().filter_map(|(key, it)| Some((key, it?.object.clone()))).collect();
        let [Intent::Render(draft)] = &intents[..] else { return None };
        match render(&seen, draft, &bodies)? {
            Intent::Put { write, .. } => self.write(&write),
            Intent::PutStatus { write, .. } => self.status(&write.status),
            _ => None,
        }
    }

    fn write(&self, write: &Write) -> Option<Draft> {
        let Some(projection) = self.projection() else {
            return Some(self.draft(Discrepancy::ProjectionMissing, Part::Spec, "it does not exist"));
        };
        let (Write::Create(wanted) | Write::Replace { object: wanted, .. }) = write;
        if let Some((discrepancy, detail)) = ownership(wanted, &projection.object) {
            return Some(self.draft(discrepancy, Part::Spec, detail));
        }
        let (differs, detail) = objects(wanted, &projection.object);
        let discrepancy = differs.or(Discrepancy::ProjectionDiffers);
        (differs != Differs::Not).then(|| self.draft(discrepancy, Part::Spec, detail))
    }

    fn status(&self, wanted: &Value) -> Option<Draft> {
        let differs = statuses(wanted, self.projection()?.object.status());
        let discrepancy = differs.or(Discrepancy::ProjectionStatusDiffers);
        (differs != Differs::Not).then(|| self.draft(discrepancy, Part::Status, differs.text()))
    }

    /// An Instance that waits for its WD. Where one of its WDs stands, what is wrong is found there.
    fn parked(&self, instance: &Stored) -> Option<Draft> {
        let going = |stored: Option<&Stored>| stored.is_some_and(|it| it.object.is_terminating());
        // Garbage collection takes what is left (P6), and what is made anew follows.
        if going(self.owner()) || going(self.projection()) || instance.object.is_terminating() {
            return None;
        }
        let mut owners = instance.object.metadata.owner_references.iter().flatten();
        let controller = owners.find(|it| it.controller == Some(true));
        let draft = |discrepancy, detail: &str| Draft {
            subject: self.hub_key(),
            ..self.draft(discrepancy, Part::Spec, detail)
        };
        match (self.owner(), self.hub_wd()) {
            (None, None) => {
                Some(draft(Discrepancy::InstanceParked, "neither project nor hub has a WD of its name"))
            }
            (Some(_), Some(wd)) if controller.is_some_and(|it| it.uid != wd.object.uid()) => {
                let detail = "its hub WD has another UID than its owner reference says";
                Some(draft(Discrepancy::DanglingOwner, detail))
            }
            _ => None,
        }
    }

    fn quarantined(&self, reason: Reason) -> Option<Draft> {
        let found_elsewhere = match reason {
            Reason::DeploymentAbsent => self.hub_wd().is_some(),
            Reason::StaleNamespace => self.owner().is_some_and(|owner| self.is_in_place(owner)),
            _ => false,
        };
        (!found_elsewhere).then(|| Draft {
            subject: self.hub_key(),
            ..self.draft(Discrepancy::InstanceQuarantined, Part::Spec, reason.to_string())
        })
    }

    /// Whether a project WD belongs into this hub namespace, whatever its annotation says.
    fn is_in_place(&self, owner: &Stored) -> bool {
        let place = self.context.hub_namespace_of(self.home, self.project, owner);
        matches!(place, HubNamespace::In(space) if space == self.namespace.object.name())
    }
}

/// What is wrong with the owner of a projection.
fn ownership(wanted: &Object, current: &Object) -> Option<(Discrepancy, String)> {
    let owners = |object: &Object| -> Vec<OwnerReference> {
        let all = object.metadata.owner_references.iter().flatten();
        all.filter(|it| of_deployment(it)).cloned().collect()
    };
    let wanted = owners(wanted);
    let current = owners(current);
    let right = wanted.first()?;
    match current.first() {
        None => Some((Discrepancy::ProjectionOwnerless, "it has no owner reference to its WD".to_owned())),
        Some(_) if current.iter().all(|it| it.uid == right.uid) => None,
        Some(other) => {
            let detail = format!("its owner {} has the UID {}, not {}", right.name, right.uid, other.uid);
            Some((Discrepancy::DanglingOwner, detail))
        }
    }
}

/// A projection whose WD is not in the project any more: its garbage collection takes it (P6), unless that
/// does not run.
fn wd_gone(plane: &PlaneName, project: &Project, projection: &Stored) -> Option<Draft> {
    let object = &projection.object;
    let facts = projection.digest.instance()?;
    let deployment = facts.deployment(object.name())?;
    let lives = project.deployments.get(object.namespace(), deployment).is_some();
    let plane = PlaneId::Project(plane.clone());
    (facts.is_projection(None) && !lives && !object.is_terminating()).then(|| Draft {
        discrepancy: Discrepancy::ProjectionWdGone,
        subject: key_of(plane.clone(), INSTANCE, projection),
        detail: format!("the project has no WD {}", Quoted(deployment)),
        since: changed(object, Part::Spec),
        rests_on: vec![key(plane, WD, object.namespace(), deployment)],
    })
}

/// A projection whose hub Instance is not there.
fn left(context: &Context<'_>, plane: &PlaneName, project: &Project, projection: &Stored) -> Option<Draft> {
    let object = &projection.object;
    let is_projection = projection.digest.instance().is_some_and(|facts| facts.is_projection(None));
    if !is_projection || object.is_terminating() {
        return None;
    }
    let home = ProjectNamespace { plane: plane.clone(), namespace: object.namespace().to_owned() };
    let spaces = context.hub_namespaces.get(&home).map(Vec::as_slice).unwrap_or_default();
    let name = object.name();
    let stands = |space: &&Stored| context.world.hub.instances.get(space.object.name(), name).is_some();
    if spaces.iter().any(stands) {
        return None;
    }
    let marked = ProjectedFrom::from_projection(object).map(|mark| mark.namespace.to_owned());
    let space = spaces.iter().find(|space| marked.as_deref() == Some(space.object.name()));
    let since = changed(object, Part::Spec);
    let subject = key_of(PlaneId::Project(plane.clone()), INSTANCE, projection);
    let rests_on: Vec<Key> = marked.iter().map(|space| key(PlaneId::Hub, INSTANCE, space, name)).collect();
    let draft = |detail: String| {
        Some(Draft {
            discrepancy: Discrepancy::ProjectionLeft,
            subject: subject.clone(),
            detail,
            since,
            rests_on: rests_on.clone(),
        })
    };
    let Some(namespace) = space else {
        return draft(
            "the hub namespace that its mark names is not that of its project namespace".to_owned(),
        );
    };
    let copy = Copy { context, home: &home, project, namespace, name };
    // Garbage collection takes it with its WD (P6).
    if copy.owner().is_some_and(|owner| owner.object.is_terminating()) {
        return None;
    }
    match plan(&copy.snapshot()).verdict {
        Some(ProjectionVerdict::Withheld(why)) => draft(format!("fedhub keeps it: {}", why.label())),
        _ => draft("the hub has no Instance of its name".to_owned()),
    }
}
