//! What an Instance's status keeps of its server: written before each act that must not be forgotten (V2).

use fedhub_api::InstanceProviderStatus;
use fedhub_core::clock::stamp;
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::contract::{AllocationId, Place, ServerId};

/// What is kept of the server of an Instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Where the server is, or was asked for. No other place is asked while anything of this record stands.
    pub place: Option<Place>,
    /// The server that is ours.
    pub server: Option<ServerId>,
    /// When a server was last asked for. A request that is younger than
    /// [`Settings::settle`](crate::plan::Settings::settle) may still be carried out, and what it made may not
    /// be seen yet.
    pub server_requested: Option<Timestamp>,
    /// The quota that was taken; with an empty ID where the provider has none.
    pub allocation: Option<AllocationId>,
    /// When quota was last asked for.
    pub allocation_requested: Option<Timestamp>,
    /// The last restart that was passed on.
    pub restarted: Option<Timestamp>,
}

impl Record {
    /// Reads the record of an Instance. A field that cannot be read counts as absent.
    pub fn from_instance(instance: &Object) -> Self {
        Self::from_status(instance.status())
    }

    /// Reads the record in the status of an Instance.
    pub fn from_status(status: &Value) -> Self {
        let stored = InstanceProviderStatus::deserialize(&status["provider"]).unwrap_or_default();
        let time = |text: Option<String>| text.and_then(|text| text.parse().ok());
        Self {
            place: match (stored.region, stored.project, stored.network) {
                (Some(region), Some(project), Some(network)) => {
                    Some(Place { region: region.into(), project: project.into(), network: network.into() })
                }
                _ => None,
            },
            server: stored.server_id.filter(|id| !id.is_empty()).map(|id| ServerId(id.into())),
            server_requested: time(stored.server_requested_at),
            allocation: stored.allocation_id.map(|id| AllocationId(id.into())),
            allocation_requested: time(stored.allocation_requested_at),
            restarted: time(stored.restarted_at),
        }
    }

    /// Whether nothing of the provider was asked for that is not known to be gone.
    pub fn is_clear(&self) -> bool {
        self.server.is_none()
            && self.server_requested.is_none()
            && self.allocation.is_none()
            && self.allocation_requested.is_none()
    }

    /// The fields of `status.provider` that keep this record; `name` is the provider's.
    pub fn stored(&self, name: &str) -> InstanceProviderStatus {
        let time = |time: Option<Timestamp>| time.map(stamp);
        InstanceProviderStatus {
            name: name.to_owned(),
            region: self.place.as_ref().map(|place| place.region.to_string()),
            project: self.place.as_ref().map(|place| place.project.to_string()),
            network: self.place.as_ref().map(|place| place.network.to_string()),
            server_id: self.server.as_ref().map(ServerId::to_string),
            server_requested_at: time(self.server_requested),
            allocation_id: self.allocation.as_ref().map(AllocationId::to_string),
            allocation_requested_at: time(self.allocation_requested),
            restarted_at: time(self.restarted),
            health: None,
            power_state: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{Kind, bare, set_field};
    use serde_json::json;

    use super::*;

    #[test]
    fn v2_a_record_is_read_as_it_was_stored() {
        let time = Timestamp::from_second(1_900_000_000).unwrap();
        let record = Record {
            place: Some(Place { region: "r".into(), project: "p".into(), network: "n".into() }),
            server: Some(ServerId("s".into())),
            server_requested: Some(time),
            allocation: Some(AllocationId("".into())),
            allocation_requested: Some(time),
            restarted: Some(time),
        };
        for record in [record, Record::default()] {
            let mut instance = bare(Kind::Instance, "ns", "web-0");
            set_field(&mut instance, "status", json!({"provider": record.stored("region")}));
            assert_eq!(Record::from_instance(&instance), record);
        }
    }
}
