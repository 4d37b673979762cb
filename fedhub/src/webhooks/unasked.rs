//! Why a plane was not asked about a user.

use std::fmt;

use fedhub_core::names::PlaneName;

/// Why a plane was not asked, or did not answer: the request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// The request does not say which plane it comes from.
    Unknown,
    /// fedhub does not know that plane, or is not in sync with it.
    NotEngaged(PlaneName),
    /// The plane answers so slowly that the most requests that may wait for it do.
    Overloaded(PlaneName),
    /// The plane failed to answer.
    Failed(PlaneName),
    /// The plane did not answer in time.
    Late,
    /// The rules took too long over it, or failed.
    Unjudged,
    /// The catalogue of instance types is not known yet.
    NoCatalog,
}

impl Unasked {
    /// Whether it says something of a plane: that there is none of the name, or how it is.
    pub fn depends_on_plane(&self) -> bool {
        match self {
            Self::NotEngaged(_) | Self::Overloaded(_) | Self::Failed(_) | Self::Late => true,
            Self::Unknown | Self::Unjudged | Self::NoCatalog => false,
        }
    }
}

impl fmt::Display for Unasked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str(
                "fedhub cannot tell which project this request comes from: its user has no extra \
                 iam.miloapis.com/parent-name of a Project",
            ),
            Self::NotEngaged(plane) => write!(
                f,
                "fedhub is not in sync with the plane of project {plane} and cannot ask it for the user's rights: try \
                 again, and if that does not help ask the operator for `fedhub planes`"
            ),
            Self::Overloaded(plane) => write!(
                f,
                "too many requests wait for the plane of project {plane} to tell their users' rights: try again later"
            ),
            Self::Failed(plane) => write!(
                f,
                "the plane of project {plane} did not tell fedhub the user's rights: try again, and if that does not \
                 help ask the operator for fedhub's log"
            ),
            Self::NoCatalog => f.write_str(
                "fedhub has not read the catalog of instance types yet: try again, and if that does not help ask the \
                 operator for fedhub's log",
            ),
            Self::Unjudged => f.write_str(
                "fedhub did not finish its review of the object in time: try again, and if that does not help ask the \
                 operator for fedhub's log",
            ),
            Self::Late => f.write_str("fedhub got no answer about the user's rights in time: try again"),
        }
    }
}
