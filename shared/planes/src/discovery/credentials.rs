//! Kubeconfigs: from files that the operator names, and from Secrets that others wrote.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use fedhub_core::message::excerpt;
use fedhub_core::{errors, hash};
use http::Uri;
use http::uri::Scheme;
use k8s_openapi::ByteString;
use kube::Config;
use kube::config::{Kubeconfig, KubeconfigError};

/// Why a kubeconfig cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigFault {
    /// The kubeconfig cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// Its context names a user that it does not hold.
    #[error("its context names the user {0:?}, which it does not hold")]
    NoUser(String),
    /// The kubeconfig requires a proxy, at that address.
    #[error("proxy-url{} is not supported: fedhub connects to the server itself", .0.as_ref().map_or_else(String::new, |at| format!(" {at:?}")))]
    Proxy(Option<String>),
    /// Its server is reached without encryption.
    #[error(
        "its server {0} is reached by plain HTTP, so that anyone on the way has the credentials: name it by https, or give --insecure-http"
    )]
    PlainHttp(String),
}

/// Describes the error without quoting the kubeconfig.
impl From<KubeconfigError> for KubeconfigFault {
    fn from(error: KubeconfigError) -> Self {
        Self::Unreadable(errors::kubeconfig(&error))
    }
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file cannot be read or does not make a client.
    #[error("kubeconfig {path}{context}")]
    File {
        /// Its path.
        path: String,
        /// The context asked for, in words, or nothing.
        context: String,
        /// Why it cannot be used.
        #[source]
        source: KubeconfigFault,
    },
    /// A context of kubectl's kubeconfig cannot be used.
    #[error("context {context} of kubectl's kubeconfig")]
    Kubectl {
        /// The context.
        context: String,
        /// Why it cannot be used.
        #[source]
        source: KubeconfigFault,
    },
    /// A file that the kubeconfig refers to cannot be read.
    #[error("{0}")]
    Unreadable(String, #[source] std::io::Error),
    /// A CA bundle that was cut off before its first certificate ends: no server could be trusted.
    #[error("certificate-authority holds no certificate")]
    NoAuthority,
    /// A token file without a token.
    #[error("{0} is empty")]
    Empty(String),
    /// The content is not a kubeconfig.
    #[error("not a kubeconfig that can be used")]
    Content(#[source] KubeconfigFault),
    /// The content would run a program or read a file on this machine.
    #[error("{0} is refused in a kubeconfig from a Secret: it would run or read things on this machine")]
    Refused(&'static str),
    /// There is neither a kubeconfig nor a service account of a cluster.
    #[error("no kubeconfig is given (--management-kubeconfig), and this process does not run in a cluster")]
    NotInCluster(#[source] kube::config::InClusterError),
}

/// The source of the process's own credentials.
#[derive(Clone, Debug)]
pub enum Source {
    /// A kubeconfig file that the operator names.
    File {
        /// Its path.
        path: PathBuf,
        /// The context in it, in place of its current one.
        context: Option<String>,
    },
    /// A context of the kubeconfig that kubectl uses: of `$KUBECONFIG`, else of `~/.kube/config`.
    Kubectl {
        /// The context.
        context: String,
    },
    /// The pod's own service account.
    InCluster,
}

impl Source {
    /// The file at `path`; `context` in place of its current one.
    pub fn file(path: &Path, context: Option<&str>) -> Self {
        Self::File { path: path.to_owned(), context: context.map(str::to_owned) }
    }

    /// The file, where one is named; where a context alone is, that of kubectl's kubeconfig; `None` without
    /// either.
    pub fn named(file: Option<&Path>, context: Option<&str>) -> Option<Self> {
        match (file, context) {
            (Some(file), context) => Some(Self::file(file, context)),
            (None, Some(context)) => Some(Self::Kubectl { context: context.to_owned() }),
            (None, None) => None,
        }
    }

    /// Like [`Self::named`], but the pod's own service account if neither is given.
    pub fn new(file: Option<&Path>, context: Option<&str>) -> Self {
        Self::named(file, context).unwrap_or(Self::InCluster)
    }

    /// Reads everything: the configuration holds the content of the files that it names, and names none any
    /// more, so that what is compared, tried and used is the same.
    pub fn read(&self) -> Result<Loaded, CredentialsError> {
        let config = match self {
            Self::InCluster => Config::incluster().map_err(CredentialsError::NotInCluster)?,
            Self::Kubectl { context } => {
                let failed = |source| CredentialsError::Kubectl { context: context.clone(), source };
                let kubeconfig = Kubeconfig::read().map_err(|e| failed(e.into()))?;
                configured(kubeconfig, Some(context)).map_err(failed)?
            }
            Self::File { path, context } => {
                let failed = |source| CredentialsError::File {
                    path: path.display().to_string(),
                    context: context.as_ref().map_or_else(String::new, |c| format!(", context {c}")),
                    source,
                };
                let kubeconfig = Kubeconfig::read_from(path).map_err(|e| failed(e.into()))?;
                configured(kubeconfig, context.as_deref()).map_err(failed)?
            }
        };
        Loaded::from_config(config)
    }
}

/// Credentials as they were read.
#[derive(Clone)]
pub struct Loaded {
    /// The configuration, which refers to no file.
    pub config: Config,
    /// Hash of all that the configuration says.
    pub print: u64,
}

impl Loaded {
    fn from_config(mut config: Config) -> Result<Self, CredentialsError> {
        has_authority(&config)?;
        // The content of the file is in `root_cert` already.
        config.root_cert_file = None;
        let auth = &mut config.auth_info;
        if let Some(file) = auth.token_file.take()
            && auth.token.is_none()
        {
            let token = text(&file)?;
            let token = token.trim();
            if token.is_empty() {
                return Err(CredentialsError::Empty(file));
            }
            auth.token = Some(token.to_owned().into());
        }
        if let Some(file) = auth.client_certificate.take()
            && auth.client_certificate_data.is_none()
        {
            auth.client_certificate_data = Some(base64(text(&file)?));
        }
        if let Some(file) = auth.client_key.take()
            && auth.client_key_data.is_none()
        {
            auth.client_key_data = Some(base64(text(&file)?).into());
        }
        // As JSON, for a secret is blacked out where it is printed; as a value, for its keys are in order
        // then.
        let auth = serde_json::to_value(&config.auth_info).unwrap_or_default();
        let Config { cluster_url, root_cert, accept_invalid_certs, tls_server_name, .. } = &config;
        let print = hash::text(&format!(
            "{cluster_url} {root_cert:?} {accept_invalid_certs} {tls_server_name:?} {auth}"
        ));
        Ok(Self { config, print })
    }
}

fn text(file: &str) -> Result<String, CredentialsError> {
    std::fs::read_to_string(file).map_err(|e| CredentialsError::Unreadable(file.to_owned(), e))
}

/// Encodes the content of a file as a kubeconfig embeds it.
fn base64(content: String) -> String {
    let coded = serde_json::to_value(ByteString(content.into_bytes())).unwrap_or_default();
    coded.as_str().unwrap_or_default().to_owned()
}

/// The configuration that a Secret holds. Whoever may write the Secret must not be able to run or read
/// anything on this machine by it.
pub fn from_secret(content: &str) -> Result<Config, CredentialsError> {
    let kubeconfig = Kubeconfig::from_yaml(content).map_err(|e| CredentialsError::Content(e.into()))?;
    if let Some(what) = reaches_this_machine(&kubeconfig) {
        return Err(CredentialsError::Refused(what));
    }
    let config = configured(kubeconfig, None).map_err(CredentialsError::Content)?;
    has_authority(&config)?;
    Ok(config)
}

fn has_authority(config: &Config) -> Result<(), CredentialsError> {
    let is_empty = config.root_cert.as_ref().is_some_and(Vec::is_empty);
    if is_empty { Err(CredentialsError::NoAuthority) } else { Ok(()) }
}

/// Returns the configuration of `context`, or of the current one.
fn configured(mut kubeconfig: Kubeconfig, context: Option<&str>) -> Result<Config, KubeconfigFault> {
    if let Some(context) = context {
        kubeconfig.current_context = Some(context.to_owned());
    }
    let context = kubeconfig.contexts.iter().find(|c| Some(&c.name) == kubeconfig.current_context.as_ref());
    if let Some(context) = context.and_then(|c| c.context.as_ref()) {
        // Half a file may end before its users: without this check, such a one would make us anonymous.
        if let Some(user) = context.user.as_ref().filter(|user| !user.is_empty())
            && !kubeconfig.auth_infos.iter().any(|u| u.name == *user && u.auth_info.is_some())
        {
            return Err(KubeconfigFault::NoUser(excerpt(user).into_owned()));
        }
        let cluster = kubeconfig.clusters.iter().find(|c| c.name == context.cluster);
        let proxy = cluster.and_then(|c| c.cluster.as_ref()?.proxy_url.as_ref());
        if let Some(proxy) = proxy.filter(|url| !url.is_empty()) {
            return Err(KubeconfigFault::Proxy(errors::address(proxy)));
        }
    }
    let config = Config::try_from(kubeconfig)?;
    if sends_in_clear(&config.cluster_url) && !PLAIN_HTTP.load(Ordering::Relaxed) {
        let server = errors::address(&config.cluster_url.to_string());
        return Err(KubeconfigFault::PlainHttp(server.unwrap_or_default()));
    }
    Ok(config)
}

/// Whether servers are accepted that are reached by plain HTTP. It is one for the process, and not a
/// parameter, so that no way by which a kubeconfig comes in can forget it.
static PLAIN_HTTP: AtomicBool = AtomicBool::new(false);

/// Accepts servers that are reached by plain HTTP, from now on.
pub fn accept_plain_http() {
    PLAIN_HTTP.store(true, Ordering::Relaxed);
}

/// Whether credentials for that server leave this machine without encryption.
fn sends_in_clear(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_local = address.map_or(host == "localhost", |address| address.is_loopback());
    server.scheme() != Some(&Scheme::HTTPS) && !is_local
}

fn reaches_this_machine(kubeconfig: &Kubeconfig) -> Option<&'static str> {
    let users = kubeconfig.auth_infos.iter().filter_map(|u| u.auth_info.as_ref());
    for user in users {
        let named = [
            (user.exec.is_some(), "exec"),
            (user.auth_provider.is_some(), "auth-provider"),
            (user.token_file.is_some(), "tokenFile"),
            (user.client_certificate.is_some(), "client-certificate (use client-certificate-data)"),
            (user.client_key.is_some(), "client-key (use client-key-data)"),
        ];
        if let Some((_, what)) = named.into_iter().find(|(there, _)| *there) {
            return Some(what);
        }
    }
    let mut clusters = kubeconfig.clusters.iter().filter_map(|c| c.cluster.as_ref());
    clusters
        .any(|c| c.certificate_authority.is_some())
        .then_some("certificate-authority (use certificate-authority-data)")
}

#[cfg(test)]
mod tests;
