//! A provider of a simulated region.

use std::path::Path;

use fedhub_core::clock::Clock;
use fedhub_provider::{Link, Place};
use fedhub_provider_region::{Config, RegionProvider, ServerSpec, UserData};
use fedhub_region::{Options, Region, Running};
use tempfile::TempDir;

pub use fedhub_region::known::{
    CLIENT, IMAGE, LARGE, NETWORK, NEW_IMAGE, ORGANIZATION, PROJECT, REGION, SMALL,
};

/// A region, and a provider that asks it.
pub struct Setup {
    pub region: Running,
    pub provider: RegionProvider,
    pub folder: TempDir,
}

impl Setup {
    /// With this region, and what else its configuration says.
    pub async fn new(options: Options) -> Self {
        let secret = options.client.clone().map_or_else(String::new, |client| client.secret);
        let region = Region::start(options).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("client-secret"), format!("{secret}\n")).unwrap();
        let provider = provider(&region.url(), &region.url(), folder.path());
        Self { region, provider, folder }
    }
}

/// A provider of a region at these addresses, by the secret in a folder.
pub fn provider(url: &str, identity: &str, folder: &Path) -> RegionProvider {
    let text = config(url, identity);
    let config = Config::parse(&text, folder).unwrap();
    RegionProvider::new(config, 7, Clock::system()).unwrap()
}

/// A provider of a region at this address, whose configuration does not say who keeps quota.
pub fn without_identity(url: &str, folder: &Path) -> RegionProvider {
    let text = config(url, url).replace(&format!("  identityUrl: {url}\n"), "");
    RegionProvider::new(Config::parse(&text, folder).unwrap(), 7, Clock::system()).unwrap()
}

/// The configuration of a region at these addresses.
pub fn config(url: &str, identity: &str) -> String {
    format!(
        "
regions:
- name: eu
  url: {url}
  identityUrl: {identity}
  organizationId: {ORGANIZATION}
  regionId: {REGION}
  insecureLoopback: true
  auth:
    clientCredentials:
      tokenUrl: {identity}/oauth2/v2/token
      clientId: {CLIENT}
      clientSecretFile: client-secret
  limits: {{requestsPerSecond: 1000}}
  projects:
    shop: {{projectId: {PROJECT}, networks: {{default: {NETWORK}}}}}
  instanceTypes: {{small: {SMALL}}}
  gpus: {{small: 2}}
  images: {{ubuntu: {IMAGE}}}
"
    )
}

pub fn place() -> Place {
    Place { region: "eu".into(), project: PROJECT.into(), network: NETWORK.into() }
}

pub fn link(name: &str) -> Link {
    Link { place: place(), instance: format!("uid-of-{name}").into(), name: name.into() }
}

pub fn spec() -> ServerSpec {
    ServerSpec {
        flavor_id: SMALL.into(),
        image_id: IMAGE.into(),
        public_ip: false,
        security_groups: Vec::new(),
        allowed_source_addresses: Vec::new(),
        user_data: Some(UserData::new("#cloud-config\n{}\n")),
    }
}
