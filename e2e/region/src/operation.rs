//! What can be asked of the service.

use axum::routing::MethodFilter;
use serde::{Deserialize, Serialize};

/// An operation of the REST interface: a method on a path.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumIter,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum Operation {
    /// The servers that the caller may see.
    ListServers,
    /// A new server.
    CreateServer,
    /// One server.
    GetServer,
    /// All of a server's specification, its tags and its description.
    UpdateServer,
    /// The end of a server.
    DeleteServer,
    /// Power on.
    StartServer,
    /// Power off, in order.
    StopServer,
    /// A restart, in order.
    SoftReboot,
    /// A restart at once.
    HardReboot,
    /// What servers can be made of.
    ListFlavors,
    /// What servers can boot.
    ListImages,
    /// One network.
    GetNetwork,
    /// Holds a network back from deletion.
    PutReference,
    /// Lets a network go.
    DeleteReference,
    /// A token for credentials.
    Token,
    /// The quota that is taken in an organization.
    ListAllocations,
    /// Takes quota.
    CreateAllocation,
    /// One allocation.
    GetAllocation,
    /// Changes how much is taken.
    UpdateAllocation,
    /// Gives quota back.
    DeleteAllocation,
}

const SERVERS: &str = "/api/v2/servers";
const SERVER: &str = "/api/v2/servers/{server}";
const REFERENCE: &str = "/api/v2/networks/{network}/references/{reference}";
const ALLOCATIONS: &str = "/api/v1/organizations/{organization}/projects/{project}/allocations";
const ALLOCATION: &str = "/api/v1/organizations/{organization}/projects/{project}/allocations/{allocation}";

impl Operation {
    /// The path, with its parameters in braces.
    pub fn path(self) -> &'static str {
        match self {
            Self::ListServers | Self::CreateServer => SERVERS,
            Self::GetServer | Self::UpdateServer | Self::DeleteServer => SERVER,
            Self::StartServer => "/api/v2/servers/{server}/start",
            Self::StopServer => "/api/v2/servers/{server}/stop",
            Self::SoftReboot => "/api/v2/servers/{server}/softreboot",
            Self::HardReboot => "/api/v2/servers/{server}/hardreboot",
            Self::ListFlavors => "/api/v1/organizations/{organization}/regions/{region}/flavors",
            Self::ListImages => "/api/v1/organizations/{organization}/regions/{region}/images",
            Self::GetNetwork => "/api/v2/networks/{network}",
            Self::PutReference | Self::DeleteReference => REFERENCE,
            Self::Token => "/oauth2/v2/token",
            Self::ListAllocations => "/api/v1/organizations/{organization}/allocations",
            Self::CreateAllocation => ALLOCATIONS,
            Self::GetAllocation | Self::UpdateAllocation | Self::DeleteAllocation => ALLOCATION,
        }
    }

    /// The method, as axum's routes know it.
    pub(crate) fn method(self) -> MethodFilter {
        match self {
            Self::ListServers
            | Self::GetServer
            | Self::ListFlavors
            | Self::ListImages
            | Self::GetNetwork
            | Self::ListAllocations
            | Self::GetAllocation => MethodFilter::GET,
            Self::UpdateServer | Self::PutReference | Self::UpdateAllocation => MethodFilter::PUT,
            Self::DeleteServer | Self::DeleteReference | Self::DeleteAllocation => MethodFilter::DELETE,
            Self::CreateServer
            | Self::StartServer
            | Self::StopServer
            | Self::SoftReboot
            | Self::HardReboot
            | Self::Token
            | Self::CreateAllocation => MethodFilter::POST,
        }
    }

    /// Whether it changes something when it is carried out.
    pub fn is_order(self) -> bool {
        self.method() != MethodFilter::GET && self != Self::Token
    }
}
