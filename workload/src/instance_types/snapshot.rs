//! The state of the caches for the catalogue: its source, the copies on the hub, the policy.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_api::facts::Store;
use fedhub_cache::normalization::{ObjectPart, ServerNormalization};
use fedhub_core::names::CATALOG;
use fedhub_core::object::{Object, ObjectRef, ObjectView};

/// The catalogue, and where it is brought to.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// What is declared.
    pub source: CatalogSource,
    /// The types on the hub, by name: copies, and those that are not.
    pub on_hub: BTreeMap<String, OnHub>,
    /// The policy on the hub.
    pub policy: Option<OnHub>,
    /// What live reads of the source have shown in this pass.
    pub learned: LearnedTypes,
}

/// The types at the source.
#[derive(Clone, Debug, PartialEq)]
pub enum CatalogSource {
    /// It is not known: the source was never in sync.
    Unknown,
    /// The type of that name is a copy itself: the source is a cell, to which Karmada copied it.
    IsCell(String),
    /// These types, by name.
    Known(BTreeMap<String, ObjectRef>),
}

/// An object on the hub, and what the hub made of the last write of its spec.
#[derive(Clone, Debug, PartialEq)]
pub struct OnHub {
    /// The object.
    pub object: ObjectRef,
    /// How the hub stored it, if that is known.
    pub normalization: Option<ServerNormalization>,
}

/// The results of a pass's live reads of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LearnedTypes {
    /// The CRD of the source.
    pub crd: Option<SourceCrd>,
    /// Types that the source was asked for and does not have.
    pub gone: BTreeSet<String>,
    /// Types that it has although the watch does not show them.
    pub there: BTreeSet<String>,
}

/// The CRD of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceCrd {
    /// The CRD does not exist.
    Missing,
    /// The CRD is being deleted, and all types with it.
    Terminating,
    /// The CRD exists, with this UID.
    Serving(String),
}

impl SourceCrd {
    /// Reads the state of the source's CRD of instance types; `None` if the source has no such CRD.
    pub fn from_crd(crd: Option<&Object>) -> Self {
        match crd {
            None => Self::Missing,
            Some(crd) if crd.is_terminating() => Self::Terminating,
            Some(crd) => Self::Serving(crd.uid().to_owned()),
        }
    }
}

/// Whether a type is a copy of fedhub's.
pub fn is_copy(object: &Object) -> bool {
    object.label(CATALOG.0) == Some(CATALOG.1)
}

/// What the store of the source declares.
pub(super) fn declared(store: &Store) -> CatalogSource {
    if !store.synced() {
        return CatalogSource::Unknown;
    }
    let types = store.objects(None);
    if let Some(copy) = types.iter().find(|it| is_copy(it)) {
        return CatalogSource::IsCell(copy.name().to_owned());
    }
    CatalogSource::Known(types.into_iter().map(|it| (it.name().to_owned(), it)).collect())
}

/// Returns the objects of a store of the hub, by name.
pub(super) fn all(store: &Store) -> BTreeMap<String, OnHub> {
    store
        .select(None, |view| Some((view.name.to_owned(), view.object?.clone())))
        .into_iter()
        .map(|(name, object)| {
            let normalization = store.normalization("", &name, ObjectPart::Spec);
            (name, OnHub { object, normalization })
        })
        .collect()
}
