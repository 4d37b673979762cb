//! `fedhub run`: wires the roles together, runs them until a signal, lets what is under way finish.

pub mod cell;
pub mod ground;
mod management;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use fedhub_core::{errors, telemetry};
use tokio::signal::unix::{SignalKind, signal};

use crate::admin;
use crate::args::RunArgs;
use crate::common::{MISUSE, install_tls_provider};
use crate::status::Status;
use ground::{Ground, Role};

/// Checks the arguments, then runs.
pub fn main(args: RunArgs) -> ExitCode {
    let mut faults = args.faults();
    if let Err(fault) = telemetry::start(&args.log, args.log_format) {
        faults.push(fault);
    }
    if !faults.is_empty() {
        for fault in faults {
            eprintln!("fedhub: {fault}");
        }
        return ExitCode::from(MISUSE);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("fedhub: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(run(args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fedhub: {}", errors::chain(error.as_ref()));
            ExitCode::from(MISUSE)
        }
    }
}

async fn run(args: RunArgs) -> anyhow::Result<()> {
    // Asked for first: a signal that comes while the process starts must not be lost.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    install_tls_provider()?;
    let ground = Ground::new(args)?;
    let management = ground
        .args
        .enable_management_controllers
        .then(|| management::Management::new(&ground))
        .transpose()?;
    let cell = ground.args.enable_cell_controllers.then(|| cell::Cell::new(&ground)).transpose()?;
    let roles: Vec<&Role> =
        management.iter().map(|m| &m.role).chain(cell.iter().map(|cell| &cell.role)).collect();
    let status = Arc::new(Status::of(&roles, &ground));
    let bound = admin::serve(ground.args.admin_address, status, ground.stop.clone())
        .await
        .with_context(|| format!("--admin-address {}", ground.args.admin_address))?;
    let names: Vec<_> = roles.iter().map(|role| role.name).collect();
    tracing::info!(%bound, roles = names.join(" and "), discovery = %ground.args.discovery, version = env!("CARGO_PKG_VERSION"), "fedhub starts");

    let mut running = Vec::new();
    if let Some(management) = management {
        running.push(management.start(&ground)?);
    }
    if let Some(cell) = cell {
        running.push(cell.start(&ground)?);
    }
    tokio::select! {
        _ = terminate.recv() => tracing::info!("SIGTERM: shutting down"),
        _ = interrupt.recv() => tracing::info!("interrupt: shutting down"),
    }
    ground.shut_down(running).await;
    Ok(())
}
