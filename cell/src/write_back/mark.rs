//! The annotation by which a copy on the hub tells which cell's Instance it is the copy of.

use fedhub_shared::names::CELL_SOURCE;
use fedhub_shared::object::{Object, ObjectView};

/// `<cell>/<UID of the cell's Instance>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The cell's name.
    pub cell: String,
    /// The UID of its Instance.
    pub instance_uid: String,
}

/// Whose a copy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// An Instance's of this cell, of that UID.
    Ours(String),
    /// It says nothing, or nothing that can be read: it is from before there were marks.
    Nobodys,
    /// Another cell's, of that name.
    Anothers(String),
}

impl Mark {
    /// The mark of a copy; `None` where it has none that can be read.
    pub fn of(copy: &Object) -> Option<Self> {
        let (cell, uid) = copy.annotation(CELL_SOURCE)?.split_once('/')?;
        let whole = !cell.is_empty() && !uid.is_empty() && !uid.contains('/');
        whole.then(|| Self { cell: cell.to_owned(), instance_uid: uid.to_owned() })
    }
}

impl Whose {
    /// What the copy says to the cell of that name.
    pub fn of(copy: &Object, cell: &str) -> Self {
        match Mark::of(copy) {
            None => Self::Nobodys,
            Some(mark) if mark.cell == cell => Self::Ours(mark.instance_uid),
            Some(mark) => Self::Anothers(mark.cell),
        }
    }
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.cell, self.instance_uid)
    }
}

#[cfg(test)]
mod tests {
    use fedhub_shared::object::{Kind, bare};

    use super::*;

    #[test]
    fn c7_a_mark_is_read_whole_or_not_at_all() {
        for (text, whose) in [
            ("dfw/u", Whose::Ours("u".to_owned())),
            ("ord/u", Whose::Anothers("ord".to_owned())),
            ("dfw/", Whose::Nobodys),
            ("/u", Whose::Nobodys),
            ("dfw/u/x", Whose::Nobodys),
            ("dfw", Whose::Nobodys),
            ("", Whose::Nobodys),
        ] {
            let mut copy = bare(Kind::Instance, "ns-1", "wd-0");
            assert_eq!(Whose::of(&copy, "dfw"), Whose::Nobodys);
            copy.metadata.annotations = Some([(CELL_SOURCE.to_owned(), text.to_owned())].into());
            assert_eq!(Whose::of(&copy, "dfw"), whose, "{text}");
            assert!(Mark::of(&copy).is_none_or(|m| m.to_string() == text));
        }
    }
}
