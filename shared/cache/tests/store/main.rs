//! The store: what lists, watches and our own writes make known, in which order, and what it costs.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod sums;
mod support;

use std::sync::Arc;

use fedhub_cache::digest::Version;
use fedhub_cache::{MemoryBudget, ObjectPart, ServerNormalization};
use fedhub_core::object::{Kind, ObjectView, PlaneId, bare, set_field};
use serde_json::json;

use crate::support::*;

#[test]
fn i4_absence_after_a_relist_is_told_as_inferred_and_a_seen_delete_as_seen() {
    let store = filled(&[object("a", "1", 1), object("b", "2", 2)]);
    store.list_begins();
    assert!(store.listed(object("a", "1", 1)).is_none(), "nothing changed");
    let gone = store.list_ends();
    assert!(matches!(&gone[..], [Change::Deleted { last, inferred: true }] if &*last.name == "b"));
    let seen = store.deleted(object("a", "1", 3));
    assert!(matches!(seen, Some(Change::Deleted { inferred: false, .. })));
    assert!(store.is_empty());
}

#[test]
fn c1_what_our_own_write_ended_while_a_list_was_under_way_is_gone() {
    let is_a =
        |gone: &[Change]| matches!(gone, [Change::Deleted { last, inferred: true }] if &*last.name == "a");
    let store = filled(&[terminating(&["ours"])]);
    store.list_begins();
    own(&store, terminating(&[]));
    assert!(is_a(&store.list_ends()), "the watch begins after its deletion");
    // It was deleted between our write and the list.
    let store = filled(&[object("a", "1", 7)]);
    store.list_begins();
    own(&store, object("a", "1", 8));
    own(&store, object("a", "1", 9));
    assert!(is_a(&store.list_ends()));
}

#[test]
fn i1_what_we_wrote_while_a_list_was_under_way_stays() {
    let store = filled(&[object("a", "1", 7), object("b", "2", 2)]);
    store.list_begins();
    own(&store, object("new", "9", 9));
    own(&store, object("a", "1", 8));
    assert!(store.listed(object("a", "1", 7)).is_none(), "an older state of it");
    store.listed(object("b", "2", 2));
    own(&store, object("b", "2", 10));
    assert!(store.list_ends().is_empty());
    assert_eq!((version(&store).as_str(), store.len()), ("8", 3));
}

#[test]
fn i1_a_list_that_shows_more_of_the_same_version_is_news() {
    let store = filled(&[object("a", "1", 1)]);
    store.list_begins();
    let mut more = object("a", "1", 1);
    set_field(&mut more, "status", json!({"future": true}));
    assert!(store.listed(more).is_some(), "a field that the schema hid until now");
}

#[test]
fn a_list_of_an_older_world_is_believed() {
    let store = filled(&[object("a", "1", 50)]);
    store.list_begins();
    assert!(store.listed(object("a", "1", 10)).is_some());
    assert_eq!(version(&store), "10");
}

#[test]
fn a_write_during_a_list_is_not_undone_by_it() {
    let store = filled(&[object("a", "1", 5)]);
    store.list_begins();
    own(&store, object("a", "1", 9));
    assert!(store.listed(object("a", "1", 5)).is_none());
    store.list_ends();
    assert_eq!(version(&store), "9");
}

#[test]
fn own_writes_are_known_at_once_and_delivered_once() {
    let store = filled(&[]);
    own(&store, object("a", "1", 7));
    assert!(store.object("ns", "a").is_some());
    assert!(store.applied(object("a", "1", 6)).is_none(), "older than our own write");
    assert!(store.applied(object("a", "1", 7)).is_some(), "the event of our own write");
    assert!(store.applied(object("a", "1", 7)).is_none(), "delivered already");
}

#[test]
fn f6_an_own_write_does_not_swallow_the_change_of_its_event() {
    let labelled = |version: u64, color: &str| {
        let mut o = object("a", "1", version);
        o.metadata.labels = Some([(COLOR.to_owned(), color.to_owned())].into());
        o
    };
    let store = store(MemoryBudget::from_bytes(100));
    store.list_begins();
    store.listed(labelled(1, "red"));
    store.list_ends();
    let color = |change: &Change| change.old().and_then(|old| old.digest.facts.0.clone());
    // Two writes of ours; between them it is in sync, and its object is dropped.
    own(&store, labelled(2, "green"));
    store.mark_synced("ns", "a", &Version::new("2"), 0);
    own(&store, labelled(3, "blue"));
    let change = store.applied(labelled(3, "blue")).unwrap();
    assert_eq!(color(&change).as_deref(), Some("red"), "what was delivered last");
    let change = store.applied(labelled(4, "blue")).unwrap();
    assert_eq!(color(&change).as_deref(), Some("blue"));
    own(&store, labelled(5, "red"));
    store.list_begins();
    let change = store.listed(labelled(5, "red")).unwrap();
    assert_eq!(color(&change).as_deref(), Some("blue"), "by a list, too");
    own(&store, object("new", "9", 6));
    assert!(
        store.applied(object("new", "9", 6)).unwrap().old().is_none(),
        "nothing was delivered of it before"
    );
}

#[test]
fn the_answer_to_the_last_finalizers_removal_is_known_although_its_version_is_not_new() {
    let store = filled(&[]);
    store.applied(terminating(&["ours"]));
    own(&store, terminating(&["theirs"]));
    assert!(store.object("ns", "a").unwrap().has_finalizer("ours"), "delivered already");
    own(&store, terminating(&[]));
    assert!(!store.object("ns", "a").unwrap().has_finalizer("ours"));
    assert!(store.deleted(object("a", "1", 8)).is_some());
    assert!(store.is_empty());
}

#[test]
fn what_had_only_left_the_selection_of_a_watch_is_not_taken_for_dead_when_it_is_back() {
    let store = filled(&[object("a", "1", 1)]);
    store.deleted(object("a", "1", 2));
    own(&store, object("a", "1", 3));
    assert!(store.is_empty(), "deleted as far as is known");
    store.applied(object("a", "1", 4));
    own(&store, object("a", "1", 5));
    assert_eq!(version(&store), "5", "own writes count again");
}

#[test]
fn what_is_in_order_of_a_kind_that_is_kept_whole_is_kept() {
    let mut a = bare(Kind::Namespace, "", "a");
    let budget = MemoryBudget::from_bytes(0);
    a.metadata.resource_version = Some("1".to_owned());
    let store = Store::new(PlaneId::Management, Kind::Namespace, budget);
    store.list_begins();
    store.listed(a.clone());
    store.list_ends();
    store.mark_synced("", "a", &Version::new("1"), 0);
    assert_eq!(store.object("", "a").as_deref(), Some(&a));
}

#[test]
fn what_facts_take_beside_their_own_size_is_counted_and_their_place_in_the_index() {
    let with = |color: Option<&str>| {
        let mut o = object("a", "1", 1);
        o.metadata.labels = color.map(|color| [(COLOR.to_owned(), color.to_owned())].into());
        filled(&[o]).bytes()
    };
    let indexed = size_of::<(u64, Box<str>)>() + "a".len();
    assert_eq!(with(Some("vermilion")) - with(None), "vermilion".len() + indexed);
}

#[test]
fn a_late_answer_does_not_raise_the_dead() {
    let store = filled(&[]);
    store.applied(object("a", "1", 7));
    store.deleted(object("a", "1", 8));
    own(&store, object("a", "1", 7));
    store.read(&Arc::new(object("a", "1", 7)));
    assert!(store.is_empty());
    own(&store, object("a", "2", 9));
    assert!(store.deleted(object("a", "1", 8)).is_none(), "the new one stands");
    assert_eq!(store.digest("ns", "a").unwrap().uid.to_string(), "2");
}

#[test]
fn an_object_is_kept_from_its_event_until_it_rests() {
    let store = filled(&[object("a", "1", 1)]);
    let kept = || store.object("ns", "a").is_some();
    assert!(!kept(), "most of what is listed is in order");
    store.applied(object("a", "1", 2));
    assert!(kept());
    store.mark_synced("ns", "a", &Version::new("1"), 0);
    assert!(kept(), "that was about an older version");
    store.mark_synced("ns", "a", &Version::new("2"), 7);
    assert!(!kept());
    assert_eq!(store.synced_under("ns", "a"), 7);
    store.read(&Arc::new(object("a", "1", 2)));
    store.mark_synced_for_now("ns", "a", &Version::new("2"), 8);
    assert!(kept(), "it is about to be written from again");
    assert_eq!(store.synced_under("ns", "a"), 8);
    store.mark_synced("ns", "a", &Version::new("2"), 7);
    assert!(store.applied(object("a", "1", 2)).is_none(), "no news");
    store.read(&Arc::new(object("a", "1", 2)));
    assert!(kept(), "what was read is kept again");
    assert!(store.applied(object("a", "1", 2)).is_none(), "and is still no news");
    store.read(&Arc::new(object("a", "1", 3)));
    assert!(
        store.applied(object("a", "1", 3)).is_some(),
        "a change that a read brought first is still delivered"
    );
}

#[test]
fn i8_a_flood_is_known_and_only_the_newest_of_it_kept_as_far_as_there_is_room() {
    // Half of it is for objects that wait: each takes some 160 bytes.
    let store = store(MemoryBudget::from_bytes(2 << 10));
    for n in 0..50 {
        store.applied(object(&format!("a{n:02}"), &n.to_string(), n + 1));
    }
    let kept = |n: u64| store.object("ns", &format!("a{n:02}")).is_some();
    let newest: Vec<_> = (0..50).filter(|n| kept(*n)).collect();
    assert!((2..10).contains(&newest.len()) && newest.last() == Some(&49), "{newest:?}");
    assert_eq!(store.len(), 50);
    let oldest = newest[0];
    store.mark_synced("ns", "a49", &Version::new("50"), 0);
    store.release("ns", "a48");
    assert!(!kept(49) && !kept(48));
    store.applied(object("a00", "0", 99));
    assert!(kept(0) && kept(oldest), "there is room again");
    store.deleted(object("a00", "0", 100));
    store.applied(object("a01", "1", 99));
    assert!(kept(1) && kept(oldest), "what is gone needs none");
}

#[test]
fn i8_a_flood_of_one_plane_leaves_room_for_what_changes_on_another() {
    let budget = MemoryBudget::from_bytes(64 << 10);
    let flooded = store(budget.clone());
    let other = store(budget);
    for n in 0..4096 {
        flooded.applied(object(&format!("a{n:04}"), &n.to_string(), n + 1));
    }
    other.applied(object("b", "b", 1));
    assert!(other.object("ns", "b").is_some());
}

#[test]
fn i7_echoes_live_and_die_with_their_object() {
    let store = filled(&[object("a", "1", 1)]);
    let sent = json!({"a": 1});
    let got = json!({"a": 1, "b": 2});
    let echo = ServerNormalization::new(&sent, &got);
    assert!(store.note_normalization("ns", "a", ObjectPart::Spec, echo));
    assert!(!store.note_normalization("ns", "a", ObjectPart::Spec, echo), "no news");
    assert!(store.note_normalization("ns", "a", ObjectPart::Status, ServerNormalization::new(&sent, &sent)));
    store.applied(object("a", "1", 2));
    assert_eq!(store.normalization("ns", "a", ObjectPart::Spec), Some(echo));
    assert_eq!(store.normalization("ns", "a", ObjectPart::Status), Some(ServerNormalization::Kept));
    store.applied(object("a", "2", 3));
    assert_eq!(store.normalization("ns", "a", ObjectPart::Spec), None, "another object of that name");
}

#[test]
fn a_deletion_of_ours_is_known_at_once_and_told_when_the_watch_brings_it() {
    let store = filled(&[object("a", "1", 1)]);
    store.own_deleted("ns", "a", "another");
    assert!(!store.is_empty(), "not of that one");
    store.own_deleted("ns", "a", "1");
    assert!(store.is_empty());
    own(&store, object("a", "1", 2));
    assert!(store.is_empty(), "a late answer does not raise it");
    assert!(matches!(store.deleted(object("a", "1", 3)), Some(Change::Deleted { inferred: false, .. })));
}

#[test]
fn by_index_an_object_is_found_under_its_newest_value_only() {
    let colored = |name: &str, version: u64, color: Option<&str>| {
        let mut o = object(name, name, version);
        o.metadata.labels = color.map(|color| [(COLOR.to_owned(), color.to_owned())].into());
        o
    };
    let store = filled(&[colored("b", 1, Some("red")), colored("a", 2, Some("tan")), object("c", "c", 3)]);
    let found = |value| store.by_index("ns", value, |view| Some(view.name.to_owned())).join(" ");
    assert_eq!((found(3), found(4), found(0)), ("a b".to_owned(), String::new(), String::new()));
    assert!(store.by_index("elsewhere", 3, |view| Some(view.name.to_owned())).is_empty());
    store.applied(colored("a", 4, Some("blue")));
    own(&store, colored("c", 5, Some("gray")));
    assert_eq!((found(3).as_str(), found(4).as_str()), ("b", "a c"));
    // Without a value, seen deleted, deleted by us, missing in a list: found no more.
    store.applied(colored("a", 6, None));
    store.deleted(colored("c", 7, Some("gray")));
    assert_eq!((found(3).as_str(), found(4).as_str()), ("b", ""));
    own(&store, colored("d", 8, Some("red")));
    store.own_deleted("ns", "d", "d");
    assert_eq!(found(3), "b");
    store.list_begins();
    store.list_ends();
    assert_eq!((found(3).as_str(), store.bytes()), ("", 0), "and nothing is left of the index");
    own(&store, colored("b", 9, Some("red")));
    store.clear();
    assert_eq!(found(3), "");
}
