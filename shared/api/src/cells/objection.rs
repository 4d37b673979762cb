//! Objections to a declaration that a cell is lost (C11): the clock, and what is known of the cell.

use std::fmt;

use fedhub_core::message::Quoted;
use fedhub_core::names::{LOST, LOST_CLUSTER, is_uid};
use fedhub_core::object::{Object, ObjectView};
use jiff::{SignedDuration, Timestamp};

use super::declaration::{Declaration, declarations, id_of};
use crate::conditions::find;

/// Why a declaration is not believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Objection {
    /// Its value is no time.
    NoTime(String),
    /// Its time is yet to come: it was mistyped, or the clock that it was taken from is wrong.
    ToCome(Timestamp),
    /// Karmada reached the cell at that time, and does still; since when.
    Reached(Option<Timestamp>),
    /// The declaration names a UID that no cluster can have.
    NoUid,
    /// The declaration names the UID of a Cluster, whose own annotation counts.
    IsOf(String),
}

impl Objection {
    /// How far the clocks of operators and of this process may differ.
    const SKEW: SignedDuration = SignedDuration::from_mins(5);

    pub(super) fn from_cluster(
        cluster: &Object,
        annotation: &str,
        declaration: &Declaration,
        now: Timestamp,
    ) -> Option<Self> {
        let since = match declaration {
            Declaration::Invalid(value) => return Some(Self::NoTime(value.clone())),
            Declaration::Lost(since) => *since,
        };
        if since.duration_since(now) > Self::SKEW {
            return Some(Self::ToCome(since));
        }
        let Some(uid) = annotation.strip_prefix(LOST_CLUSTER) else {
            // A cell that has become Ready since is a lost cell that came back: it is kept from writing until
            // it is admitted again.
            let ready = find(cluster.status(), "Ready").filter(|ready| ready["status"] == "True")?;
            let at = ready["lastTransitionTime"].as_str().and_then(|at| at.parse().ok());
            return at.is_none_or(|at| at <= since).then_some(Self::Reached(at));
        };
        if !is_uid(uid) {
            return Some(Self::NoUid);
        }
        (id_of(cluster) == Some(uid)).then(|| Self::IsOf(cluster.name().to_owned()))
    }
}

impl Declaration {
    /// Why annotations of a Cluster declare nothing at that time, in words; `None` where each does, or none
    /// is there.
    pub fn refusal(cluster: &Object, now: Timestamp) -> Option<String> {
        let refused = declarations(cluster).into_iter().filter_map(|(annotation, declaration)| {
            let objection = Objection::from_cluster(cluster, annotation, &declaration, now)?;
            let name = cluster.name();
            Some(format!(
                "the annotation {annotation} of Cluster {name} {objection}: the cell is not declared lost"
            ))
        });
        let refused: Vec<_> = refused.collect();
        (!refused.is_empty()).then(|| refused.join("; "))
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTime(value) => {
                write!(f, "is {}, which is not an RFC 3339 time such as 2026-01-02T15:04:05Z", Quoted(value))
            }
            Self::ToCome(since) => {
                write!(f, "is of {since}, which is yet to come; set it to when the cell was lost")
            }
            Self::Reached(at) => {
                let since = at.map(|at| format!(" since {at}")).unwrap_or_default();
                write!(
                    f,
                    "is held back, because Karmada reaches the cell{since}; it counts once the Cluster is not Ready, and if the \
                     cell is to go, unjoin or stop it first"
                )
            }
            Self::NoUid => f.write_str("does not end with the UID of a cluster's kube-system namespace"),
            Self::IsOf(cluster) => {
                write!(f, "names the cluster of {cluster} itself; annotate that with {LOST}")
            }
        }
    }
}
