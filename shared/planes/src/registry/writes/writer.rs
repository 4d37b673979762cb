//! Writes that are not repeated: each answer is remembered as the echo of what was sent (I7), and what a
//! plane did not keep is said once (I1).

use fedhub_api::facts::Digest;
use fedhub_cache::normalization::{ObjectPart, ServerNormalization, lost};
use fedhub_core::errors::RequestError;
use fedhub_core::metrics::Metrics;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use serde_json::Value;

use crate::{DryRun, Pass, Plane, Written};

/// An object to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// The object does not exist.
    Create(Box<Object>),
    /// The object exists; its resourceVersion is the precondition.
    Replace {
        /// The object to store.
        object: Box<Object>,
        /// Whether a dry run comes first.
        mode: WriteMode,
    },
}

/// A status to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusWrite {
    /// The whole status.
    pub status: Value,
    /// Whether a dry run comes first.
    pub mode: WriteMode,
}

/// Whether a write is sent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// The write is sent: it changes something.
    Direct,
    /// A dry run comes first, and the write follows only if that shows a change.
    DryRunFirst,
}

impl WriteMode {
    /// Only a dry run shows whether a write changes anything where it repeats one, as what stands differs
    /// from what is meant although it was written for what is meant now, and the server's normalization of it
    /// is not known (I7, after a restart).
    pub fn new(repeats: bool, normalization: Option<ServerNormalization>) -> Self {
        if repeats && normalization.is_none() { Self::DryRunFirst } else { Self::Direct }
    }
}

/// Writes to one plane on behalf of one controller.
pub struct PlaneWriter<'a> {
    /// The plane.
    pub plane: &'a Plane,
    /// The pass that writes.
    pub pass: &'a Pass,
    /// The controller's field manager.
    pub manager: &'static str,
    /// Counts pruned fields.
    pub metrics: &'a Metrics,
}

impl PlaneWriter<'_> {
    /// Writes an object. `None` where a dry run showed that nothing would change.
    pub async fn write(&self, kind: Kind, write: Write) -> Result<Option<Written>, RequestError> {
        let (sent, written) = match write {
            Write::Create(object) => {
                let written = self.plane.create_or_read(self.pass, kind, &object, self.manager).await?;
                (object, written)
            }
            Write::Replace { object, mode } => {
                if mode == WriteMode::DryRunFirst && self.changes_nothing(kind, &object).await? {
                    return Ok(None);
                }
                let stored = self.plane.replace(self.pass, kind, &object, self.manager, DryRun::No).await?;
                (object, Written::Stored(stored))
            }
        };
        if let Written::Stored(stored) = &written {
            self.learn(kind, &sent, ObjectPart::Spec, sent.spec(), stored.spec());
        }
        Ok(Some(written))
    }

    /// Whether a dry run of a replace shows what stands.
    async fn changes_nothing(&self, kind: Kind, object: &Object) -> Result<bool, RequestError> {
        let would = self.plane.replace(self.pass, kind, object, self.manager, DryRun::Yes).await?;
        let would_be = Digest::new(&self.plane.id, kind, &would);
        let stands = self.plane.store(kind).digest(object.namespace(), object.name());
        let same = stands.is_some_and(|digest| digest.content == would_be.content);
        if same {
            self.learn(kind, object, ObjectPart::Spec, object.spec(), would.spec());
        }
        Ok(same)
    }

    /// Writes the status of `of`. `None` where a dry run showed that nothing would change.
    pub async fn write_status(
        &self,
        kind: Kind,
        of: &Object,
        write: StatusWrite,
    ) -> Result<Option<ObjectRef>, RequestError> {
        let StatusWrite { status, mode } = write;
        if mode == WriteMode::DryRunFirst {
            let would =
                self.plane.replace_status(self.pass, kind, of, &status, self.manager, DryRun::Yes).await?;
            if would.status() == of.status() {
                self.learn(kind, of, ObjectPart::Status, &status, would.status());
                return Ok(None);
            }
        }
        let stored =
            self.plane.replace_status(self.pass, kind, of, &status, self.manager, DryRun::No).await?;
        self.learn(kind, of, ObjectPart::Status, &status, stored.status());
        Ok(Some(stored))
    }

    /// Merges metadata into that of `of` (I2).
    pub async fn patch_metadata(
        &self,
        kind: Kind,
        of: &Object,
        metadata: Value,
    ) -> Result<ObjectRef, RequestError> {
        self.plane.patch_metadata(self.pass, kind, of, metadata, self.manager).await
    }

    /// Merges a patch of metadata and spec into `of`.
    pub async fn patch(&self, kind: Kind, of: &Object, patch: Value) -> Result<ObjectRef, RequestError> {
        self.plane.patch(self.pass, kind, of, patch, self.manager).await
    }

    fn learn(&self, kind: Kind, object: &Object, part: ObjectPart, sent: &Value, got: &Value) {
        let key = self.plane.key(kind, object.namespace(), object.name());
        let news = self.plane.store(kind).note_normalization(
            &key.namespace,
            &key.name,
            part,
            ServerNormalization::new(sent, got),
        );
        let fields = if news && !sent.is_null() { lost(sent, got, 10) } else { Vec::new() };
        if !fields.is_empty() {
            self.metrics.fields_pruned.inc();
            tracing::warn!(%key, ?part, ?fields,
                "the plane did not keep all that was sent: its schema lacks these fields or changes them");
        }
    }
}
