//! The link of an Instance and its server, and by what a server is ours.
//!
//! Decides V2.

use super::seen::Seen;
use super::step::Step;
use crate::contract::{Link, Server, ServerId};
use crate::record::Record;

/// The link of an Instance: at the place that its record names, or where nothing stands there at the one that
/// is wanted.
pub fn link<S>(seen: &Seen<'_, S>) -> Option<Link> {
    let record = seen.record;
    let place =
        if record.is_clear() { seen.wanted.ok().or(record.place.as_ref()) } else { record.place.as_ref() };
    let place = place?;
    Some(Link::new(place.clone(), seen.instance))
}

/// Whether a server that has the link is ours: its tag, project, network and name agree (V2).
pub(super) fn verified<S>(seen: &Seen<'_, S>, server: &Server<S>) -> bool {
    link(seen).is_some_and(|link| {
        server.instance.as_ref() == Some(&link.instance)
            && server.place == link.place
            && server.name == link.name
    })
}

/// Records the server as ours, before anything is done with it.
pub(super) fn adopt<S>(seen: &Seen<'_, S>, id: ServerId) -> Step {
    let record = Record { server: Some(id), ..seen.record.clone() };
    Step::Record { record, announces: None }
}
