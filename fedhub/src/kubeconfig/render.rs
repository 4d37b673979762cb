//! The text of a kubeconfig. Pure.

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::Config;
use serde_json::{Value, json};

use super::purpose::Account;

/// A kubeconfig that acts as a `ServiceAccount` at a server, and has nothing else of `config` but whom to
/// trust there.
pub fn kubeconfig(server: &str, config: &Config, account: &Account, token: &str) -> anyhow::Result<String> {
    if config.accept_invalid_certs {
        bail!(
            "the kubeconfig has insecure-skip-tls-verify: a token is given to no server that is not verified"
        );
    }
    let mut cluster = json!({"server": server});
    if let Some(authorities) = &config.root_cert {
        cluster["certificate-authority-data"] = STANDARD.encode(pem(authorities)).into();
    }
    if let Some(name) = &config.tls_server_name {
        cluster["tls-server-name"] = name.clone().into();
    }
    let user = account.name.as_str();
    let content = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "plane", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": user}}],
        "current-context": "plane",
    });
    yaml(&content)
}

/// Replaces the token of the user of a kubeconfig's current context.
pub fn with_token(content: &str, token: &str) -> anyhow::Result<String> {
    let mut content: Value = serde_saphyr::from_str(content).context("the kubeconfig is not YAML")?;
    let named = |list: &Value, name: &Value| {
        list.as_array().into_iter().flatten().position(|it| it["name"] == *name && !name.is_null())
    };
    let current = named(&content["contexts"], &content["current-context"]);
    let current = current.context("the kubeconfig has no current context")?;
    let user = content["contexts"][current]["context"]["user"].clone();
    let user = named(&content["users"], &user).context("the kubeconfig lacks the user of its context")?;
    content["users"][user]["user"]["token"] = token.into();
    yaml(&content)
}

fn yaml(content: &Value) -> anyhow::Result<String> {
    // A token is on one line, where people and scripts look for it.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(content, options).context("failed to write a kubeconfig as YAML")
}

/// Certificates as text: RFC 7468.
fn pem(certificates: &[Vec<u8>]) -> String {
    let one = |der: &Vec<u8>| {
        let coded = STANDARD.encode(der);
        let lines: Vec<&str> = (0..coded.len()).step_by(64).filter_map(|at| line(&coded, at)).collect();
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
    };
    certificates.iter().map(one).collect()
}

fn line(text: &str, at: usize) -> Option<&str> {
    text.get(at..text.len().min(at + 64))
}
