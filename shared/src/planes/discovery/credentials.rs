//! Kubeconfigs: from files that the operator names, and from Secrets that others wrote.

use std::path::Path;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

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
        /// What is wrong with it.
        #[source]
        source: KubeconfigError,
    },
    /// The content is not a kubeconfig.
    #[error("not a kubeconfig")]
    Content(#[source] KubeconfigError),
    /// The content would run a program or read a file on this machine.
    #[error("{0} is refused in a kubeconfig from a Secret: it would run or read things on this machine")]
    Refused(&'static str),
    /// Neither a kubeconfig nor a service account of a cluster.
    #[error("no kubeconfig is given and this process does not run in a cluster")]
    NotInCluster(#[source] kube::config::InClusterError),
}

/// The configuration that a file names; `context` in place of its current one.
pub async fn from_file(path: &Path, context: Option<&str>) -> Result<Config, CredentialsError> {
    let failed = |source| CredentialsError::File {
        path: path.display().to_string(),
        context: context.map_or_else(String::new, |c| format!(", context {c}")),
        source,
    };
    let kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(failed)
}

/// The configuration of the pod's own service account.
pub fn in_cluster() -> Result<Config, CredentialsError> {
    Config::incluster().map_err(CredentialsError::NotInCluster)
}

/// The configuration that a Secret holds. Whoever may write the Secret must not be able to run or read anything on
/// this machine by it.
pub async fn from_secret(content: &str) -> Result<Config, CredentialsError> {
    let kubeconfig = Kubeconfig::from_yaml(content).map_err(CredentialsError::Content)?;
    if let Some(what) = reaches_this_machine(&kubeconfig) {
        return Err(CredentialsError::Refused(what));
    }
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(CredentialsError::Content)
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
mod tests {
    use super::*;

    fn kubeconfig(cluster: &str, user: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: c, user: u}}\n\
             clusters:\n- name: c\n  cluster: {{server: 'https://127.0.0.1:1'{cluster}}}\nusers:\n- name: u\n  user: {{{user}}}\n"
        )
    }

    #[tokio::test]
    async fn a_secret_cannot_reach_this_machine() {
        assert!(from_secret(&kubeconfig("", "token: abc")).await.is_ok());
        for (cluster, user) in [
            ("", "exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true}"),
            ("", "auth-provider: {name: oidc, config: {}}"),
            ("", "tokenFile: /etc/hostname"),
            ("", "client-certificate: /etc/hostname"),
            ("", "client-key: /etc/hostname"),
            (", certificate-authority: /etc/hostname", "token: abc"),
        ] {
            let refused = from_secret(&kubeconfig(cluster, user)).await;
            assert!(matches!(refused, Err(CredentialsError::Refused(_))), "{cluster}{user}: {refused:?}");
        }
        assert!(matches!(from_secret("nonsense: [").await, Err(CredentialsError::Content(_))));
    }
}
