//! A world of whole objects around one hub Instance: its snapshot is what the caches would say of it, and
//! what is planned is rendered as it would be written.

use std::time::Duration;

use fedhub_api::cells::CellDown;
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_cache::ServerNormalization;
use fedhub_core::object::{Key, Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::{Bodies, Draft, Intent, Outcome, Plan, Subject};
use fedhub_planes::{Distrust, Precondition, ProjectNamespace, StatusWrite, Write, WriteMode, WriteState};
use fedhub_projector::plan;
use fedhub_projector::quarantine::Reason;
use fedhub_projector::render::render;
use fedhub_projector::snapshot::{Confirmed, Live, Snapshot};
use fedhub_projector::verdict::{DeletionUnconfirmed, ProjectionVerdict};
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
            |plane: &PlaneId, o: &Option<ObjectRef>| Some(Digest::new(plane, Kind::Instance, o.as_ref()?));
        let instance = digest(&PlaneId::Hub, &self.instance);
        let name = self.instance.as_ref().map_or("wd-0", |i| i.name()).to_owned();
        let created = self.instance.as_ref().and_then(|i| i.metadata.creation_timestamp.clone());
        let confirmed = || Confirmed { owner: None, created: created.map_or(self.now, |t| t.0) };
        Snapshot {
            deployment: instance
                .as_ref()
                .and_then(|i| i.instance().unwrap().deployment(&name).map(str::to_owned)),
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

impl Observed {
    /// The objects that a draft is made of.
    fn bodies(&self, draft: &Draft) -> Bodies {
        let body = |Subject { key, stub }: &Subject| {
            let mut objects = [&self.instance, &self.projection].into_iter().flatten();
            let body = objects.find(|it| it.uid() == stub.uid()).unwrap();
            assert_eq!(body.version(), stub.version());
            (key.clone(), body.clone())
        };
        draft.from.iter().map(body).collect()
    }
}

/// What is planned, rendered.
pub fn plan(seen: &Observed) -> Decision {
    let snapshot = seen.snapshot();
    let Plan { intents, verdict } = plan::plan(&snapshot);
    let [intent] = match <[Intent; 1]>::try_from(intents) {
        Ok(intent) => intent,
        Err(none) if none.is_empty() && verdict.is_none() => return Decision::InOrder,
        Err(intents) => {
            let projection = snapshot.projection_subject().unwrap();
            assert_eq!(intents, [Intent::Fetch(projection), Intent::ReadHub]);
            return Decision::ReadLive;
        }
    };
    match (intent, verdict) {
        (Intent::Render(draft), None) => match render(&snapshot, &draft, &seen.bodies(&draft)) {
            None => Decision::InOrder,
            Some(Intent::Put { write, recreate, .. }) => {
                assert_eq!(recreate, seen.projection);
                let direct = matches!(&write, Write::Replace { .. }) || draft.mode == WriteMode::Direct;
                assert!(direct, "a create needs no dry run");
                Decision::Write(write)
            }
            Some(Intent::PutStatus { of, write, .. }) => {
                let projection = seen.projection.clone().unwrap();
                assert_eq!((of.uid(), of.version()), (projection.uid(), projection.version()));
                Decision::Status(projection, write)
            }
            intent => panic!("{intent:?}"),
        },
        (Intent::Delete { subject, precondition: Precondition::Uid, inferred }, None) => {
            assert_eq!(Some(subject), snapshot.projection_subject());
            Decision::Delete { projection: seen.projection.clone().unwrap(), inferred }
        }
        (Intent::End(Outcome::RequeueAfter(_)), Some(ProjectionVerdict::Withheld(why))) => {
            Decision::Withhold(why)
        }
        (Intent::End(Outcome::RequeueAfter(wait)), Some(ProjectionVerdict::Parked)) => {
            Decision::Park(Some(wait))
        }
        (Intent::End(Outcome::AwaitChange), Some(ProjectionVerdict::Parked)) => Decision::Park(None),
        (Intent::End(Outcome::AwaitChange), Some(ProjectionVerdict::Quarantined(reason))) => {
            Decision::Quarantine(reason)
        }
        plan => panic!("{plan:?}"),
    }
}
