//! Each classification by an example.

use fedhub_cell::domain::instances::{ORDERED_READY, ordinal};
use fedhub_core::names::INSTANCE_INDEX;
use fedhub_core::object::Object;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::support::*;

fn old(ordinal: u32) -> Held {
    Held::slot(ordinal).on(1)
}

fn new(ordinal: u32) -> Held {
    Held::slot(ordinal).on(2)
}

fn stray(name: &str) -> Held {
    Held::ours(name).on(2).ready()
}

fn step(desired: u32, held: &[Held]) -> String {
    planned(&wd(template(2)), desired, held, words)
}

#[test]
fn c1_a_name_says_its_ordinal_or_is_none_of_ours() {
    for (name, is) in [
        ("web-0", Some(0)),
        ("web-12", Some(12)),
        ("web-4294967295", Some(u32::MAX)),
        ("web-4294967296", None),
        ("web-01", None),
        ("web-+1", None),
        ("web--1", None),
        ("web-", None),
        ("web", None),
        ("web-a", None),
        ("web-1-0", None),
        ("web2-0", None),
        ("other-0", None),
    ] {
        assert_eq!(ordinal(WD, name), is, "{name}");
    }
}

#[test]
fn c1_c2_each_step_comes_in_its_turn() {
    let table: &[(&str, u32, &[Held], &str)] = &[
        ("nothing wanted, nothing there", 0, &[], "rest"),
        ("the first", 2, &[], "create 0"),
        ("waits for its predecessor", 2, &[new(0)], "NotReady web-0"),
        ("the second", 2, &[new(0).ready()], "create 1"),
        ("a gap before what comes after", 3, &[new(0).ready(), new(2)], "create 1"),
        ("an old but Ready predecessor will do", 2, &[old(0).ready()], "create 1"),
        ("all there", 2, &[new(0).ready(), new(1).ready()], "rest"),
        ("rolls from above", 3, &[old(0).ready(), old(1).ready(), old(2).ready()], "replace web-2"),
        ("goes down", 3, &[old(0).ready(), old(1).ready(), new(2).ready()], "replace web-1"),
        ("waits until it is gone", 2, &[old(0).ready(), old(1).ready().deleting()], "Deleting web-1"),
        ("waits until it is Ready", 2, &[old(0).ready(), new(1)], "NotReady web-1"),
        ("no hash is an old hash", 1, &[Held::slot(0).ready()], "replace web-0"),
        ("Ready does not count on its way out", 1, &[new(0).ready().deleting()], "Deleting web-0"),
        ("too many", 1, &[new(0).ready(), new(1).ready(), new(2).ready()], "delete web-2"),
        ("too many, one after the other", 1, &[new(0), new(1), new(2).deleting()], "Deleting web-2"),
        ("and the next when it is gone", 1, &[new(0), new(1)], "delete web-1"),
        ("to zero", 0, &[new(0).ready()], "delete web-0"),
        ("fewer before newer", 1, &[old(0).ready(), old(1).ready()], "delete web-1"),
        ("fewer before the missing", 2, &[new(1).ready(), new(2).ready()], "delete web-2"),
    ];
    for (what, desired, held, want) in table {
        assert_eq!(step(*desired, held), *want, "{what}");
    }
}

#[test]
fn c4_what_is_old_and_not_ready_blocks_nothing() {
    let table: &[(&str, u32, &[Held], &str)] = &[
        ("replaced by the newer template", 1, &[old(0)], "replace web-0"),
        (
            "also the last, after a bad template",
            3,
            &[new(0).ready(), new(1).ready(), old(2)],
            "replace web-2",
        ),
        ("before what is old but Ready", 3, &[old(0).ready(), old(1), old(2).ready()], "replace web-1"),
        ("the lowest first", 3, &[old(0), old(1), old(2)], "replace web-0"),
        ("before what is missing after it", 2, &[old(0)], "replace web-0"),
        ("but not while a new one is not Ready", 2, &[old(0), new(1)], "NotReady web-1"),
        ("nor while one is on its way out", 2, &[old(0), old(1).deleting()], "Deleting web-1"),
        ("scale-down past one that is not Ready", 1, &[new(0), new(1).ready()], "delete web-1"),
        ("scale-down of one that is not Ready", 1, &[new(0).ready(), new(1)], "delete web-1"),
        ("scale-down past an old one that is not Ready", 1, &[old(0), old(1)], "delete web-1"),
        ("scale-down past a taken name", 1, &[new(0).foreign(), new(1)], "delete web-1"),
    ];
    for (what, desired, held, want) in table {
        assert_eq!(step(*desired, held), *want, "{what}");
    }
}

#[test]
fn c2_while_one_is_on_its_way_out_no_other_is_asked_to_go_and_no_higher_one_is_made() {
    let held = |ordinal| old(ordinal).ready().deleting();
    let table: &[(&str, u32, &[Held], &str)] = &[
        ("down past it", 1, &[new(0).ready(), new(1).ready(), held(2)], "Deleting web-2"),
        ("down past one below", 2, &[new(0).ready(), held(1), new(2).ready()], "Deleting web-1"),
        ("the surplus before the wanted", 1, &[held(0), new(1), held(2)], "Deleting web-2"),
        ("up past it", 3, &[held(0), new(1).ready()], "Deleting web-0"),
        ("what is below it is made", 3, &[held(1)], "create 0"),
        ("what is below it becomes Ready", 3, &[new(0), held(1)], "NotReady web-0"),
        ("up after too many", 2, &[new(0).ready(), held(5)], "create 1"),
        ("but not while more are to go", 2, &[new(0).ready(), new(4), held(5)], "Deleting web-5"),
        ("up to its own ordinal", 2, &[new(0).ready(), held(1)], "Deleting web-1"),
        ("a rollout waits", 3, &[old(0).ready(), held(1), old(2).ready()], "Deleting web-1"),
        ("also of what is not Ready", 3, &[old(0), held(1), old(2).ready()], "Deleting web-1"),
        ("also for one too many", 1, &[old(0).ready(), held(1)], "Deleting web-1"),
        ("one too many holds up no mending (C4)", 1, &[old(0), held(1)], "replace web-0"),
        ("the end is said", 1, &[new(0).ready(), held(1)], "Deleting web-1"),
        ("also of nothing", 0, &[held(0), held(1)], "Deleting web-0"),
    ];
    for (what, desired, held, want) in table {
        assert_eq!(step(*desired, held), *want, "{what}");
    }
}

#[test]
fn c3_strays_go_and_what_is_foreign_stays() {
    let ownerless = Held { owner: None, ..new(0).ready() };
    let elsewhere = Held { name: "other-0".to_owned(), ..new(0).foreign() };
    let twin = Held { uid: "uid-of-twin".to_owned(), ..new(0) };
    let table: &[(&str, u32, &[Held], &str)] = &[
        ("a stray", 1, &[new(0).ready(), stray("web-x")], "delete web-x"),
        ("all at once, first of all", 1, &[stray("web-x"), stray("web-01"), new(1)], "delete web-x web-01"),
        ("not waited for", 1, &[stray("web-x").deleting()], "create 0"),
        ("a stray that is foreign", 1, &[new(0).ready(), stray("web-x").foreign()], "rest"),
        ("another name", 1, &[new(0).ready(), elsewhere], "rest"),
        ("a name taken", 1, &[new(0).ready().foreign()], "NameTaken web-0"),
        ("taken by an Instance without an owner", 1, &[ownerless], "NameTaken web-0"),
        ("taken, on its way out", 1, &[new(0).foreign().deleting()], "NameTaken web-0"),
        ("taken after what is missing", 2, &[new(1).foreign()], "create 0"),
        ("taken, and not wanted", 1, &[new(0).ready(), new(1).foreign()], "rest"),
        ("the second of an ordinal goes", 1, &[new(0).ready(), twin.clone()], "delete web-0"),
    ];
    for (what, desired, held, want) in table {
        assert_eq!(step(*desired, held), *want, "{what}");
    }
    // Whichever comes first in the list, the better one stays.
    for held in [[new(0).ready(), twin.clone()], [twin.clone(), new(0).ready()]] {
        planned(&wd(template(2)), 1, &held, |plan| {
            let fedhub_cell::domain::instances::InstanceStep::Delete(them) = &plan.step else {
                panic!("{plan:?}")
            };
            assert_eq!(them.iter().map(|i| i.uid).collect::<Vec<_>>(), ["uid-of-twin"]);
        });
    }
}

#[test]
fn a_deployment_that_is_being_deleted_lets_all_go_at_once() {
    let mut dying: Object = wd(template(2));
    dying.metadata.deletion_timestamp = Some(Time(now()));
    let held = [new(0).ready(), old(1), new(2).deleting(), stray("web-x"), new(3).foreign()];
    assert_eq!(planned(&dying, 3, &held, words), "delete web-0 web-1 web-x");
    assert!(planned(&dying, 3, &held, |plan| plan.labels.is_empty()));
    assert_eq!(planned(&dying, 3, &[new(1).deleting(), new(3).foreign()], words), "Deleting web-1");
    assert_eq!(planned(&dying, 3, &[stray("web-x").deleting()], words), "Deleting web-x");
    assert_eq!(planned(&dying, 3, &[new(3).foreign()], words), "rest");
    // Neither a policy nor a template is needed for that.
    dying.data = json!({});
    assert_eq!(planned(&dying, 3, &held, words), "delete web-0 web-1 web-x");
}

#[test]
fn a_policy_that_is_not_known_and_a_template_that_is_not_there_leave_all_but_labels() {
    let bare = Held { labels: [].into(), ..old(0) };
    let held = [bare, new(5), stray("web-x")];
    for (policy, says) in [
        (json!("Parallel"), "UnknownPolicy"),
        (json!(""), "UnknownPolicy"),
        (json!(ORDERED_READY), "delete web-x"),
        (Value::Null, "delete web-x"),
    ] {
        let mut wd = wd(template(2));
        wd.data["spec"]["scaleSettings"]["instanceManagementPolicy"] = policy;
        assert_eq!(planned(&wd, 1, &held, words), says);
        assert_eq!(planned(&wd, 1, &held, |plan| plan.labels.len()), 1);
    }
    for spec in [Value::Null, json!({}), json!({"template": {"metadata": {}}})] {
        let mut wd = wd(template(2));
        wd.data["spec"] = spec;
        assert_eq!(planned(&wd, 0, &held, words), "NoTemplate");
    }
}

#[test]
fn labels_are_put_right_on_what_lives_whatever_the_step_is() {
    let edited = |held: Held, key: &str, value: &str| {
        let mut held = held;
        held.labels.insert(key.to_owned(), value.to_owned());
        held
    };
    let mut held = [
        edited(new(0), INSTANCE_INDEX, "7"),
        edited(new(1), "mine", "1"),
        edited(new(2).foreign(), INSTANCE_INDEX, "7"),
        Held { labels: [("mine".to_owned(), "1".to_owned())].into(), ..old(3) },
        edited(old(4), "mine", "1"),
        edited(new(5), INSTANCE_INDEX, "7"),
    ];
    planned(&wd(template(2)), 5, &held, |plan| {
        assert_eq!(words(plan), "delete web-5", "what is deleted in this pass is not patched");
        let patched: Vec<_> = plan.labels.iter().map(|p| (p.instance.name, p.set.len())).collect();
        assert_eq!(patched, [("web-0", 1), ("web-3", 8)]);
        // C1: a label edited by hand is restored, and costs no Instance.
        assert_eq!(plan.labels[0].set[INSTANCE_INDEX], "0");
    });
    held[1] = edited(new(1).deleting(), INSTANCE_INDEX, "7");
    planned(&wd(template(2)), 5, &held, |plan| {
        assert_eq!(words(plan), "Deleting web-1", "nor is what is being deleted");
        let patched: Vec<_> = plan.labels.iter().map(|p| p.instance.name).collect();
        assert_eq!(patched, ["web-0", "web-3", "web-5"]);
    });
}

#[test]
fn c9_a_wait_is_said_in_words() {
    use fedhub_cell::domain::instances::InstanceWait;
    let held = new(1);
    let other = new(1).foreign();
    for (wait, has) in [
        (InstanceWait::Deleting(held.view()), "web-1 to be deleted"),
        (InstanceWait::NotReady(held.view()), "web-1 to become Ready"),
        (InstanceWait::NameTaken(other.view()), "web-1 exists and does not belong to this deployment"),
        (InstanceWait::UnknownPolicy("Parallel"), "\"Parallel\" is not supported"),
        (InstanceWait::NoTemplate, "no instance template"),
    ] {
        assert!(wait.to_string().contains(has), "{wait}");
    }
}
