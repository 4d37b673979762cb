//! Reports what is not written back: in metrics, logs and Events.

use fedhub_api::reason::Reason;
use fedhub_core::errors::{self, Category, Error};
use fedhub_core::object::{Key, Kind};
use fedhub_planes::events::{EventType, reference};

use super::WriteBack;
use super::refusal::{WriteBackRefusal, WriteBackState};

impl WriteBack {
    /// Remembers the state of an Instance; says whether it is another than before.
    pub(super) fn set_state(&self, key: &Key, state: Option<WriteBackState>) -> bool {
        self.states.set(key, state, self.hub.metrics())
    }

    /// Reports that an Instance is not written back.
    pub(super) fn refuse(&self, key: &Key, refusal: &WriteBackRefusal) {
        let reason = refusal.label();
        let Key { namespace, name, .. } = key;
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
        let cell = self.cell.anchor();
        if let Some(instance) = cell.store(Kind::Instance).get(&key.namespace, &key.name) {
            let about = reference(Kind::Instance, &instance);
            cell.events.send(about, EventType::Warning, Reason::NotWrittenBack, refusal.to_string());
        }
    }

    /// Reports that the hub failed on an Instance, where that does not pass by itself.
    pub(super) fn report_hub(&self, key: &Key, error: &Error) {
        if error.category() == Category::Forbidden {
            self.refuse(key, &WriteBackRefusal::Forbidden(errors::chain(error)));
        }
    }
}
