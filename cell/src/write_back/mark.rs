//! Whose a copy on the hub is, by its mark (C10).

use fedhub_api::cells::{CellId, Source};
use fedhub_core::object::{Object, ObjectView};

/// Whose a copy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// An Instance's of this cell, of that UID.
    Ours(String),
    /// It says nothing, or nothing that can be read: it is from before there were marks.
    Nobodys,
    /// Another cell's, which may have this cell's name; or one that an older version marked with this cell's name alone,
    /// for an Instance that this cell does not have.
    Anothers(Source),
}

impl Whose {
    /// What the copy says to that cell, where `instance` stands under its name.
    pub fn of(copy: &Object, cell: &CellId, instance: Option<&Object>) -> Self {
        match Source::of(copy) {
            None => Self::Nobodys,
            Some(source) if source.is_of(cell, |uid| instance.is_some_and(|i| i.uid() == uid)) => {
                Self::Ours(source.instance_uid)
            }
            Some(source) => Self::Anothers(source),
        }
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::names::CELL_SOURCE;
    use fedhub_core::object::{Kind, bare};

    use super::*;

    #[test]
    fn c10_a_copy_is_ours_by_the_uid_of_the_cell_and_by_its_name_only_with_the_instance() {
        let cell = CellId { name: "dfw".into(), uid: "k".into() };
        let mut instance = bare(Kind::Instance, "ns-1", "wd-0");
        instance.metadata.uid = Some("u".to_owned());
        for (text, here, expected) in [
            ("dfw/k/u", true, Some(true)),
            ("dfw/k/u", false, Some(true)),
            ("dfw/k/earlier", true, Some(true)),
            ("dfw/twin/u", true, Some(false)),
            ("dfw/u", true, Some(true)),
            ("dfw/u", false, Some(false)),
            ("dfw/earlier", true, Some(false)),
            ("ord/u", true, Some(false)),
            ("dfw/", true, None),
            ("/u", true, None),
            ("dfw", true, None),
            ("", true, None),
        ] {
            let mut copy = bare(Kind::Instance, "ns-1", "wd-0");
            assert_eq!(Whose::of(&copy, &cell, None), Whose::Nobodys);
            copy.metadata.annotations = Some([(CELL_SOURCE.to_owned(), text.to_owned())].into());
            let ours = match Whose::of(&copy, &cell, here.then_some(&instance)) {
                Whose::Ours(_) => Some(true),
                Whose::Anothers(_) => Some(false),
                Whose::Nobodys => None,
            };
            assert_eq!(ours, expected, "{text} {here}");
        }
    }
}
