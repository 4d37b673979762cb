//! A list, of which an item that cannot be read is left out.

use std::fmt;
use std::marker::PhantomData;

use fedhub_core::message::shortened;
use serde::de::{DeserializeOwned, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// An ID alone, which even an item that cannot be read may have.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Identified {
    /// The metadata.
    metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    id: String,
}

/// The items of a list. One that does not have the form of `T` costs itself alone. `null` is the empty list:
/// the service answers so about an organization that is hidden from who asks.
#[derive(Debug)]
pub struct List<T> {
    /// Those that could be read.
    pub items: Vec<T>,
    /// The IDs of those that could not, as far as they have one, with why.
    pub unreadable: Vec<(String, String)>,
}

/// The most unreadable items that are kept.
const MOST: usize = 16;
/// How much of its ID and of what is wrong, in characters.
const LONGEST: usize = 128;

impl<'de, T: DeserializeOwned> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Items(PhantomData))
    }
}

struct Items<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for Items<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list, or null")
    }

    fn visit_unit<E>(self) -> Result<List<T>, E> {
        Ok(List { items: Vec::new(), unreadable: Vec::new() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T>, A::Error> {
        let mut list = List { items: Vec::new(), unreadable: Vec::new() };
        // One after the other: the whole list as values would be many times the size of its text.
        while let Some(value) = seq.next_element::<Value>()? {
            match T::deserialize(&value) {
                Ok(item) => list.items.push(item),
                Err(error) if list.unreadable.len() < MOST => {
                    let id = Identified::deserialize(&value).unwrap_or_default().metadata.id;
                    let error = error.to_string();
                    list.unreadable.push((shortened(&id, LONGEST).into(), shortened(&error, LONGEST).into()));
                }
                Err(_) => {}
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Item {
        n: u8,
    }

    fn read(text: &str) -> List<Item> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn v6_an_item_that_cannot_be_read_costs_itself_alone() {
        let list = read(r#"[{"n":1},{"n":"two","metadata":{"id":"x"}},7,null,{"n":3,"more":[]}]"#);
        assert_eq!(list.items, [Item { n: 1 }, Item { n: 3 }]);
        assert_eq!(list.unreadable.len(), 3);
        assert_eq!(list.unreadable[0].0, "x");
    }

    #[test]
    fn null_is_the_empty_list_and_an_object_is_none() {
        assert!(read("null").items.is_empty());
        assert!(read("[]").items.is_empty());
        assert!(serde_json::from_str::<List<Item>>("{}").is_err());
        assert!(serde_json::from_str::<List<Item>>("[{\"n\":1}").is_err(), "half a list is none");
    }

    #[test]
    fn of_a_list_of_rubbish_little_is_kept() {
        let list = read(&format!("[{}1]", "1,".repeat(10_000)));
        assert_eq!(list.unreadable.len(), MOST);
    }
}
