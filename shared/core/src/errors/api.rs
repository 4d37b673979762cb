//! The error of a request to an API server, and the one place where the client's error becomes it.

use std::error::Error;
use std::io;
use std::iter::successors;

use kube::core::{Status, request};

use super::category::Category;
use super::excess::Excess;
use super::not_sent::NotSent;
use crate::object::Unreadable;

/// Why a request did not get the answer that it asked for.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The request was not sent.
    #[error("the request was not sent")]
    NotSent(
        #[source]
        #[from]
        NotSent,
    ),
    /// The server refused it.
    #[error("the server refused the request")]
    Server(#[source] Box<Status>),
    /// The answer is larger than is taken of one server. The server is to blame, and nothing else.
    #[error("the answer is too large")]
    TooLarge(
        #[source]
        #[from]
        Excess,
    ),
    /// The server answered, and its object cannot be read.
    #[error("the object cannot be read")]
    Unreadable(#[source] Box<Unreadable>),
    /// No complete answer was received, or an invalid one.
    #[error("the request failed")]
    Transport {
        /// How it failed, as far as anything depends on it.
        failure: TransportFailure,
        /// The client's error.
        #[source]
        source: Box<kube::Error>,
    },
}

/// How the exchange with a server failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportFailure {
    /// The connection failed, or the server did not answer in time.
    NoAnswer,
    /// The answer ended in its midst, as that of a watch may.
    Ended,
    /// The response is not one of an API server.
    Garbled,
    /// Any other failure, before the answer or within it.
    Other,
}

impl ApiError {
    /// The server's refusal, if it gave one.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Server(status) => Some(status),
            Self::NotSent(_) | Self::TooLarge(_) | Self::Unreadable(_) | Self::Transport { .. } => None,
        }
    }

    /// The status code of the server's refusal.
    pub fn code(&self) -> Option<u16> {
        self.status().map(|status| status.code)
    }

    /// How the exchange with the server failed, if it did.
    pub fn failure(&self) -> Option<TransportFailure> {
        match self {
            Self::Transport { failure, .. } => Some(*failure),
            Self::NotSent(_) | Self::Server(_) | Self::TooLarge(_) | Self::Unreadable(_) => None,
        }
    }

    /// The category of this error.
    pub fn category(&self) -> Category {
        match self {
            Self::NotSent(_) => Category::NotEngaged,
            Self::Server(status) => Category::of_status(status),
            // An answer, of which the plane is not to blame for its object.
            Self::Unreadable(_) => Category::Invalid,
            Self::TooLarge(_) | Self::Transport { .. } => Category::Transient,
        }
    }
}

/// The layers of the transport hand their errors on in a box, as tower has it, and those of a body come
/// inside an I/O error: here, and nowhere else, they are found again by their type.
impl From<kube::Error> for ApiError {
    fn from(error: kube::Error) -> Self {
        let error = match error {
            kube::Error::Api(status) => return Self::Server(status),
            error => error,
        };
        if let Some(excess) = causes(&error).find_map(<dyn Error>::downcast_ref::<Excess>) {
            return Self::TooLarge(*excess);
        }
        let failure = match &error {
            kube::Error::Service(_) => TransportFailure::NoAnswer,
            kube::Error::ReadEvents(_) if has_ended(&error) => TransportFailure::Ended,
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => TransportFailure::Garbled,
            _ => TransportFailure::Other,
        };
        Self::Transport { failure, source: Box::new(error) }
    }
}

impl From<request::Error> for ApiError {
    fn from(error: request::Error) -> Self {
        kube::Error::BuildRequest(error).into()
    }
}

impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> Self {
        kube::Error::SerdeError(error).into()
    }
}

impl From<io::Error> for ApiError {
    fn from(error: io::Error) -> Self {
        kube::Error::ReadEvents(error).into()
    }
}

impl From<Unreadable> for ApiError {
    fn from(error: Unreadable) -> Self {
        Self::Unreadable(Box::new(error))
    }
}

/// Whether the body ended in its midst: its connection was closed, or silent for too long.
fn has_ended(error: &kube::Error) -> bool {
    causes(error)
        .filter_map(<dyn Error>::downcast_ref::<io::Error>)
        .any(|error| matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::TimedOut))
}

/// An error and what caused it.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |error| cause(*error))
}

/// Returns the cause of an error. The `source` of an I/O error is that of the error it wraps, not the wrapped
/// error.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::ObjectMeta;

    use super::*;

    #[test]
    fn i8_an_excess_is_found_however_a_client_wraps_it() {
        let excess = || Box::new(Excess::Objects(3));
        for error in [
            kube::Error::Service(excess()),
            kube::Error::ReadEvents(io::Error::other(kube::Error::Service(excess()))),
            kube::Error::Service(Box::new(io::Error::other(kube::Error::Service(excess())))),
        ] {
            let error = ApiError::from(error);
            assert!(matches!(error, ApiError::TooLarge(Excess::Objects(3))), "{error:?}");
        }
    }

    #[test]
    fn i8_a_body_that_ends_in_its_midst_is_told_from_one_that_breaks() {
        let body = |error: io::Error| io::Error::other(kube::Error::Service(Box::new(error)));
        for (error, failure) in [
            (body(io::ErrorKind::UnexpectedEof.into()), TransportFailure::Ended),
            (body(io::ErrorKind::TimedOut.into()), TransportFailure::Ended),
            (io::ErrorKind::UnexpectedEof.into(), TransportFailure::Ended),
            (body(io::ErrorKind::ConnectionReset.into()), TransportFailure::Other),
            // The words of an error decide nothing.
            (body(io::Error::other("unexpected EOF during chunk")), TransportFailure::Other),
        ] {
            let words = error.to_string();
            assert_eq!(ApiError::from(error).failure(), Some(failure), "{words}");
        }
    }

    #[test]
    fn the_kind_of_an_error_decides_its_category() {
        let unreadable = Unreadable { metadata: ObjectMeta::default(), error: "no".to_owned() };
        for (error, category, failure) in [
            (NotSent::Fenced.into(), Category::NotEngaged, None),
            (NotSent::CircuitOpen.into(), Category::NotEngaged, None),
            (Excess::Objects(1).into(), Category::Transient, None),
            (unreadable.into(), Category::Invalid, None),
            (
                kube::Error::Service(Box::new(io::Error::from(io::ErrorKind::UnexpectedEof))).into(),
                Category::Transient,
                Some(TransportFailure::NoAnswer),
            ),
            (
                serde_json::from_str::<u8>("<html>").unwrap_err().into(),
                Category::Transient,
                Some(TransportFailure::Garbled),
            ),
            (kube::Error::TlsRequired.into(), Category::Transient, Some(TransportFailure::Other)),
        ] {
            let error: ApiError = error;
            assert_eq!((error.category(), error.failure()), (category, failure), "{error:?}");
        }
    }
}
