//! The client of a region, made anew when the files with its trust or its certificate change.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Config;
use kube::client::ConfigExt;
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::time::Instant;
use zeroize::Zeroizing;

use super::wire::{Wire, wire};

/// How often the files are looked at, at most: a mounted Secret takes longer than that to arrive.
const LOOK: Duration = Duration::from_secs(10);

/// The files that a client is made of.
#[derive(Clone, Debug, Default)]
pub struct TrustFiles {
    /// The authorities that servers are checked by; those of the system without it.
    pub ca: Option<PathBuf>,
    /// The certificate and the key of the client.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// What was in them.
#[derive(PartialEq, Eq)]
struct Contents {
    ca: Option<Vec<u8>>,
    identity: Option<(Vec<u8>, Zeroizing<Vec<u8>>)>,
}

impl TrustFiles {
    fn read(&self) -> Result<Contents, String> {
        let ca = self.ca.as_ref().map(read).transpose()?;
        let identity = match &self.identity {
            Some((certificate, key)) => Some((read(certificate)?, Zeroizing::new(read(key)?))),
            None => None,
        };
        Ok(Contents { ca, identity })
    }
}

fn read(path: &PathBuf) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("failed to read {}: {error}", path.display()))
}

impl Contents {
    fn wire(&self, connections: usize) -> Result<Wire, String> {
        // kube's client knows the authorities of each system; the address is of no matter for them.
        let mut config = Config::new(http::Uri::from_static("https://localhost"));
        if let Some(ca) = &self.ca {
            let authorities: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(ca).collect();
            let authorities = authorities.map_err(|_| "caFile is not PEM".to_owned())?;
            if authorities.is_empty() {
                return Err("caFile holds no certificate".to_owned());
            }
            config.root_cert = Some(authorities.into_iter().map(|der| der.to_vec()).collect());
        }
        if let Some((certificate, key)) = &self.identity {
            config.auth_info.client_certificate_data = Some(STANDARD.encode(certificate));
            config.auth_info.client_key_data = Some(STANDARD.encode(key.as_slice()).into());
        }
        let tls = config.rustls_client_config().map_err(|error| {
            format!("its certificates make no client: {}", fedhub_core::errors::chain(&error))
        })?;
        Ok(wire(tls, connections))
    }
}

/// The client of a region.
pub struct Connections {
    files: TrustFiles,
    idle: usize,
    current: Mutex<Current>,
}

struct Current {
    wire: Wire,
    contents: Contents,
    looked: Instant,
}

impl Connections {
    /// Reads the files and makes a client, which keeps at most `idle` idle connections to each server.
    ///
    /// # Errors
    ///
    /// What is wrong with the files; never what is in them.
    pub fn new(files: TrustFiles, idle: usize) -> Result<Self, String> {
        let contents = files.read()?;
        let wire = contents.wire(idle)?;
        let current = Mutex::new(Current { wire, contents, looked: Instant::now() });
        Ok(Self { files, idle, current })
    }

    /// The client by the files as they are. Files that make none, as where they are halfway replaced, leave
    /// the client that there is.
    pub async fn wire(&self) -> Wire {
        let now = Instant::now();
        {
            let mut current = self.current.lock();
            if now.saturating_duration_since(current.looked) < LOOK {
                return current.wire.clone();
            }
            current.looked = now;
        }
        let files = self.files.clone();
        let read = tokio::task::spawn_blocking(move || files.read()).await;
        let contents = read.unwrap_or_else(|error| Err(format!("failed to read the files: {error}")));
        let mut current = self.current.lock();
        let made = match contents {
            Ok(contents) if contents == current.contents => return current.wire.clone(),
            Ok(contents) => contents.wire(self.idle).map(|wire| (wire, contents)),
            Err(error) => Err(error),
        };
        match made {
            Ok((wire, contents)) => {
                tracing::info!("certificates changed, connecting anew");
                current.wire = wire;
                current.contents = contents;
            }
            Err(error) => tracing::warn!(error, "ignoring certificates that make no client"),
        }
        current.wire.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority() -> String {
        let key = rcgen::KeyPair::generate().unwrap();
        rcgen::CertificateParams::default().self_signed(&key).unwrap().pem()
    }

    #[tokio::test(start_paused = true)]
    async fn v7_trust_that_changes_makes_another_client_and_rubbish_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let ca = folder.path().join("ca.crt");
        let first = authority();
        std::fs::write(&ca, &first).unwrap();
        let files = TrustFiles { ca: Some(ca.clone()), identity: None };
        let connections = Connections::new(files, 1).unwrap();
        let trusted = |connections: &Connections| connections.current.lock().contents.ca.clone().unwrap();

        let second = authority();
        std::fs::write(&ca, &second).unwrap();
        connections.wire().await;
        assert_eq!(trusted(&connections), first.as_bytes(), "the files are not looked at for each request");
        tokio::time::advance(LOOK).await;
        connections.wire().await;
        assert_eq!(trusted(&connections), second.as_bytes());

        for rubbish in ["", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
            std::fs::write(&ca, rubbish).unwrap();
            tokio::time::advance(LOOK).await;
            connections.wire().await;
            assert_eq!(trusted(&connections), second.as_bytes());
        }
        std::fs::remove_file(&ca).unwrap();
        tokio::time::advance(LOOK).await;
        connections.wire().await;
        assert_eq!(trusted(&connections), second.as_bytes());
    }
}
