//! Parts that all commands share.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use fedhub_core::errors;
use fedhub_core::names::PlaneName;
use fedhub_planes::discovery::credentials::Source;
use fedhub_terminal::output::print_error;
use fedhub_terminal::plain;

/// The namespace that `deploy/` gives the management role.
pub const MANAGEMENT_NAMESPACE: &str = "fedhub-system";

/// The namespace that `deploy/` gives the cell role, on every plane.
pub const CELL_NAMESPACE: &str = "fedhub-cells";

/// Exit code for a bad flag or configuration: nothing was started.
pub const MISUSE: u8 = 2;

/// Prints what is wrong with the flags; the exit code where anything is.
pub fn misuse(faults: &[String]) -> Option<ExitCode> {
    for fault in faults {
        complain(fault);
    }
    (!faults.is_empty()).then(|| ExitCode::from(MISUSE))
}

/// Prints a line about what is wrong on standard error. Nothing of it steers the terminal or begins a line of
/// its own, whoever wrote it.
pub fn complain(message: &str) {
    print_error(&format!("fedhub: {}", plain(message)));
}

/// Lets the flag be called by its former name, for one release.
pub fn formerly_namespace(flag: clap::Arg) -> clap::Arg {
    flag.alias("namespace")
}

/// Parses the name of a plane.
pub fn plane_name(name: &str) -> Result<PlaneName, String> {
    PlaneName::new(name).map_err(|error| error.to_string())
}

/// Does what a command is for, and prints the error where it fails. The exit code is its own.
pub fn perform(command: impl Future<Output = anyhow::Result<ExitCode>>) -> ExitCode {
    let done = install_tls_provider().and_then(|()| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(command)
    });
    done.unwrap_or_else(|error| {
        complain(&errors::chain(error.as_ref()));
        ExitCode::FAILURE
    })
}

/// The flags of the hub. A command that cannot do without its kubeconfig requires it by `mut_arg`.
#[derive(Clone, Debug, clap::Args)]
pub struct HubArgs {
    /// Kubeconfig of the hub (the Karmada API server).
    #[arg(
        id = "hub_kubeconfig",
        long = "hub-kubeconfig",
        env = "FEDHUB_HUB_KUBECONFIG",
        value_name = "FILE"
    )]
    pub kubeconfig: Option<PathBuf>,
    /// Context in the hub kubeconfig, in place of its current one.
    #[arg(id = "hub_context", long = "hub-context", env = "FEDHUB_HUB_CONTEXT", value_name = "NAME")]
    pub context: Option<String>,
}

impl HubArgs {
    /// The kubeconfig, where one is given.
    pub fn source(&self) -> Option<Source> {
        self.kubeconfig.as_deref().map(|file| Source::file(file, self.context.as_deref()))
    }

    /// The kubeconfig of a command that cannot do without.
    pub fn required(&self) -> anyhow::Result<Source> {
        self.source().context("--hub-kubeconfig is missing")
    }
}

/// The flags of the management plane.
#[derive(Clone, Debug, clap::Args)]
pub struct ManagementArgs {
    /// Kubeconfig of the management plane; without it, the service account of the pod.
    #[arg(
        id = "management_kubeconfig",
        long = "management-kubeconfig",
        env = "FEDHUB_MANAGEMENT_KUBECONFIG",
        value_name = "FILE"
    )]
    pub kubeconfig: Option<PathBuf>,
    /// Context in the management kubeconfig, in place of its current one; without a kubeconfig, in kubectl's.
    #[arg(
        id = "management_context",
        long = "management-context",
        env = "FEDHUB_MANAGEMENT_CONTEXT",
        value_name = "NAME"
    )]
    pub context: Option<String>,
}

impl ManagementArgs {
    /// The kubeconfig, or the service account of the pod.
    pub fn source(&self) -> Source {
        Source::new(self.kubeconfig.as_deref(), self.context.as_deref())
    }
}

/// The flags of fedhub's place on the management plane, for a command whose `--namespace` is another's.
#[derive(Clone, Debug, clap::Args)]
pub struct OwnNamespaceArgs {
    /// fedhub's own namespace on the management plane.
    #[arg(long, env = "FEDHUB_NAMESPACE", default_value = MANAGEMENT_NAMESPACE, value_name = "NAME")]
    pub management_namespace: String,
}

/// Installs the TLS provider of the process's connections.
pub fn install_tls_provider() -> anyhow::Result<()> {
    let installed = rustls::crypto::ring::default_provider().install_default();
    installed.map_err(|_| anyhow::anyhow!("another TLS provider is installed"))
}
