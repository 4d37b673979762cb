//! Random worlds: an Instance, its copy and what else the plan of the write-back sees.

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::cells::CellId;
use fedhub_api::facts::Digest;
use fedhub_cache::ServerNormalization;
use fedhub_cell::domain::instances::owner_reference;
use fedhub_cell::write_back::plan;
use fedhub_cell::write_back::refusal::{WriteBackRefusal, WriteBackVerdict};
use fedhub_cell::write_back::render::{CopyOwner, desired, managed};
use fedhub_cell::write_back::snapshot::{CopyFacts, LiveRead, Snapshot};
use fedhub_core::names::{
    CELL_SOURCE, INSTANCE_CITY, LINKING_LABELS, SERVICE_NAME, SOURCE_UID, UPSTREAM_CLUSTER,
    UPSTREAM_NAMESPACE, WORKLOAD_DEPLOYMENT_NAME,
};
use fedhub_core::object::{Key, Kind, Object, ObjectView, PlaneId, bare, set_field};
use fedhub_engine::{Intent, Outcome, Plan};
use fedhub_planes::{Precondition, Write, WriteMode};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::write_back::support::{SOURCE, status};

/// The marks of this cell begin so.
const CELL: &str = "dfw/uid-of-dfw";
const UID: &str = "uid-of-instance";
pub const WD_UID: &str = "uid-of-wd";
const DEFAULTS: &str = "1970-01-01T00:00:00Z";

/// What is planned, in short.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    Unchanged,
    Park,
    Refuse(WriteBackRefusal),
    Create(Object),
    Replace(Object),
    WriteStatus(WriteMode),
    Wait(Duration),
    Delete { inferred: bool },
    FetchCopy,
    ReadInstance,
    ReadDeployment,
}

/// What is planned.
pub fn plan(snapshot: &Snapshot) -> Decision {
    let Plan { mut intents, verdict } = plan::plan(snapshot);
    let Some(intent) = intents.pop() else {
        assert_eq!(verdict, None);
        return Decision::Unchanged;
    };
    assert!(intents.is_empty(), "{intents:?} before {intent:?}");
    let body = snapshot.copy.as_ref().and_then(|copy| copy.body.clone());
    match (intent, verdict) {
        (Intent::End(Outcome::AwaitChange), Some(WriteBackVerdict::Parked)) => Decision::Park,
        (Intent::End(end), Some(WriteBackVerdict::Refused(refusal))) => {
            assert!(end == Outcome::AwaitChange || !snapshot.copy_shown, "an event follows");
            Decision::Refuse(refusal)
        }
        (Intent::End(Outcome::RequeueAfter(wait)), None) => Decision::Wait(wait),
        (Intent::Put { to: PlaneId::Hub, write: Write::Create(object), recreate: None, .. }, None) => {
            Decision::Create(*object)
        }
        (Intent::Put { to: PlaneId::Hub, write: Write::Replace { object, .. }, recreate, .. }, None) => {
            assert_eq!(recreate, body);
            Decision::Replace(*object)
        }
        (Intent::PutStatus { to: PlaneId::Hub, of, write, .. }, None) => {
            assert!(snapshot.copy.as_ref().unwrap().digest.uid.is(of.uid()));
            assert_eq!(&write.status, snapshot.instance.as_ref().unwrap().status());
            Decision::WriteStatus(write.mode)
        }
        (Intent::Delete { subject, precondition: Precondition::Uid, inferred }, None) => {
            assert_eq!((&subject.key.plane, &subject.key.name), (&PlaneId::Hub, &snapshot.key.name));
            assert!(snapshot.copy.as_ref().unwrap().digest.uid.is(subject.stub.uid()));
            Decision::Delete { inferred }
        }
        (Intent::FetchCopy, None) => Decision::FetchCopy,
        (Intent::ReadLive(key), None) if key.plane == PlaneId::Cell => {
            assert_eq!(key, snapshot.key);
            Decision::ReadInstance
        }
        (Intent::ReadLive(key), None) => {
            assert_eq!((key.kind, &*key.name), (Kind::WorkloadDeployment, "wd"));
            Decision::ReadDeployment
        }
        other => panic!("{other:?}"),
    }
}

/// All that the plan may see.
#[derive(Clone, Debug)]
pub struct Facts {
    pub instance: Option<Object>,
    pub namespace: Option<Object>,
    pub deployment: Option<Object>,
    /// The cell's WD that made the Instance.
    pub maker: Option<Object>,
    pub copy: Option<Object>,
    /// How many copies were made.
    pub made: usize,
    /// Whether the cell itself is declared lost, and whether every other is.
    pub declared_lost: bool,
    pub others_lost: bool,
}

impl Facts {
    /// What the caches say, where they know the copy by its digest alone.
    pub fn known(&self, normalization: Option<ServerNormalization>) -> Snapshot {
        let digest = |kind, object: &Option<Object>| {
            object.as_ref().map(|object| Digest::new(&PlaneId::Hub, kind, object))
        };
        let named = self.instance.as_ref().and_then(|i| i.label(WORKLOAD_DEPLOYMENT_NAME)) == Some("wd");
        let copy = digest(Kind::Instance, &self.copy);
        let name = [&self.instance, &self.copy].into_iter().flatten().next().map_or("wd-0", |it| it.name());
        Snapshot {
            key: Key {
                plane: PlaneId::Cell,
                kind: Kind::Instance,
                namespace: "ns-1".into(),
                name: name.into(),
            },
            copy_shown: copy.is_some(),
            cell: CellId { name: "dfw".into(), uid: "uid-of-dfw".into() },
            declared_lost: self.declared_lost,
            instance: self.instance.clone().map(Arc::new),
            hub_namespace: self.namespace.clone().map(Arc::new),
            deployment: digest(Kind::WorkloadDeployment, &self.deployment).filter(|_| named),
            maker: self.maker.clone().map(Arc::new),
            copy: copy.map(|digest| CopyFacts { digest, body: None }),
            seen_gone: None,
            of_lost_cell: self.others_lost,
            live_instance: None,
            live_deployment: None,
            spec_normalization: normalization,
            status_normalization: normalization,
            now: now(),
        }
    }

    /// Returns the snapshot with the copy itself, which has been read.
    pub fn read(&self, normalization: Option<ServerNormalization>) -> Snapshot {
        let copy = self.copy.clone().map(|copy| CopyFacts::from_body(Arc::new(copy)));
        Snapshot { copy, ..self.known(normalization) }
    }

    /// The copy as it should stand; `None` where the Instance has no owner.
    pub fn rendered(&self) -> Option<Object> {
        let snapshot = self.known(None);
        let instance = self.instance.as_ref()?;
        let owner = CopyOwner::from_instance(instance, &snapshot).ok()?;
        Some(desired(instance, managed(instance, &snapshot.cell, Some(&owner)), self.copy.as_ref()))
    }

    /// Does what is planned until nothing is left; says what was done.
    pub fn settle(&mut self) -> Vec<Decision> {
        let mut done = Vec::new();
        let mut snapshot = self.read(None);
        for _ in 0..12 {
            let Snapshot { instance, copy, .. } = self.read(None);
            snapshot = Snapshot { instance, copy, ..snapshot };
            let planned = plan(&snapshot);
            done.push(planned.clone());
            match planned {
                Decision::Unchanged | Decision::Park | Decision::Refuse(_) | Decision::Wait(_) => {
                    return done;
                }
                Decision::Create(created) => {
                    assert_eq!(Some(created), self.rendered());
                    assert!(self.copy.is_none());
                    self.made += 1;
                    let mut made = self.rendered().unwrap();
                    made.metadata.uid = Some(format!("uid-of-copy-{}", self.made));
                    made.metadata.resource_version = Some("9".to_owned());
                    self.copy = Some(made);
                }
                Decision::Replace(written) => {
                    let rendered = self.rendered();
                    assert_eq!(Some(written), rendered);
                    assert_eq!(self.copy.as_ref().unwrap().uid(), rendered.as_ref().unwrap().uid());
                    self.copy = rendered;
                }
                Decision::WriteStatus(_) => {
                    let status = self.instance.as_ref().unwrap().status().clone();
                    set_field(self.copy.as_mut().unwrap(), "status", status);
                }
                Decision::Delete { .. } => {
                    assert!(self.copy.is_some());
                    self.copy = None;
                }
                Decision::FetchCopy => panic!("the copy has been read"),
                Decision::ReadInstance => {
                    snapshot.live_instance = Some(LiveRead(self.instance.clone().map(Arc::new)));
                }
                Decision::ReadDeployment => {
                    snapshot.live_deployment = Some(LiveRead(self.deployment.clone().map(Arc::new)));
                }
            }
        }
        panic!("does not converge: {done:?}");
    }
}

pub fn now() -> Timestamp {
    Timestamp::from_second(1_767_225_600).unwrap()
}

/// It was made just now, and is not yet what it is to be.
pub fn coming_up(instance: &mut Object) {
    instance.metadata.creation_timestamp = Some(Time(now()));
    let ready = json!({"type": "Ready", "status": "False", "reason": "PendingProgramming", "message": ""});
    set_field(instance, "status", json!({"conditions": [ready]}));
}

/// It waits for its networks.
pub fn gate(instance: &mut Object) {
    let gates = json!({"schedulingGates": [{"name": "Network"}]});
    set_field(instance, "spec", json!({"size": "small", "controller": gates}));
}

pub fn labelled(object: &mut Object, labels: &[(&str, &str)]) {
    let all = object.metadata.labels.get_or_insert_default();
    all.extend(labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
}

pub fn instance() -> Object {
    let mut instance = bare(Kind::Instance, "ns-a", "wd-0");
    instance.metadata.uid = Some(UID.to_owned());
    instance.metadata.resource_version = Some("5".to_owned());
    for key in LINKING_LABELS {
        labelled(&mut instance, &[(key, "x")]);
    }
    labelled(
        &mut instance,
        &[(WORKLOAD_DEPLOYMENT_NAME, "wd"), (UPSTREAM_CLUSTER, "cluster-evil"), (UPSTREAM_NAMESPACE, "evil")],
    );
    instance.metadata.annotations = Some([("note".to_owned(), "private".to_owned())].into());
    set_field(&mut instance, "spec", json!({"size": "small"}));
    set_field(&mut instance, "status", status("True"));
    instance
}

/// A WD that is made from the project's WD of that UID.
pub fn made_from(wd: &mut Object, source: &str) {
    wd.metadata.annotations = Some([(SOURCE_UID.to_owned(), source.to_owned())].into());
}

pub fn right() -> Facts {
    let mut namespace = bare(Kind::Namespace, "", "ns-a");
    labelled(&mut namespace, &[(UPSTREAM_CLUSTER, "cluster-alpha"), (UPSTREAM_NAMESPACE, "shop")]);
    let mut deployment = bare(Kind::WorkloadDeployment, "ns-a", "wd");
    deployment.metadata.uid = Some(WD_UID.to_owned());
    made_from(&mut deployment, SOURCE);
    let mut maker = bare(Kind::WorkloadDeployment, "ns-a", "wd");
    made_from(&mut maker, SOURCE);
    let mut facts = Facts {
        instance: Some(instance()),
        namespace: Some(namespace),
        deployment: Some(deployment),
        maker: Some(maker),
        copy: None,
        made: 0,
        declared_lost: false,
        others_lost: false,
    };
    facts.settle();
    facts
}

pub fn die(object: &mut Object) {
    object.metadata.deletion_timestamp = Some(Time("2026-01-01T00:00:00Z".parse().unwrap()));
}

/// How a world may differ from one in which all is right.
pub fn worlds() -> impl Strategy<Value = Facts> {
    let presence = (0..8u8, 0..8u8, 0..8u8, 0..8u8);
    let edits = (0..12u8, 0..8u8, 0..10u8, 0..4u8);
    (presence, edits, 0..6u8, 0..8u8).prop_map(
        |((gone, dying, named, annotated), (owned, labels, status_is, spec), lost, made)| {
            let mut facts = right();
            (facts.declared_lost, facts.others_lost) = (lost == 0, lost == 1);
            let instance = facts.instance.as_mut().unwrap();
            let copy = facts.copy.as_mut().unwrap();
            copy.metadata.annotations = match annotated {
                0 => None,
                1 => Some([(CELL_SOURCE.to_owned(), "ord/uid".to_owned())].into()),
                2 => Some([(CELL_SOURCE.to_owned(), format!("{CELL}/uid-of-earlier"))].into()),
                // Another cluster under this cell's name; and marks of an older version, by name alone.
                3 => Some([(CELL_SOURCE.to_owned(), format!("dfw/uid-of-twin/{UID}"))].into()),
                4 => Some([(CELL_SOURCE.to_owned(), format!("dfw/{UID}"))].into()),
                5 => Some([(CELL_SOURCE.to_owned(), "dfw/uid-of-earlier".to_owned())].into()),
                _ => copy.metadata.annotations.clone(),
            };
            let foreign = OwnerReference {
                kind: "ConfigMap".to_owned(),
                api_version: "v1".to_owned(),
                controller: Some(owned == 3),
                ..owner_reference("friend", "uid-of-friend")
            };
            match owned {
                0 => copy.metadata.owner_references = None,
                1 => copy.metadata.owner_references = Some(vec![owner_reference("wd", "dead")]),
                2 => copy.metadata.owner_references.as_mut().unwrap().push(owner_reference("other", "dead")),
                3 => copy.metadata.owner_references = Some(vec![foreign]),
                4 => copy.metadata.owner_references.as_mut().unwrap().push(foreign),
                5 => copy.metadata.owner_references.as_mut().unwrap()[0].block_owner_deletion = None,
                _ => {}
            }
            match labels {
                0 => labelled(copy, &[(UPSTREAM_CLUSTER, "cluster-beta")]),
                1 => labelled(copy, &[(INSTANCE_CITY, "y"), ("karmada.io/x", "kept")]),
                2 => labelled(copy, &[(SERVICE_NAME.0, "other")]),
                3 => labelled(instance, &[(LINKING_LABELS[1], "changed")]),
                4 => labelled(instance, &[(LINKING_LABELS[4], "")]),
                _ => {}
            }
            let defaults = json!({"conditions": [{"type": "Ready", "lastTransitionTime": DEFAULTS}]});
            match status_is {
                0 => set_field(copy, "status", Value::Null),
                1 => set_field(copy, "status", defaults),
                2 => set_field(copy, "status", status("False")),
                3 => set_field(instance, "status", defaults),
                4 => set_field(instance, "status", Value::Null),
                5 => coming_up(instance),
                6 => {
                    coming_up(instance);
                    set_field(copy, "status", Value::Null);
                }
                _ => {}
            }
            match spec {
                0 => set_field(instance, "spec", json!({"size": "large", "unknown": 1})),
                1 => gate(instance),
                _ => {}
            }
            match made {
                0 => facts.maker = None,
                1 => die(facts.maker.as_mut().unwrap()),
                2 => made_from(facts.maker.as_mut().unwrap(), "uid-of-earlier"),
                _ => {}
            }
            match dying {
                0 | 1 => die(instance),
                2 => die(copy),
                3 => die(facts.deployment.as_mut().unwrap()),
                4 => die(facts.namespace.as_mut().unwrap()),
                _ => {}
            }
            match named {
                0 => facts.namespace.as_mut().unwrap().metadata.labels = None,
                1 => labelled(facts.namespace.as_mut().unwrap(), &[(UPSTREAM_CLUSTER, "nonsense")]),
                _ => {}
            }
            match gone {
                0 => facts.instance = None,
                1 => facts.copy = None,
                2 => facts.deployment = None,
                3 => facts.namespace = None,
                _ => {}
            }
            facts
        },
    )
}
