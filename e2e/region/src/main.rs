//! `fedhub-region`: a region service for tests, over HTTP. See the crate's README.

// Printing with the macros ends a program whose reader has gone away.
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Parser;
use fedhub_region::{Client, Options, Region, Running, Tls, known};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

/// A region service for tests: what a provider asks for, with the faults that it has to live with.
#[derive(Debug, Parser)]
#[command(name = "fedhub-region", version, max_term_width = 110)]
struct Arguments {
    /// Where to listen, on the loopback address; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Secure connections, and write ca.crt here, and client.crt and client.key of a service.
    #[arg(long, value_name = "DIR")]
    tls_dir: Option<PathBuf>,
    /// The name of the client that gets tokens, in place of that of the options.
    #[arg(long, value_name = "NAME")]
    client_id: Option<String>,
    /// The secret of that client, likewise.
    #[arg(long, value_name = "SECRET")]
    client_secret: Option<String>,
    /// A file with what the region consists of and how it behaves, as JSON; see the README.
    #[arg(long, value_name = "FILE")]
    options: Option<PathBuf>,
    /// Print the IDs of what a region has by default, as JSON, and end.
    #[arg(long)]
    ids: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if arguments.ids {
        let _gone = writeln!(std::io::stdout(), "{:#}", known::ids());
        return Ok(());
    }
    // Whoever reaches it can have it do anything.
    if !arguments.listen.ip().is_loopback() {
        bail!("--listen {} is not on the loopback address: choose one that is", arguments.listen);
    }
    let options = options(&arguments)?;
    let service = options.services.first().cloned().unwrap_or_default();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let running = Region::new(options)
        .listen(arguments.listen)
        .await
        .map_err(anyhow::Error::from_boxed)
        .with_context(|| format!("--listen {}", arguments.listen))?;
    if let Some(dir) = &arguments.tls_dir {
        publish(dir, &running, &service).with_context(|| format!("--tls-dir {}", dir.display()))?;
    }
    let url = running.url();
    let ready = json!({"ready": true, "url": url, "control": format!("{url}/_control")});
    let _gone = writeln!(std::io::stdout(), "{ready}");
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn options(arguments: &Arguments) -> anyhow::Result<Options> {
    let mut options = match &arguments.options {
        Some(path) => read(path).with_context(|| format!("--options {}", path.display()))?,
        None => Options::default(),
    };
    // A region that asks nobody for a token has no client.
    options.client = options.client.map(|client| Client {
        id: arguments.client_id.clone().unwrap_or(client.id),
        secret: arguments.client_secret.clone().unwrap_or(client.secret),
    });
    if arguments.tls_dir.is_some() {
        options.tls = Tls::Mutual;
    }
    Ok(options)
}

fn read(path: &Path) -> anyhow::Result<Options> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// Writes what clients need to connect.
fn publish(dir: &Path, running: &Running, service: &str) -> anyhow::Result<()> {
    let [certificate, key] = running.client_certificate(service).map_err(anyhow::Error::from_boxed)?;
    std::fs::create_dir_all(dir)?;
    let ca = running.ca().unwrap_or_default();
    for (name, content) in [("ca.crt", ca), ("client.crt", certificate), ("client.key", key)] {
        std::fs::write(dir.join(name), content)?;
    }
    Ok(())
}
