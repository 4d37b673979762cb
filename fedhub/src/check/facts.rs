//! What was read of the planes, for the decisions.

use std::collections::BTreeMap;
use std::sync::Arc;

use fedhub_core::object::Object;
use fedhub_planes::discovery::expiry::CredentialEnd;
use fedhub_planes::pauses::stored::PausedPlanes;
use jiff::Timestamp;
use serde_json::Value;

use super::finding::PlaneName;
use super::rights::Right;
use super::schema::Ours;
use crate::operator::read::{Failure, Read};

/// The clocks of a server and of this machine at its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// The server's, by its header `Date`, in whole seconds.
    pub server: Timestamp,
    /// Our clock before the request.
    pub sent: Timestamp,
    /// Our clock after the answer.
    pub answered: Timestamp,
}

/// What a plane serves of our CRDs.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// The versions of their group; none where it is not served.
    pub versions: Vec<String>,
    /// The plural names of the resources of our version.
    pub resources: Vec<String>,
    /// The fields that the schema of each kind lacks, of the kinds that have one.
    pub lacking: Read<BTreeMap<String, Vec<String>>>,
}

/// The webhooks by which a plane asks fedhub, as far as they are about fedhub itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The user that fedhub is there.
    pub user: String,
    /// The conditions that exempt a user, as they are written.
    pub exempt: Vec<String>,
}

/// A plane.
#[derive(Clone, Debug)]
pub struct PlaneFacts {
    /// Its name.
    pub name: PlaneName,
    /// Its server; empty where its kubeconfig cannot be used.
    pub server: String,
    /// Why its kubeconfig cannot be used.
    pub refused: Option<String>,
    /// Its version.
    pub version: Read<String>,
    /// Its clock; `None` where it sends no `Date`.
    pub clocks: Option<Clocks>,
    /// When its credentials end.
    pub ends: Vec<CredentialEnd>,
    /// The rights that were asked for, and whether they are given.
    pub rights: Vec<(Right, Read<bool>)>,
    /// The CRDs that belong there, and are installed by now.
    pub ours: Arc<Ours>,
    /// Our CRDs there; skipped where they were not asked for.
    pub served: Read<Served>,
    /// The UIDs of `kube-system` and `default`, by which it is identified.
    pub identities: Vec<String>,
    /// How it asks for admission; skipped where it need not.
    pub admission: Read<Admission>,
}

impl PlaneFacts {
    /// A plane that was not asked yet.
    pub fn new(name: PlaneName) -> Self {
        Self {
            name,
            server: String::new(),
            refused: None,
            version: Read::Skipped,
            clocks: None,
            ends: Vec::new(),
            rights: Vec::new(),
            ours: Arc::default(),
            served: Read::Skipped,
            identities: Vec::new(),
            admission: Read::Skipped,
        }
    }

    /// Whether it answers, and accepts the credentials. A version that is not shown is an answer.
    pub fn answers(&self) -> bool {
        match &self.version {
            Read::Failed(error) => error.failure == Failure::Forbidden,
            Read::Found(_) | Read::Absent => true,
            Read::Skipped => false,
        }
    }
}

/// What is read of the hub beside what is read of every plane.
#[derive(Clone, Debug, Default)]
pub struct HubFacts {
    /// Karmada's kinds that fedhub uses, by group and version, and what the hub serves there; one that it
    /// does not serve is absent.
    pub karmada: Vec<(String, Read<Vec<String>>)>,
    /// The Clusters.
    pub clusters: Read<Vec<Object>>,
    /// The cities of its WDs, and how many each has.
    pub cities: Read<BTreeMap<String, usize>>,
    /// The `ResourceInterpreterCustomization` of `deploy/`.
    pub interpreter: Value,
    /// Those of the hub.
    pub interpreters: Read<Vec<Object>>,
    /// The policies of `deploy/` for fedhub and for cells, and what the hub has under their names.
    pub policies: Vec<(Value, Read<Object>)>,
    /// The `ConfigMap` with the identities of cells.
    pub cells: Read<Object>,
}

/// The cell that the process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCell {
    /// Its name.
    pub name: String,
    /// Its city, where a flag names it.
    pub city: Option<String>,
}

/// Everything that was read.
#[derive(Debug)]
pub struct Facts {
    /// When.
    pub now: Timestamp,
    /// Before an installation.
    pub pre: bool,
    /// The planes, projects too.
    pub planes: Vec<PlaneFacts>,
    /// The servers where project planes are found, and how many there are, or why they could not be read.
    pub discovered: Vec<(PlaneName, Read<usize>)>,
    /// The hub, where there is one.
    pub hub: Option<HubFacts>,
    /// The identities that fedhub remembers, by plane.
    pub remembered: Read<BTreeMap<String, String>>,
    /// What operators paused.
    pub paused: Read<PausedPlanes>,
    /// The cell, of the cell role.
    pub cell: Option<OwnCell>,
}
