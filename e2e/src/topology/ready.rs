//! Whether a process serves. Every wait also fails at once when the process has ended.

use std::time::Duration;

use http::Request;

use super::commands::{AGGREGATED, CONTROLLER_MANAGER, CONTROLLERS, SCHEDULER, WEBHOOK, second_port};
use super::kubeconfig;
use super::layout::Layout;
use super::planes::HUB;
use super::supervisor::Supervisor;
use super::wait::{NotYet, http_ok, until};
use crate::Error;

/// Long enough for six API servers whose programs are not in the page cache yet, on a busy machine.
const LIMIT: Duration = Duration::from_mins(2);

/// Waits until a process serves.
pub async fn serves(supervisor: &Supervisor, layout: &Layout, process: &str) -> Result<(), Error> {
    let state = supervisor.state();
    match Probe::from_process(process) {
        Probe::Http { port, path } => {
            let port = state.port(&port)?;
            until(format!("{process} to serve"), LIMIT, || async {
                supervisor.check(process)?;
                http_ok(port, path).await
            })
            .await
        }
        Probe::Https { plane, path } => {
            let port = state.port(process)?;
            let client = kubeconfig::client_at(&layout.kubeconfig(plane), Some(port)).await?;
            until(format!("{process} to serve"), LIMIT, || async {
                supervisor.check(process)?;
                let request = Request::get(path).body(Vec::new()).map_err(NotYet::again)?;
                client.request_text(request).await.map(|_| ()).map_err(NotYet::again)
            })
            .await
        }
    }
}

/// How a process is asked.
#[derive(Debug, PartialEq, Eq)]
enum Probe<'a> {
    /// In plain, on the port of that name.
    Http { port: String, path: &'static str },
    /// On its own port, as that plane's administrator.
    Https { plane: &'a str, path: &'static str },
}

impl<'a> Probe<'a> {
    fn from_process(process: &'a str) -> Self {
        match process {
            AGGREGATED => Self::Https { plane: HUB, path: "/readyz" },
            // Beside the webhooks themselves, with this slash.
            WEBHOOK => Self::Https { plane: HUB, path: "/readyz/" },
            SCHEDULER | CONTROLLERS => Self::Http { port: second_port(process, "health"), path: "/healthz" },
            _ => {
                let of = |kind: &str| process.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-'));
                if let Some(plane) = of("kube-apiserver") {
                    Self::Https { plane, path: "/readyz" }
                } else if let Some(plane) = of(CONTROLLER_MANAGER) {
                    Self::Https { plane, path: "/healthz" }
                } else {
                    Self::Http { port: process.to_owned(), path: "/health" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_is_asked_where_it_answers() {
        assert_eq!(
            Probe::from_process("etcd-hub"),
            Probe::Http { port: "etcd-hub".to_owned(), path: "/health" }
        );
        assert_eq!(
            Probe::from_process("kube-apiserver-cell-dfw"),
            Probe::Https { plane: "cell-dfw", path: "/readyz" }
        );
        assert_eq!(
            Probe::from_process("kube-controller-manager-project-a"),
            Probe::Https { plane: "project-a", path: "/healthz" }
        );
        assert_eq!(
            Probe::from_process("karmada-scheduler"),
            Probe::Http { port: "karmada-scheduler/health".to_owned(), path: "/healthz" }
        );
    }
}
