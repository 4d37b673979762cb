//! `fedhub run`: wires the roles together, runs them until a signal, lets what is under way finish.

pub mod cell;
pub mod management;
pub(crate) mod runtime;
pub(crate) mod sources;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use fedhub_core::object::PlaneId;
use fedhub_core::{errors, telemetry};
use fedhub_planes::transport::Server;
use opentelemetry::KeyValue;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admin::{Admin, pages};
use crate::args::{Renamed, RunArgs};
use crate::common::{MISUSE, complain, install_tls_provider};
use crate::log_filter::LogFilter;
use crate::secure::Secure;
use crate::status::Status;
use crate::status_page::StatusPage;
use crate::traces::Traces;
use crate::traces::settings::Settings;
use crate::webhooks::Webhooks;
use crate::webhooks::readiness::Readiness;
use axum::Router;
use runtime::{Role, Runtime};

/// Checks the arguments, then runs.
pub(crate) fn main(args: RunArgs, renamed: &[Renamed]) -> ExitCode {
    let mut faults = args.validate();
    let traces = trace_settings(&args).unwrap_or_else(|found| {
        faults.extend(found);
        None
    });
    let log = telemetry::start(&args.log, args.log_format);
    faults.extend(log.as_ref().err().cloned());
    let log = match log {
        Ok(log) if faults.is_empty() => LogFilter::new(log, &args.log),
        _ => {
            for fault in faults {
                complain(&fault);
            }
            return ExitCode::from(MISUSE);
        }
    };
    renamed.iter().for_each(Renamed::warn);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(&error.to_string());
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(run(args, log, traces)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&errors::chain(error.as_ref()));
            ExitCode::from(MISUSE)
        }
    }
}

/// How traces are exported, if they are.
fn trace_settings(args: &RunArgs) -> Result<Option<Settings>, Vec<String>> {
    if args.traces { Settings::from_environment(|name| std::env::var(name).ok()) } else { Ok(None) }
}

/// Starts the export of the traces of this process's reconciles; `None` without settings.
fn start_traces(runtime: &Runtime, settings: Option<&Settings>) -> anyhow::Result<Option<Arc<Traces>>> {
    let Some(settings) = settings else { return Ok(None) };
    let cell = runtime.args.cell_name.iter().map(|name| KeyValue::new("fedhub.cell", name.clone()));
    let process = [
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", runtime.identity()),
    ];
    let traces = Traces::start(settings, process.into_iter().chain(cell).collect()).context("--traces")?;
    fedhub_core::trace::record_to(traces.clone());
    Ok(Some(traces))
}

async fn run(args: RunArgs, log: Arc<LogFilter>, settings: Option<Settings>) -> anyhow::Result<()> {
    // Asked for first: a signal that comes while the process starts must not be lost.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    install_tls_provider()?;
    let runtime = Runtime::new(args)?;
    let traces = start_traces(&runtime, settings.as_ref())?;
    let management = runtime
        .args
        .enable_management_controllers
        .then(|| management::Management::new(&runtime))
        .transpose()?;
    let cell = runtime.args.enable_cell_controllers.then(|| cell::Cell::new(&runtime)).transpose()?;
    let roles: Vec<&Role> =
        management.iter().map(|m| &m.role).chain(cell.iter().map(|cell| &cell.role)).collect();
    let reviewing = management.as_ref().filter(|_| runtime.args.webhooks.enabled);
    let readiness = reviewing.map(|of| Readiness::new(of.role.registries[0].clone(), of.catalog()));
    let status = Arc::new(Status::from_roles(&roles, &runtime)?.reviewing(readiness));
    let explainer = management.as_ref().map(|management| management.explainer(&runtime.args));
    let page = StatusPage::new(status.clone(), explainer);
    tokio::spawn(page.clone().sample(runtime.stop.clone()));
    let pages = pages(status.clone(), page.routes());
    serve_pages(&runtime, pages.clone(), || own_cluster(&runtime, management.as_ref(), cell.as_ref()))
        .await?;
    let admin = Admin { status, pages, log };
    let bound = admin
        .serve(runtime.args.admin_address, runtime.stop.clone())
        .await
        .with_context(|| format!("--admin-address {}", runtime.args.admin_address))?;
    let draining = CancellationToken::new();
    serve_webhooks(&runtime, management.as_ref(), &draining).await?;
    let names: Vec<_> = roles.iter().map(|role| role.name).collect();
    tracing::info!(%bound, roles = names.join(" and "), discovery = %runtime.args.discovery.mode, version = env!("CARGO_PKG_VERSION"), "fedhub starts");

    let mut running = Vec::new();
    if let Some(management) = management {
        running.push(management.start(&runtime)?);
    }
    if let Some(cell) = cell {
        running.push(cell.start(&runtime)?);
    }
    tokio::select! {
        _ = terminate.recv() => tracing::info!("received SIGTERM, shutting down"),
        _ = interrupt.recv() => tracing::info!("received SIGINT, shutting down"),
    }
    draining.cancel();
    runtime.shut_down(running).await;
    if let Some(traces) = traces {
        traces.end().await;
    }
    Ok(())
}

/// Serves the pages to callers on other hosts, where that is asked for.
async fn serve_pages(
    runtime: &Runtime,
    pages: Router,
    own_cluster: impl FnOnce() -> anyhow::Result<Server>,
) -> anyhow::Result<()> {
    let args = &runtime.args;
    let Some(address) = args.metrics.address else { return Ok(()) };
    let cluster = own_cluster()?.client(&PlaneId::Management);
    let secure = Secure::from_args(&args.metrics, pages, cluster, runtime.metrics.clone())?;
    let bound = secure
        .serve(address, args.credentials_interval, runtime.stop.clone(), &TaskTracker::new())
        .await
        .with_context(|| format!("--metrics-address {address}"))?;
    tracing::info!(%bound, "serving metrics over HTTPS");
    Ok(())
}

/// Answers admission reviews, where that is asked for, until `draining`; those under way are among the tasks
/// that a shutdown waits for.
async fn serve_webhooks(
    runtime: &Runtime,
    management: Option<&management::Management>,
    draining: &CancellationToken,
) -> anyhow::Result<()> {
    let args = &runtime.args;
    let Some(management) = management.filter(|_| args.webhooks.enabled) else { return Ok(()) };
    let planes = management.role.registries[0].clone();
    let mode = args.discovery.mode;
    let metrics = runtime.metrics.clone();
    let server = Webhooks::from_args(&args.webhooks, mode, planes, management.catalog(), metrics)?;
    let bound = server
        .serve(args.webhooks.address, args.credentials_interval, draining.clone(), &runtime.tasks)
        .await
        .with_context(|| format!("--webhook-address {}", args.webhooks.address))?;
    tracing::info!(%bound, "answering admission reviews over HTTPS");
    Ok(())
}

/// The cluster that the process runs in, which knows its callers.
fn own_cluster(
    runtime: &Runtime,
    management: Option<&management::Management>,
    cell: Option<&cell::Cell>,
) -> anyhow::Result<Server> {
    let known = management.map(management::Management::home).or_else(|| cell.and_then(cell::Cell::home));
    // If the cell has a kubeconfig of its own, the process only knows clusters other than its own.
    known.map_or_else(
        || runtime.follow("management", runtime.args.management.source()),
        |home| Ok(home.clone()),
    )
}
