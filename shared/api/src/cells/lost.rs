//! Which cells are lost (C11): by annotations of Karmada Clusters, which operators set.
//!
//! Decides C11.

use std::collections::BTreeMap;
use std::sync::Arc;

use fedhub_core::message::Quoted;
use fedhub_core::names::{CITY_CODE, INSTANCE_CITY, LOST, LOST_CLUSTER, lost_cluster};
use fedhub_core::object::{Object, ObjectRef, ObjectView};
use jiff::Timestamp;

use super::source::Source;

/// What an annotation of a Cluster says by which an operator declares a cell lost (C11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declaration {
    /// The cell is lost since then.
    Lost(Timestamp),
    /// Its value is not a time, and so declares nothing.
    Invalid(String),
}

impl Declaration {
    /// Of the cell of a Cluster; `None` where an operator declared nothing.
    pub fn of(cluster: &Object) -> Option<Self> {
        cluster.annotation(LOST).map(Self::read)
    }

    fn read(value: &str) -> Self {
        rfc3339(value).map_or_else(|| Self::Invalid(value.to_owned()), Self::Lost)
    }

    /// Why an annotation of a Cluster declares nothing, in words; `None` where each does, or none is there.
    pub fn refusal(cluster: &Object) -> Option<String> {
        declarations(cluster).into_iter().find_map(|(annotation, declaration)| match declaration {
            Self::Lost(_) => None,
            Self::Invalid(value) => Some(format!(
                "the annotation {annotation} of Cluster {} is {}, which is not an RFC 3339 time such as \
                 2026-01-02T15:04:05Z: the cell is not declared lost",
                cluster.name(),
                Quoted(&value)
            )),
        })
    }
}

/// All that an operator declares by a Cluster, by annotation: its own cell lost, or one that no Cluster stands for.
pub fn declarations(cluster: &Object) -> BTreeMap<&str, Declaration> {
    let all = cluster.metadata.annotations.iter().flatten();
    let ours = all.filter(|(key, _)| *key == LOST || key.starts_with(LOST_CLUSTER));
    ours.map(|(key, value)| (key.as_str(), Declaration::read(value))).collect()
}

/// Whether anything is declared lost by a Cluster.
pub fn declares(cluster: &Object) -> bool {
    declarations(cluster).values().any(|declaration| matches!(declaration, Declaration::Lost(_)))
}

/// Whether a step of a Cluster, from what it was to what it is, may have cells lost that were not, or the other way round:
/// by what it declares, or by the city that it serves no more.
pub fn redeclares(old: Option<&Object>, new: Option<&Object>) -> bool {
    let declared =
        |cluster: Option<&Object>| cluster.is_some_and(|cluster| !declarations(cluster).is_empty());
    let city = |cluster: Option<&Object>| cluster.and_then(|c| c.label(CITY_CODE)).map(str::to_owned);
    let (before, now) = (city(old), city(new));
    (before != now && (before.is_some() || declared(new)))
        || old.map(declarations).unwrap_or_default() != new.map(declarations).unwrap_or_default()
}

/// The Cluster with those of its declarations whose time `counts`.
pub fn declaring(cluster: &ObjectRef, counts: impl Fn(Timestamp) -> bool) -> ObjectRef {
    let stale = |declaration: &Declaration| matches!(declaration, Declaration::Lost(at) if !counts(*at));
    let all = declarations(cluster);
    if !all.values().any(stale) {
        return cluster.clone();
    }
    let mut object = Object::clone(cluster);
    if let Some(annotations) = &mut object.metadata.annotations {
        annotations.retain(|key, _| !all.get(key.as_str()).is_some_and(stale));
    }
    Arc::new(object)
}

/// Since when a Cluster's cell is declared lost.
pub fn lost_since(cluster: &Object) -> Option<Timestamp> {
    match Declaration::of(cluster)? {
        Declaration::Lost(since) => Some(since),
        Declaration::Invalid(_) => None,
    }
}

/// `date-time` of RFC 3339, which is narrower than what [`Timestamp`] reads.
fn rfc3339(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_at_checked(10)?;
    let is_date = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let clock = time.strip_prefix(['T', 't'])?;
    let is_clock = clock.len() > 8
        && clock.bytes().take(8).enumerate().all(|(at, byte)| match at {
            2 | 5 => byte == b':',
            _ => byte.is_ascii_digit(),
        });
    let zone = clock.get(8..)?.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let is_offset = zone.len() == 6 && zone.starts_with(['+', '-']) && zone.as_bytes()[3] == b':';
    let is_zone = matches!(zone, "Z" | "z") || is_offset;
    if is_date && is_clock && is_zone { text.parse().ok() } else { None }
}

/// The UID of the cluster that Karmada recorded for a Cluster.
fn id_of(cluster: &Object) -> Option<&str> {
    cluster.spec()["id"].as_str().filter(|id| !id.is_empty())
}

fn by_id<'a, C: AsRef<Object>>(clusters: &'a [C], uid: Option<&str>) -> Option<&'a C> {
    clusters.iter().find(|cluster| uid.is_some() && id_of(cluster.as_ref()) == uid)
}

/// The Cluster of that name. It is not that of a UID where Karmada recorded another one: the cell was rebuilt.
fn by_name<'a, C: AsRef<Object>>(clusters: &'a [C], name: &str, uid: Option<&str>) -> Option<&'a C> {
    let named = clusters.iter().find(|cluster| cluster.as_ref().name() == name)?;
    (uid.is_none() || id_of(named.as_ref()).is_none()).then_some(named)
}

/// The Karmada Cluster of a cell: the one that Karmada recorded that UID for (`spec.id`); else the one of its name, if
/// Karmada recorded no UID there. A mark by name alone is that of the Cluster of that name.
pub fn cluster_of<'a, C: AsRef<Object>>(clusters: &'a [C], name: &str, uid: Option<&str>) -> Option<&'a C> {
    by_id(clusters, uid).or_else(|| by_name(clusters, name, uid))
}

/// Which Cluster declares a cell lost, and since when: its own, or where none was recorded for its UID, any that names it.
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

/// Since when the cell that left this mark is declared lost.
pub fn source_lost_since<C: AsRef<Object>>(clusters: &[C], source: &Source) -> Option<Timestamp> {
    lost_by(clusters, &source.cell, source.cell_uid.as_deref()).map(|(_, since)| since)
}

/// Whether a city is served, and every cell that serves it is declared lost.
pub fn is_city_lost<C: AsRef<Object>>(clusters: &[C], code: &str) -> bool {
    let serves = |cluster: &&C| cluster.as_ref().label(CITY_CODE) == Some(code);
    let mut cells = clusters.iter().filter(serves).peekable();
    !code.is_empty() && cells.peek().is_some() && cells.all(|cell| lost_since(cell.as_ref()).is_some())
}

/// Whether a copy on the hub is that of a lost cell: by its mark, and without one, as of older cells, by its city.
pub fn is_copy_lost<C: AsRef<Object>>(clusters: &[C], copy: &Object) -> bool {
    match Source::of(copy) {
        Some(source) => source_lost_since(clusters, &source).is_some(),
        None => copy.label(INSTANCE_CITY).is_some_and(|code| is_city_lost(clusters, code)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use fedhub_core::object::{Kind, bare, set_field};

    use super::*;
    use crate::cells::source::tests::marked;

    pub(in crate::cells) fn cluster(name: &str, id: &str, lost: Option<&str>) -> Arc<Object> {
        let mut cluster = bare(Kind::Cluster, "", name);
        set_field(&mut cluster, "spec", json!({"id": id}));
        cluster.metadata.annotations = lost.map(|at| [(LOST.to_owned(), at.to_owned())].into());
        Arc::new(cluster)
    }

    #[test]
    fn c11_only_an_rfc_3339_time_declares_a_cell_lost() {
        for (value, declares) in [
            ("2026-01-02T15:04:05Z", true),
            ("2026-01-02t15:04:05z", true),
            ("2026-01-02T15:04:05.123Z", true),
            ("2026-01-02T15:04:05+01:00", true),
            ("", false),
            ("true", false),
            ("yesterday", false),
            ("2026-01-02", false),
            ("2026-01-02T15:04Z", false),
            ("2026-01-02T15:04:05", false),
            ("2026-13-02T15:04:05Z", false),
            ("2026-01-02T15:04:05Z[UTC]", false),
            ("20260102T150405Z", false),
            ("1767366245", false),
            ("ü026-01-02T15:04:05Z", false),
        ] {
            let cluster = cluster("cell-1", "", Some(value));
            assert_eq!(lost_since(&cluster).is_some(), declares, "{value}");
            let refusal = Declaration::refusal(&cluster);
            assert_eq!(refusal.is_none(), declares, "{value}");
            assert!(refusal.is_none_or(|words| words.contains("cell-1") && words.contains("RFC 3339")));
        }
        assert_eq!(Declaration::of(&cluster("cell-1", "", None)), None);
    }

    #[test]
    fn c11_the_cluster_of_a_mark_is_found_by_the_uid_and_else_by_the_name() {
        const AT: Option<&str> = Some("2026-01-02T15:04:05Z");
        let lost = |clusters: &[Arc<Object>], mark: &str| {
            source_lost_since(clusters, &Source::of(&marked(mark)).unwrap()).is_some()
        };
        let named = [cluster("dfw", "", AT), cluster("ord", "", None)];
        assert!(lost(&named, "dfw/k/i") && lost(&named, "dfw/i") && !lost(&named, "ord/k/i"));
        // The name of the Cluster is not that of the cell.
        let known = [cluster("a", "k", AT), cluster("b", "l", None)];
        assert!(lost(&known, "dfw/k/i") && !lost(&known, "dfw/l/i") && !lost(&known, "dfw/i"));
        // Another cluster has the lost one's name.
        let renamed = [cluster("dfw", "k", AT), cluster("dfw-2", "l", None)];
        assert!(!lost(&renamed, "dfw/l/i"));
        assert!(!lost(&[], "dfw/k/i"));
        // The cell was rebuilt under its name: what the old one left is lost by its UID.
        let rebuilt = |annotation: &str| {
            let mut dfw = Object::clone(&cluster("dfw", "new", AT));
            dfw.metadata
                .annotations
                .get_or_insert_default()
                .insert(annotation.to_owned(), AT.unwrap().to_owned());
            [Arc::new(dfw)]
        };
        assert!(lost(&rebuilt(LOST), "dfw/new/i") && lost(&rebuilt(LOST), "dfw/i"));
        assert!(!lost(&rebuilt(LOST), "dfw/old/i") && lost(&rebuilt(&lost_cluster("old")), "dfw/old/i"));
        let mut named = Object::clone(&cluster("dfw", "new", None));
        named.metadata.annotations = Some([(lost_cluster("new"), AT.unwrap().to_owned())].into());
        assert!(!lost(&[Arc::new(named)], "dfw/new/i"), "its own annotation declares it");
    }

    #[test]
    fn c11_an_unmarked_copy_is_lost_with_all_cells_of_its_city() {
        const AT: Option<&str> = Some("2026-01-02T15:04:05Z");
        let serving = |name: &str, code: &str, lost| {
            let mut cluster = Object::clone(&cluster(name, name, lost));
            cluster.metadata.labels = Some([(CITY_CODE.to_owned(), code.to_owned())].into());
            Arc::new(cluster)
        };
        let mut copy = bare(Kind::Instance, "ns-1", "wd-0");
        let both = [serving("a", "DFW", AT), serving("b", "DFW", None), serving("c", "", AT)];
        assert!(!is_copy_lost(&both, &copy));
        for (code, expected) in [("DFW", true), ("ORD", false), ("", false)] {
            copy.metadata.labels = Some([(INSTANCE_CITY.to_owned(), code.to_owned())].into());
            assert!(!is_copy_lost(&both, &copy), "{code}");
            assert_eq!(is_copy_lost(&[both[0].clone(), both[2].clone()], &copy), expected, "{code}");
        }
    }

    #[test]
    fn c11_a_step_of_a_cluster_is_news_where_it_may_change_who_is_lost() {
        const AT: Option<&str> = Some("2026-01-02T15:04:05Z");
        let serving = |code: Option<&str>, lost| {
            let mut cluster = Object::clone(&cluster("a", "k", lost));
            cluster.metadata.labels = code.map(|code| [(CITY_CODE.to_owned(), code.to_owned())].into());
            cluster
        };
        let (dfw, lost, nowhere) =
            (serving(Some("DFW"), None), serving(Some("DFW"), AT), serving(None, None));
        for (old, new, expected) in [
            (None, Some(&dfw), false),
            (None, Some(&lost), true),
            (Some(&dfw), Some(&dfw), false),
            (Some(&dfw), Some(&lost), true),
            (Some(&lost), None, true),
            (Some(&dfw), None, true),
            (Some(&dfw), Some(&nowhere), true),
            (Some(&nowhere), Some(&dfw), false),
            (Some(&nowhere), None, false),
            (Some(&serving(None, AT)), Some(&lost), true),
        ] {
            assert_eq!(redeclares(old, new), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn c11_declarations_that_do_not_count_are_left_out() {
        let early = "2026-01-02T15:04:05Z";
        let mut cluster = Object::clone(&cluster("dfw", "k", Some(early)));
        let annotations = cluster.metadata.annotations.get_or_insert_default();
        annotations.insert(lost_cluster("l"), "2026-01-03T00:00:00Z".to_owned());
        annotations.insert("other".to_owned(), early.to_owned());
        let cluster = Arc::new(cluster);
        let since: Timestamp = early.parse().unwrap();
        let counting = declaring(&cluster, |at| at > since);
        assert_eq!(declarations(&counting).keys().copied().collect::<Vec<_>>(), [lost_cluster("l")]);
        assert_eq!(counting.annotation("other"), Some(early));
        assert!(Arc::ptr_eq(&declaring(&cluster, |_| true), &cluster));
    }
}
