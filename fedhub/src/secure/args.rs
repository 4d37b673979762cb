//! The flags of the secure server.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::tls::TlsFiles;

/// Where the pages are served to callers on other hosts, and how the server and its callers show who they
/// are.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MetricsArgs {
    /// Address of /metrics and /status over HTTPS, for callers on other hosts: who has the right to get the
    /// path by the RBAC of the cluster that the process runs in, or for /metrics shows a client certificate.
    /// Off without it.
    #[arg(
        id = "metrics_address",
        long = "metrics-address",
        env = "FEDHUB_METRICS_ADDRESS",
        value_name = "IP:PORT"
    )]
    pub address: Option<SocketAddr>,
    /// Certificate of --metrics-address, in PEM with its chain; read again when it changes. Without it, one
    /// that the process makes at its start and signs itself.
    #[arg(
        id = "metrics_tls_cert",
        long = "metrics-tls-cert",
        env = "FEDHUB_METRICS_TLS_CERT",
        value_name = "FILE"
    )]
    pub tls_cert: Option<PathBuf>,
    /// Key of that certificate, in PEM.
    #[arg(
        id = "metrics_tls_key",
        long = "metrics-tls-key",
        env = "FEDHUB_METRICS_TLS_KEY",
        value_name = "FILE"
    )]
    pub tls_key: Option<PathBuf>,
    /// CA, in PEM, whose client certificates may get /metrics at --metrics-address without a token; read
    /// again when it changes.
    #[arg(
        id = "metrics_client_ca",
        long = "metrics-client-ca",
        env = "FEDHUB_METRICS_CLIENT_CA",
        value_name = "FILE"
    )]
    pub client_ca: Option<PathBuf>,
}

impl MetricsArgs {
    /// The files of the server's certificate.
    pub fn tls(&self) -> TlsFiles {
        let pair = self.tls_cert.clone().zip(self.tls_key.clone());
        TlsFiles { name: "metrics", pair, client_ca: self.client_ca.clone(), requires_client: false }
    }

    /// The files, each with its flag.
    pub fn files(&self) -> [(&'static str, &Option<PathBuf>); 3] {
        [
            ("--metrics-tls-cert", &self.tls_cert),
            ("--metrics-tls-key", &self.tls_key),
            ("--metrics-client-ca", &self.client_ca),
        ]
    }

    /// Validates the flags together, and returns a line for each fault.
    pub fn faults(&self) -> Vec<String> {
        if self.address.is_none() {
            let needless = self.files().into_iter().filter(|(_, file)| file.is_some());
            return needless.map(|(flag, _)| format!("{flag} is for --metrics-address")).collect();
        }
        match (&self.tls_cert, &self.tls_key) {
            (Some(_), None) => vec!["--metrics-tls-cert needs --metrics-tls-key".to_owned()],
            (None, Some(_)) => vec!["--metrics-tls-key needs --metrics-tls-cert".to_owned()],
            _ => Vec::new(),
        }
    }
}
