//! The result of a read, errors included, so that a command shows what it could not read beside what it
//! could.

use anyhow::anyhow;

/// Why something could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Failure {
    /// The server did not answer, answered invalidly, or with a 5xx.
    Unreachable,
    /// The credentials are not accepted (401).
    Unauthorized,
    /// The credentials lack the right (403).
    Forbidden,
    /// The server does not serve the kind.
    NotServed,
    /// The plane sends more than is accepted from one plane.
    TooLarge,
    /// The kubeconfig cannot be used.
    Invalid,
}

/// An error of reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Its kind.
    pub failure: Failure,
    /// A message that may be shown.
    pub message: String,
}

/// The result of a read.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Read<T> {
    /// The object was not requested: no credentials were given, or what names it is not known.
    #[default]
    Skipped,
    /// The object was found.
    Found(T),
    /// The object does not exist.
    Absent,
    /// The object could not be read.
    Failed(ReadError),
}

impl<T> From<Option<T>> for Read<T> {
    fn from(found: Option<T>) -> Self {
        found.map_or(Self::Absent, Self::Found)
    }
}

impl<T> Read<T> {
    /// Returns what was found.
    pub fn found(&self) -> Option<&T> {
        match self {
            Self::Found(it) => Some(it),
            Self::Skipped | Self::Absent | Self::Failed(_) => None,
        }
    }

    /// Why it could not be read.
    pub fn failure(&self) -> Option<&ReadError> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Skipped | Self::Found(_) | Self::Absent => None,
        }
    }

    /// Whether it is known not to be there.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Returns what was found, or the default if nothing was; an error that says what was being done if the
    /// read failed.
    pub fn required(self, doing: impl FnOnce() -> String) -> anyhow::Result<T>
    where
        T: Default,
    {
        match self {
            Self::Found(it) => Ok(it),
            Self::Absent | Self::Skipped => Ok(T::default()),
            Self::Failed(error) => Err(anyhow!("{}: {}", doing(), error.message)),
        }
    }

    /// Applies `made` to what was found.
    pub fn map<U>(self, made: impl FnOnce(T) -> U) -> Read<U> {
        self.and_then(|it| Read::Found(made(it)))
    }

    /// Continues with what was found.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Read<U>) -> Read<U> {
        match self {
            Self::Skipped => Read::Skipped,
            Self::Found(it) => next(it),
            Self::Absent => Read::Absent,
            Self::Failed(error) => Read::Failed(error),
        }
    }
}
