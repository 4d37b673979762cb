//! Which bindings an object of the network service matters to, by an index: a cell has thousands of each.

use std::collections::BTreeSet;

use fedhub_api::facts::{Change, Known};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_planes::Plane;
use parking_lot::Mutex;

use crate::domain::network::{context, subnet};

/// Namespace and name.
type Name = (String, String);

/// Indexes bindings by the context that they got, and claims by their subnet.
#[derive(Default)]
pub(crate) struct NetworkIndex(Mutex<BTreeSet<(Kind, Name, Name)>>);

impl NetworkIndex {
    /// Follows the bindings and claims.
    pub(crate) fn note(&self, kind: Kind, change: &Change) {
        let entry = |known: &Known| {
            let object = known.object.as_deref()?;
            let (namespace, name) = match kind {
                Kind::NetworkBinding => context(object)?,
                Kind::SubnetClaim => subnet(object)?,
                _ => return None,
            };
            Some((kind, key(namespace, name), key(object.namespace(), object.name())))
        };
        let mut entries = self.0.lock();
        if let Some(before) = change.old().and_then(entry) {
            entries.remove(&before);
        }
        let Some(entry) = entry(change.known()) else { return };
        match change {
            Change::Applied { .. } => entries.insert(entry),
            Change::Deleted { .. } => entries.remove(&entry),
        };
    }

    /// The bindings that an object of the network service matters to: those that got that context, or the
    /// context of that claim, or of the claim that got that subnet.
    pub(crate) fn bindings(&self, cell: &Plane, kind: Kind, object: &Object) -> Vec<ObjectRef> {
        let namespace = object.namespace();
        let name = object.name();
        match kind {
            Kind::NetworkContext => self.users(cell, Kind::NetworkBinding, namespace, name),
            Kind::SubnetClaim => {
                let context = object.spec()["networkContext"]["name"].as_str().unwrap_or_default();
                self.users(cell, Kind::NetworkBinding, namespace, context)
            }
            Kind::Subnet => {
                let claims = self.users(cell, Kind::SubnetClaim, namespace, name);
                claims.iter().flat_map(|claim| self.bindings(cell, Kind::SubnetClaim, claim)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The objects of a kind that got that one.
    fn users(&self, cell: &Plane, kind: Kind, namespace: &str, name: &str) -> Vec<ObjectRef> {
        let got = key(namespace, name);
        let entries = self.0.lock();
        let users = entries.range((kind, got.clone(), Name::default())..);
        let users = users.take_while(|(of, used, _)| *of == kind && *used == got);
        users.filter_map(|(_, _, (namespace, name))| cell.store(kind).object(namespace, name)).collect()
    }
}

fn key(namespace: &str, name: &str) -> Name {
    (namespace.to_owned(), name.to_owned())
}
