//! The state of the caches for a WD's referenced data: the input of [`crate::referenced_data::plan::plan`].

use std::collections::BTreeMap;

use fedhub_api::facts::deployment::mark_hash;
use fedhub_api::facts::referenced::{References, source_hash};
use fedhub_api::facts::{Companion, Digest, DigestExt, View};
use fedhub_api::references::Reference;
use fedhub_cache::digest::{Uid, Version};
use fedhub_core::names::{is_object_name, is_referenceable};
use fedhub_core::object::{Key, Kind};
use fedhub_planes::registry::plane::demand::Demanded;
use fedhub_planes::{DATA_KINDS, Plane, ProjectNamespace, ServiceState, WriteState};

use super::{ReferencedData, Uncopied};

/// A WD and its referenced data, as far as they are known.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The project plane and the namespace of the WD.
    pub home: ProjectNamespace,
    /// Its name.
    pub name: String,
    /// Its generation.
    pub generation: i64,
    /// Whether deletion was asked for.
    pub terminating: bool,
    /// Whether the federator's finalizer holds it: it is on the hub, or may be.
    pub federated: bool,
    /// Whether nothing but its metadata and status was read, so that what it refers to is not known.
    pub unread: bool,
    /// Its references, and what was reported of them.
    pub references: References,
    /// Whether fedhub may write for the project.
    pub writes: WriteState,
    /// Whether the service runs in the project (W9).
    pub service: ServiceState,
    /// Its hub namespace, where that stands and can be used.
    pub space: Option<String>,
    /// What it refers to, in the order of the references.
    pub sources: Vec<DataSource>,
    /// The companions that it is counted for, and those of its sources.
    pub companions: Vec<StandingCompanion>,
    /// Whether the companions are as live reads showed them, past every cache (I3).
    pub is_live: bool,
}

/// The results of a pass's live reads that the caches do not have.
#[derive(Default)]
pub(super) struct LearnedSources {
    /// Sources, by kind and name.
    pub sources: BTreeMap<(Kind, String), SourceState>,
    /// The companions that count the WD: for the next round only.
    pub live: Option<Vec<StandingCompanion>>,
}

/// A `ConfigMap` or Secret that a WD refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSource {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Whether Instances can do without.
    pub optional: bool,
    /// Its state.
    pub state: SourceState,
}

/// The state of a source, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// Nothing: it was not listed yet.
    Unknown,
    /// The source does not exist.
    Absent,
    /// The plane does not let it be read.
    Unauthorized,
    /// The object under its name on the hub is not a companion.
    NameTaken,
    /// The hub refuses its copy, with this code.
    Refused(u16),
    /// A cell cannot have a copy of it.
    Unsupported(Unsupported),
    /// The source exists.
    Stands {
        /// The hash of its UID and resourceVersion.
        version: u64,
        /// Its bytes of content, where that version was read and is too large; zero where that is not known.
        bytes: usize,
    },
}

/// Why no copy of a source can be in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// Its name is too long, or one that each cluster has for an object of its own.
    Name,
    /// The source is the token of a `ServiceAccount`, which a server accepts only beside that.
    TokenSecret,
}

/// A companion on the hub.
#[derive(Clone, Debug, PartialEq)]
pub struct StandingCompanion {
    /// Its hub namespace.
    pub space: String,
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: Uid,
    /// Its resourceVersion.
    pub version: Version,
    /// Whether deletion was asked for.
    pub terminating: bool,
    /// Whether somebody else wrote that version, so that its content may be another.
    pub edited: bool,
    /// The source that it is a copy of, and the WDs that refer to it.
    pub facts: Companion,
    /// The other WDs of the project namespace that are held, refer to it and are not being deleted, each as
    /// in `referenced-by`: the count that it should have, but for this WD. One that is not held yet copies it
    /// anew. Known where the WD leaves it, or where its count cannot be read.
    pub others: Vec<Box<str>>,
}

impl Snapshot {
    /// The WD as `referenced-by` names it.
    pub fn token(&self) -> String {
        token(&self.home.namespace, &self.name)
    }

    /// The companion of a source, in the WD's hub namespace.
    pub fn companion(&self, kind: Kind, name: &str) -> Option<&StandingCompanion> {
        let space = self.space.as_deref()?;
        self.companions.iter().find(|c| c.kind == kind && c.name == name && c.space == space)
    }

    /// The companion of a source, where the WD is counted for it and it stays.
    pub fn kept_companion(&self, source: &DataSource) -> Option<&StandingCompanion> {
        let token = self.token();
        self.companion(source.kind, &source.name).filter(|c| !c.terminating && c.facts.is_of(&token))
    }
}

impl SourceState {
    /// Whether no event tells that it is another by now.
    pub fn is_retried(self) -> bool {
        matches!(self, Self::Unauthorized | Self::NameTaken | Self::Refused(_))
    }
}

impl StandingCompanion {
    /// The WDs that it is to count once this one is not counted: those that refer to it and were not counted,
    /// so that they release it when they go, and none that is gone from everywhere.
    pub fn count_without(&self, wd: &str, is_gone: impl Fn(&str) -> bool) -> Vec<&str> {
        let counted = self.facts.referenced_by.iter().flatten().map(AsRef::as_ref);
        let others = self.others.iter().map(AsRef::as_ref);
        counted.filter(|by| *by != wd && !is_gone(by)).chain(others).collect()
    }
}

/// A WD as `referenced-by` names it.
pub fn token(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

impl ReferencedData {
    /// Returns the state of the caches for that WD, with what was learned in this pass.
    pub(super) fn snapshot_of(
        &self,
        project: &Plane,
        home: &ProjectNamespace,
        key: &Key,
        wd: &Digest,
        learned: &LearnedSources,
    ) -> Option<Snapshot> {
        let facts = wd.deployment()?;
        // One that refers to nothing and never did may be counted by a companion of a hub that was restored.
        let references = facts.references().cloned().unwrap_or_default();
        let hub = self.planes.hub();
        let spaces = self.planes.tenants().of(home);
        let space = spaces
            .iter()
            .find(|space| {
                let namespace = hub.store(Kind::Namespace).digest("", space);
                facts.counterpart == mark_hash(Some(space)) && namespace.is_some_and(|n| !n.terminating)
            })
            .cloned();
        let mut seen = Snapshot {
            home: home.clone(),
            name: key.name.to_string(),
            generation: facts.generation,
            terminating: wd.terminating,
            federated: facts.held,
            unread: facts.too_large().is_some(),
            sources: references.iter().map(|r| self.source(project, home, r, learned)).collect(),
            references,
            writes: project.write_state(),
            service: project.service(),
            space,
            companions: Vec::new(),
            is_live: learned.live.is_some(),
        };
        seen.companions = match &learned.live {
            Some(live) => live.clone(),
            None => spaces.iter().flat_map(|space| self.standing_in(space, &seen)).collect(),
        };
        let token = seen.token();
        for companion in &mut seen.companions {
            let key = hub.key(companion.kind, &companion.space, &companion.name);
            companion.edited = self.edited.lock().get(&key) == Some(&companion.version);
            let is_used = !seen.terminating && seen.references.contains(companion.kind, &companion.name);
            // Whoever reads and writes it only counts itself.
            if companion.facts.referenced_by.is_none() || companion.facts.is_of(&token) && !is_used {
                companion.others = others(project, home, &key.name, companion.kind, &companion.name);
            }
        }
        Some(seen)
    }

    fn source(
        &self,
        project: &Plane,
        home: &ProjectNamespace,
        of: Reference<'_>,
        learned: &LearnedSources,
    ) -> DataSource {
        let Reference { kind, name, optional } = of;
        let source = |state| DataSource { kind, name: name.to_owned(), optional, state };
        if let Some(state) = learned.sources.get(&(kind, name.to_owned())) {
            return source(*state);
        }
        // No object can have such a name, so that none need be asked for.
        if !is_object_name(name) {
            return source(SourceState::Absent);
        }
        if !is_referenceable(&kind.resource().kind, name) {
            return source(SourceState::Unsupported(Unsupported::Name));
        }
        let store = project.store(kind);
        if !store.synced() {
            let refused = project.demanded(kind).is_some_and(Demanded::is_refused);
            return source(if refused { SourceState::Unauthorized } else { SourceState::Unknown });
        }
        let Some(digest) = store.digest(&home.namespace, name) else { return source(SourceState::Absent) };
        let version = source_hash(&digest.uid.to_string(), &digest.version.to_string());
        let read = self.uncopied.lock().get(&project.key(kind, &home.namespace, name)).copied();
        source(match read.filter(|(of, _)| *of == version) {
            None => SourceState::Stands { version, bytes: 0 },
            Some((_, Uncopied::TooLarge(bytes))) => SourceState::Stands { version, bytes },
            Some((_, Uncopied::TokenSecret)) => SourceState::Unsupported(Unsupported::TokenSecret),
        })
    }

    /// The companions in a hub namespace that are the WD's, or those of its sources.
    fn standing_in(&self, space: &str, seen: &Snapshot) -> Vec<StandingCompanion> {
        let hub = self.planes.hub();
        let token = seen.token();
        let of_kind = |kind| {
            hub.store(kind).select(Some(space), |view| {
                let facts = view.digest.companion()?;
                let is_its = facts.is_of(&token) || seen.references.contains(kind, view.name);
                is_its.then(|| standing(space, kind, view.name, view.digest))?
            })
        };
        DATA_KINDS.into_iter().flat_map(of_kind).collect()
    }
}

/// The companion that has this digest.
pub(super) fn standing(space: &str, kind: Kind, name: &str, digest: &Digest) -> Option<StandingCompanion> {
    Some(StandingCompanion {
        space: space.to_owned(),
        kind,
        name: name.to_owned(),
        uid: digest.uid.clone(),
        version: digest.version.clone(),
        terminating: digest.terminating,
        edited: false,
        facts: digest.companion()?.clone(),
        others: Vec::new(),
    })
}

/// Whether the template of a WD refers to that object.
pub(super) fn refers_to(wd: &Digest, kind: Kind, name: &str) -> bool {
    let references = wd.deployment().and_then(|facts| facts.references());
    references.is_some_and(|references| references.contains(kind, name))
}

/// See [`StandingCompanion::others`].
pub(super) fn others(
    project: &Plane,
    home: &ProjectNamespace,
    wd: &str,
    kind: Kind,
    name: &str,
) -> Vec<Box<str>> {
    let withdrawn = project.service() == ServiceState::Withdrawn;
    let refers = |view: &View<'_>| {
        let Some(facts) = view.digest.deployment() else { return false };
        let is_held = facts.references().is_some_and(|references| references.held);
        // Where the service is withdrawn, only what is still on the hub needs it (W9).
        let stays = !view.digest.terminating && is_held && (facts.held || !withdrawn);
        // The references of an object that is too large to be read are not known.
        let may_refer = refers_to(view.digest, kind, name) || facts.too_large().is_some();
        stays && view.name != wd && may_refer
    };
    project
        .store(Kind::WorkloadDeployment)
        .select(Some(&home.namespace), |view| refers(&view).then(|| token(view.namespace, view.name).into()))
}
