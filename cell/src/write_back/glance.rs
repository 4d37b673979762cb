//! What digests alone decide: no copy is read for it and none is built.
//!
//! Decides only where [`super::plan::plan`] would decide the same. Where it does not see that nothing is to do, the plan
//! does, and the [`Sight::circumstances`] that it was judged under are remembered.

use fedhub_api::cells::CellId;
use fedhub_cache::ServerNormalization;
use fedhub_cache::digest::instance::{StatusOrigin, copied, labels, only_defaults, says};
use fedhub_cache::digest::{Digest, Instance};
use fedhub_core::hash::{self, KeyedHasher};
use fedhub_core::names::{
    INSTANCE_FINALIZER, SERVICE_NAME, WORKLOAD_DEPLOYMENT_NAME, WORKLOAD_DEPLOYMENT_UID, encode_plane,
};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_planes::StatusWrite;
use jiff::Timestamp;

use super::copy::{Owner, owner, reference};
use super::decision::{Decision, itself};
use super::finalizer::is_released;
use super::refusal::Refusal;
use crate::status::hush::hushed;

/// What the stores tell of an Instance and its copy.
#[derive(Clone, Debug)]
pub struct Sight {
    /// Who the cell is.
    pub cell: CellId,
    /// Whether the cell is declared lost, so that it writes nothing new (C11).
    pub declared_lost: bool,
    /// The cell's Instance.
    pub instance: Option<ObjectRef>,
    /// The hub namespace, which has the name of the cell's.
    pub hub_namespace: Option<ObjectRef>,
    /// The WD that the Instance names, on the hub.
    pub deployment: Option<Digest>,
    /// The Instance of that name on the hub.
    pub copy: Option<Digest>,
    /// What the hub made of the last spec that was sent.
    pub spec_normalization: Option<ServerNormalization>,
    /// What the hub made of the last status that was sent.
    pub status_normalization: Option<ServerNormalization>,
    /// The time now.
    pub now: Timestamp,
}

impl Sight {
    /// What is to do, as far as it can be told without the whole copy.
    pub fn decide(&self) -> Option<Decision> {
        let Some(instance) = &self.instance else {
            return self.copy.is_none().then_some(Decision::Nothing);
        };
        if self.copy.as_ref().is_some_and(|copy| copy.uid.is(instance.uid())) {
            return Some(itself(instance));
        }
        if is_released(instance) {
            let copy = self.copy.as_ref().filter(|c| !c.terminating)?;
            return self
                .is_marked(instance, copy.instance()?)
                .then(|| Decision::Delete { copy: stub(instance, copy), inferred: false });
        }
        if self.declared_lost {
            return Some(Decision::Refuse(Refusal::DeclaredLost));
        }
        let owner = match owner(instance, self.hub_namespace.as_deref(), self.deployment.as_ref()) {
            Ok(owner) => owner,
            // Nothing is done about the copy then, whatever it is like.
            Err(decision) => return Some(decision),
        };
        let copy = self.copy.as_ref().filter(|c| !c.terminating)?;
        let is = copy.instance()?;
        let right = (instance.has_finalizer(INSTANCE_FINALIZER) || instance.is_terminating())
            && self.is_marked(instance, is)
            && is.bond == bond(&owner)
            && is.labels == labels(instance)
            && settled(self.spec_normalization, hash::json(instance.spec()), is.spec);
        if !right {
            return None;
        }
        let status = instance.status();
        if only_defaults(status) || settled(self.status_normalization, hash::json(status), is.status) {
            return Some(Decision::Nothing);
        }
        if let Some(wait) = hushed(instance, status, self.now) {
            return Some(Decision::Hush(wait));
        }
        // What a cell wrote before, and nobody remembers what became of it, a dry run has to tell: by the whole copy.
        let known = self.status_normalization.is_some() || is.status_origin != StatusOrigin::Reported;
        let write = || StatusWrite { status: status.clone(), probe: false };
        known.then(|| Decision::Status(stub(instance, copy), write()))
    }

    /// Whether the copy says of its source what that of `instance` does.
    fn is_marked(&self, instance: &Object, copy: &Instance) -> bool {
        let mark = self.cell.source(instance).to_string();
        let name = instance.label(WORKLOAD_DEPLOYMENT_NAME).unwrap_or_default();
        let owner = instance.label(WORKLOAD_DEPLOYMENT_UID);
        copy.copied == copied(Some(&mark), owner, Some(SERVICE_NAME.1), &[reference(name, "")])
    }

    /// A hash of all that the plan decides by, but for the time; never zero.
    pub fn circumstances(&self) -> u64 {
        let object = |sum: KeyedHasher, object: &Option<ObjectRef>| {
            let object = object.as_deref();
            sum.maybe(object.map(ObjectView::uid)).maybe(object.map(ObjectView::version))
        };
        let sum = object(object(KeyedHasher::default(), &self.instance), &self.hub_namespace);
        let deployment = self.deployment.as_ref().filter(|d| !d.terminating).map(|d| d.uid.to_string());
        let copy = self.copy.as_ref().map_or(0, |c| c.content);
        sum.maybe(deployment.as_deref())
            .number(copy)
            .text(&self.cell.uid)
            .number(self.declared_lost.into())
            .end()
            .max(1)
    }
}

/// What a copy says of whose it is.
fn bond(owner: &Owner<'_>) -> u64 {
    let (plane, uid) = (encode_plane(&owner.home.plane), owner.uid.to_string());
    says(Some(&plane), Some(&owner.home.namespace), Some(&uid))
}

fn settled(echo: Option<ServerNormalization>, desired: u64, current: u64) -> bool {
    desired == current || echo.is_some_and(|e| e.explains(desired, current))
}

/// The copy of `instance`, as much of it as its digest tells.
fn stub(instance: &Object, copy: &Digest) -> ObjectRef {
    copy.stub(Kind::Instance, instance.namespace(), instance.name())
}
