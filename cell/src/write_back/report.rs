//! Reports what is not written back: in metrics, logs and Events.

use fedhub_core::errors::{self, Category, Error};
use fedhub_core::names::INSTANCE_FINALIZER;
use fedhub_core::object::{Key, Kind, ObjectView};
use fedhub_planes::events::{EventType, reference};

use super::WriteBack;
use super::plan::is_released;
use super::refusal::{CleanupBlocked, WriteBackRefusal, WriteBackState};

impl WriteBack {
    /// Remembers the state of an Instance; says whether it is another than before.
    pub(super) fn set_state(&self, key: &Key, state: Option<WriteBackState>) -> bool {
        self.states.set(key, state, self.hub.metrics())
    }

    /// Reports that an Instance is not written back.
    pub(super) async fn refuse(&self, key: &Key, refusal: &WriteBackRefusal) {
        let (reason, Key { namespace, name, .. }) = (refusal.label(), key);
        if !self.set_state(key, Some(WriteBackState::Refused(reason))) {
            return;
        }
        match refusal {
            // Reported of the cell as a whole.
            WriteBackRefusal::DeclaredLost => return,
            // Part of every move.
            WriteBackRefusal::NameTaken(_) => {
                return tracing::info!(
                    namespace,
                    name,
                    reason,
                    error = refusal.to_string(),
                    "not writing the Instance back"
                );
            }
            // The cell as a whole is not ready, or the failed request is in the log.
            WriteBackRefusal::CellNameTaken(_) | WriteBackRefusal::Forbidden(_) => {
                tracing::debug!(
                    namespace,
                    name,
                    reason,
                    error = refusal.to_string(),
                    "not writing the Instance back"
                );
            }
            _ => tracing::warn!(
                namespace,
                name,
                reason,
                error = refusal.to_string(),
                "not writing the Instance back"
            ),
        }
        self.publish(key, "NotWrittenBack", refusal.to_string()).await;
    }

    /// Reports that the finalizer of an Instance is not released, where that is all that holds it (I3).
    pub(super) async fn block_cleanup(&self, key: &Key, reason: CleanupBlocked) {
        if self.is_leaving(key) && self.set_state(key, Some(WriteBackState::CleanupBlocked(reason))) {
            tracing::warn!(
                namespace = key.namespace,
                name = key.name,
                reason = reason.label(),
                "cleanup blocked, keeping the finalizer"
            );
            self.publish(key, "CleanupHeld", reason.note()).await;
        }
    }

    /// Reports that the hub failed on an Instance. Anything but a refusal that passes by itself is shown only where it
    /// holds up a deletion.
    pub(super) async fn report_hub(&self, key: &Key, error: &Error) {
        let forbidden = error.category() == Category::Forbidden;
        if !forbidden {
            self.block_cleanup(key, CleanupBlocked::HubUnreachable).await;
        } else if self.is_leaving(key) {
            self.block_cleanup(key, CleanupBlocked::HubForbids).await;
        } else {
            self.refuse(key, &WriteBackRefusal::Forbidden(errors::chain(error))).await;
        }
    }

    async fn publish(&self, key: &Key, reason: &'static str, message: String) {
        let cell = self.cell.anchor();
        if let Some(instance) = cell.store(Kind::Instance).get(&key.namespace, &key.name) {
            let about = reference(Kind::Instance, &instance);
            cell.events.say(&about, EventType::Warning, reason, message).await;
        }
    }

    /// Whether the Instance is terminating and our finalizer alone holds it.
    pub(super) fn is_leaving(&self, key: &Key) -> bool {
        let instance = self.cell.anchor().store(Kind::Instance).object(&key.namespace, &key.name);
        instance.is_some_and(|i| is_released(&i) && i.has_finalizer(INSTANCE_FINALIZER))
    }
}
