//! Cells as the hub knows them: who they are (C10), whether Karmada reaches them (U2), and whether an operator declared
//! one lost (C11).

use std::fmt;
use std::sync::Arc;

use fedhub_core::message::Quoted;
use fedhub_core::names::{CELL_SOURCE, LOST};
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;

use crate::conditions::find;
use crate::responsibility::attributed;

/// The namespace whose UID identifies a cluster.
pub const KUBE_SYSTEM: &str = "kube-system";

/// The identity of a cell. Two clusters of one name are two cells (C10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellId {
    /// What its operator calls it; never holds a slash, for it is a label value.
    pub name: Arc<str>,
    /// UID of its namespace [`KUBE_SYSTEM`].
    pub uid: Arc<str>,
}

impl CellId {
    /// The mark of what stands for `instance` of this cell outside of it.
    pub fn source(&self, instance: &Object) -> Source {
        Source {
            cell: self.name.to_string(),
            cell_uid: Some(self.uid.to_string()),
            instance_uid: instance.uid().to_owned(),
        }
    }
}

/// The annotation `cell-source` of a copy on the hub and of a quota claim: which Instance of which cell it stands for,
/// as `<cell name>/<UID of the cell's kube-system>/<UID of the cell's Instance>`. Marks of older versions lack the second
/// part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The cell's name.
    pub cell: String,
    /// UID of the cell's namespace [`KUBE_SYSTEM`]; `None` in the mark of an older version.
    pub cell_uid: Option<String>,
    /// UID of the cell's Instance.
    pub instance_uid: String,
}

impl Source {
    /// The mark of an object; `None` where it has none that can be read.
    pub fn of(object: &Object) -> Option<Self> {
        let parts: Vec<&str> = object.annotation(CELL_SOURCE)?.split('/').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return None;
        }
        let (cell, cell_uid, instance_uid) = match parts[..] {
            [cell, instance_uid] => (cell, None, instance_uid),
            [cell, cell_uid, instance_uid] => (cell, Some(cell_uid.to_owned()), instance_uid),
            _ => return None,
        };
        Some(Self { cell: cell.to_owned(), cell_uid, instance_uid: instance_uid.to_owned() })
    }

    /// Whether it is that cell's. A mark by name alone is so only where that cell has, or had, the Instance.
    pub fn is_of(&self, cell: &CellId, has_instance: impl FnOnce(&str) -> bool) -> bool {
        match &self.cell_uid {
            Some(uid) => **uid == *cell.uid,
            None => *self.cell == *cell.name && has_instance(&self.instance_uid),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cell_uid {
            Some(uid) => write!(f, "{}/{uid}/{}", self.cell, self.instance_uid),
            None => write!(f, "{}/{}", self.cell, self.instance_uid),
        }
    }
}

/// What the annotation [`LOST`] of a Cluster says (C11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declaration {
    /// The cell is lost since then.
    Lost(Timestamp),
    /// Its value is not a time, and so declares nothing.
    Invalid(String),
}

impl Declaration {
    /// Of a Cluster; `None` where an operator declared nothing.
    pub fn of(cluster: &Object) -> Option<Self> {
        let value = cluster.annotation(LOST)?;
        Some(rfc3339(value).map_or_else(|| Self::Invalid(value.to_owned()), Self::Lost))
    }

    /// Why the annotation of a Cluster declares nothing, in words; `None` where it does, or is not there.
    pub fn refusal(cluster: &Object) -> Option<String> {
        match Self::of(cluster)? {
            Self::Lost(_) => None,
            Self::Invalid(value) => Some(format!(
                "the annotation {LOST} of Cluster {} is {}, which is not an RFC 3339 time such as 2026-01-02T15:04:05Z: the \
                 cell is not declared lost",
                cluster.called(),
                Quoted(&value)
            )),
        }
    }
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

/// The Karmada Cluster of a cell: the one that Karmada recorded that UID for (`spec.id`), else the one of its name.
pub fn cluster_of<'a, C: AsRef<Object>>(clusters: &'a [C], name: &str, uid: Option<&str>) -> Option<&'a C> {
    let by_id = |cluster: &&C| uid.is_some() && cluster.as_ref().spec()["id"].as_str() == uid;
    let by_name = |cluster: &&C| cluster.as_ref().called() == name;
    clusters.iter().find(by_id).or_else(|| clusters.iter().find(by_name))
}

/// Since when the cell that left this mark is declared lost.
pub fn source_lost_since<C: AsRef<Object>>(clusters: &[C], source: &Source) -> Option<Timestamp> {
    lost_since(cluster_of(clusters, &source.cell, source.cell_uid.as_deref())?.as_ref())
}

/// A cell that Karmada does not reach, or that is declared lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellDown {
    /// The Cluster's name.
    pub cell: String,
    /// Since when, as a time in words.
    pub since: String,
    /// Whether an operator declared it lost.
    pub lost: bool,
}

impl CellDown {
    /// What the hub says of a cell, unless that it is ready. One of which it says nothing yet is not held to be down.
    pub fn of(cluster: &Object) -> Option<Self> {
        let cell = cluster.called().to_owned();
        if lost_since(cluster).is_some() {
            let since = cluster.annotation(LOST).unwrap_or_default().to_owned();
            return Some(Self { cell, since, lost: true });
        }
        let ready = find(cluster.status(), "Ready").filter(|ready| ready["status"] != "True")?;
        let since = ready["lastTransitionTime"].as_str().unwrap_or("an unknown time").to_owned();
        Some(Self { cell, since, lost: false })
    }

    /// The status of a condition that was True when the cell was last heard of.
    pub fn status(&self) -> &'static str {
        if self.lost { "False" } else { "Unknown" }
    }
}

/// The reason of such a condition.
pub const CELL_UNREACHABLE: &str = "CellUnreachable";

impl fmt::Display for CellDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cell, since, lost } = self;
        let (blamed, said) = if *lost {
            ("CellLost", format!("the cell {cell} is lost since {since}: what ran there is gone"))
        } else {
            let said =
                format!("the cell {cell} has not been ready since {since}: what runs there is not known");
            (CELL_UNREACHABLE, said)
        };
        f.write_str(&attributed(blamed, &said))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use fedhub_core::object::{Kind, bare, set_field};

    use super::*;

    fn marked(mark: &str) -> Object {
        let mut object = bare(Kind::Instance, "ns-1", "wd-0");
        object.metadata.annotations = Some([(CELL_SOURCE.to_owned(), mark.to_owned())].into());
        object
    }

    fn cluster(name: &str, id: &str, lost: Option<&str>) -> Arc<Object> {
        let mut cluster = bare(Kind::Cluster, "", name);
        set_field(&mut cluster, "spec", json!({"id": id}));
        cluster.metadata.annotations = lost.map(|at| [(LOST.to_owned(), at.to_owned())].into());
        Arc::new(cluster)
    }

    #[test]
    fn c10_a_mark_is_read_whole_or_not_at_all() {
        for (text, readable) in [
            ("dfw/k/i", true),
            ("dfw/i", true),
            ("dfw", false),
            ("dfw/", false),
            ("/k/i", false),
            ("dfw//i", false),
            ("dfw/k/i/x", false),
            ("", false),
        ] {
            let source = Source::of(&marked(text));
            assert_eq!(source.is_some(), readable, "{text}");
            assert!(source.is_none_or(|source| source.to_string() == text));
        }
        assert_eq!(Source::of(&bare(Kind::Instance, "ns-1", "wd-0")), None);
    }

    #[test]
    fn c10_a_cell_is_who_its_uid_says_and_by_name_only_with_the_instance() {
        let cell = CellId { name: "dfw".into(), uid: "k".into() };
        for (mark, has, expected) in [
            ("dfw/k/i", false, true),
            ("renamed/k/i", false, true),
            ("dfw/other/i", true, false),
            ("dfw/i", true, true),
            ("dfw/i", false, false),
            ("ord/i", true, false),
        ] {
            let source = Source::of(&marked(mark)).unwrap();
            assert_eq!(source.is_of(&cell, |uid| has && uid == "i"), expected, "{mark}");
        }
        let mut instance = bare(Kind::Instance, "ns-1", "wd-0");
        instance.metadata.uid = Some("i".to_owned());
        assert_eq!(cell.source(&instance).to_string(), "dfw/k/i");
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
    }

    #[test]
    fn u2_a_cell_is_down_where_karmada_or_an_operator_says_so_and_not_where_nobody_says_anything() {
        let of = |status: Value, lost| {
            let mut cluster = Object::clone(&cluster("cell-1", "", lost));
            set_field(&mut cluster, "status", status);
            CellDown::of(&cluster)
        };
        let ready = |status: &str| {
            json!({"conditions": [
                {"type": "Ready", "status": status, "lastTransitionTime": "2026-01-02T00:00:00Z"},
            ]})
        };
        assert_eq!(of(json!(null), None), None);
        assert_eq!(of(ready("True"), None), None);
        assert_eq!(of(ready("True"), Some("soon")), None);
        for status in ["False", "Unknown"] {
            let down = of(ready(status), None).unwrap();
            let words = down.to_string();
            assert!(
                !down.lost && words.contains("cell-1") && words.contains("2026-01-02T00:00:00Z"),
                "{words}"
            );
        }
        let down = of(ready("True"), Some("2026-01-03T00:00:00Z")).unwrap();
        assert!(down.lost && down.to_string().contains("lost since 2026-01-03T00:00:00Z"), "{down}");
    }
}
