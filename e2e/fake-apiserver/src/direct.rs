//! What a test does to the objects without a client.

use serde_json::{Value, json};

use crate::answer::Refusal;
use crate::object::Stored;
use crate::patch::Patch;
use crate::server::ApiServer;
use crate::store::Key;
use crate::world::World;
use crate::write::{self, Deleted, Preconditions};
use crate::{meta, validate};

/// Direct access: what a test sees and does without a client, unrecorded and past all faults.
impl ApiServer {
    /// An object, by kind (or plural, or `plural.group`), namespace (empty for none) and name.
    pub fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        let world = self.shared.lock();
        let key = world.key(kind, namespace, name)?;
        world.store.value(&key)
    }

    /// All objects of a kind, in the order of namespace and name.
    pub fn list(&self, kind: &str) -> Vec<Value> {
        let world = self.shared.lock();
        let resource = world.find(kind);
        resource
            .map(|r| world.store.scan(r, None).map(|(_, object)| object.value()).collect())
            .unwrap_or_default()
    }

    /// Namespace and name of all objects of a kind, in that order.
    pub fn names(&self, kind: &str) -> Vec<(String, String)> {
        let world = self.shared.lock();
        let of = |key: &Key| (key.namespace.clone(), key.name.clone());
        world
            .find(kind)
            .map(|r| world.store.scan(r, None).map(|(key, _)| of(key)).collect())
            .unwrap_or_default()
    }

    /// Creates or replaces an object as a user who may do all things: status and immutable fields too, in a
    /// namespace that is made if need be. A status that is not said is left as it is. A new object may say
    /// its UID and creationTimestamp.
    pub fn put(&self, object: Value) -> Result<Value, Refusal> {
        self.shared.with(|world| world.put(object))
    }

    /// Merges into an object, as [`ApiServer::put`] would: labels, finalizers, spec, status.
    pub fn patch(&self, kind: &str, namespace: &str, name: &str, patch: &Value) -> Result<Value, Refusal> {
        let stored = self.shared.with(|world| world.patch_directly(kind, namespace, name, patch));
        stored.map(|object| object.value())
    }

    /// Merges into an object's status.
    pub fn patch_status(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
        status: &Value,
    ) -> Result<Value, Refusal> {
        self.patch(kind, namespace, name, &json!({ "status": status }))
    }

    /// Deletes an object as a client's DELETE does: finalizers hold it. Says whether it is gone.
    pub fn delete(&self, kind: &str, namespace: &str, name: &str) -> Result<bool, Refusal> {
        self.shared.with(|world| world.delete_directly(kind, namespace, name))
    }

    /// Takes a namespace away by force: what is in it stays, and can be read and deleted, but not changed.
    pub fn remove_namespace(&self, name: &str) -> Result<(), Refusal> {
        self.shared.with(|world| world.remove_namespace(name))
    }
}

impl World {
    /// Where an object would be; nothing if its kind is not served.
    pub(crate) fn key(&self, kind: &str, namespace: &str, name: &str) -> Option<Key> {
        let resource = self.find(kind)?;
        let namespace = if self.resources[resource].namespaced { namespace } else { "" };
        Some(Key { resource, namespace: namespace.to_owned(), name: name.to_owned() })
    }

    fn key_of_existing(&self, kind: &str, namespace: &str, name: &str) -> Result<Key, Refusal> {
        let key = self.key(kind, namespace, name).ok_or_else(Refusal::no_such_path)?;
        if self.store.objects.contains_key(&key) {
            return Ok(key);
        }
        Err(Refusal::not_found(&self.resources[key.resource], name))
    }

    /// Creates or replaces, whatever the rules for clients say.
    pub(crate) fn put(&mut self, mut object: Value) -> Result<Value, Refusal> {
        let index = self.of(&object).ok_or_else(Refusal::no_such_path)?;
        let resource = self.resource(index);
        let namespace = match meta::text(&object, "namespace") {
            _ if !resource.namespaced => String::new(),
            "" => "default".to_owned(),
            namespace => namespace.to_owned(),
        };
        validate::shape(&resource, &namespace, &mut object)?;
        if resource.namespaced {
            self.ensure_namespace(&namespace);
        }
        let key = Key { resource: index, namespace, name: meta::text(&object, "name").to_owned() };
        if let Some(old) = self.store.value(&key) {
            if object["status"].is_null() {
                meta::set_top(&mut object, "status", old["status"].clone());
            }
            return Ok(self.overwrite(&key, &old, object).value());
        }
        validate::values(&resource, None, &object)?;
        self.admit_into(&resource, &key.name, &key.namespace)?;
        let minted = self.mint_uid();
        let uid = meta::get(&object, "uid").clone();
        let made = meta::get(&object, "creationTimestamp").clone();
        meta::set(&mut object, "uid", if uid.is_null() { json!(minted) } else { uid });
        meta::set(
            &mut object,
            "creationTimestamp",
            if made.is_null() { json!(self.clock.stamp()) } else { made },
        );
        for field in ["resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds"] {
            meta::set(&mut object, field, Value::Null);
        }
        let status = object["status"].clone();
        write::finish_new(&resource, &mut object);
        if !status.is_null() {
            meta::set_top(&mut object, "status", status);
        }
        let stored = self.commit(&key, None, Some(object));
        self.settle();
        stored.map(|object| object.value()).ok_or_else(|| Refusal::internal("nothing was stored"))
    }

    /// Merges into an object, whatever the rules for clients say.
    pub(crate) fn patch_directly(
        &mut self,
        kind: &str,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Stored, Refusal> {
        let key = self.key_of_existing(kind, namespace, name)?;
        let old = self.store.value(&key).unwrap_or_default();
        let mut new = Patch::Merge(patch.clone()).apply(&old)?;
        validate::shape(&self.resource(key.resource), &key.namespace, &mut new)?;
        Ok(self.overwrite(&key, &old, new))
    }

    fn overwrite(&mut self, key: &Key, old: &Value, mut new: Value) -> Stored {
        let resource = self.resource(key.resource);
        meta::set(&mut new, "name", json!(key.name));
        write::keep_system_fields(&mut new, old);
        if resource.is_namespace() {
            meta::set_top(&mut new, "spec", old["spec"].clone());
        }
        write::run_hooks(&resource, &mut new);
        write::count_generation(&resource, old, &mut new);
        let stored = self.store_update(key, old, new, false);
        self.settle();
        stored
    }

    /// Removes a namespace and leaves what is in it, as an empty list of finalizers put to `/finalize` does.
    pub(crate) fn remove_namespace(&mut self, name: &str) -> Result<(), Refusal> {
        let key = self.key_of_existing("Namespace", "", name)?;
        let before = self.store.value(&key);
        self.commit(&key, before.as_ref(), None);
        self.settle();
        Ok(())
    }

    /// Deletes; true if the object is gone.
    pub(crate) fn delete_directly(
        &mut self,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<bool, Refusal> {
        let key = self.key_of_existing(kind, namespace, name)?;
        let deleted = self.delete(&key, &Preconditions::default(), false)?;
        Ok(matches!(deleted, Deleted::Gone(_)) || !self.store.objects.contains_key(&key))
    }
}
