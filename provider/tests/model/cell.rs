//! The cell of tests: Instances in memory, whose writes may conflict and whose answers may get lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fedhub_core::clock::Clock;
use fedhub_core::names::PROVIDER_FINALIZER;
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId, bare, set_field};
use fedhub_provider::pass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use parking_lot::Mutex;
use rand::Rng;
use serde_json::{Value, json};

use super::Region;

/// The cell.
pub struct Cell {
    pub instances: Mutex<BTreeMap<String, ObjectRef>>,
    versions: Mutex<u64>,
    pub region: Arc<Region>,
    clock: Clock,
    /// Whether its CRD is an older one, by which `status.provider` is dropped.
    pub prunes: AtomicBool,
}

/// A write that failed.
#[derive(Debug)]
pub struct WriteFailed;

impl Cell {
    pub fn new(region: Arc<Region>, clock: Clock) -> Self {
        Self {
            instances: Mutex::default(),
            versions: Mutex::default(),
            region,
            clock,
            prunes: AtomicBool::default(),
        }
    }

    pub fn key(name: &str) -> Key {
        Key { plane: PlaneId::Cell, kind: Kind::Instance, namespace: "ns".into(), name: name.into() }
    }

    pub fn get(&self, name: &str) -> Option<ObjectRef> {
        self.instances.lock().get(name).cloned()
    }

    fn version(&self) -> String {
        let mut versions = self.versions.lock();
        *versions += 1;
        versions.to_string()
    }

    /// Makes an Instance.
    pub fn put(&self, name: &str) {
        let mut instance = bare(Kind::Instance, "ns", name);
        instance.metadata.resource_version = Some(self.version());
        instance.metadata.uid = Some(format!("uid-{name}-{}", instance.version()));
        let spec = json!({
            "network": "n1", "image": "i1", "flavor": "f1", "disruption": "Allow",
            "controller": {"templateHash": "h1"},
        });
        set_field(&mut instance, "spec", spec);
        self.instances.lock().insert(name.to_owned(), Arc::new(instance));
    }

    /// Changes an Instance, if it is there.
    pub fn edit(&self, name: &str, change: impl FnOnce(&mut Object)) {
        let version = self.version();
        let mut instances = self.instances.lock();
        let Some(stands) = instances.get(name) else { return };
        let mut instance = (**stands).clone();
        change(&mut instance);
        instance.metadata.resource_version = Some(version);
        let ends =
            instance.is_terminating() && instance.metadata.finalizers.iter().flatten().next().is_none();
        if ends {
            instances.remove(name);
        } else {
            instances.insert(name.to_owned(), Arc::new(instance));
        }
    }

    /// Deletes an Instance.
    pub fn delete(&self, name: &str) {
        let now = self.clock.now();
        self.edit(name, |instance| {
            instance.metadata.deletion_timestamp.get_or_insert(Time(now));
        });
    }

    /// A write: it may conflict, and its answer may get lost.
    async fn write(
        &self,
        of: &Object,
        change: impl FnOnce(&mut Object) + Send,
    ) -> Result<ObjectRef, WriteFailed> {
        self.region.fuse.point().await;
        let conflicts = self.get(of.name()).is_none_or(|stands| stands.version() != of.version());
        if conflicts {
            return Err(WriteFailed);
        }
        self.edit(of.name(), change);
        self.region.fuse.point().await;
        let lost = self.region.with(|inner| {
            let percent = inner.faults.lost / 2;
            inner.random.random_range(0..100) < percent
        });
        if lost { Err(WriteFailed) } else { self.get(of.name()).ok_or(WriteFailed) }
    }
}

impl pass::Cell for Cell {
    type Error = WriteFailed;

    async fn hold(&self, instance: &Object) -> Result<ObjectRef, WriteFailed> {
        self.write(instance, |instance| {
            instance.metadata.finalizers = Some(vec![PROVIDER_FINALIZER.to_owned()]);
        })
        .await
    }

    async fn let_go(&self, instance: &Object) -> Result<(), WriteFailed> {
        self.region.fuse.point().await;
        if self.get(instance.name()).is_none_or(|stands| stands.version() != instance.version()) {
            return Err(WriteFailed);
        }
        self.edit(instance.name(), |instance| instance.metadata.finalizers = None);
        Ok(())
    }

    async fn store(&self, instance: &Object, mut status: Value) -> Result<Option<ObjectRef>, WriteFailed> {
        if self.prunes.load(Ordering::Relaxed)
            && let Some(fields) = status.as_object_mut()
        {
            fields.remove("provider");
        }
        self.write(instance, |instance| set_field(instance, "status", status)).await.map(Some)
    }

    fn announce(&self, _: &Object, _: String) {}

    fn leads(&self) -> bool {
        true
    }
}
