//! The answer to a review.

use fedhub_workload::admission::{Fault, Kind};
use kube::core::DynamicObject;
use kube::core::admission::{AdmissionResponse, AdmissionReview};
use kube::core::response::{Status, StatusCause, StatusDetails, StatusSummary, reason};
use serde_json::Value;

use super::review::Review;
use super::unasked::Unasked;

/// How many faults an answer has. No user reads more of them at once.
const MOST: usize = 100;

/// The answer to a review.
#[derive(Debug)]
pub enum Verdict {
    /// The object may be stored.
    Allowed {
        /// The warnings for its user.
        warnings: Vec<String>,
    },
    /// The object may be stored, with these operations of a JSON patch.
    Completed(Vec<Value>),
    /// The object may not be stored.
    Refused {
        /// Why.
        faults: Vec<Fault>,
        /// The warnings for its user besides.
        warnings: Vec<String>,
        /// Whether its plane was asked, or there is none: else it is refused for want of an answer, in the
        /// words of a denial.
        is_answered: bool,
    },
    /// It is not known whether the object may be stored, so it is not.
    Unanswered(Unasked),
}

impl Verdict {
    /// The object, with that patch.
    pub fn completed(patch: Vec<Value>) -> Self {
        if patch.is_empty() { Self::Allowed { warnings: Vec::new() } } else { Self::Completed(patch) }
    }

    /// The metric label.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Allowed { .. } => "allowed",
            Self::Completed(_) => "completed",
            Self::Refused { is_answered: true, .. } => "refused",
            Self::Refused { is_answered: false, .. } | Self::Unanswered(_) => "unanswered",
        }
    }

    /// Returns the review for the API server.
    pub fn review(self, kind: Kind, request: &Review) -> AdmissionReview<DynamicObject> {
        let response = AdmissionResponse::from(request);
        match self {
            Self::Allowed { warnings } => with(response, warnings),
            Self::Completed(patch) => completed(response, patch),
            Self::Refused { faults, warnings, .. } => {
                with(refused(response, invalid(kind, &request.name, &faults)), warnings)
            }
            Self::Unanswered(unasked) => {
                let reason = reason::SERVICE_UNAVAILABLE.to_owned();
                let message = unasked.to_string();
                refused(response, Status { code: 503, reason, message, ..Status::default() })
            }
        }
        .into_review()
    }
}

fn with(mut response: AdmissionResponse, warnings: Vec<String>) -> AdmissionResponse {
    response.warnings = Some(warnings).filter(|warnings| !warnings.is_empty());
    response
}

fn refused(mut response: AdmissionResponse, status: Status) -> AdmissionResponse {
    response.allowed = false;
    response.result = Status { status: Some(StatusSummary::Failure), ..status };
    response
}

fn completed(response: AdmissionResponse, patch: Vec<Value>) -> AdmissionResponse {
    let patch = serde_json::from_value(Value::Array(patch)).ok();
    match patch.and_then(|patch| response.clone().with_patch(patch).ok()) {
        Some(response) => response,
        // The operations are made here, so that this cannot fail.
        None => refused(response, Status { code: 500, ..Status::default() }),
    }
}

/// As Kubernetes says it of its own kinds: kubectl shows each cause on a line.
fn invalid(kind: Kind, name: &str, faults: &[Fault]) -> Status {
    let mut causes: Vec<_> = faults
        .iter()
        .take(MOST)
        .map(|fault| StatusCause {
            reason: fault.problem.reason().to_owned(),
            message: fault.message(),
            field: fault.path.to_string(),
        })
        .collect();
    let mut lines: Vec<_> = faults.iter().take(MOST).map(Fault::to_string).collect();
    if let Some(more) = faults.len().checked_sub(MOST).filter(|more| *more > 0) {
        let message = format!("and {more} more faults");
        lines.push(message.clone());
        causes.push(StatusCause { reason: String::new(), message, field: "<others>".to_owned() });
    }
    let what = match &lines[..] {
        [one] => one.clone(),
        all => format!("[{}]", all.join(", ")),
    };
    let group = fedhub_api::GROUP;
    let of = kind.name();
    let details = StatusDetails {
        name: name.to_owned(),
        group: group.to_owned(),
        kind: of.to_owned(),
        uid: String::new(),
        causes,
        retry_after_seconds: 0,
    };
    Status {
        code: 422,
        reason: reason::INVALID.to_owned(),
        message: format!("{of}.{group} {name:?} is invalid: {what}"),
        details: Some(details),
        ..Status::default()
    }
}
