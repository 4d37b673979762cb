//! A review, as an API server asks for it.

use fedhub_core::object::Object;
use kube::core::admission::AdmissionRequest;

/// The request of a review.
pub type Review = AdmissionRequest<Object>;
