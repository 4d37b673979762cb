//! What a Secret holds, and whether it may be overwritten or has to be renewed. Pure.

use fedhub_core::names::{PLANE_NAME, PLANE_SECRET, PlaneName};
use fedhub_core::object::{Object, ObjectView};
use fedhub_planes::discovery::expiry::{Credential, CredentialEnd, claims, ends};
use fedhub_planes::discovery::kubeconfigs::plane_of;
use jiff::Timestamp;
use kube::Config;

use super::purpose::Account;
use crate::operator::planes::{config_of_secret, content_of_secret};

/// A kubeconfig in a Secret.
pub struct Held {
    /// What it says.
    pub config: Config,
    /// Its text.
    pub content: String,
    /// The `ServiceAccount` of its token; `None` of any other credentials.
    pub account: Option<Account>,
    /// The end of its token, where that says so.
    pub end: Option<CredentialEnd>,
}

impl Held {
    /// The one in a Secret, or why there is none that fedhub could use.
    pub fn from_secret(secret: &Object) -> Result<Self, String> {
        let content = content_of_secret(secret)?;
        let config = config_of_secret(secret)?;
        // As JSON, for a secret is blacked out where it is printed.
        let auth = serde_json::to_value(&config.auth_info).unwrap_or_default();
        let account = auth["token"].as_str().and_then(claims);
        let account = account.and_then(|claims| Account::of_user(claims["sub"].as_str()?));
        let end = ends(&config).into_iter().find(|end| end.of == Credential::Token);
        Ok(Self { config, content, account, end })
    }

    /// Its server.
    pub fn server(&self) -> String {
        server(&self.config)
    }
}

/// The server of a configuration, as a kubeconfig has it.
pub fn server(config: &Config) -> String {
    config.cluster_url.to_string().trim_end_matches('/').to_owned()
}

/// What a Secret is to hold.
pub struct Wanted {
    /// The server.
    pub server: String,
    /// Who it acts as.
    pub account: Account,
    /// The project plane that it stands for.
    pub plane: Option<PlaneName>,
}

/// How a Secret is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// There is none yet.
    Create,
    /// One is there, of this resourceVersion.
    Replace(String),
}

/// Whether the Secret of that name may be written. One that holds anything but an earlier token of the same
/// `ServiceAccount` for the same server is left alone, unless `force`.
pub fn mint(existing: Option<&Object>, wanted: &Wanted, force: bool) -> Result<Write, String> {
    let Some(secret) = existing else { return Ok(Write::Create) };
    if secret.is_terminating() {
        return Err("the Secret is being deleted".to_owned());
    }
    if !force && let Some(why) = foreign(secret, wanted) {
        return Err(format!("{why}; --force overwrites it"));
    }
    Ok(Write::Replace(secret.version().to_owned()))
}

/// What makes a Secret another's.
fn foreign(secret: &Object, wanted: &Wanted) -> Option<String> {
    if let Some(plane) = &wanted.plane {
        if secret.label(PLANE_SECRET.0) != Some(PLANE_SECRET.1) {
            return Some(format!("the Secret lacks the label {}={}", PLANE_SECRET.0, PLANE_SECRET.1));
        }
        let named = plane_of(secret);
        if named != plane.as_str() {
            return Some(format!("the Secret stands for plane {named:?}"));
        }
    }
    let held = match Held::from_secret(secret) {
        Ok(held) => held,
        Err(why) => return Some(format!("the Secret holds no kubeconfig of fedhub: {why}")),
    };
    differs(&held, &wanted.account, Some(&wanted.server))
}

/// What a kubeconfig names in place of what is expected. Its token is not verified: whoever writes the Secret
/// makes one that names any `ServiceAccount`.
fn differs(held: &Held, account: &Account, server: Option<&str>) -> Option<String> {
    if let Some(server) = server.filter(|server| *server != held.server()) {
        return Some(format!("the Secret names the server {}, not {server}", held.server()));
    }
    match &held.account {
        Some(named) if named == account => None,
        Some(named) => Some(format!("the Secret holds a token of ServiceAccount {named}, not of {account}")),
        None => Some("the Secret holds other credentials than the token of a ServiceAccount".to_owned()),
    }
}

/// Whether a kubeconfig is renewed, or why it cannot be. `account` is the one that its purpose has, and
/// `server` that of the context which the operator named; without one it renews itself, by its own token at
/// its own server, and has to be valid still.
pub fn rotate(
    held: &Held,
    account: &Account,
    server: Option<&str>,
    now: Timestamp,
    all: bool,
) -> Result<bool, String> {
    if held.account.is_none() {
        let why = "holds other credentials than the token of a ServiceAccount";
        return Err(format!("{why}: renew them where they are from, or replace them by `mint --force`"));
    }
    if let Some(why) = differs(held, account, server) {
        return Err(format!(
            "{why}: find out who wrote that; where it is right, name it by --service-account or --server, else replace \
             it by `mint --force`"
        ));
    }
    let expired = held.end.and_then(|end| end.at).is_some_and(|at| at <= now);
    if server.is_none() && expired {
        return Err(
            "its token has expired, and cannot renew itself: name a context with the right".to_owned()
        );
    }
    Ok(all || held.end.is_none_or(|end| end.is_due(now)))
}

/// What is said of Secrets that name one plane: discovery uses one of them, and it is not known which.
pub fn twins(plane: &str, secrets: &[String]) -> String {
    format!(
        "{} Secrets name the plane {plane}: {}; fedhub uses one of them: delete the others, or correct the annotation \
         {PLANE_NAME}",
        secrets.len(),
        secrets.join(", ")
    )
}
