//! The URL that a Workload is published under, as its `HTTPProxy` says.

use fedhub_core::names::WORKLOAD_NAME;
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use crate::model::Listed;
use crate::reading::{Query, is_unserved};
use crate::url::plan;
use crate::view::{NONE, UNKNOWN};

/// Returns the query for the proxies of a namespace.
pub fn proxies(namespace: &str) -> Query<'_> {
    Query {
        what: "URLs",
        group: "networking.datumapis.com",
        version: "v1alpha",
        kind: "HTTPProxy",
        plural: "httpproxies",
        namespace: Some(namespace),
    }
}

/// The URL of a Workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Url {
    /// The Workload is not published.
    None,
    /// The Workload answers at this URL.
    Live(String),
    /// The Workload is published, and does not answer yet.
    Pending(Option<String>),
    /// Whether it is published is not known, for this reason.
    Unknown(String),
}

impl Url {
    /// Returns the URL of a Workload among what was listed.
    pub fn new(listed: &Listed, workload: &str) -> Self {
        match listed {
            Ok(proxies) => {
                let is_its =
                    |it: &&Object| it.label(WORKLOAD_NAME) == Some(workload) || it.name() == workload;
                proxies.iter().find(is_its).map_or(Self::None, live)
            }
            // Where nothing is published, this is not either.
            Err(_) if is_unserved(listed) => Self::None,
            Err(problem) => Self::Unknown(problem.sentence.clone()),
        }
    }

    /// Formats the URL for a table.
    pub fn cell(&self) -> String {
        match self {
            Self::None => NONE.to_owned(),
            Self::Live(url) => url.clone(),
            Self::Pending(_) => "pending".to_owned(),
            Self::Unknown(_) => UNKNOWN.to_owned(),
        }
    }

    /// Formats the URL for a sentence.
    pub fn words(&self) -> String {
        match self {
            Self::None => "not published".to_owned(),
            Self::Live(url) => url.clone(),
            Self::Pending(Some(url)) => format!("{url}, which does not answer yet"),
            Self::Pending(None) => "being published".to_owned(),
            Self::Unknown(why) => format!("not known. {why}"),
        }
    }

    /// Returns the URL for `--output json` and `yaml`, and why there is none although there could be.
    pub fn json(&self) -> (Value, Value) {
        match self {
            Self::None => (Value::Null, Value::Null),
            Self::Live(url) => (json!(url), Value::Null),
            Self::Pending(_) => (Value::Null, json!("not live yet")),
            Self::Unknown(why) => (Value::Null, json!(why)),
        }
    }
}

fn live(proxy: &Object) -> Url {
    match plan::url(proxy) {
        plan::Url::Live(url) => Url::Live(url),
        plan::Url::Pending(_) => Url::Pending(plan::address(proxy)),
    }
}
