//! The entries by which the hub's policies know the cells: `data` of the `ConfigMap` `fedhub-cells`, a line
//! for each, `<name of the Cluster>: <city code>/<UID of the cell's kube-system>`. Pure.

use std::collections::BTreeMap;
use std::fmt;

use fedhub_core::names::is_uid;
use fedhub_core::object::{Object, ObjectView};

/// The `ConfigMap` of `deploy/components/hub-for-cells` with the cells.
pub const CELLS: &str = "fedhub-cells";

/// What the hub's policies know of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The city code.
    pub city: String,
    /// The UID of its `kube-system`.
    pub uid: String,
}

impl Entry {
    /// The entry in a text; `None` where that is none.
    fn read(text: &str) -> Option<Self> {
        let (city, uid) = text.split_once('/')?;
        let entry = Self { city: city.to_owned(), uid: uid.to_owned() };
        Some(entry).filter(|entry| !entry.city.is_empty() && is_uid(&entry.uid))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.city, self.uid)
    }
}

/// The entries of the `ConfigMap`, by the name of the cell; `None` for one that cannot be read.
pub fn entries(map: &Object) -> BTreeMap<String, Option<Entry>> {
    let data = map.data["data"].as_object().into_iter().flatten();
    data.map(|(name, entry)| (name.clone(), entry.as_str().and_then(Entry::read))).collect()
}

/// The UID that Karmada recorded of a Cluster, where it recorded any.
pub fn recorded(cluster: &Object) -> Option<&str> {
    cluster.spec()["id"].as_str().filter(|uid| !uid.is_empty())
}
