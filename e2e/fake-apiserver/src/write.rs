//! Create, update and delete, with the rules of a kube-apiserver's registry.

use serde_json::{Value, json};

use crate::answer::Refusal;
use crate::field_fault::FieldFault;
use crate::object::Stored;
use crate::patch::Patch;
use crate::resource::Resource;
use crate::store::Key;
use crate::world::{Chore, World};
use crate::{meta, validate};

/// How an update says what it wants.
pub(crate) enum Update {
    /// PUT: the object as it is to be.
    Replace(Value),
    /// PATCH: the difference.
    Patch(Patch),
}

/// The preconditions of a delete.
#[derive(Default)]
pub(crate) struct Preconditions {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

/// The result of a delete.
pub(crate) enum Deleted {
    /// The object is gone; this was its last state.
    Gone(Stored),
    /// The object is marked, and stays until its finalizers are removed.
    Marked(Stored),
}

impl World {
    /// Stores or removes, and notes what has to be looked at because of it. `before` is what stands under
    /// that key now.
    pub(crate) fn commit(
        &mut self,
        key: &Key,
        before: Option<&Value>,
        after: Option<Value>,
    ) -> Option<Stored> {
        debug_assert_eq!(before, self.store.value(key).as_ref());
        match (before, &after) {
            (Some(before), None) => {
                self.chores.push_back(Chore::OwnerGone(meta::text(before, "uid").to_owned()));
                if !key.namespace.is_empty() {
                    self.chores.push_back(Chore::Namespace(key.namespace.clone()));
                }
            }
            (before, Some(after)) => {
                let owners = meta::get(after, "ownerReferences");
                let same = before.is_some_and(|b| meta::get(b, "ownerReferences") == owners);
                if !owners.is_null() && !same {
                    self.chores.push_back(Chore::Owned(key.clone()));
                }
                if self.resources[key.resource].is_namespace() && meta::is_terminating(after) {
                    self.chores.push_back(Chore::Namespace(key.name.clone()));
                }
            }
            (None, None) => {}
        }
        self.store.commit(key, before, after)
    }

    /// POST. The answer is the object as stored, or as it would have been.
    pub(crate) fn create(
        &mut self,
        index: usize,
        namespace: &str,
        mut body: Value,
        dry_run: bool,
    ) -> Result<Stored, Refusal> {
        let resource = self.resource(index);
        validate::shape(&resource, namespace, &mut body)?;
        if !meta::get(&body, "resourceVersion").is_null() {
            return Err(Refusal::internal("resourceVersion should not be set on objects to be created"));
        }
        let base: String = meta::text(&body, "generateName").chars().take(58).collect();
        if meta::text(&body, "name").is_empty() && !base.is_empty() {
            let name = base + &self.mint_suffix();
            meta::set(&mut body, "name", json!(name));
        }
        let name = meta::text(&body, "name").to_owned();
        self.admit_into(&resource, &name, namespace)?;
        let uid = self.mint_uid();
        meta::set(&mut body, "uid", json!(uid));
        meta::set(&mut body, "creationTimestamp", json!(self.clock.stamp()));
        meta::set(&mut body, "deletionTimestamp", Value::Null);
        meta::set(&mut body, "deletionGracePeriodSeconds", Value::Null);
        if resource.status {
            meta::set_top(&mut body, "status", Value::Null);
        }
        finish_new(&resource, &mut body);
        validate::values(&resource, None, &body)?;
        validate::schema(&resource, None, &body)?;
        let key = Key { resource: index, namespace: namespace.to_owned(), name };
        if self.store.objects.contains_key(&key) {
            return Err(Refusal::already_exists(&resource, &key.name));
        }
        if dry_run {
            return Ok(Stored::new(&body));
        }
        let stored = self.commit(&key, None, Some(body));
        self.settle();
        stored.ok_or_else(|| Refusal::internal("nothing was stored"))
    }

    /// PUT and PATCH, on the object or on its status. The flag in the answer says that it was created.
    pub(crate) fn update(
        &mut self,
        key: &Key,
        status: bool,
        mut update: Update,
        dry_run: bool,
    ) -> Result<(Stored, bool), Refusal> {
        let resource = self.resource(key.resource);
        if let Update::Replace(body) = &mut update {
            same_name(&resource, key, body)?;
        }
        let Some(old) = self.store.value(key) else {
            return match update {
                Update::Replace(mut body) if resource.create_on_update && !status => {
                    meta::set(&mut body, "resourceVersion", Value::Null);
                    Ok((self.create(key.resource, &key.namespace, body, dry_run)?, true))
                }
                _ => Err(Refusal::not_found(&resource, &key.name)),
            };
        };
        self.admit_change(&resource, &key.namespace)?;
        let (mut new, is_patch) = match update {
            Update::Replace(body) => (body, false),
            Update::Patch(patch) => (patch.apply(&old)?, true),
        };
        if is_patch {
            same_name(&resource, key, &mut new)?;
        }
        check_identity(&resource, &old, &new, is_patch)?;
        let mut new = if status { with_status_of(&old, &new) } else { new };
        keep_system_fields(&mut new, &old);
        if resource.status && !status {
            meta::set_top(&mut new, "status", old["status"].clone());
        }
        if resource.is_namespace() {
            meta::set_top(&mut new, "spec", old["spec"].clone());
        }
        run_hooks(&resource, &mut new);
        validate::values(&resource, Some(&old), &new)?;
        validate::schema(&resource, Some(&old), &new)?;
        if !status {
            count_generation(&resource, &old, &mut new);
        }
        let stored = self.store_update(key, &old, new, dry_run);
        self.settle();
        Ok((stored, false))
    }

    /// The end of an update: nothing to do, the last finalizer went, or a write.
    pub(crate) fn store_update(&mut self, key: &Key, old: &Value, new: Value, dry_run: bool) -> Stored {
        let held = meta::has_finalizers(&new)
            || new["spec"]["finalizers"]
                .as_array()
                .is_some_and(|f| self.resources[key.resource].is_namespace() && !f.is_empty());
        if new == *old || dry_run {
            Stored::new(&new)
        } else if meta::is_terminating(&new) && !held {
            self.commit(key, Some(old), None);
            Stored::new(&new)
        } else {
            self.commit(key, Some(old), Some(new)).unwrap_or_else(|| Stored::new(old))
        }
    }

    /// DELETE of one object.
    pub(crate) fn delete(
        &mut self,
        key: &Key,
        only: &Preconditions,
        dry_run: bool,
    ) -> Result<Deleted, Refusal> {
        let resource = self.resource(key.resource);
        let old = self.store.value(key).ok_or_else(|| Refusal::not_found(&resource, &key.name))?;
        for (field, what, hint, wanted) in [
            ("uid", "UID", "deleted and then recreated", &only.uid),
            ("resourceVersion", "ResourceVersion", "modified", &only.resource_version),
        ] {
            let have = meta::text(&old, field);
            if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != have) {
                let why = format!(
                    "the {what} in the precondition ({wanted}) does not match the {what} in record ({have}). The object might have been {hint}"
                );
                return Err(Refusal::conflict(&resource, &key.name, &why));
            }
        }
        let deleted = if dry_run { self.dry_delete(key, &old) } else { self.remove_or_mark(key, &old) };
        self.settle();
        Ok(deleted)
    }

    fn dry_delete(&self, key: &Key, old: &Value) -> Deleted {
        match self.marked(key, old) {
            Some(marked) => Deleted::Marked(Stored::new(&marked)),
            None => Deleted::Gone(Stored::new(old)),
        }
    }

    /// Removes the object, or marks it for deletion if something holds it. Marks once only.
    pub(crate) fn remove_or_mark(&mut self, key: &Key, old: &Value) -> Deleted {
        let Some(marked) = self.marked(key, old) else {
            self.commit(key, Some(old), None);
            return Deleted::Gone(Stored::new(old));
        };
        if marked == *old {
            return Deleted::Marked(Stored::new(old));
        }
        Deleted::Marked(self.commit(key, Some(old), Some(marked)).unwrap_or_else(|| Stored::new(old)))
    }

    /// The object as a delete leaves it; nothing if a delete removes it.
    fn marked(&self, key: &Key, old: &Value) -> Option<Value> {
        let resource = &self.resources[key.resource];
        if !resource.is_namespace() && !meta::has_finalizers(old) {
            return None;
        }
        let mut marked = old.clone();
        if meta::is_terminating(old) {
            return Some(marked);
        }
        meta::set(&mut marked, "deletionTimestamp", json!(self.clock.stamp()));
        if resource.is_namespace() {
            meta::set_top(&mut marked, "status", json!({ "phase": "Terminating" }));
        } else {
            meta::set(&mut marked, "deletionGracePeriodSeconds", json!(0));
        }
        if let Some(generation) = meta::get(old, "generation").as_u64() {
            meta::set(&mut marked, "generation", json!(generation + 1));
        }
        Some(marked)
    }
}

/// Pruning, then defaulting, then the metadata as it is stored.
pub(crate) fn run_hooks(resource: &Resource, object: &mut Value) {
    for hook in [&resource.pruning, &resource.defaulting].into_iter().flatten() {
        hook(object);
    }
    let unreported = resource.schema.as_ref().and_then(|schema| schema.unreported());
    if let Some(status) = unreported.filter(|_| resource.status && object["status"].is_null()) {
        meta::set_top(object, "status", status.clone());
    }
    if resource.is_namespace() {
        let mut labels = meta::get(object, "labels").as_object().cloned().unwrap_or_default();
        labels.insert("kubernetes.io/metadata.name".to_owned(), meta::get(object, "name").clone());
        meta::set(object, "labels", Value::Object(labels));
    }
    meta::tidy(object);
}

/// Sets the fields of a new object that the server adds.
pub(crate) fn finish_new(resource: &Resource, object: &mut Value) {
    meta::set(object, "generation", if resource.custom { json!(1) } else { Value::Null });
    if resource.is_namespace() {
        meta::set_top(object, "spec", json!({ "finalizers": ["kubernetes"] }));
        meta::set_top(object, "status", json!({ "phase": "Active" }));
    }
    run_hooks(resource, object);
}

/// Counts `generation` up where the [`content`](meta::content) that it counts has changed.
pub(crate) fn count_generation(resource: &Resource, old: &Value, new: &mut Value) {
    if resource.custom && meta::content(old, resource.status) != meta::content(new, resource.status) {
        let generation = meta::get(old, "generation").as_u64().unwrap_or_default() + 1;
        meta::set(new, "generation", json!(generation));
    }
}

/// Copies what only the server sets.
pub(crate) fn keep_system_fields(new: &mut Value, old: &Value) {
    for field in [
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        meta::set(new, field, meta::get(old, field).clone());
    }
}

/// The old object with the new one's status.
fn with_status_of(old: &Value, new: &Value) -> Value {
    let mut object = old.clone();
    meta::set_top(&mut object, "status", new["status"].clone());
    object
}

fn same_name(resource: &Resource, key: &Key, body: &mut Value) -> Result<(), Refusal> {
    validate::shape(resource, &key.namespace, body)?;
    let name = meta::text(body, "name");
    if name == key.name {
        return Ok(());
    }
    Err(Refusal::bad_request(format!(
        "the name of the object ({name}) does not match the name on the URL ({})",
        key.name
    )))
}

/// Is this the object that the client meant, and has it seen its latest version?
fn check_identity(resource: &Resource, old: &Value, new: &Value, is_patch: bool) -> Result<(), Refusal> {
    let name = meta::text(old, "name");
    let had = meta::text(old, "uid");
    let uid = meta::text(new, "uid");
    if uid != had && is_patch {
        let fault = FieldFault::invalid("metadata.uid", &json!(uid), "field is immutable");
        return Err(Refusal::invalid(&resource.qualified_kind(), resource, name, &[fault]));
    }
    if uid != had && !uid.is_empty() {
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {had}");
        return Err(Refusal::conflict(resource, name, &why));
    }
    match meta::text(new, "resourceVersion") {
        "" | "0" if resource.unconditional_update => Ok(()),
        "" | "0" => {
            let fault = FieldFault {
                reason: "FieldValueInvalid",
                field: "metadata.resourceVersion".to_owned(),
                message: "Invalid value: 0x0: must be specified for an update".to_owned(),
            };
            Err(Refusal::invalid(&resource.qualified(), resource, name, &[fault]))
        }
        version if version == meta::text(old, "resourceVersion") => Ok(()),
        _ => Err(Refusal::stale(resource, name)),
    }
}
