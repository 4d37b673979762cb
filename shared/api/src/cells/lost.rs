//! Which cells are lost (C11): by annotations of Karmada Clusters, which operators set.
//!
//! Decides C11.

use std::sync::Arc;

use fedhub_core::names::{CITY_CODE, INSTANCE_CITY, lost_cluster};
use fedhub_core::object::{Object, ObjectRef, ObjectView};
use jiff::Timestamp;

use super::declaration::{Declaration, declarations, id_of, lost_since};
use super::objection::Objection;
use super::source::CellSource;
use crate::conditions::find;

/// Whether anything is declared lost by a Cluster.
pub fn declares(cluster: &Object) -> bool {
    declarations(cluster).values().any(|declaration| matches!(declaration, Declaration::Lost(_)))
}

/// Whether a step of a Cluster, from what it was to what it is, may have cells lost that were not, or the
/// other way round: by what it declares, by whether Karmada reaches what is declared, or by the city that it
/// serves no more.
pub fn redeclares(old: Option<&Object>, new: Option<&Object>) -> bool {
    let declared =
        |cluster: Option<&Object>| cluster.is_some_and(|cluster| !declarations(cluster).is_empty());
    let city = |cluster: Option<&Object>| cluster.and_then(|c| c.label(CITY_CODE)).map(str::to_owned);
    let before = city(old);
    let now = city(new);
    let ready = |cluster: Option<&Object>| {
        let ready = find(cluster?.status(), "Ready")?;
        Some((ready["status"].clone(), ready["lastTransitionTime"].clone()))
    };
    (before != now && (before.is_some() || declared(new)))
        || declared(new) && ready(old) != ready(new)
        || old.map(declarations).unwrap_or_default() != new.map(declarations).unwrap_or_default()
}

/// The Cluster with those of its declarations that nothing speaks against now, and whose time `counts`.
pub fn declaring(cluster: &ObjectRef, now: Timestamp, counts: impl Fn(Timestamp) -> bool) -> ObjectRef {
    let mut stale = declarations(cluster);
    stale.retain(|annotation, declaration| {
        Objection::from_cluster(cluster, annotation, declaration, now).is_some()
            || matches!(declaration, Declaration::Lost(at) if !counts(*at))
    });
    if stale.is_empty() {
        return cluster.clone();
    }
    let mut object = Object::clone(cluster);
    if let Some(annotations) = &mut object.metadata.annotations {
        annotations.retain(|key, _| !stale.contains_key(key.as_str()));
    }
    Arc::new(object)
}

fn by_id<'a, C: AsRef<Object>>(clusters: &'a [C], uid: Option<&str>) -> Option<&'a C> {
    clusters.iter().find(|cluster| uid.is_some() && id_of(cluster.as_ref()) == uid)
}

/// The Cluster of that name. It is not that of a UID where Karmada recorded another one: the cell was
/// rebuilt.
fn by_name<'a, C: AsRef<Object>>(clusters: &'a [C], name: &str, uid: Option<&str>) -> Option<&'a C> {
    let named = clusters.iter().find(|cluster| cluster.as_ref().name() == name)?;
    (uid.is_none() || id_of(named.as_ref()).is_none()).then_some(named)
}

/// The Karmada Cluster of a cell: the one that Karmada recorded that UID for (`spec.id`); else the one of its
/// name, if Karmada recorded no UID there. A mark by name alone is that of the Cluster of that name.
pub fn cluster_of<'a, C: AsRef<Object>>(clusters: &'a [C], name: &str, uid: Option<&str>) -> Option<&'a C> {
    by_id(clusters, uid).or_else(|| by_name(clusters, name, uid))
}

/// Returns the Cluster that declares a cell lost, and since when: its own, or if none was recorded for its
/// UID, any that names it.
pub fn lost_by<'a, C: AsRef<Object>>(
    clusters: &'a [C],
    name: &str,
    uid: Option<&str>,
) -> Option<(&'a C, Timestamp)> {
    let own = |cluster: &'a C| Some((cluster, lost_since(cluster.as_ref())?));
    if let Some(cluster) = by_id(clusters, uid) {
        return own(cluster);
    }
    let annotation = uid.map(lost_cluster);
    let by_uid =
        |cluster: &'a C| match Declaration::read(cluster.as_ref().annotation(annotation.as_deref()?)?) {
            Declaration::Lost(since) => Some((cluster, since)),
            Declaration::Invalid(_) => None,
        };
    clusters.iter().find_map(by_uid).or_else(|| own(by_name(clusters, name, uid)?))
}

/// Returns when the cell that left this mark was declared lost.
pub fn source_lost_since<C: AsRef<Object>>(clusters: &[C], source: &CellSource) -> Option<Timestamp> {
    lost_by(clusters, &source.cell, source.cell_uid.as_deref()).map(|(_, since)| since)
}

/// Whether a city is served, and every cell that serves it is declared lost.
pub fn is_city_lost<C: AsRef<Object>>(clusters: &[C], code: &str) -> bool {
    let mut cells =
        clusters.iter().filter(|cluster| cluster.as_ref().label(CITY_CODE) == Some(code)).peekable();
    !code.is_empty() && cells.peek().is_some() && cells.all(|cell| lost_since(cell.as_ref()).is_some())
}

/// Whether a copy on the hub is that of a lost cell: by its mark, and without one, as of older cells, by its
/// city.
pub fn is_copy_lost<C: AsRef<Object>>(clusters: &[C], copy: &Object) -> bool {
    match CellSource::from_object(copy) {
        Some(source) => source_lost_since(clusters, &source).is_some(),
        None => copy.label(INSTANCE_CITY).is_some_and(|code| is_city_lost(clusters, code)),
    }
}

#[cfg(test)]
pub(super) mod tests;
