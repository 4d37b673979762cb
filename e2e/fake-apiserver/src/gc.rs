//! What a real plane's controller manager does in the background, done here at once: objects whose owners are
//! gone go too, and a namespace that is being deleted takes its content with it.

use serde_json::{Value, json};

use crate::meta;
use crate::store::Key;
use crate::world::{Chore, World};

impl World {
    /// Does all chores, and those that they bring up.
    pub(crate) fn settle(&mut self) {
        while let Some(chore) = self.chores.pop_front() {
            match chore {
                Chore::OwnerGone(uid) => {
                    let dependents = self.store.dependents(&uid);
                    self.chores.extend(dependents.into_iter().map(Chore::Owned));
                }
                Chore::Owned(key) => self.collect(&key),
                Chore::Namespace(name) => self.empty_namespace(&name),
            }
        }
    }

    /// Looks at every object that has owners, as after switching collection on again.
    pub(crate) fn collect_all(&mut self) {
        let owned = self.store.owned();
        self.chores.extend(owned.into_iter().map(Chore::Owned));
        self.settle();
    }

    /// Deletes an object all of whose owners are gone; takes the gone ones off an object that keeps some.
    fn collect(&mut self, key: &Key) {
        let Some(object) = self.store.value(key).filter(|_| self.gc) else { return };
        let Some(owners) = meta::get(&object, "ownerReferences").as_array() else { return };
        let solid: Vec<Value> = owners.iter().filter(|owner| self.owner_lives(key, owner)).cloned().collect();
        if solid.is_empty() {
            if !meta::is_terminating(&object) {
                self.remove_or_mark(key, &object);
            }
        } else if solid.len() < owners.len() {
            let mut kept = object.clone();
            meta::set(&mut kept, "ownerReferences", Value::Array(solid));
            self.commit(key, Some(&object), Some(kept));
        }
    }

    /// An owner counts if UID, kind and name agree, and it is in the same namespace or in none.
    fn owner_lives(&self, dependent: &Key, owner: &Value) -> bool {
        let uid = owner["uid"].as_str().unwrap_or_default();
        self.store.by_uid(uid).is_some_and(|key| {
            let near = key.namespace.is_empty() || key.namespace == dependent.namespace;
            near && owner["kind"] == self.resources[key.resource].kind && owner["name"] == key.name
        })
    }

    /// Goes on with deleting a namespace: its content, and when none is left the namespace itself.
    fn empty_namespace(&mut self, name: &str) {
        let terminating = |world: &Self| world.namespace(name).filter(|(_, ns)| meta::is_terminating(ns));
        if terminating(self).is_none() {
            return;
        }
        let mut left = false;
        for resource in 0..self.resources.len() {
            if !self.resources[resource].namespaced {
                continue;
            }
            let content: Vec<_> = self
                .store
                .scan(resource, Some(name))
                .map(|(key, object)| (key.clone(), object.value()))
                .collect();
            for (key, object) in content {
                if !meta::is_terminating(&object) {
                    self.remove_or_mark(&key, &object);
                }
                left |= self.store.objects.contains_key(&key);
            }
        }
        let Some((key, namespace)) = terminating(self).filter(|_| !left) else { return };
        if !meta::has_finalizers(&namespace) {
            self.commit(&key, Some(&namespace), None);
        } else if namespace["spec"]["finalizers"] != json!([]) {
            let mut emptied = namespace.clone();
            meta::set_top(&mut emptied, "spec", json!({ "finalizers": [] }));
            self.commit(&key, Some(&namespace), Some(emptied));
        }
    }
}
