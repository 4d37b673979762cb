//! Who a cell is, and which of what stands for its Instances elsewhere is its own (C10).

use std::fmt;
use std::sync::Arc;

use fedhub_core::names::{CELL_SOURCE, is_uid};
use fedhub_core::object::{Object, ObjectView};

/// The namespace whose UID identifies a cluster.
pub const KUBE_SYSTEM: &str = "kube-system";

/// The identity of a cell. Two clusters of one name are two cells (C10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellId {
    /// The name that its operator gave it; never holds a slash, because it is a label value.
    pub name: Arc<str>,
    /// UID of its namespace [`KUBE_SYSTEM`].
    pub uid: Arc<str>,
}

impl CellId {
    /// The mark of what stands for `instance` of this cell outside of it.
    pub fn source(&self, instance: &Object) -> CellSource {
        CellSource {
            cell: self.name.to_string(),
            cell_uid: Some(self.uid.to_string()),
            instance_uid: instance.uid().to_owned(),
        }
    }
}

/// The annotation `cell-source` of a copy on the hub and of a quota claim: which Instance of which cell it
/// stands for, as `<cell name>/<UID of the cell's kube-system>/<UID of the cell's Instance>`. Marks of older
/// versions lack the second part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellSource {
    /// The cell's name.
    pub cell: String,
    /// UID of the cell's namespace [`KUBE_SYSTEM`]; `None` in the mark of an older version.
    pub cell_uid: Option<String>,
    /// UID of the cell's Instance.
    pub instance_uid: String,
}

impl CellSource {
    /// The mark of an object; `None` where it has none that can be read.
    pub fn from_object(object: &Object) -> Option<Self> {
        let parts: Vec<&str> = object.annotation(CELL_SOURCE)?.split('/').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return None;
        }
        let (cell, cell_uid, instance_uid) = match parts[..] {
            [cell, instance_uid] => (cell, None, instance_uid),
            [cell, cell_uid, instance_uid] => (cell, Some(cell_uid.to_owned()), instance_uid),
            _ => return None,
        };
        // Another cell can write anything there.
        let is_plain = is_uid(instance_uid) && cell_uid.as_deref().is_none_or(is_uid);
        is_plain.then(|| Self { cell: cell.to_owned(), cell_uid, instance_uid: instance_uid.to_owned() })
    }

    /// Whether it is that cell's. A mark by name alone is so only where that cell has, or had, the Instance.
    pub fn is_of(&self, cell: &CellId, has_instance: impl FnOnce(&str) -> bool) -> bool {
        match &self.cell_uid {
            Some(uid) => **uid == *cell.uid,
            None => *self.cell == *cell.name && has_instance(&self.instance_uid),
        }
    }
}

impl fmt::Display for CellSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cell_uid {
            Some(uid) => write!(f, "{}/{uid}/{}", self.cell, self.instance_uid),
            None => write!(f, "{}/{}", self.cell, self.instance_uid),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use fedhub_core::object::{Kind, bare};

    use super::*;

    pub(in crate::cells) fn marked(mark: &str) -> Object {
        let mut object = bare(Kind::Instance, "ns-1", "wd-0");
        object.metadata.annotations = Some([(CELL_SOURCE.to_owned(), mark.to_owned())].into());
        object
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
            ("dfw/k k/i", false),
            ("dfw/k/i\n", false),
            ("dfw/i?", false),
            ("", false),
        ] {
            let source = CellSource::from_object(&marked(text));
            assert_eq!(source.is_some(), readable, "{text}");
            assert!(source.is_none_or(|source| source.to_string() == text));
        }
        assert_eq!(CellSource::from_object(&bare(Kind::Instance, "ns-1", "wd-0")), None);
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
            let source = CellSource::from_object(&marked(mark)).unwrap();
            assert_eq!(source.is_of(&cell, |uid| has && uid == "i"), expected, "{mark}");
        }
        let mut instance = bare(Kind::Instance, "ns-1", "wd-0");
        instance.metadata.uid = Some("i".to_owned());
        assert_eq!(cell.source(&instance).to_string(), "dfw/k/i");
    }
}
