//! Servers.

use std::net::IpAddr;

use fedhub_provider::{Address, Health, Link, Phase, Place, Server, ServerId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::Uuid;
use crate::spec::{ServerSpec, UserData};

/// The name of the tag that links a server to its Instance, whose UID is its value.
pub const TAG: &str = "compute.datumapis.com/instance";

/// A server to be made, or to be made so: the service replaces whatever is left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerWrite<'a> {
    metadata: MetadataWrite<'a>,
    spec: SpecWrite<'a>,
}

#[derive(Debug, Serialize)]
struct MetadataWrite<'a> {
    name: &'a str,
    tags: [TagWrite<'a>; 1],
}

#[derive(Debug, Serialize)]
struct TagWrite<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SpecWrite<'a> {
    flavor_id: &'a str,
    image_id: &'a str,
    /// Only a new server has it: the service keeps the network of one that stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    network_id: Option<&'a str>,
    networking: NetworkingWrite<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_data: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NetworkingWrite<'a> {
    #[serde(rename = "publicIP")]
    public_ip: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    security_groups: &'a [Box<str>],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    allowed_source_addresses: &'a [Box<str>],
}

impl<'a> ServerWrite<'a> {
    /// A server that is to be made.
    pub fn create(link: &'a Link, spec: &'a ServerSpec) -> Self {
        Self::new(link, spec, Some(&link.place.network))
    }

    /// A server that stands.
    pub fn update(link: &'a Link, spec: &'a ServerSpec) -> Self {
        Self::new(link, spec, None)
    }

    fn new(link: &'a Link, spec: &'a ServerSpec, network_id: Option<&'a str>) -> Self {
        let metadata =
            MetadataWrite { name: &link.name, tags: [TagWrite { name: TAG, value: &link.instance }] };
        let networking = NetworkingWrite {
            public_ip: spec.public_ip,
            security_groups: &spec.security_groups,
            allowed_source_addresses: &spec.allowed_source_addresses,
        };
        let spec = SpecWrite {
            flavor_id: &spec.flavor_id,
            image_id: &spec.image_id,
            network_id,
            networking,
            user_data: spec.user_data.as_ref().and_then(UserData::encoded),
        };
        Self { metadata, spec }
    }
}

/// A server as the service shows it. What it has to have is what says which server it is and what it is made
/// of.
#[derive(Debug, Deserialize)]
pub struct ServerRead {
    metadata: MetadataRead,
    spec: SpecRead,
    status: StatusRead,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataRead {
    /// A server without a UUID cannot be asked for: it cannot be read.
    id: Uuid,
    name: Box<str>,
    project_id: Box<str>,
    #[serde(default)]
    tags: Option<Vec<TagRead>>,
    #[serde(default)]
    deletion_time: Option<String>,
    #[serde(default)]
    provisioning_status: Option<String>,
    #[serde(default)]
    provisioning_status_detail: Option<Detail>,
    #[serde(default)]
    health_status: Option<String>,
    #[serde(default)]
    health_status_detail: Option<Detail>,
}

#[derive(Debug, Deserialize)]
struct TagRead {
    name: Box<str>,
    value: Box<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Detail {
    reason: Option<Box<str>>,
    message: Option<Box<str>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpecRead {
    flavor_id: Box<str>,
    image_id: Box<str>,
    #[serde(default)]
    networking: Option<NetworkingRead>,
    #[serde(default)]
    user_data: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NetworkingRead {
    #[serde(rename = "publicIP")]
    public_ip: Option<bool>,
    security_groups: Option<Vec<Box<str>>>,
    allowed_source_addresses: Option<Vec<Box<str>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatusRead {
    region_id: Box<str>,
    network_id: Box<str>,
    #[serde(default)]
    power_state: Option<String>,
    #[serde(default, rename = "privateIP")]
    private_ip: Option<Box<str>>,
    #[serde(default, rename = "publicIP")]
    public_ip: Option<Box<str>>,
    #[serde(default)]
    mac_address: Option<Box<str>>,
}

/// What is needed of names and words at most, in bytes: a list holds thousands of servers.
const LONGEST: usize = 256;
/// The longest hardware address.
const LONGEST_MAC: usize = 63;

/// Words of `provisioningStatus`.
const PROVISIONED: &str = "provisioned";
const ERROR: &str = "error";
/// The words of `healthStatus` for a server that is well.
const HEALTHY: &str = "healthy";

impl ServerRead {
    /// The server, in the region whose ID at the service is `region_id` and whose name here is `region`.
    /// One of another region has that region's ID in place of a name, which is none of ours.
    pub fn server(self, region: &str, region_id: &str) -> Server<ServerSpec> {
        let phase = self.phase();
        let settled = self.metadata.provisioning_status.as_deref() == Some(PROVISIONED)
            && !matches!(phase, Phase::Pending | Phase::Building | Phase::Rebuilding | Phase::Error);
        let Self { metadata, spec, status } = self;
        let region: Box<str> = if *status.region_id == *region_id { region.into() } else { status.region_id };
        let health = match metadata.health_status.as_deref() {
            Some(HEALTHY) => Health::Healthy,
            Some("degraded") => Health::Degraded,
            Some("error") => Health::Error,
            _ => Health::Unknown,
        };
        let provisioning = metadata.provisioning_status_detail.and_then(Detail::words);
        let unwell = match health {
            Health::Healthy => None,
            _ => metadata.health_status_detail.and_then(Detail::words),
        };
        let mac = status.mac_address.filter(|mac| is_mac(mac));
        let address = Address { network_ip: ip(status.private_ip), external_ip: ip(status.public_ip), mac };
        let networking = spec.networking.unwrap_or_default();
        Server {
            id: ServerId(metadata.id.to_string().into()),
            instance: instance(metadata.tags.unwrap_or_default()),
            name: cut(metadata.name),
            place: Place { region, project: metadata.project_id, network: status.network_id },
            spec: ServerSpec {
                flavor_id: spec.flavor_id,
                image_id: spec.image_id,
                public_ip: networking.public_ip.unwrap_or_default(),
                security_groups: networking.security_groups.unwrap_or_default(),
                allowed_source_addresses: networking.allowed_source_addresses.unwrap_or_default(),
                user_data: spec
                    .user_data
                    .filter(|data| !data.is_empty())
                    .map(|data| UserData::from_encoded(&data)),
            },
            phase,
            settled,
            detail: if settled { unwell } else { provisioning.or(unwell) }.map(cut),
            health,
            // Whatever it says, it says that there is one.
            deleting: metadata.deletion_time.map(|since| since.parse().unwrap_or(Timestamp::UNIX_EPOCH)),
            addresses: vec![address],
        }
    }

    /// What it does. The service gives up on a server that never ran by `provisioningStatus` alone; one that
    /// runs goes on doing so, whatever becomes of the last change.
    fn phase(&self) -> Phase {
        let gave_up = self.metadata.provisioning_status.as_deref() == Some(ERROR);
        match self.status.power_state.as_deref() {
            None | Some("Pending" | "Queued" | "Building") if gave_up => Phase::Error,
            Some("Pending" | "Queued") => Phase::Pending,
            Some("Building") => Phase::Building,
            Some("Running") => Phase::Running,
            Some("Stopping") => Phase::Stopping,
            Some("Stopped") => Phase::Stopped,
            Some("Rebuilding") => Phase::Rebuilding,
            Some("Error") => Phase::Error,
            None => match self.metadata.provisioning_status.as_deref() {
                Some("pending" | "provisioning") => Phase::Pending,
                _ => Phase::Unknown,
            },
            Some(_) => Phase::Unknown,
        }
    }
}

/// The Instance that the tag names; none where there is no tag, or several.
fn instance(tags: Vec<TagRead>) -> Option<Box<str>> {
    let mut values = tags.into_iter().filter(|tag| *tag.name == *TAG).map(|tag| tag.value);
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

/// An address as text of its usual form; none of anything else, which an Instance's status would refuse.
fn ip(text: Option<Box<str>>) -> Option<Box<str>> {
    let ip: IpAddr = text?.parse().ok()?;
    Some(ip.to_string().into())
}

/// Whether a text may be a hardware address.
fn is_mac(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
    let others = text.bytes().filter(|byte| matches!(byte, b':' | b'-' | b'.')).count();
    digits > 0 && digits + others == text.len() && text.len() <= LONGEST_MAC
}

/// A text, cut to what is needed of it.
fn cut(text: Box<str>) -> Box<str> {
    if text.len() > LONGEST { text[..text.floor_char_boundary(LONGEST)].into() } else { text }
}

impl Detail {
    fn words(self) -> Option<Box<str>> {
        match (self.reason, self.message) {
            (Some(reason), Some(message)) => Some(format!("{reason}: {message}").into()),
            (reason, message) => message.or(reason),
        }
        .filter(|words| !words.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "b0000000-0000-4000-8000-000000000001";

    fn read(metadata: Value, status: Value) -> Server<ServerSpec> {
        let mut value = json!({
            "metadata": {"id": ID, "name": "web-0", "organizationId": "o", "projectId": "p", "creationTime": "x"},
            "spec": {"flavorId": "f", "imageId": "i"},
            "status": {"regionId": "r", "networkId": "n"},
        });
        value["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        value["status"].as_object_mut().unwrap().extend(status.as_object().unwrap().clone());
        serde_json::from_value::<ServerRead>(value).unwrap().server("eu", "r")
    }

    #[test]
    fn v6_unknown_words_are_unknown_and_never_a_failure() {
        let known = ["Pending", "Building", "Running", "Stopping", "Stopped", "Rebuilding", "Error"];
        for word in known {
            let server = read(json!({}), json!({ "powerState": word }));
            assert_eq!(<&str>::from(server.phase), word);
        }
        for status in [json!({"powerState": "Hibernating"}), json!({"powerState": null}), json!({})] {
            let unknown = json!({"provisioningStatus": "dreaming", "healthStatus": "green"});
            let server = read(unknown, status);
            assert_eq!(
                (server.phase, server.health, server.settled),
                (Phase::Unknown, Health::Unknown, false)
            );
        }
    }

    #[test]
    fn v6_usable_is_running_and_settled_is_provisioned() {
        for (provisioning, power, phase, settled) in [
            ("provisioned", "Running", Phase::Running, true),
            ("provisioned", "Rebuilding", Phase::Rebuilding, false),
            ("provisioned", "Building", Phase::Building, false),
            ("provisioned", "Stopped", Phase::Stopped, true),
            ("provisioned", "Hibernating", Phase::Unknown, true),
            ("provisioning", "Running", Phase::Running, false),
            ("error", "Running", Phase::Running, false),
            ("error", "Pending", Phase::Error, false),
            ("error", "Queued", Phase::Error, false),
            ("deprovisioning", "Running", Phase::Running, false),
        ] {
            let server = read(json!({ "provisioningStatus": provisioning }), json!({ "powerState": power }));
            assert_eq!((server.phase, server.settled), (phase, settled), "{provisioning} {power}");
        }
        assert_eq!(read(json!({"provisioningStatus": "error"}), json!({})).phase, Phase::Error);
    }

    #[test]
    fn v6_what_a_service_says_of_a_server_is_checked_and_cut() {
        let long = "é".repeat(1_000);
        let metadata = json!({"id": ID.to_uppercase(), "name": long, "provisioningStatus": "error",
            "provisioningStatusDetail": {"message": long}});
        for (said, ip, mac) in [
            (("10.0.0.7", "fa:16:3e:00:00:01"), Some("10.0.0.7"), Some("fa:16:3e:00:00:01")),
            (("FD00::0:7", "FA-16-3E-00-00-01"), Some("fd00::7"), Some("FA-16-3E-00-00-01")),
            (("10.0.0.7/24", "none"), None, None),
            (("", ""), None, None),
            (("10.0.0.7 ", &*":".repeat(20)), None, None),
            (("x", &*"0".repeat(64)), None, None),
        ] {
            let status = json!({"privateIP": said.0, "publicIP": said.0, "macAddress": said.1});
            let server = read(metadata.clone(), status);
            let address = &server.addresses[0];
            assert_eq!((address.network_ip.as_deref(), address.mac.as_deref()), (ip, mac), "{said:?}");
            assert_eq!(address.external_ip, address.network_ip);
            assert_eq!(&*server.id.0, ID, "as paths have it");
            assert_eq!((server.name.len(), server.detail.unwrap().len()), (256, 256));
        }
    }

    #[test]
    fn v2_a_link_is_one_tag() {
        let tag = json!({"name": TAG, "value": "u"});
        for (tags, expected) in [
            (json!(null), None),
            (json!([{"name": "other", "value": "u"}]), None),
            (json!([{"name": "other", "value": "x"}, tag]), Some("u")),
            (json!([tag, {"name": TAG, "value": "v"}]), None),
        ] {
            assert_eq!(read(json!({ "tags": tags }), json!({})).instance.as_deref(), expected, "{tags}");
        }
    }

    #[test]
    fn a_server_of_another_region_is_not_at_ours() {
        assert_eq!(&*read(json!({}), json!({})).place.region, "eu");
        assert_eq!(&*read(json!({}), json!({"regionId": "other"})).place.region, "other");
    }

    #[test]
    fn a_deletion_is_one_whatever_its_time_says() {
        let at = read(json!({"deletionTime": "2026-11-28T12:00:00Z"}), json!({})).deleting.unwrap();
        assert_eq!(at.to_string(), "2026-11-28T12:00:00Z");
        assert!(read(json!({"deletionTime": "soon"}), json!({})).deleting.is_some());
        assert!(read(json!({"deletionTime": null}), json!({})).deleting.is_none());
    }

    #[test]
    fn what_is_wrong_is_told_in_the_services_words() {
        let detail = json!({"reason": "DependencyFailed", "message": "no host"});
        let server =
            read(json!({"provisioningStatus": "error", "provisioningStatusDetail": detail}), json!({}));
        assert_eq!(server.detail.as_deref(), Some("DependencyFailed: no host"));
        let metadata = json!({"provisioningStatus": "provisioned", "provisioningStatusDetail": detail,
            "healthStatus": "degraded", "healthStatusDetail": {"reason": "Slow"}});
        assert_eq!(read(metadata, json!({"powerState": "Running"})).detail.as_deref(), Some("Slow"));
    }

    #[test]
    fn what_is_sent_is_read_back_the_same() {
        let place = Place { region: "eu".into(), project: "p".into(), network: "n".into() };
        let link = Link { place, instance: "u".into(), name: "web-0".into() };
        let spec = ServerSpec {
            flavor_id: "f".into(),
            image_id: "i".into(),
            public_ip: true,
            security_groups: vec!["g".into()],
            allowed_source_addresses: Vec::new(),
            user_data: Some(UserData::new("#cloud-config\n")),
        };
        let sent = serde_json::to_value(ServerWrite::create(&link, &spec)).unwrap();
        assert_eq!(sent["spec"]["networkId"], "n");
        assert_eq!(sent["metadata"]["tags"], json!([{"name": TAG, "value": "u"}]));
        let update = serde_json::to_value(ServerWrite::update(&link, &spec)).unwrap();
        assert!(update["spec"].get("networkId").is_none(), "the service knows no such field of an update");
        let read = serde_json::from_value::<SpecRead>(sent["spec"].clone()).unwrap();
        let stands = ServerRead {
            metadata: serde_json::from_value(json!({"id": ID, "name": "web-0", "projectId": "p"})).unwrap(),
            spec: read,
            status: serde_json::from_value(json!({"regionId": "r", "networkId": "n"})).unwrap(),
        };
        assert_eq!(stands.server("eu", "r").spec, spec);
    }
}
