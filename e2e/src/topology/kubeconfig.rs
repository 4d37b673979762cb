//! Kubeconfig files with everything embedded, and clients made from them.

use std::fs;
use std::path::Path;

use k8s_openapi::ByteString;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::layout::write_atomically;
use super::pki::ClientCertificate;
use crate::Error;

/// How a kubeconfig proves who it is.
pub enum Credential<'a> {
    /// By client certificate.
    Certificate(&'a ClientCertificate),
    /// By bearer token.
    Token(&'a str),
}

/// Writes a kubeconfig with one cluster, user and context, all called `plane`, and returns its text.
pub fn write(
    path: &Path,
    plane: &str,
    server: &str,
    ca: &str,
    credential: Credential<'_>,
) -> Result<String, Error> {
    let user = match credential {
        Credential::Certificate(certificate) => json!({
            "client-certificate-data": base64(&certificate.certificate),
            "client-key-data": base64(&certificate.key),
        }),
        Credential::Token(token) => json!({ "token": token }),
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": plane,
            "cluster": { "server": server, "certificate-authority-data": base64(ca) },
        }],
        "users": [{ "name": plane, "user": user }],
        "contexts": [{ "name": plane, "context": { "cluster": plane, "user": plane } }],
        "current-context": plane,
    });
    let unwritable = |problem: String| Error::Manifest { path: path.to_path_buf(), problem };
    let text = serde_saphyr::to_string(&config).map_err(|error| unwritable(error.to_string()))?;
    write_atomically(path, text.as_bytes())?;
    Ok(text)
}

/// A client that acts as the kubeconfig says.
pub async fn client(path: &Path) -> Result<Client, Error> {
    client_at(path, None).await
}

/// A client with the kubeconfig's identity for the local server at `port`, such as a plane's controller
/// manager.
pub async fn client_at(path: &Path, port: Option<u16>) -> Result<Client, Error> {
    let text = fs::read_to_string(path).map_err(Error::file("read", path))?;
    let unreadable = |error| Error::Kubeconfig { path: path.to_path_buf(), cause: Box::new(error) };
    let kubeconfig = Kubeconfig::from_yaml(&text).map_err(unreadable)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(unreadable)?;
    if let Some(port) = port {
        let url = format!("https://127.0.0.1:{port}");
        config.cluster_url = url.parse().map_err(|error: http::uri::InvalidUri| Error::Manifest {
            path: path.to_path_buf(),
            problem: error.to_string(),
        })?;
    }
    // Nothing the harness asks takes long; without a limit a server that hangs would hang it too.
    config.connect_timeout = Some(std::time::Duration::from_secs(5));
    config.read_timeout = Some(std::time::Duration::from_secs(30));
    Client::try_from(config).map_err(Error::api(format!("client for {}", path.display())))
}

/// Base64, as the API's own byte strings have it.
fn base64(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_reads_back_as_written() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a.yaml");
        let text = write(&path, "hub", "https://127.0.0.1:1", "PEM", Credential::Token("secret")).unwrap();
        let read = Kubeconfig::from_yaml(&text).unwrap();
        assert_eq!(read.current_context.as_deref(), Some("hub"));
        let cluster = read.clusters[0].cluster.clone().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://127.0.0.1:1"));
        assert_eq!(cluster.certificate_authority_data.as_deref(), Some("UEVN"));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}
