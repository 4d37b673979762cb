//! One plane: its client, its stores, its health.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::Watched;
use super::identity::Recognition;
use crate::engine::{Room, Store};
use crate::events::Events;
use crate::lease::Fence;
use crate::object::{Kind, Object, PlaneId};

/// How a plane is, as far as its watches tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Not all lists are complete yet, and nothing failed so far.
    Engaging,
    /// All watches are in sync.
    Engaged,
    /// A watch fails, for this reason.
    Unreachable(String),
}

impl Health {
    /// The metric label.
    pub fn state(&self) -> &'static str {
        match self {
            Self::Engaging => "engaging",
            Self::Engaged => "engaged",
            Self::Unreachable(_) => "unreachable",
        }
    }
}

/// One plane of the registry.
pub struct Plane {
    /// Which plane this is.
    pub id: PlaneId,
    /// Requests go through this; writes through [`crate::planes::writes`], so that stores learn of them.
    pub client: kube::Client,
    /// Events on objects of this plane.
    pub events: Events,
    /// Cancelled when the plane is disengaged; ends its tasks and no other's.
    pub stop: CancellationToken,
    pub(super) fence: Fence,
    stores: BTreeMap<Kind, (Watched, Store)>,
    /// What is known of kinds that are not watched here.
    nothing: Store,
    trouble: Mutex<BTreeMap<Kind, String>>,
    pub(super) recognition: Recognition,
}

impl Plane {
    /// A plane that is not watched yet. Writes to it have to pass `fence`; objects that wait for something to be done
    /// are kept as long as there is `room`.
    pub fn new(id: PlaneId, client: kube::Client, kinds: &[Watched], fence: Fence, room: &Room) -> Self {
        let store = |kind| Store::new(id.clone(), kind, room.clone());
        Self {
            stores: kinds.iter().map(|w| (w.kind, (w.clone(), store(w.kind)))).collect(),
            nothing: Store::new(id.clone(), Kind::Namespace, Room::of(0)),
            id,
            events: Events::new(client.clone(), "fedhub"),
            client,
            fence,
            stop: CancellationToken::new(),
            trouble: Mutex::default(),
            recognition: Recognition::certain(),
        }
    }

    /// The same, of which nobody knows yet whether it is the one that its name stands for.
    pub(super) fn unrecognised(mut self) -> Self {
        self.recognition = Recognition::default();
        self
    }

    /// The kinds that are watched here.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> + '_ {
        self.stores.keys().copied()
    }

    /// What is known of a kind. A kind that is not watched here has an empty store that is never in sync.
    pub fn store(&self, kind: Kind) -> &Store {
        self.stores.get(&kind).map_or(&self.nothing, |(_, store)| store)
    }

    /// What is watched of a kind here.
    pub fn watched(&self, kind: Kind) -> Option<&Watched> {
        self.stores.get(&kind).map(|(watched, _)| watched)
    }

    /// The store that `object` belongs into: none where the watch here would not show it, and so never show its end.
    pub(super) fn store_of(&self, kind: Kind, object: &Object) -> Option<&Store> {
        self.stores.get(&kind).filter(|(watched, _)| watched.selects(object)).map(|(_, store)| store)
    }

    fn all(&self) -> impl Iterator<Item = &Store> {
        self.stores.values().map(|(_, store)| store)
    }

    /// Whether the plane is the one that its name stands for, and all lists are complete, so that absence means
    /// something.
    pub fn synced(&self) -> bool {
        self.recognition.holds() && self.all().all(Store::synced)
    }

    /// How many objects are known.
    pub fn objects(&self) -> usize {
        self.all().map(Store::len).sum()
    }

    /// Bytes that their digests take, about.
    pub fn bytes(&self) -> usize {
        self.all().map(Store::bytes).sum()
    }

    /// How the plane is.
    pub fn health(&self) -> Health {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        match trouble.values().next() {
            Some(reason) => Health::Unreachable(reason.clone()),
            None if self.synced() => Health::Engaged,
            None => Health::Engaging,
        }
    }

    /// Nothing is wrong with this watch any more. Says whether that is news.
    pub(crate) fn healthy(&self, kind: Kind) -> bool {
        let news = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).remove(&kind).is_some();
        if news {
            tracing::info!(plane = %self.id, kind = %kind.resource().kind, "the watch works again");
        }
        news
    }

    /// Remembers what is wrong; says whether that is news.
    pub(crate) fn unhealthy(&self, kind: Kind, reason: String) -> bool {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.insert(kind, reason.clone()).as_ref() != Some(&reason)
    }
}
