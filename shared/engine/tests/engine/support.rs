//! Keys, and all that the tests of the registry have.

#[allow(dead_code, reason = "what only they use")]
#[path = "../../../planes/tests/planes/support.rs"]
mod registry;

use fedhub_core::object::{Key, Kind, PlaneId};

pub use registry::*;

pub fn key(plane: &PlaneId, name: &str) -> Key {
    Key { plane: plane.clone(), kind: Kind::Instance, namespace: "n".to_owned(), name: name.to_owned() }
}
