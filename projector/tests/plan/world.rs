//! A world of whole objects around one hub Instance: its snapshot is what the caches would say of it, and what is planned
//! is rendered as it would be written.

use std::time::Duration;

use fedhub_api::cells::CellDown;
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_cache::ServerNormalization;
use fedhub_cache::normalization::settled;
use fedhub_core::object::{Key, Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_planes::{Distrust, ProjectNamespace, StatusWrite, Write, WriteMode, WriteState};
use fedhub_projector::desired::desired;
use fedhub_projector::intents::{DeletionUnconfirmed, ProjectionPlan};
use fedhub_projector::plan;
use fedhub_projector::quarantine::Reason;
use fedhub_projector::snapshot::{Confirmed, Live, Snapshot};
use fedhub_projector::unreachable::projected_status;
use jiff::Timestamp;

/// Everything about one hub Instance.
#[derive(Clone, Debug)]
pub struct Observed {
    pub home: ProjectNamespace,
    pub hub_namespace: ObjectRef,
    pub instance: Option<ObjectRef>,
    pub hub_deployment: Option<Digest>,
    pub owner: Option<Digest>,
    pub projection: Option<ObjectRef>,
    pub seen_deleted: Option<String>,
    pub distrust: Option<Distrust>,
    pub live: Option<Live>,
    pub withdrawn: bool,
    pub down: Option<CellDown>,
    pub spec_normalization: Option<ServerNormalization>,
    pub status_normalization: Option<ServerNormalization>,
    pub grace: Duration,
    pub now: Timestamp,
}

/// A plan, rendered with the objects that it is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    InOrder,
    Write(Write),
    Status(ObjectRef, StatusWrite),
    Delete { projection: ObjectRef, inferred: bool },
    ReadLive,
    Withhold(DeletionUnconfirmed),
    Park(Option<Duration>),
    Quarantine(Reason),
}

impl Observed {
    /// What the caches say of it, the owner being confirmed where they lack it.
    pub fn snapshot(&self) -> Snapshot {
        let digest =
            |plane: &PlaneId, o: &Option<ObjectRef>| Some(Digest::of(plane, Kind::Instance, o.as_ref()?));
        let instance = digest(&PlaneId::Hub, &self.instance);
        let name = self.instance.as_ref().map_or("wd-0", |i| i.name()).to_owned();
        let named = |i: &Digest| i.instance().unwrap().deployment(&name).map(str::to_owned);
        let created = self.instance.as_ref().and_then(|i| i.metadata.creation_timestamp.clone());
        let confirmed = || Confirmed { owner: None, created: created.map_or(self.now, |t| t.0) };
        Snapshot {
            deployment: instance.as_ref().and_then(named),
            confirmed: (self.owner.is_none() && instance.is_some()).then(confirmed),
            instance,
            projection: digest(&PlaneId::Project(self.home.plane.clone()), &self.projection),
            key: Key {
                plane: PlaneId::Hub,
                kind: Kind::Instance,
                namespace: self.hub_namespace.name().into(),
                name: name.into(),
            },
            target: self.home.clone(),
            hub_namespace: self.hub_namespace.clone(),
            hub_deployment: self.hub_deployment.clone(),
            owner: self.owner.clone(),
            seen_deleted: self.seen_deleted.clone(),
            distrust: self.distrust,
            live: self.live.clone(),
            down: self.down.clone(),
            spec_normalization: self.spec_normalization,
            status_normalization: self.status_normalization,
            writes: WriteState::Active,
            withdrawn: self.withdrawn,
            refetched: false,
            since_event: Duration::from_mins(1),
            grace: self.grace,
            now: self.now,
        }
    }
}

/// What is planned, rendered.
pub fn plan(seen: &Observed) -> Decision {
    let projection = || seen.projection.clone().unwrap();
    match plan::plan(&seen.snapshot()) {
        ProjectionPlan::Synced => Decision::InOrder,
        ProjectionPlan::Write { managed, mode } => {
            let (instance, current) = (seen.instance.as_deref().unwrap(), seen.projection.as_deref());
            let object = Box::new(desired(&seen.home.namespace, *managed, instance, current));
            let replace = current.is_some();
            assert!(replace || mode == WriteMode::Direct, "a create needs no dry run");
            Decision::Write(if replace { Write::Replace { object, mode } } else { Write::Create(object) })
        }
        ProjectionPlan::WriteStatus { mode } => {
            let (instance, projection) = (seen.instance.as_deref().unwrap(), projection());
            let down = seen.down.as_ref();
            let status = projected_status(instance.status(), projection.status(), down, seen.now);
            if down.is_some() && settled(&status, projection.status(), seen.status_normalization) {
                return Decision::InOrder;
            }
            let status = status.into_owned();
            Decision::Status(projection, StatusWrite { status, mode })
        }
        ProjectionPlan::Delete { inferred } => Decision::Delete { projection: projection(), inferred },
        ProjectionPlan::ReadHub => Decision::ReadLive,
        ProjectionPlan::Withhold(why) => Decision::Withhold(why),
        ProjectionPlan::Park(wait) => Decision::Park(wait),
        ProjectionPlan::Quarantine(reason) => Decision::Quarantine(reason),
        plan @ (ProjectionPlan::ConfirmOwner | ProjectionPlan::AwaitResume) => panic!("{plan:?}"),
    }
}
