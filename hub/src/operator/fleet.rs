//! The project planes that a command works on: those of Secrets and those given, and which cluster each is.

use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_core::names::{PLANE_NAME, PLANE_SECRET, PlaneName};
use fedhub_core::object::{Kind, Object, ObjectView};

use super::connect::Connection;
use super::planes::{identities, of_secret, remembered};
use super::read::{Read, ReadError};
use super::requests::list;
use crate::explain::Cause;

/// A plane that could not be read: nothing of it is judged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unread {
    /// The project plane, or `cell NAME`.
    pub plane: String,
    /// One of the causes of `fedhub explain`.
    pub cause: Cause,
    /// In words.
    pub message: String,
}

impl Unread {
    /// For that error.
    pub fn new(plane: &str, error: &ReadError) -> Self {
        Self {
            plane: plane.to_owned(),
            cause: Cause::of_plane(error.failure),
            message: error.message.clone(),
        }
    }
}

/// Secrets of project planes, and remembered identities.
pub async fn of_management(
    management: &Connection,
    namespace: &str,
) -> anyhow::Result<(Vec<Object>, BTreeMap<String, String>)> {
    let label = format!("{}={}", PLANE_SECRET.0, PLANE_SECRET.1);
    let (secrets, identities) = tokio::join!(
        list(management, Kind::Secret.resource(), namespace, &label),
        remembered(management, namespace)
    );
    let doing = |what: &str| format!("failed to list {what} on the management plane");
    Ok((secrets.required(|| doing("secrets"))?, identities.required(|| doing("configmaps"))?))
}

/// The planes to read: those given, and those of Secrets.
pub fn planes_of(
    secrets: Vec<Object>,
    given: BTreeMap<String, Connection>,
    only: Option<&PlaneName>,
    timeout: Duration,
) -> (BTreeMap<PlaneName, Connection>, Vec<Unread>) {
    let (mut planes, mut unread) = (BTreeMap::new(), Vec::new());
    let invalid = |plane: &str, message: String| Unread {
        plane: plane.to_owned(),
        cause: Cause::PlaneSecretInvalid,
        message,
    };
    let name = |secret: &Object| secret.annotation(PLANE_NAME).unwrap_or(secret.name()).to_owned();
    // A client is made of those alone that are read.
    let wanted = |secret: &&Object| only.is_none_or(|only| name(secret) == only.as_str());
    let of_secrets = secrets.iter().filter(wanted).map(|secret| (name(secret), of_secret(secret, timeout)));
    // What is given by a flag stands in place of a Secret.
    for (name, connection) in given.into_iter().chain(of_secrets) {
        let plane = match PlaneName::new(&name) {
            Ok(plane) => plane,
            Err(error) => {
                unread.push(invalid(&name, error.to_string()));
                continue;
            }
        };
        if planes.contains_key(&plane) || only.is_some_and(|only| *only != plane) {
            continue;
        }
        match connection {
            Read::Failed(error) => unread.push(Unread::new(&name, &error)),
            connection => drop(planes.insert(plane, connection)),
        }
    }
    (planes, unread)
}

/// Whether a plane answers, as the cluster that fedhub remembers for its name. Where it remembers none for the name, none of
/// another name either.
pub async fn check_identity(
    name: &PlaneName,
    plane: &Connection,
    remembered: &BTreeMap<String, String>,
) -> Result<(), Unread> {
    let uids = match identities(plane).await {
        Read::Found(uids) => uids,
        Read::Failed(error) => return Err(Unread::new(name.as_str(), &error)),
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
    refusal.map_or(Ok(()), |message| {
        Err(Unread { plane: name.to_string(), cause: Cause::PlaneIdentityRefused, message })
    })
}
