//! The project planes that a command works on: those that discovery finds and those given, and which cluster
//! each is.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use fedhub_core::names::PlaneName;
use fedhub_terminal::report::{Field, Row};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::connect::Connection;
use super::discovery::{Found, PlaneSource};
use super::planes::{identities, remembered};
use super::read::{Read, ReadError};
use crate::common::complain;
use crate::explain::Cause;

/// What is wrong with a plane.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// One of the causes of `fedhub explain`.
    pub cause: Cause,
    /// The message for people.
    pub message: String,
}

impl From<&ReadError> for Problem {
    fn from(error: &ReadError) -> Self {
        Self { cause: Cause::of_plane(error.failure), message: error.message.clone() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.cause.id(), self.message)
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { cause, message } = self;
        json!({"cause": cause.id(), "message": message, "remedy": cause.remedy()}).serialize(serializer)
    }
}

/// A plane that could not be read: nothing of it is judged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unread {
    /// The project plane, or `cell NAME`.
    pub plane: String,
    /// Why it could not be read.
    pub problem: Problem,
}

impl Unread {
    /// The plane of that name, for this cause.
    pub fn new(plane: &str, cause: Cause, message: impl Into<String>) -> Self {
        Self { plane: plane.to_owned(), problem: Problem { cause, message: message.into() } }
    }

    /// The plane of that name, for that error.
    pub fn failed(plane: &str, error: &ReadError) -> Self {
        Self { plane: plane.to_owned(), problem: error.into() }
    }
}

impl Row for Unread {
    const FIELDS: &'static [Field<Self>] = &[
        Field::new("plane", "UNREAD PLANE", |unread| json!(unread.plane)),
        Field::new("cause", "CAUSE", |unread| json!(unread.problem.cause.id())),
        Field::new("message", "MESSAGE", |unread| json!(unread.problem.message)),
        Field::named("remedy", |unread| json!(unread.problem.cause.remedy())),
    ];
}

/// The project planes that fedhub works on, and the identities that it remembers: of Projects that are not
/// Ready, or are being deleted, those that it has worked on.
pub async fn discover(
    source: &PlaneSource,
    management: &Connection,
    namespace: &str,
) -> anyhow::Result<(Vec<Found>, BTreeMap<String, String>)> {
    let (found, identities) = tokio::join!(source.list(), remembered(management, namespace));
    let mut found =
        found.required(|| format!("failed to find project planes by discovery {}", source.mode))?;
    let identities =
        identities.required(|| "failed to list configmaps on the management plane".to_owned())?;
    found.retain(|plane| plane.ready || identities.contains_key(&plane.name));
    if found.is_empty() && !identities.is_empty() {
        complain(&format!(
            "discovery {} finds no project plane, and fedhub remembers {}: is --discovery that of fedhub run?",
            source.mode,
            identities.len()
        ));
    }
    Ok((found, identities))
}

/// The planes to read: those given, and those found.
pub fn planes_of(
    found: Vec<Found>,
    given: BTreeMap<String, Connection>,
    only: Option<&PlaneName>,
    timeout: Duration,
) -> (BTreeMap<PlaneName, Connection>, Vec<Unread>) {
    let mut planes = BTreeMap::new();
    let mut unread = Vec::new();
    // A client is made of those alone that are read.
    let wanted = |plane: &Found| only.is_none_or(|only| plane.name == only.as_str());
    let found = found.into_iter().filter(wanted).map(|plane| {
        let connection = plane.connection(timeout);
        (plane.name, connection)
    });
    // A plane that a flag names replaces the one of its name that was found.
    for (name, connection) in given.into_iter().chain(found) {
        let plane = match PlaneName::new(&name) {
            Ok(plane) => plane,
            Err(error) => {
                unread.push(Unread::new(&name, Cause::PlaneSecretInvalid, error.to_string()));
                continue;
            }
        };
        if planes.contains_key(&plane) || only.is_some_and(|only| *only != plane) {
            continue;
        }
        match connection {
            Read::Failed(error) => unread.push(Unread::failed(&name, &error)),
            connection => drop(planes.insert(plane, connection)),
        }
    }
    (planes, unread)
}

/// Whether a plane answers, as the cluster that fedhub remembers for its name. Where it remembers none for
/// the name, none of another name either.
pub async fn check_identity(
    name: &PlaneName,
    plane: &Connection,
    remembered: &BTreeMap<String, String>,
) -> Result<(), Unread> {
    let uids = match identities(plane).await {
        Read::Found(uids) => uids,
        Read::Failed(error) => return Err(Unread::failed(name.as_str(), &error)),
        Read::Absent | Read::Skipped => Vec::new(),
    };
    let shows = |uid: &String| uids.contains(uid);
    let refusal = match remembered.get(name.as_str()) {
        Some(known) if shows(known) => None,
        Some(known) => Some(format!("the cluster {known} is remembered for the name, and another answers")),
        None => {
            let taken = remembered.iter().find(|(_, uid)| shows(uid));
            taken.map(|(other, uid)| format!("the cluster {uid} is remembered as the plane {other}"))
        }
    };
    refusal.map_or(Ok(()), |message| Err(Unread::new(name.as_str(), Cause::PlaneIdentityRefused, message)))
}
