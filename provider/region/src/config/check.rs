//! What a configuration has to keep to beyond its form.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file::{Auth, Config, Region, Url};

/// The longest name of a region: it stands in statuses.
const LONGEST_NAME: usize = 63;
/// The bounds of both limits.
const IN_FLIGHT: std::ops::RangeInclusive<u32> = 1..=256;
const PER_SECOND: std::ops::RangeInclusive<u32> = 1..=1_000;

/// What is wrong with a configuration: every fault, with where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    faults: Vec<String>,
}

impl ConfigFault {
    /// These faults.
    pub(crate) fn new(faults: Vec<String>) -> Self {
        Self { faults }
    }

    /// Every fault: the field or the line, and what is wrong there.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the provider's configuration is not valid: {}", self.faults.join("; "))
    }
}

impl std::error::Error for ConfigFault {}

impl Config {
    /// Reads and checks a configuration. Paths in it are relative to its folder.
    ///
    /// # Errors
    ///
    /// Every fault at once, once the file has the form of a configuration; before that the first, with its
    /// line.
    pub fn load(path: &Path) -> Result<Self, ConfigFault> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigFault::new(vec![format!("failed to read {}: {error}", path.display())]))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let config = Self::parse(&text, folder)?;
        let mut faults = Vec::new();
        for region in &config.regions {
            for (field, file) in region.files() {
                if let Err(error) = std::fs::File::open(file) {
                    let region = &region.name;
                    faults.push(format!(
                        "region {region:?}: {field}: failed to read {}: {error}",
                        file.display()
                    ));
                }
            }
        }
        config.unless(faults)
    }

    /// Reads and checks the text of a configuration whose paths are relative to `folder`. Files that it names
    /// are not looked at.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn parse(text: &str, folder: &Path) -> Result<Self, ConfigFault> {
        let mut config: Self = serde_saphyr::from_str(text).map_err(|error| form(&error))?;
        for region in &mut config.regions {
            region.resolve(folder);
        }
        let faults = config.faults();
        config.unless(faults)
    }

    fn unless(self, faults: Vec<String>) -> Result<Self, ConfigFault> {
        if faults.is_empty() { Ok(self) } else { Err(ConfigFault { faults }) }
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.regions.is_empty() {
            faults.push("regions: there is none: name at least one".to_owned());
        }
        let mut names = BTreeSet::new();
        for region in &self.regions {
            let name = &region.name;
            if !names.insert(name.as_str()) {
                faults.push(format!("regions: {name:?} is there twice: give each its own name"));
            }
            faults.extend(region.faults().into_iter().map(|fault| format!("region {name:?}: {fault}")));
        }
        for (location, region) in &self.locations {
            if !names.contains(region.as_str()) {
                faults.push(format!(
                    "locations: {location:?} is in {region:?}, which is not among the regions"
                ));
            }
        }
        if !(Duration::from_secs(1)..=Duration::from_hours(1)).contains(&self.settle) {
            faults.push(format!("settle: {:?} is not between 1s and 1h", self.settle));
        }
        if self.regions.len() > 1 && self.locations.is_empty() {
            faults.push("locations: with several regions, say which one each location is in".to_owned());
        }
        faults
    }
}

/// Where a text does not have the form of a configuration, in one line and without a copy of it.
fn form(error: &serde_saphyr::Error) -> ConfigFault {
    let words = error.without_snippet().to_string();
    let words = words.lines().next().unwrap_or_default();
    match error.location() {
        Some(at) if !words.contains("line") => {
            ConfigFault::new(vec![format!("line {}, column {}: {words}", at.line(), at.column())])
        }
        _ => ConfigFault::new(vec![words.to_owned()]),
    }
}

impl Region {
    /// The files that it names, by the fields that name them.
    pub(crate) fn files(&self) -> Vec<(&'static str, &Path)> {
        let ca = self.ca_file.iter().map(|file| ("caFile", file.as_path()));
        let credentials = match &self.auth {
            Auth::ClientCredentials(client) => {
                vec![("auth.clientCredentials.clientSecretFile", client.client_secret_file.as_path())]
            }
            Auth::Mtls(mtls) => {
                vec![("auth.mtls.certFile", mtls.cert_file.as_path()), ("auth.mtls.keyFile", &mtls.key_file)]
            }
        };
        ca.chain(credentials).collect()
    }

    fn resolve(&mut self, folder: &Path) {
        let mut files: Vec<&mut PathBuf> = self.ca_file.iter_mut().collect();
        match &mut self.auth {
            Auth::ClientCredentials(client) => files.push(&mut client.client_secret_file),
            Auth::Mtls(mtls) => files.extend([&mut mtls.cert_file, &mut mtls.key_file]),
        }
        for file in files {
            *file = folder.join(&*file);
        }
    }

    fn urls(&self) -> impl Iterator<Item = (&'static str, &Url)> {
        let token = match &self.auth {
            Auth::ClientCredentials(client) => Some(("auth.clientCredentials.tokenUrl", &client.token_url)),
            Auth::Mtls(_) => None,
        };
        let identity = self.identity_url.as_ref().map(|url| ("identityUrl", url));
        [("url", &self.url)].into_iter().chain(identity).chain(token)
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.name.is_empty() || self.name.len() > LONGEST_NAME {
            faults.push(format!("name: has to have 1 to {LONGEST_NAME} characters"));
        }
        for (field, url) in self.urls() {
            if url.is_https() {
                continue;
            }
            if matches!(self.auth, Auth::Mtls(_)) {
                faults.push(format!(
                    "{field}: has to begin with https://, for a certificate says who fedhub is"
                ));
            } else if !(self.insecure_loopback && url.is_loopback()) {
                faults.push(format!(
                    "{field}: has to begin with https://; only a service on this machine may be asked without \
                     TLS, where insecureLoopback is true"
                ));
            }
        }
        if let Auth::ClientCredentials(client) = &self.auth
            && client.client_id.is_empty()
        {
            faults.push("auth.clientCredentials.clientId: is empty".to_owned());
        }
        if !IN_FLIGHT.contains(&self.limits.max_in_flight) {
            faults.push(format!(
                "limits.maxInFlight: has to be from {} to {}",
                IN_FLIGHT.start(),
                IN_FLIGHT.end()
            ));
        }
        if !PER_SECOND.contains(&self.limits.requests_per_second) {
            let range = PER_SECOND;
            faults.push(format!(
                "limits.requestsPerSecond: has to be from {} to {}",
                range.start(),
                range.end()
            ));
        }
        for instance_type in self.gpus.keys() {
            if !self.instance_types.contains_key(instance_type) {
                faults.push(format!("gpus: {instance_type:?} is not among instanceTypes"));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests;
