//! What all commands have in common.

/// The namespace that `deploy/` gives the management role.
pub const MANAGEMENT_NAMESPACE: &str = "fedhub-system";

/// Exit code for a bad flag or configuration: nothing was started.
pub const MISUSE: u8 = 2;

/// What makes TLS of the process's connections.
pub fn install_tls_provider() -> anyhow::Result<()> {
    let installed = rustls::crypto::ring::default_provider().install_default();
    installed.map_err(|_| anyhow::anyhow!("another TLS provider is installed"))
}
