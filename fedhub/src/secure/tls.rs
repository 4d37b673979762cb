//! The certificate of the secure server, and the CA that it trusts: from files that change while the process
//! runs, as cert-manager and the kubelet write them, or made at the start.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::metrics::Metrics;
use fedhub_planes::discovery::expiry::{Expiry, publish};
use parking_lot::RwLock;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use tokio_util::sync::CancellationToken;

/// The files of a server's certificate.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The name of the listener in metrics and logs; its flags are `--<name>-tls-cert`, `--<name>-tls-key`
    /// and `--<name>-client-ca`.
    pub name: &'static str,
    /// Certificate and key; without them, a certificate that the process makes itself.
    pub pair: Option<(PathBuf, PathBuf)>,
    /// CA of client certificates.
    pub client_ca: Option<PathBuf>,
    /// Whether who shows none of that CA is turned away.
    pub requires_client: bool,
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("failed to read {}", .0.display())]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// The file holds no certificate, or none that can be read.
    #[error("{0} holds no certificate in PEM")]
    NoCertificate(String),
    /// The file holds no key, or none that can be read.
    #[error("{0} holds no private key in PEM")]
    NoKey(String),
    /// The certificate and its key do not make a server.
    #[error("the certificate and its key cannot be used")]
    Pair(#[source] rustls::Error),
    /// The CA cannot be used.
    #[error("the CA of client certificates cannot be used")]
    ClientCa(#[source] rustls::server::VerifierBuilderError),
    /// No certificate could be made.
    #[error("failed to make a certificate")]
    SelfSigned(#[from] rcgen::Error),
}

/// The files of the parts.
struct Source {
    name: &'static str,
    /// Certificate and key, unless they are those that the process made.
    pair: Result<(PathBuf, PathBuf), Pair>,
    client_ca: Option<PathBuf>,
    requires_client: bool,
}

/// A certificate with its chain, and its key, in PEM.
#[derive(Clone, PartialEq, Eq)]
struct Pair {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// The content of the files.
#[derive(Clone, PartialEq, Eq)]
struct Content {
    /// The prefix of the files' flags.
    name: &'static str,
    pair: Pair,
    client_ca: Option<Vec<u8>>,
    requires_client: bool,
}

impl Source {
    fn read(&self) -> Result<Content, TlsError> {
        let read =
            |path: &Path| std::fs::read(path).map_err(|error| TlsError::Unreadable(path.to_owned(), error));
        let pair = match &self.pair {
            Ok((certificate, key)) => Pair { certificate: read(certificate)?, key: read(key)? },
            Err(own) => own.clone(),
        };
        let client_ca = self.client_ca.as_deref().map(read).transpose()?;
        Ok(Content { name: self.name, pair, client_ca, requires_client: self.requires_client })
    }
}

impl Pair {
    /// Creates a self-signed pair for this host, as `controller-runtime` does if it is given none.
    fn self_signed() -> Result<Self, TlsError> {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let names = ["localhost", "127.0.0.1", "::1", host.trim()].map(str::to_owned);
        let names: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let made = rcgen::generate_simple_self_signed(names)?;
        let certificate = made.cert.pem();
        let key = made.signing_key.serialize_pem();
        Ok(Self { certificate: certificate.into_bytes(), key: key.into_bytes() })
    }
}

fn certificates(pem: &[u8], of: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    found.ok().filter(|found| !found.is_empty()).ok_or_else(|| TlsError::NoCertificate(of.to_owned()))
}

impl Content {
    fn config(&self) -> Result<ServerConfig, TlsError> {
        let flag = |rest: &str| format!("--{}-{rest}", self.name);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Pair)?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                for root in certificates(pem, &flag("client-ca"))? {
                    roots.add(root).map_err(TlsError::Pair)?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier = if self.requires_client { verifier } else { verifier.allow_unauthenticated() };
                builder.with_client_cert_verifier(verifier.build().map_err(TlsError::ClientCa)?)
            }
        };
        let chain = certificates(&self.pair.certificate, &flag("tls-cert"))?;
        let key =
            PrivateKeyDer::from_pem_slice(&self.pair.key).map_err(|_| TlsError::NoKey(flag("tls-key")))?;
        let mut config = builder.with_single_cert(chain, key).map_err(TlsError::Pair)?;
        // HTTP/2 would let one connection ask for much at once.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // A session that is resumed shows no certificate again: one that has ended since would still count.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    /// When the first certificate of the server's chain ends.
    fn expiry(&self) -> Option<Expiry> {
        Expiry::of_served(&self.pair.certificate)
    }
}

/// The TLS configuration of new connections.
pub struct Tls {
    source: Source,
    current: RwLock<(Content, Arc<ServerConfig>)>,
}

impl Tls {
    /// Reads the files. Without a pair of certificate and key, a self-signed pair is made.
    pub fn from_files(files: TlsFiles) -> Result<Arc<Self>, TlsError> {
        let TlsFiles { name, pair, client_ca, requires_client } = files;
        let pair = if let Some(pair) = pair {
            Ok(pair)
        } else {
            let flag = format!("--{name}-tls-cert");
            tracing::info!(flag, "serving a self-signed certificate, which no client can verify");
            Err(Pair::self_signed()?)
        };
        let source = Source { name, pair, client_ca, requires_client };
        let content = source.read()?;
        let config = Arc::new(content.config()?);
        Ok(Arc::new(Self { source, current: RwLock::new((content, config)) }))
    }

    /// Returns the configuration for a new connection.
    pub fn current(&self) -> Arc<ServerConfig> {
        self.current.read().1.clone()
    }

    /// Looks at the files every `interval`, until `stop`, and takes what has changed. What cannot be used
    /// changes nothing, is said once and looked at again.
    pub async fn follow(self: Arc<Self>, interval: Duration, metrics: Metrics, stop: CancellationToken) {
        let mut failure = None;
        let name = self.source.name;
        loop {
            // A certificate and its key are two files: half of a change does not fit together, and is looked
            // at again.
            let this = self.clone();
            let looked = tokio::task::spawn_blocking(move || this.look().map_err(|e| errors::chain(&e)));
            let looked = looked.await.unwrap_or_else(|error| Err(error.to_string()));
            metrics.credentials_stale.with_label_values(&[name]).set(looked.is_err().into());
            match looked {
                Ok(changed) => {
                    if failure.take().is_some() || changed {
                        tracing::info!(credentials = name, "serving certificate is valid");
                    }
                    metrics.credentials_reloads.with_label_values(&[name]).inc_by(changed.into());
                    publish(name, self.current.read().0.expiry(), &metrics);
                }
                Err(error) if failure.as_ref() != Some(&error) => {
                    tracing::warn!(
                        credentials = name,
                        error,
                        "failed to reload the serving certificate, keeping the previous one"
                    );
                    failure = Some(error);
                }
                Err(_) => {}
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(interval) => {}
            }
        }
    }

    /// Returns whether something else is in use from now on.
    fn look(&self) -> Result<bool, TlsError> {
        let content = self.source.read()?;
        if content == self.current.read().0 {
            return Ok(false);
        }
        let config = Arc::new(content.config()?);
        *self.current.write() = (content, config);
        Ok(true)
    }
}
