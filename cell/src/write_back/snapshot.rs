//! The state of the caches for an Instance and its copy, with what this reconcile has read past them.

use fedhub_api::cells::{CellId, CellSource};
use fedhub_api::facts::deployment::mark_hash;
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_cache::digest::{Uid, Version};
use fedhub_cache::{ObjectPart, ServerNormalization};
use fedhub_core::hash::KeyedHasher;
use fedhub_core::names::{SOURCE_UID, WORKLOAD_DEPLOYMENT_NAME};
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId};
use jiff::Timestamp;

use super::WriteBack;
use crate::domain::status::gates;
use crate::maker;

/// The inputs of a plan.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The key of the cell's Instance, whose copy has its namespace and name.
    pub key: Key,
    /// The identity of the cell.
    pub cell: CellId,
    /// Whether the cell is declared lost, so that it writes nothing new (C11).
    pub declared_lost: bool,
    /// The cell's Instance.
    pub instance: Option<ObjectRef>,
    /// The hub namespace, which has the name of the cell's.
    pub hub_namespace: Option<ObjectRef>,
    /// The WD that the Instance names, on the hub.
    pub deployment: Option<Digest>,
    /// The cell's WD that made the Instance.
    pub maker: Option<ObjectRef>,
    /// The Instance of that name on the hub.
    pub copy: Option<CopyFacts>,
    /// Whether the hub's watch shows an Instance of that name.
    pub copy_shown: bool,
    /// Whether the copy is one of a cell that is declared lost, so that its name may be taken over (C11).
    pub of_lost_cell: bool,
    /// The hash of the copy's source, where an unbroken watch has shown the end of the cell's Instance.
    pub seen_gone: Option<u64>,
    /// The cell's Instance of that name, where it was read live.
    pub live_instance: Option<LiveRead>,
    /// The hub's WD that the Instance names, where it was read live.
    pub live_deployment: Option<LiveRead>,
    /// How the hub stored the last spec that was sent.
    pub spec_normalization: Option<ServerNormalization>,
    /// How the hub stored the last status that was sent.
    pub status_normalization: Option<ServerNormalization>,
    /// The time now.
    pub now: Timestamp,
}

/// A plane's own answer, past its watch: this object, or that there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveRead(pub Option<ObjectRef>);

/// The facts about a copy.
#[derive(Clone, Debug)]
pub struct CopyFacts {
    /// Its identity and hashes.
    pub digest: Digest,
    /// The copy itself, where this reconcile has read it.
    pub body: Option<ObjectRef>,
}

impl CopyFacts {
    /// The facts of a copy that was read.
    pub fn from_body(body: ObjectRef) -> Self {
        Self { digest: Digest::new(&PlaneId::Hub, Kind::Instance, &body), body: Some(body) }
    }

    /// The cell that made the copy, where `instance` stands under its name and `managed` is what its copy
    /// should carry; `None` where that takes the copy itself.
    pub fn ownership(&self, cell: &CellId, expected: Option<(&Object, &Digest)>) -> Option<Ownership> {
        if let Some(body) = &self.body {
            return Some(Ownership::judge(body, cell, expected.map(|(instance, _)| instance)));
        }
        let (instance, managed) = expected?;
        let marked = self.digest.instance()?.source == managed.instance()?.source;
        marked.then(|| Ownership::Ours(instance.uid().to_owned()))
    }

    /// The copy, or as much of it as its digest has: enough to name it in a request, with its preconditions.
    pub fn object(&self, namespace: &str, name: &str) -> ObjectRef {
        self.body.clone().unwrap_or_else(|| self.digest.stub(Kind::Instance, namespace, name))
    }
}

/// The cell that made a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The copy is this cell's, for its Instance of that UID.
    Ours(String),
    /// Unknown: there is no mark, or none that can be read, as on copies from before there were marks.
    Unmarked,
    /// Another cell, which may have this cell's name; or an older version marked it with this cell's name
    /// alone, for an Instance that this cell does not have.
    Foreign(CellSource),
}

impl Ownership {
    /// The owner by the copy's mark, in `cell` where `instance` stands under its name.
    pub fn judge(copy: &Object, cell: &CellId, instance: Option<&Object>) -> Self {
        match CellSource::from_object(copy) {
            None => Self::Unmarked,
            Some(source) if source.is_of(cell, |uid| instance.is_some_and(|i| i.uid() == uid)) => {
                Self::Ours(source.instance_uid)
            }
            Some(source) => Self::Foreign(source),
        }
    }
}

impl Snapshot {
    /// Whether the copy stands for the hub's WD of that UID.
    pub fn is_copied_for(&self, uid: &Uid) -> bool {
        let copy = self.copy.as_ref().and_then(|copy| copy.digest.instance());
        copy.is_some_and(|copy| copy.is_controlled_by(&uid.to_string()))
    }

    /// Whether the cell's WD that made the Instance lives, and was made from the same WD of the project as
    /// the hub's (I5). One that is terminating belongs to an earlier WD, although Karmada may have written
    /// the new mark on it.
    pub fn is_made_from(&self, deployment: &Digest) -> bool {
        let maker = self.maker.as_ref().filter(|wd| !wd.is_terminating());
        let source = maker.map(|wd| mark_hash(wd.annotation(SOURCE_UID)));
        source.is_some() && source == deployment.deployment().map(|facts| facts.counterpart_uid)
    }

    /// A hash of all inputs but the time; zero where live reads are among them.
    pub fn fingerprint(&self) -> u64 {
        if self.live_instance.is_some() || self.live_deployment.is_some() {
            return 0;
        }
        let object = |hasher: KeyedHasher, object: &Option<ObjectRef>| {
            let object = object.as_deref();
            hasher.maybe(object.map(ObjectView::uid)).maybe(object.map(ObjectView::version))
        };
        let hasher = object(object(KeyedHasher::default(), &self.instance), &self.hub_namespace);
        let deployment = self.deployment.as_ref().filter(|d| !d.terminating);
        let uid = deployment.map(|d| d.uid.to_string());
        hasher
            .maybe(uid.as_deref())
            .number(deployment.is_some_and(|d| self.is_made_from(d)).into())
            .number(self.copy.as_ref().map_or(0, |copy| copy.digest.content))
            .text(&self.cell.uid)
            .number(self.declared_lost.into())
            .end()
            .max(1)
    }
}

/// The objects that a reconcile has read and stored, past the watches.
#[derive(Default)]
pub(super) struct LiveReads {
    /// The copy.
    pub(super) copy: Option<CopyRead>,
    /// The cell's Instance.
    pub(super) instance: Option<LiveRead>,
    /// The hub's WD.
    pub(super) deployment: Option<LiveRead>,
}

/// A copy as a reconcile has read or stored it.
pub(super) struct CopyRead {
    pub(super) body: Option<ObjectRef>,
    /// Whether that is the hub's answer to this reconcile; else it is valid for as long as the cache knows
    /// this version.
    pub(super) confirmed: bool,
}

impl WriteBack {
    /// Returns the state of the caches, with what was read past them.
    pub(super) fn snapshot(&self, key: &Key, cell: &CellId, reads: &LiveReads) -> Snapshot {
        let hub = self.hub.hub();
        let namespace = &*key.namespace;
        let name = &*key.name;
        let instance = self.cell.anchor().store(Kind::Instance).object(namespace, name);
        let copies = hub.store(Kind::Instance);
        let known = copies.digest(namespace, name);
        let copy_shown = known.is_some();
        let copy = match &reads.copy {
            Some(CopyRead { body, confirmed: true }) => body.clone().map(CopyFacts::from_body),
            read => {
                let body = read.as_ref().and_then(|read| read.body.clone());
                let is_known = |digest: &Digest| {
                    body.clone().filter(|body| digest.version == Version::new(body.version()))
                };
                known.map(|digest| CopyFacts { body: is_known(&digest), digest })
            }
        };
        let body = copy.as_ref().and_then(|copy| copy.body.as_ref());
        let deployment = instance.as_ref().and_then(|i| i.label(WORKLOAD_DEPLOYMENT_NAME));
        Snapshot {
            key: key.clone(),
            cell: cell.clone(),
            declared_lost: self.identity.declared_lost(cell).is_some(),
            hub_namespace: hub.store(Kind::Namespace).object("", namespace),
            maker: instance.as_deref().and_then(|instance| maker(self.cell.anchor(), instance)),
            deployment: deployment
                .and_then(|name| hub.store(Kind::WorkloadDeployment).digest(namespace, name)),
            of_lost_cell: body.is_some_and(|body| self.identity.is_of_lost_cell(body)),
            copy,
            copy_shown,
            seen_gone: self.seen_gone.lock().get(key).copied(),
            live_instance: reads.instance.clone(),
            live_deployment: reads.deployment.clone(),
            spec_normalization: copies.normalization(namespace, name, ObjectPart::Spec),
            status_normalization: copies.normalization(namespace, name, ObjectPart::Status),
            now: self.cell.clock().now(),
            instance,
        }
    }

    /// Whether the copy was found in sync with these inputs before.
    pub(super) fn is_synced(&self, key: &Key, snapshot: &Snapshot) -> bool {
        let synced_under = self.hub.hub().store(Kind::Instance).synced_under(&key.namespace, &key.name);
        synced_under != 0 && synced_under == snapshot.fingerprint()
    }

    /// The copy is in sync, or nothing can be done about it: it leaves memory. That of an Instance with gates
    /// stays, for its spec will change.
    pub(super) fn mark_synced(&self, key: &Key, snapshot: &Snapshot, fingerprint: u64) {
        let gated = snapshot.instance.as_ref().is_some_and(|i| !gates::of(i).is_empty());
        if let Some(copy) = snapshot.copy.as_ref()
            && !gated
        {
            let copies = self.hub.hub().store(Kind::Instance);
            copies.mark_synced(&key.namespace, &key.name, &copy.digest.version, fingerprint);
        }
    }
}
