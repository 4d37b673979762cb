//! Connections of the commands for operators.

use std::time::Duration;

use fedhub_planes::discovery::credentials::Source;
use kube::{Client, Config};

use super::read::Read;

/// A plane that can be asked.
#[derive(Clone)]
pub struct Plane {
    /// Its client.
    pub client: Client,
    /// Its server, without credentials.
    pub server: String,
    /// How long a read may take.
    pub timeout: Duration,
}

/// A plane, or why it cannot be asked.
pub type Connection = Read<Plane>;

/// The plane of a configuration.
pub fn plane(mut config: Config, timeout: Duration) -> anyhow::Result<Plane> {
    config.connect_timeout = Some(timeout);
    config.read_timeout = Some(timeout);
    let uri = &config.cluster_url;
    let server = format!("{}://{}", uri.scheme_str().unwrap_or("https"), uri.host().unwrap_or_default());
    let server = uri.port_u16().map_or_else(|| server.clone(), |port| format!("{server}:{port}"));
    Ok(Plane { client: Client::try_from(config)?, server, timeout })
}

/// The plane of a kubeconfig that the operator names, or of the pod's service account.
pub fn of_source(source: &Source, timeout: Duration) -> anyhow::Result<Plane> {
    plane(source.read()?.config, timeout)
}
