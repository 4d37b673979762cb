//! The condition of a WD about its referenced data, and the desired companion.

use fedhub_api::conditions::explained;
use fedhub_api::facts::referenced::REFERENCED_DATA_READY;
use fedhub_api::reason::Reason;
use fedhub_core::message::excerpt;
use fedhub_core::names::{COPIED_FROM, REFERENCED_BY, REFERENCED_DATA};
use fedhub_core::object::{Kind, Object};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::snapshot::{DataSource, Unsupported};
use super::{SOURCE_LIMIT, TOTAL_LIMIT};

/// How it is with a WD's referenced data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataVerdict {
    /// All of it is on the hub: these, in the order of the references.
    Ready(Vec<(Kind, String)>),
    /// The former copy of a source is being deleted on the hub, which takes an operator where it lasts.
    Ends {
        /// The message for people.
        message: String,
    },
    /// A source cannot be copied, and no retry helps.
    Failed {
        /// The reason of the condition and of the annotation.
        reason: Reason,
        /// The message for people.
        message: String,
    },
}

impl DataVerdict {
    /// Says that the former companion of a source has yet to be deleted.
    pub fn ends(kind: Kind, name: &str) -> Self {
        let what = format!("{} {}", kind.resource().kind, excerpt(name));
        let message = format!(
            "The former copy of {what} on the federation hub is being deleted, and finalizers hold it"
        );
        Self::Ends { message }
    }
}

/// Why a source cannot be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFault {
    /// It is not there.
    NotFound,
    /// The plane does not let it be read.
    Unauthorized,
    /// The source is too large: it has this many bytes.
    TooLarge(usize),
    /// All sources of the WD together are too large: with this one, they have this many bytes.
    TooLargeTogether(usize),
    /// The object under its name on the hub is not a companion.
    NameTaken,
    /// The hub refuses its copy, with this code.
    Refused(u16),
    /// A cell cannot have a copy of the source.
    Unsupported(Unsupported),
}

impl SourceFault {
    /// The reason of the condition and of the annotation.
    pub fn reason(self) -> Reason {
        match self {
            Self::NotFound => Reason::SourceNotFound,
            Self::Unauthorized => Reason::SourceUnauthorized,
            Self::TooLarge(_) | Self::TooLargeTogether(_) => Reason::SourceTooLarge,
            Self::NameTaken => Reason::SourceNameTaken,
            Self::Refused(_) => Reason::SourceRefused,
            Self::Unsupported(_) => Reason::SourceUnsupported,
        }
    }

    /// Returns the verdict about a source of this namespace.
    pub fn of(self, source: &DataSource, namespace: &str) -> DataVerdict {
        let what = format!("{} {}", source.kind.resource().kind, excerpt(&source.name));
        let message = match self {
            Self::NotFound => format!("{what} does not exist in namespace {namespace}"),
            Self::Unauthorized => {
                format!("The platform is not allowed to read {what} in namespace {namespace}")
            }
            Self::TooLarge(bytes) => {
                format!("{what} has {bytes} bytes, more than the limit of {SOURCE_LIMIT}")
            }
            Self::TooLargeTogether(bytes) => format!(
                "The ConfigMaps and Secrets of this WorkloadDeployment have {bytes} bytes with {what}, more than the limit of {TOTAL_LIMIT}"
            ),
            Self::NameTaken => {
                format!("Another {what} exists on the federation hub, which is not a copy of the project's")
            }
            Self::Refused(code) => {
                format!("The federation hub refuses the copy of {what} with the code {code}")
            }
            Self::Unsupported(Unsupported::Name) => format!(
                "{what} cannot be copied to a cell: names have at most 242 characters there, and kube-root-ca.crt is each cluster's own"
            ),
            Self::Unsupported(Unsupported::TokenSecret) => format!(
                "{what} cannot be copied to a cell: it is a ServiceAccount's token, of which a cell knows nothing"
            ),
        };
        DataVerdict::Failed { reason: self.reason(), message }
    }
}

/// The condition `ReferencedDataReady` of a WD of that generation; `standing` is the one that it has.
pub fn condition(verdict: &DataVerdict, standing: Option<&Value>, generation: i64, now: Timestamp) -> Value {
    let (status, reason, message) = match verdict {
        DataVerdict::Ready(_) => {
            ("True", Reason::Ready, "All referenced ConfigMaps and Secrets are on the federation hub")
        }
        DataVerdict::Ends { message } => ("False", Reason::CopyTerminating, message.as_str()),
        DataVerdict::Failed { reason, message } => ("False", *reason, message.as_str()),
    };
    let mut condition = explained(standing, REFERENCED_DATA_READY, status, reason, message, now);
    condition["observedGeneration"] = json!(generation);
    condition
}

/// The annotation `expected-referenced-data`.
pub fn expected_text(generation: i64, expected: &[(Kind, String)]) -> String {
    let entries: Vec<String> =
        expected.iter().map(|(kind, name)| format!("{}/{name}", kind.resource().kind)).collect();
    format!(r#"{{"generation":{generation},"expected":{}}}"#, json!(entries))
}

/// The annotation `referenced-data-error`; `None` where there is no error.
pub fn error_text(verdict: &DataVerdict) -> Option<String> {
    match verdict {
        DataVerdict::Ready(_) | DataVerdict::Ends { .. } => None,
        DataVerdict::Failed { reason, message } => {
            Some(json!({"reason": reason, "message": message}).to_string())
        }
    }
}

/// The annotation `referenced-by`.
pub fn referenced_by_text<'a>(wds: impl IntoIterator<Item = &'a str>) -> String {
    let mut wds: Vec<&str> = wds.into_iter().collect();
    wds.sort_unstable();
    wds.dedup();
    json!(wds).to_string()
}

/// Puts into the metadata of a companion what is ours of it.
pub fn mark(companion: &mut Object, referenced_by: String, copied_from: String) {
    let labels = companion.metadata.labels.get_or_insert_default();
    labels.insert(REFERENCED_DATA.to_owned(), "true".to_owned());
    let annotations = companion.metadata.annotations.get_or_insert_default();
    annotations.insert(REFERENCED_BY.to_owned(), referenced_by);
    annotations.insert(COPIED_FROM.to_owned(), copied_from);
}
