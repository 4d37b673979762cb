//! What a region consists of, and how it behaves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::faults::Chaos;
use crate::known::{
    CLIENT, IMAGE, LARGE, NETWORK, NEW_IMAGE, ORGANIZATION, OTHER_NETWORK, PROJECT, REGION, SECRET, SMALL,
};

/// A region service to be started. As JSON, what is not named is as it is by default.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Options {
    /// The seed of all that is random: IDs, addresses and faults.
    pub seed: u64,
    /// The ID of the region.
    pub region_id: String,
    /// The organizations that callers may see. What is of others is not found, or left out.
    pub organizations: Vec<String>,
    /// The networks on which servers can be, each of one project.
    pub networks: Vec<Network>,
    /// What servers can be made of.
    pub flavors: Vec<Flavor>,
    /// What servers can boot.
    pub images: Vec<Image>,
    /// The client that gets tokens. Without one, nobody has to show a token.
    pub client: Option<Client>,
    /// The names of certificates that stand in for a token.
    pub services: Vec<String>,
    /// How long a token is good for, in seconds.
    pub token_lifetime: u64,
    /// How much of each kind an organization may take. What is not named is not limited.
    pub quotas: BTreeMap<String, u64>,
    /// How long the service takes for what it does.
    pub timing: Timing,
    /// How far reads lag behind.
    pub lag: Lag,
    /// How many requests it takes.
    pub rate_limit: Option<RateLimit>,
    /// Faults that come by chance.
    pub chaos: Option<Chaos>,
    /// How connections are secured.
    pub tls: Tls,
    /// How many entries the record has at most: the oldest go first.
    pub journal: usize,
}

impl Default for Options {
    /// What [`known`](crate::known) names. Everything takes half a second.
    fn default() -> Self {
        Self {
            seed: 1,
            region_id: REGION.to_owned(),
            organizations: vec![ORGANIZATION.to_owned()],
            networks: vec![Network::new(NETWORK), Network::new(OTHER_NETWORK)],
            flavors: vec![Flavor::new(SMALL, "small", 2, 4), Flavor::new(LARGE, "large", 8, 32)],
            images: vec![Image::new(IMAGE, "ubuntu-24.04"), Image::new(NEW_IMAGE, "ubuntu-24.10")],
            client: Some(Client { id: CLIENT.to_owned(), secret: SECRET.to_owned() }),
            services: vec![CLIENT.to_owned()],
            token_lifetime: 3600,
            quotas: BTreeMap::new(),
            timing: Timing::default(),
            lag: Lag::default(),
            rate_limit: None,
            chaos: None,
            tls: Tls::None,
            journal: 100_000,
        }
    }
}

/// A client, as it asks for a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Its name.
    pub id: String,
    /// Its secret.
    pub secret: String,
}

/// A network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Network {
    /// Its ID, a UUID.
    pub id: String,
    /// Whose it is.
    pub organization_id: String,
    /// The project that it is of, and all of its servers.
    pub project_id: String,
}

impl Network {
    /// One of the default organization and project.
    pub fn new(id: &str) -> Self {
        Self { id: id.to_owned(), organization_id: ORGANIZATION.to_owned(), project_id: PROJECT.to_owned() }
    }
}

/// What a server can be made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flavor {
    /// Its ID, a UUID.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How many cores.
    pub cpus: u64,
    /// How much memory, in GiB.
    pub memory: u64,
    /// How large the root disk is, in GB.
    pub disk: u64,
    /// The architecture of its processors, where that is known.
    pub architecture: Option<String>,
}

impl Flavor {
    /// One with a disk of 20 GB.
    pub fn new(id: &str, name: &str, cpus: u64, memory: u64) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            cpus,
            memory,
            disk: 20,
            architecture: Some("x86_64".to_owned()),
        }
    }
}

/// What a server can boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Its ID, a UUID.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether it can be used.
    pub ready: bool,
    /// How large it is, in GiB.
    pub size: u64,
    /// The architecture that it is for, where that is known.
    pub architecture: Option<String>,
}

impl Image {
    /// One that is ready, and fits every default flavor.
    pub fn new(id: &str, name: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            ready: true,
            size: 10,
            architecture: Some("x86_64".to_owned()),
        }
    }
}

/// How long the service takes for what it does after it has answered, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Timing {
    /// From the creation until a server runs.
    pub build: u64,
    /// A start, a stop, or a change of the network.
    pub change: u64,
    /// A rebuild: from the order until the server runs the new image.
    pub rebuild: u64,
    /// A deletion: how long a server is listed with a time of deletion.
    pub deletion: u64,
}

impl Default for Timing {
    fn default() -> Self {
        Self { build: 500, change: 500, rebuild: 500, deletion: 500 }
    }
}

/// How far what the service shows lags behind what it did, in milliseconds. Creations, and answers to orders,
/// never lag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Lag {
    /// Lists.
    pub list: u64,
    /// Reads of one server or allocation by its ID: one that was just made is not found.
    pub get: u64,
    /// What an order by an ID knows of: one about a server that was just made is answered by 404.
    pub orders: u64,
}

/// A limit on requests. Requests above it are answered by 429.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimit {
    /// How many a second, at least one.
    pub per_second: u32,
    /// How many at once.
    pub burst: u32,
}

/// How connections are secured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Tls {
    /// Not at all.
    #[default]
    None,
    /// By a certificate of the server, of a CA that is new in each process.
    Server,
    /// Clients may show a certificate too, which stands in for a token: of the same CA, and with the header
    /// `X-Principal` in each request.
    Mutual,
}
