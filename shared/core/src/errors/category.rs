//! The categories of errors.

use kube::core::Status;

/// The category of an error. Bounded, so that it may be a metric label.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum Category {
    /// Comes right by itself: connection errors, time-outs, 5xx.
    Transient,
    /// Another writer was first, or the object is gone: read again.
    Conflict,
    /// The server asked for patience (429).
    Throttled,
    /// RBAC, or credentials that are not accepted.
    Forbidden,
    /// The server refused the content of the write.
    Invalid,
    /// The plane is not engaged, not in sync yet, or not asked while it fails; or the process does not lead.
    NotEngaged,
    /// The hub object belongs to another tenant (I6).
    TenantConflict,
    /// A state that the code holds to be impossible.
    Bug,
}

impl Category {
    /// The metric label.
    pub fn label(self) -> &'static str {
        self.into()
    }

    /// The category of a server's refusal.
    pub(super) fn of_status(status: &Status) -> Self {
        match status.code {
            403 if is_suspension(status) => Self::NotEngaged,
            401 | 403 => Self::Forbidden,
            409 => Self::Conflict,
            429 => Self::Throttled,
            400 | 404 | 405 | 406 | 413 | 415 | 422 => Self::Invalid,
            _ => Self::Transient,
        }
    }
}

/// Whether a project's plane refuses a write because the project is suspended.
pub(super) fn is_suspension(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == "ProjectSuspended")
}
