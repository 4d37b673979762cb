//! What the region holds.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::known::INSTANCE_TAG;

/// A tag of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// How a server hides from its callers, although it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Hidden {
    /// It is shown.
    #[default]
    No,
    /// Lists leave it out.
    Lists,
    /// Lists leave it out, and by its ID it is forbidden.
    Everywhere,
}

/// Words that a server shows in place of what is so, in whatever form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Overlay {
    /// In place of the state of its power.
    pub power_state: Option<String>,
    /// In place of how far it is provisioned.
    pub provisioning_status: Option<String>,
    /// In place of its health.
    pub health_status: Option<String>,
    /// What is wrong with it, in words.
    pub message: Option<String>,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Server {
    /// Its ID.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Its tags.
    pub tags: Vec<Tag>,
    /// Whose it is.
    pub organization_id: String,
    /// The project that it is of.
    pub project_id: String,
    /// The network that it is on.
    pub network_id: String,
    /// What it is made of.
    pub flavor_id: String,
    /// What it boots.
    pub image_id: String,
    /// How it is on the network, as it was asked for.
    pub networking: Value,
    /// What its first boot reads, in base64.
    pub user_data: Option<String>,
    /// When it was made.
    pub created: Timestamp,
    /// Since when it is being deleted.
    pub deleting: Option<Timestamp>,
    /// How far it is provisioned.
    pub provisioning_status: String,
    /// How it is.
    pub health_status: String,
    /// What is wrong with it, in words.
    pub message: Option<String>,
    /// The state of its power; none at first.
    pub power_state: Option<String>,
    /// Its address on the network, once it has one.
    pub private_ip: Option<String>,
    /// Its address from outside, where it asked for one.
    pub public_ip: Option<String>,
    /// Its hardware address, once it runs.
    pub mac_address: Option<String>,
    /// How many root disks it has had.
    pub root_disks: u32,
    /// How often it was restarted.
    pub restarts: u32,
    /// The Instance that its tag named when a request made it: what it is for, whatever its tags say now.
    pub instance: Option<String>,
    /// Whether it was planted: no request may touch it.
    pub foreign: bool,
    /// Whether its deletion never ends.
    pub stuck: bool,
    /// How it hides.
    pub hidden: Hidden,
    /// What it shows in place of what is so.
    pub overlay: Overlay,
    /// Which of the orders about its power and its image is the last one: steps of older ones are void.
    #[serde(skip)]
    pub turn: u64,
}

impl Server {
    /// As the REST interface shows it.
    pub fn shown(&self, region: &str) -> Value {
        let provisioning = self.overlay.provisioning_status.as_ref().unwrap_or(&self.provisioning_status);
        let health = self.overlay.health_status.as_ref().unwrap_or(&self.health_status);
        let message = self.overlay.message.as_ref().or(self.message.as_ref());
        let detail = message.map(|it| json!({"reason": "Errored", "message": it}));
        let metadata = json!({
            "id": self.id, "name": self.name, "description": self.description, "tags": shown_tags(&self.tags),
            "organizationId": self.organization_id, "projectId": self.project_id,
            "creationTime": self.created, "deletionTime": self.deleting,
            "provisioningStatus": provisioning, "provisioningStatusDetail": detail, "healthStatus": health,
        });
        let spec = json!({
            "flavorId": self.flavor_id, "imageId": self.image_id, "networking": self.networking,
            "userData": self.user_data,
        });
        let status = json!({
            "regionId": region, "networkId": self.network_id,
            "powerState": self.overlay.power_state.as_ref().or(self.power_state.as_ref()),
            "privateIP": self.private_ip, "publicIP": self.public_ip, "macAddress": self.mac_address,
        });
        json!({"metadata": present(metadata), "spec": present(spec), "status": present(status)})
    }
}

/// No tags at all are not shown.
fn shown_tags(tags: &[Tag]) -> Option<&[Tag]> {
    if tags.is_empty() { None } else { Some(tags) }
}

/// Without the members that are null.
fn present(mut object: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    object
}

/// The Instance that tags name.
pub fn instance(tags: &[Tag]) -> Option<&str> {
    let tag = tags.iter().find(|tag| tag.name == INSTANCE_TAG)?;
    Some(&tag.value)
}

/// A server that stands without a request, such as another program's.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plant {
    /// Its name.
    pub name: String,
    /// The network that it is on.
    pub network_id: String,
    /// Its tags.
    #[serde(default)]
    pub tags: Vec<Tag>,
    /// What it is made of.
    pub flavor_id: String,
    /// What it boots.
    pub image_id: String,
    /// Its ID: a random one where there is none, as servers of old have.
    #[serde(default)]
    pub id: Option<String>,
    /// Whether a request may touch it all the same.
    #[serde(default)]
    pub ours: bool,
}

/// How much of a kind is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceAllocation {
    /// The kind, such as `servers`.
    pub kind: String,
    /// How much is in use.
    pub committed: u64,
    /// How much is held back.
    pub reserved: u64,
}

/// Quota that is taken.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Allocation {
    /// Its ID.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its tags.
    pub tags: Vec<Tag>,
    /// Whose quota it is.
    pub organization_id: String,
    /// The project that it is for.
    pub project_id: String,
    /// The kind of what it is for.
    pub kind: String,
    /// The ID of what it is for.
    pub resource: String,
    /// How much it takes.
    pub allocations: Vec<ResourceAllocation>,
    /// When it was made.
    pub created: Timestamp,
}

impl Allocation {
    /// As the REST interface shows it.
    pub fn shown(&self) -> Value {
        let metadata = json!({
            "id": self.id, "name": self.name, "tags": shown_tags(&self.tags),
            "organizationId": self.organization_id, "projectId": self.project_id,
            "creationTime": self.created, "provisioningStatus": "provisioned", "healthStatus": "healthy",
        });
        let spec = json!({"kind": self.kind, "id": self.resource, "allocations": self.allocations});
        json!({"metadata": present(metadata), "spec": spec})
    }

    /// The Instance that it is for: the one that its tag names, or else what it is for.
    pub fn instance(&self) -> &str {
        instance(&self.tags).unwrap_or(&self.resource)
    }
}

/// What becomes of a server in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The service has begun with it. Void after another order, like all that carry a number.
    Accepted(u64),
    /// It is provisioned and boots.
    Built(u64),
    /// It runs.
    Runs(u64),
    /// It is stopped.
    Stopped(u64),
    /// Its root disk is being made anew.
    Rebuilds(u64),
    /// The service gave up on it.
    Fails(u64),
    /// Its place on the network is as it was asked for.
    Networked,
    /// It is gone.
    Gone,
}
