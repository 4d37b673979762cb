//! `fedhub-fake-apiserver`: a hub, a management plane and many project planes over HTTP, in one process. See
//! the crate's README.

// Printing with the macros ends a program whose reader has gone away.
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use anyhow::Context;
use clap::Parser;
use fedhub_fake_apiserver::fleet::kubeconfig::kubeconfig;
use fedhub_fake_apiserver::fleet::{Fleet, Settings};
use fedhub_fake_apiserver::http::{self, Identity};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// API servers in memory: one hub, one management plane, and many project planes behind one address.
#[derive(Debug, Parser)]
#[command(name = "fedhub-fake-apiserver", version, max_term_width = 110)]
struct Arguments {
    /// How many project planes.
    #[arg(long, default_value_t = 10, value_name = "N")]
    planes: usize,
    /// Where to listen, with TLS and without; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Serve the hub, the management plane and the control API on a port of their own: what is at --listen
    /// may then go away for a while.
    #[arg(long)]
    apart: bool,
    /// Where to write hub.kubeconfig, management.kubeconfig, projects.kubeconfig and ca.crt.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// How many streams a connection may carry at once.
    #[arg(long, default_value_t = 100, value_name = "N")]
    streams: u32,
    /// The code of a city that has a cell; may be given more than once.
    #[arg(long = "city", default_values = ["DFW", "ORD", "AMS"], value_name = "CODE")]
    cities: Vec<String>,
    /// How many changes each plane remembers; watches that ask for older ones get 410.
    #[arg(long, default_value_t = 4096, value_name = "N")]
    history: usize,
}

/// Threads, at least: what a flood or a large object keeps busy is none that the requests of others wait for,
/// however few cores there are. The threads of an API server take turns likewise.
const THREADS: usize = 4;

fn main() -> anyhow::Result<()> {
    let threads = available_parallelism().map_or(THREADS, |cores| cores.get().max(THREADS));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    runtime.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let settings = Settings {
        cities: arguments.cities.clone(),
        history: arguments.history,
        ..Settings::new(arguments.planes)
    };
    let fleet = Fleet::new(&settings)?;
    let listener = TcpListener::bind(arguments.listen)
        .await
        .with_context(|| format!("--listen {}", arguments.listen))?;
    let bound = listener.local_addr()?;
    let apart = if arguments.apart { Some(TcpListener::bind((bound.ip(), 0)).await?) } else { None };
    let own = apart.as_ref().map_or(Ok(bound), TcpListener::local_addr)?;
    let names = vec![bound.ip().to_string(), "localhost".to_owned()];
    let identity = Identity::generate(&names).map_err(anyhow::Error::from_boxed)?;
    let ready = publish(&arguments.dir, [bound, own], &identity, arguments.planes)?;
    let speaks = http::Settings { streams: arguments.streams };
    let serving = fleet.serve(listener, &identity, &speaks);
    let beside = async {
        match apart {
            Some(apart) => {
                http::serve(apart, &identity, speaks.clone(), fleet.service_apart(), fleet.census()).await;
            }
            None => std::future::pending().await,
        }
    };
    let _gone = writeln!(std::io::stdout(), "{ready}");
    tokio::select! {
        served = serving => served?,
        () = beside => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// Writes what clients need, and returns the line that says where it all is.
fn publish(
    dir: &Path,
    [bound, own]: [SocketAddr; 2],
    identity: &Identity,
    planes: usize,
) -> anyhow::Result<String> {
    std::fs::create_dir_all(dir).with_context(|| format!("--dir {}", dir.display()))?;
    let write = |name: &str, content: String| {
        let path = dir.join(name);
        std::fs::write(&path, content).with_context(|| path.display().to_string())?;
        anyhow::Ok(path)
    };
    let (url, apart) = (format!("https://{bound}"), format!("https://{own}"));
    let ca = write("ca.crt", identity.ca().to_owned())?;
    let file = |plane: &str, server: &str| {
        write(&format!("{plane}.kubeconfig"), format!("{}\n", kubeconfig(plane, server, identity.ca())))
    };
    let hub = file("hub", &format!("{apart}/hub"))?;
    let management = file("management", &apart)?;
    let projects = file("projects", &url)?;
    let ready = json!({
        "ready": true, "url": url, "control": format!("http://{own}/control"), "planes": planes, "ca": ca,
        "hub_kubeconfig": hub, "management_kubeconfig": management,
        "projects_kubeconfig": projects,
    });
    Ok(ready.to_string())
}
