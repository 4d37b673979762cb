//! Everything that one server knows, behind one lock.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::Notify;

use crate::answer::Refusal;
use crate::audit::Audit;
use crate::clock::Clock;
use crate::faults::Faults;
use crate::meta;
use crate::resource::Resource;
use crate::store::{Key, Store};

/// Something to look at after a write.
pub(crate) enum Chore {
    /// An object with this UID is gone: look at its dependents.
    OwnerGone(String),
    /// This object names owners: are they there?
    Owned(Key),
    /// The content of this namespace changed, or it is being deleted.
    Namespace(String),
}

pub(crate) struct World {
    pub resources: Vec<Arc<Resource>>,
    pub store: Store,
    pub clock: Clock,
    pub gc: bool,
    pub chores: VecDeque<Chore>,
    pub faults: Faults,
    pub audit: Audit,
    /// Watches that began in an earlier epoch have ended.
    pub epoch: u64,
    /// The highest revision from before a backup was restored.
    pub highest: u64,
    /// Never goes back, also not when a backup is restored: no UID is ever given twice.
    pub minted: u64,
    pub name_hash: u64,
}

impl World {
    /// The next UID: the same in every run, another on every server.
    pub(crate) fn mint_uid(&mut self) -> String {
        self.minted += 1;
        let hash = format!("{:016x}", self.name_hash);
        let (head, tail) = hash.split_at(8);
        let (second, third) = tail.split_at(4);
        format!("{head}-{second}-4{}-8{}00-{:012x}", &third[..3], &third[3..], self.minted)
    }

    /// Five letters for `generateName`, from the real server's alphabet.
    pub(crate) fn mint_suffix(&mut self) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        self.minted += 1;
        let mut hash = meta::fnv(&(self.name_hash ^ self.minted).to_le_bytes());
        let mut suffix = String::new();
        for _ in 0..5 {
            let at = usize::try_from(hash % 27).unwrap_or_default();
            suffix.push(char::from(ALPHABET[at]));
            hash /= 27;
        }
        suffix
    }

    pub(crate) fn resource(&self, index: usize) -> Arc<Resource> {
        self.resources[index].clone()
    }

    /// The index of a resource, by kind, plural or `plural.group`.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.resources.iter().position(|resource| resource.answers_to(name))
    }

    /// The index of the resource that an object is of.
    pub(crate) fn of(&self, object: &Value) -> Option<usize> {
        self.resources
            .iter()
            .position(|r| object["kind"] == r.kind && object["apiVersion"] == r.api_version())
    }

    fn namespace_key(&self, name: &str) -> Option<Key> {
        let resource = self.resources.iter().position(|r| r.is_namespace())?;
        Some(Key { resource, namespace: String::new(), name: name.to_owned() })
    }

    /// A namespace's key and object; nothing if it does not exist, or this server has no namespaces.
    pub(crate) fn namespace(&self, name: &str) -> Option<(Key, Value)> {
        let key = self.namespace_key(name)?;
        let object = self.store.value(&key)?;
        Some((key, object))
    }

    /// Refuses new content for a namespace that is missing or on its way out.
    pub(crate) fn admit_into(&self, resource: &Resource, name: &str, namespace: &str) -> Result<(), Refusal> {
        let Some(key) = self.namespace_key(namespace).filter(|_| resource.namespaced) else { return Ok(()) };
        match self.store.value(&key) {
            None => Err(Refusal::not_found(&self.resources[key.resource], namespace)),
            Some(object) if meta::is_terminating(&object) => {
                Err(Refusal::namespace_terminating(resource, name, namespace))
            }
            Some(_) => Ok(()),
        }
    }

    /// Refuses changes of content whose namespace is missing, which it can be only by force.
    pub(crate) fn admit_change(&self, resource: &Resource, namespace: &str) -> Result<(), Refusal> {
        match self.namespace_key(namespace).filter(|_| resource.namespaced) {
            Some(key) if self.store.value(&key).is_none() => {
                Err(Refusal::not_found(&self.resources[key.resource], namespace))
            }
            _ => Ok(()),
        }
    }
}

/// A server's world and the bell that its watches listen to.
pub(crate) struct Shared {
    pub name: String,
    world: Mutex<World>,
    pub bell: Notify,
}

impl Shared {
    pub(crate) fn new(name: &str, world: World) -> Self {
        Self { name: name.to_owned(), world: Mutex::new(world), bell: Notify::new() }
    }

    /// The world, for reading. A test that panicked while holding it leaves it usable.
    pub(crate) fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to the world, and rings if a watch may care.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        let mut world = self.lock();
        let mark = |w: &World| (w.store.revision, w.epoch, w.faults.version());
        let before = mark(&world);
        let result = act(&mut world);
        let changed = mark(&world) != before;
        drop(world);
        if changed {
            self.bell.notify_waiters();
        }
        result
    }
}
