//! What the configuration file says, as it is written.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use fedhub_core::clock::parse_duration;
use http::Uri;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::ids::Uuid;

/// The configuration of the provider. Read it with `Config::load`, which checks it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// The regions, by whose names statuses know them.
    pub(crate) regions: Vec<Region>,
    /// Which region an Instance's location is in. Without an entry it is the only region.
    #[serde(default)]
    pub(crate) locations: BTreeMap<String, String>,
    /// How long the services may take to carry out an order that was not answered, and to show what it made.
    /// Until then nothing proves that a server is gone (V3).
    #[serde(default = "a_minute", deserialize_with = "duration")]
    pub(crate) settle: Duration,
}

/// Longer than the service's own limit for a request, and the lag of its reads.
fn a_minute() -> Duration {
    Duration::from_mins(1)
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    parse_duration(&text).map_err(D::Error::custom)
}

/// One region: where it is, who fedhub is to it, and what names mean in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(clippy::struct_field_names, reason = "the file says regionId, as the service does")]
pub struct Region {
    /// The name that statuses of Instances have it by. It does not change while servers stand.
    pub name: String,
    /// The region service.
    pub url: Url,
    /// The identity service, which keeps quota. Without it no quota is taken.
    pub identity_url: Option<Url>,
    /// The organization that all projects are in.
    pub organization_id: Uuid,
    /// The region, as its service knows it.
    pub region_id: Uuid,
    /// The authorities that certificates of the services are checked by; those of the system without it.
    pub ca_file: Option<PathBuf>,
    /// Whether a service on this machine may be asked without TLS. For tests.
    #[serde(default)]
    pub insecure_loopback: bool,
    /// Who fedhub is.
    pub auth: Auth,
    /// What is asked of the services at most.
    #[serde(default)]
    pub limits: Limits,
    /// What projects are there, by the names of their project planes.
    #[serde(default)]
    pub projects: BTreeMap<String, Project>,
    /// The flavors of types of instances.
    #[serde(default)]
    pub instance_types: BTreeMap<String, Uuid>,
    /// How many GPUs an Instance of a type takes of the quota.
    #[serde(default)]
    pub gpus: BTreeMap<String, u32>,
    /// The images of virtual machines, by the names that users have for them.
    #[serde(default)]
    pub images: BTreeMap<String, Uuid>,
    /// What containers run on. Without it, only virtual machines can be had.
    pub sandbox: Option<Sandbox>,
}

/// What containers run on.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sandbox {
    /// An image with cloud-init and podman.
    pub image_id: Uuid,
}

/// A project and its networks.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Project {
    /// The project, as the service knows it.
    pub project_id: Uuid,
    /// Its networks, by the names that interfaces of Instances have for them.
    #[serde(default)]
    pub networks: BTreeMap<String, Uuid>,
}

/// Who fedhub is to a region: one of these.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Auth {
    /// A token that is asked for with a client's secret (`OAuth2`, RFC 6749, section 4.4).
    ClientCredentials(ClientCredentials),
    /// A client certificate.
    Mtls(Mtls),
}

/// A client of `OAuth2`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientCredentials {
    /// Where tokens are asked for.
    pub token_url: Url,
    /// The name of the client.
    pub client_id: String,
    /// The file with its secret, which is read for each token.
    pub client_secret_file: PathBuf,
}

/// A client certificate.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mtls {
    /// The file with the certificate and what leads to its authority, as PEM.
    pub cert_file: PathBuf,
    /// The file with its key, as PEM.
    pub key_file: PathBuf,
    /// On whose behalf requests are said to be.
    #[serde(default = "fedhub")]
    pub principal: String,
}

fn fedhub() -> String {
    "fedhub".to_owned()
}

/// What is asked of one service of a region at most.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Limits {
    /// Requests under way at once.
    pub max_in_flight: u32,
    /// Requests a second.
    pub requests_per_second: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_in_flight: 16, requests_per_second: 20 }
    }
}

/// The address of a service: `http` or `https`, a host, and a path that others are below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url(Uri);

impl Url {
    /// Whether requests to it are encrypted.
    pub fn is_https(&self) -> bool {
        self.0.scheme_str() == Some("https")
    }

    /// Whether its host is this machine.
    pub fn is_loopback(&self) -> bool {
        let host = self.0.host().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// Returns the address without its path, and its path without a slash at its end.
    pub fn parts(&self) -> (String, &str) {
        let authority = self.0.authority().map_or("", |authority| authority.as_str());
        let server = format!("{}://{authority}", self.0.scheme_str().unwrap_or("https"));
        (server, self.0.path().trim_end_matches('/'))
    }
}

impl<'de> Deserialize<'de> for Url {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // A text with a fault may hold a password anywhere: none is shown, and its line is said anyway.
        let uri: Uri = text.parse().map_err(|_| D::Error::custom("not a URL"))?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if !matches!(uri.scheme_str(), Some("http" | "https")) || authority.is_empty() {
            return Err(D::Error::custom("not a URL that begins with https://"));
        }
        if authority.contains('@') {
            return Err(D::Error::custom("a URL with a user or a password: credentials belong into files"));
        }
        if uri.query().is_some() {
            return Err(D::Error::custom("a URL with a query: leave the query out"));
        }
        Ok(Self(uri))
    }
}
