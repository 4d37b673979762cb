//! Cells as the hub knows them: who they are (C10), whether Karmada reaches them (U2), and whether an operator declared
//! one lost (C11).

mod lost;

use std::fmt;
use std::sync::Arc;

use crate::conditions::find;
use crate::names::{CELL_SOURCE, LOST};
use crate::object::{Object, ObjectView};
use crate::responsibility::attributed;

pub use lost::{
    Declaration, cluster_of, declarations, declares, declaring, is_city_lost, is_copy_lost, lost_by,
    lost_since, redeclares, source_lost_since,
};

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

    use crate::object::{Kind, bare, set_field};

    use super::*;

    pub(super) fn marked(mark: &str) -> Object {
        let mut object = bare(Kind::Instance, "ns-1", "wd-0");
        object.metadata.annotations = Some([(CELL_SOURCE.to_owned(), mark.to_owned())].into());
        object
    }

    pub(super) fn cluster(name: &str, id: &str, lost: Option<&str>) -> Arc<Object> {
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
