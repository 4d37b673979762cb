//! The objects of a kind that are watched: all of them, or those that labels select.

use fedhub_core::object::{Kind, Object, ObjectView};

/// A requirement on an object's labels.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Labels {
    Has(&'static str, Box<str>),
    HasAny(&'static str),
    Lacks(&'static str),
}

/// A kind that is watched on a plane. Where labels select, a watch tells of an object that they select no
/// more as it does of one that is deleted, so each [`Change::Deleted`](fedhub_api::facts::Change) is an
/// inferred one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The kind.
    pub kind: Kind,
    labels: Option<Labels>,
    presence: Presence,
}

/// Whether a kind has to be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// The plane is not in sync without.
    Required,
    /// The plane need not serve the kind, nor let fedhub read it: there are no objects then.
    Optional,
    /// The kind is watched only while a controller requests it, see
    /// [`Planes::demand`](crate::Planes::demand).
    OnDemand,
}

impl Watched {
    /// Watches all objects of the kind.
    pub fn all(kind: Kind) -> Self {
        Self { kind, labels: None, presence: Presence::Required }
    }

    /// Watches the kind only if the plane serves it and lets it be read. Otherwise there are no objects, and
    /// the server is asked again now and then.
    #[must_use]
    pub fn if_served(self) -> Self {
        Self { presence: Presence::Optional, ..self }
    }

    /// Watches the kind only while a controller requests it. The plane is in sync without it, and until then
    /// it costs nothing.
    #[must_use]
    pub fn on_demand(self) -> Self {
        Self { presence: Presence::OnDemand, ..self }
    }

    /// Whether it is watched only while a controller requests it.
    pub fn is_on_demand(&self) -> bool {
        self.presence == Presence::OnDemand
    }

    /// Whether the plane need not serve the kind.
    pub fn is_optional(&self) -> bool {
        self.presence == Presence::Optional
    }

    /// Objects of the kind that carry this label. The value is to be one by
    /// [`fedhub_core::names::is_label_value`]: a server may read another one as a selector of something else.
    pub fn labelled(kind: Kind, key: &'static str, value: &str) -> Self {
        Self { labels: Some(Labels::Has(key, value.into())), ..Self::all(kind) }
    }

    /// Objects of the kind that carry a label of this key.
    pub fn with(kind: Kind, key: &'static str) -> Self {
        Self { labels: Some(Labels::HasAny(key)), ..Self::all(kind) }
    }

    /// Objects of the kind that carry no label of this key.
    pub fn without(kind: Kind, key: &'static str) -> Self {
        Self { labels: Some(Labels::Lacks(key)), ..Self::all(kind) }
    }

    /// Whether it is all objects of the kind.
    pub fn is_all(&self) -> bool {
        self.labels.is_none()
    }

    /// Whether `object` is among them.
    pub fn selects(&self, object: &Object) -> bool {
        match &self.labels {
            None => true,
            Some(Labels::Has(key, value)) => object.label(key) == Some(value),
            Some(Labels::HasAny(key)) => object.label(key).is_some(),
            Some(Labels::Lacks(key)) => object.label(key).is_none(),
        }
    }

    /// The label selector of a list or a watch.
    pub fn selector(&self) -> Option<String> {
        self.labels.as_ref().map(|labels| match labels {
            Labels::Has(key, value) => format!("{key}={value}"),
            Labels::HasAny(key) => (*key).to_owned(),
            Labels::Lacks(key) => format!("!{key}"),
        })
    }
}

/// Watches all objects of each of these kinds.
pub fn all(kinds: &[Kind]) -> Vec<Watched> {
    kinds.iter().copied().map(Watched::all).collect()
}
