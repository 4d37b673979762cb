//! The flags of admission.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::secure::tls::TlsFiles;

/// Whether the process answers admission reviews, and where.
#[derive(Clone, Debug, clap::Args)]
pub struct WebhookArgs {
    /// Answer the admission reviews of project planes over HTTPS: defaults and rules of what users write.
    /// Every replica does.
    #[arg(id = "enable_webhooks", long = "enable-webhooks", env = "FEDHUB_ENABLE_WEBHOOKS")]
    pub enabled: bool,
    /// Address of the admission reviews.
    #[arg(
        id = "webhook_address",
        long = "webhook-address",
        env = "FEDHUB_WEBHOOK_ADDRESS",
        default_value = "0.0.0.0:9443",
        value_name = "IP:PORT"
    )]
    pub address: SocketAddr,
    /// Certificate of --webhook-address, in PEM with its chain, that the `caBundle` of the webhooks vouches
    /// for; read again when it changes.
    #[arg(
        id = "webhook_tls_cert",
        long = "webhook-tls-cert",
        env = "FEDHUB_WEBHOOK_TLS_CERT",
        value_name = "FILE"
    )]
    pub tls_cert: Option<PathBuf>,
    /// Key of that certificate, in PEM.
    #[arg(
        id = "webhook_tls_key",
        long = "webhook-tls-key",
        env = "FEDHUB_WEBHOOK_TLS_KEY",
        value_name = "FILE"
    )]
    pub tls_key: Option<PathBuf>,
    /// CA, in PEM, one of whose client certificates an API server has to show for a review: that of a project
    /// plane with the URI `fedhub://planes/<plane>` among its subject alternative names, that of a Milo's
    /// root server with `fedhub://root`. Read again when it changes.
    #[arg(
        id = "webhook_client_ca",
        long = "webhook-client-ca",
        env = "FEDHUB_WEBHOOK_CLIENT_CA",
        value_name = "FILE"
    )]
    pub client_ca: Option<PathBuf>,
    /// Answer callers without a client certificate too: whoever reaches the address may ask about the users
    /// of any plane. For networks on which only API servers reach it.
    #[arg(
        id = "webhook_trust_network",
        long = "webhook-trust-network",
        env = "FEDHUB_WEBHOOK_TRUST_NETWORK"
    )]
    pub trust_network: bool,
}

impl WebhookArgs {
    /// The files that a server needs, each with its flag.
    fn needed(&self) -> [(&'static str, &Option<PathBuf>); 2] {
        [("--webhook-tls-cert", &self.tls_cert), ("--webhook-tls-key", &self.tls_key)]
    }

    /// The files, each with its flag.
    pub fn files(&self) -> [(&'static str, &Option<PathBuf>); 3] {
        let [certificate, key] = self.needed();
        [certificate, key, ("--webhook-client-ca", &self.client_ca)]
    }

    /// The files of the server's certificate, and of those who ask it.
    pub fn tls(&self) -> TlsFiles {
        TlsFiles {
            name: "webhook",
            pair: self.tls_cert.clone().zip(self.tls_key.clone()),
            client_ca: self.client_ca.clone(),
            requires_client: !self.trust_network,
        }
    }

    /// Validates the flags together, and returns a line for each fault. `manages`: the process has the
    /// management role.
    pub fn faults(&self, manages: bool) -> Vec<String> {
        if !self.enabled {
            let needless = self.files().into_iter().filter(|(_, file)| file.is_some()).map(|(flag, _)| flag);
            let needless = needless.chain(self.trust_network.then_some("--webhook-trust-network"));
            return needless.map(|flag| format!("{flag} is for --enable-webhooks")).collect();
        }
        let missing = self.needed().into_iter().filter(|(_, file)| file.is_none());
        let mut faults: Vec<_> = missing
            .map(|(flag, _)| format!("--enable-webhooks needs {flag}: API servers verify the certificate"))
            .collect();
        if self.client_ca.is_none() && !self.trust_network {
            faults.push(
                "--enable-webhooks needs --webhook-client-ca, the CA of the certificates that API servers show; or \
                 --webhook-trust-network, where nothing else reaches --webhook-address"
                    .to_owned(),
            );
        }
        if !manages {
            faults.push("--enable-webhooks is for --enable-management-controllers".to_owned());
        }
        faults
    }
}
