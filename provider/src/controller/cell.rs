//! The writes of a pass into the cell.

use fedhub_api::reason::Reason;
use fedhub_cache::ObjectPart;
use fedhub_core::errors::RequestError;
use fedhub_core::finalizers;
use fedhub_core::names::{PROVIDER_FINALIZER, PROVIDER_MANAGER};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_planes::events::{EventType, reference_to};
use fedhub_planes::{Pass, PlaneWriter, Planes, StatusWrite, WriteMode};
use serde_json::Value;

use crate::pass::Cell;

/// The cell, in one pass.
pub(super) struct InPass<'a> {
    pub cell: &'a Planes,
    pub pass: &'a Pass,
}

impl InPass<'_> {
    fn writer(&self) -> PlaneWriter<'_> {
        let plane = self.cell.anchor();
        PlaneWriter { plane, pass: self.pass, manager: PROVIDER_MANAGER, metrics: self.cell.metrics() }
    }
}

impl Cell for InPass<'_> {
    type Error = RequestError;

    async fn hold(&self, instance: &Object) -> Result<ObjectRef, RequestError> {
        let metadata = finalizers::with(instance, PROVIDER_FINALIZER);
        self.writer().patch_metadata(Kind::Instance, instance, metadata).await
    }

    async fn let_go(&self, instance: &Object) -> Result<(), RequestError> {
        let metadata = finalizers::without(instance, PROVIDER_FINALIZER);
        match self.writer().patch_metadata(Kind::Instance, instance, metadata).await {
            // It is gone already.
            Err(error) if error.code() == Some(404) => Ok(()),
            stored => stored.map(|_| ()),
        }
    }

    async fn store(&self, instance: &Object, status: Value) -> Result<Option<ObjectRef>, RequestError> {
        let store = self.cell.anchor().store(Kind::Instance);
        let normalization = store.normalization(instance.namespace(), instance.name(), ObjectPart::Status);
        if fedhub_cache::normalization::settled(&status, instance.status(), normalization) {
            return Ok(None);
        }
        let repeats = status.get("conditions") == instance.status().get("conditions")
            && status.get("provider") == instance.status().get("provider");
        let write = StatusWrite { mode: WriteMode::new(repeats, normalization), status };
        self.writer().write_status(Kind::Instance, instance, write).await
    }

    fn announce(&self, instance: &Object, words: String) {
        let about = reference_to(Kind::Instance, instance);
        self.cell.anchor().events.send(about, EventType::Warning, Reason::Rebuilding, words);
    }

    fn leads(&self) -> bool {
        self.cell.leads()
    }
}
