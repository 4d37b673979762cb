//! Clients from a target. Nothing is asked of a server yet.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_core::errors;
use http::Uri;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use super::target::Target;
use super::token::Tokens;
use super::transport;
use crate::problem::Problem;

/// The namespace of a project that users work in unless they say otherwise.
pub const NAMESPACE: &str = "default";
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// The parts of a plane's path before and after the name of the project.
const PROJECTS: &str = "/apis/resourcemanager.miloapis.com/v1alpha1/projects/";
const CONTROL_PLANE: &str = "/control-plane";

/// Clients, and what is known of where they lead.
pub struct Connection {
    /// The client of the plane.
    pub client: Client,
    /// The client of the platform's root, if the plane is a project's.
    pub root: Option<Client>,
    /// The project, where it is known.
    pub project: Option<String>,
    /// The namespace to work in.
    pub namespace: String,
}

/// Creates the clients of a target.
pub async fn connect(target: Target) -> Result<Connection, Problem> {
    // One provider is compiled in; that it is installed already is as good.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    match target {
        Target::Platform { host, project, helper, session } => {
            let url = format!("https://{host}").parse();
            let url = url.map_err(|_| Problem::usage(format!("{host:?} is not the name of a host.")))?;
            let tokens = Arc::new(Tokens::new(helper, session, Clock::system()));
            let place = Place { server: url, prefix: path(&project), project: Some(project) };
            clients(Config::new(place.server.clone()), Some(&tokens), place, NAMESPACE)
        }
        Target::Kubeconfig { file, context, project } => {
            let kubeconfig = read(file.as_deref())?;
            let context = context.or_else(|| context_of(&kubeconfig, project.as_deref()));
            let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
            let config = Config::from_custom_kubeconfig(kubeconfig, &options);
            let mut config = config.await.map_err(|error| unusable(&error))?;
            let named = Some(config.default_namespace.clone()).filter(|name| !name.is_empty());
            let namespace = named.unwrap_or_else(|| NAMESPACE.to_owned());
            let place = place(&config.cluster_url, project);
            config.cluster_url = place.server.clone();
            clients(config, None, place, &namespace)
        }
    }
}

fn clients(
    mut config: Config,
    tokens: Option<&Arc<Tokens>>,
    place: Place,
    namespace: &str,
) -> Result<Connection, Problem> {
    config.connect_timeout = Some(CONNECT);
    // The transport repeats what may be repeated, for as long as a person waits.
    config.default_retry = false;
    let server =
        Client::try_from(config).map_err(|error| Problem::from_error(error, "use your credentials"))?;
    let client = |prefix: &str| transport::client(server.clone(), tokens.cloned(), prefix, namespace);
    let root = place.project.is_some().then(|| client(""));
    let namespace = namespace.to_owned();
    Ok(Connection { client: client(&place.prefix), root, project: place.project, namespace })
}

/// The address of a plane.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// The server, with what of the path belongs to it.
    server: Uri,
    /// The path of the plane there.
    prefix: String,
    /// Its project.
    project: Option<String>,
}

/// Returns the address of a project's plane, given the URL of a kubeconfig: that of the platform or of any of
/// its projects. Without a project, the URL is used as it is.
fn place(url: &Uri, project: Option<String>) -> Place {
    let whole = url.path().trim_end_matches('/');
    let known = whole
        .split_once(PROJECTS)
        .and_then(|(before, rest)| Some((before, rest.strip_suffix(CONTROL_PLANE)?)));
    let (before, standing) = known.map_or((whole, None), |(before, name)| (before, Some(name.to_owned())));
    let project = project.or(standing);
    let prefix = project.as_deref().map(path).unwrap_or_default();
    let server = Uri::builder()
        .scheme(url.scheme_str().unwrap_or("https"))
        .authority(url.authority().map(ToString::to_string).unwrap_or_default())
        .path_and_query(if before.is_empty() { "/" } else { before })
        .build();
    // A URL with a scheme and an authority, as those of kubeconfigs are, can be put together again.
    Place { server: server.unwrap_or_else(|_| url.clone()), prefix, project }
}

/// The path of a project's plane.
fn path(project: &str) -> String {
    format!("{PROJECTS}{project}{CONTROL_PLANE}")
}

/// The context that `datumctl auth update-kubeconfig --project` writes, where it is there.
fn context_of(kubeconfig: &Kubeconfig, project: Option<&str>) -> Option<String> {
    let name = format!("datum-project-{}", project?);
    kubeconfig.contexts.iter().any(|context| context.name == name).then_some(name)
}

fn read(file: Option<&Path>) -> Result<Kubeconfig, Problem> {
    let read = file.map_or_else(Kubeconfig::read, Kubeconfig::read_from);
    read.map_err(|error| match (&error, file) {
        (KubeconfigError::ReadConfig(..) | KubeconfigError::FindPath, None) => {
            Problem::usage("There is no kubeconfig to connect with.")
                .remedy("Log in with `datumctl login` and run `datumctl compute`, or name a kubeconfig with --kubeconfig.")
                .raw(errors::kubeconfig(&error))
        }
        (_, Some(file)) => Problem::usage(format!("The kubeconfig {} cannot be used: {}.", file.display(), errors::kubeconfig(&error))),
        _ => unusable(&error),
    })
}

fn unusable(error: &KubeconfigError) -> Problem {
    Problem::usage(format!("The kubeconfig cannot be used: {}.", errors::kubeconfig(error)))
        .remedy("Name another one with --kubeconfig, or a context in it with --context.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plane_is_found_from_any_url_of_the_platform() {
        let of = |project: &str| {
            format!("/apis/resourcemanager.miloapis.com/v1alpha1/projects/{project}/control-plane")
        };
        let a = format!("https://api.datum.net{}", of("a"));
        for (url, project, server, prefix, expected) in [
            ("https://k8s:6443", None, "https://k8s:6443/", String::new(), None),
            ("https://k8s/behind/", None, "https://k8s/behind", String::new(), None),
            ("https://api.datum.net", Some("b"), "https://api.datum.net/", of("b"), Some("b")),
            (&a, None, "https://api.datum.net/", of("a"), Some("a")),
            (&a, Some("b"), "https://api.datum.net/", of("b"), Some("b")),
        ] {
            let found = place(&url.parse().unwrap(), project.map(str::to_owned));
            let expected =
                Place { server: server.parse().unwrap(), prefix, project: expected.map(str::to_owned) };
            assert_eq!(found, expected, "{url} {project:?}");
        }
    }
}
