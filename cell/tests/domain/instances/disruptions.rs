//! V5: what would be lost by a new template, and whether that is consented to.

use fedhub_cell::domain::instances::{Deployment, Replacement, build, is_rebuilding};
use fedhub_core::names::FORMER_TEMPLATE_HASH;
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::support::*;

fn disk(name: &str, image: Option<&str>) -> Value {
    let populator = image.map_or(Value::Null, |image| json!({"image": {"name": image}}));
    json!({"name": name, "disk": {"template": {"spec": {"populator": populator}}}})
}

/// A machine that boots from that image, with a disk for data besides.
fn machine(image: &str) -> Value {
    let mut template = template(1);
    template["spec"]["runtime"]["virtualMachine"] =
        json!({"volumeAttachments": [{"name": "boot"}, {"name": "data"}]});
    template["spec"]["volumes"] = json!([disk("data", None), disk("boot", Some(image))]);
    template
}

fn container(image: &str) -> Value {
    let mut template = template(1);
    template["spec"]["runtime"]["sandbox"] = json!({"containers": [{"name": "app", "image": image}]});
    template
}

fn but(mut template: Value, bend: impl FnOnce(&mut Value)) -> Value {
    bend(&mut template);
    template
}

fn that(disruption: &str, template: Value) -> Value {
    but(template, |template| template["spec"]["disruption"] = json!(disruption))
}

/// `web-0` as its cell makes it of a template.
fn made(template: &Value) -> Object {
    build(&Deployment::from_object(&wd(template.clone())), 0, None, [])
}

/// `web-0`, which its provider has run.
fn running(template: &Value) -> Object {
    let mut instance = made(template);
    let hash = instance.spec()["controller"]["templateHash"].clone();
    instance.data["status"] = json!({"controller": {"observedTemplateHash": hash}});
    instance
}

#[test]
fn v5_a_change_of_disruption_alone_is_no_other_template() {
    for template in [machine("ubuntu"), container("nginx:1")] {
        let hash = |template: Value| Deployment::from_object(&wd(template)).template_hash;
        let plain = hash(template.clone());
        assert_eq!(hash(that("Allow", template.clone())), plain);
        assert_eq!(hash(that("Deny", template)), plain);
    }
}

#[test]
fn v5_what_destroys_disks_takes_consent() {
    use Replacement::{Denied, Rebuild, Recreate};
    let larger =
        |template| but(template, |t| t["spec"]["runtime"]["resources"]["instanceType"] = json!("big"));
    let marked = |template| but(template, |t| t["metadata"]["annotations"]["at"] = json!("now"));
    let data = |template: Value| but(template, |t| t["spec"]["volumes"][0] = disk("data", Some("seed")));
    let bare = |template: Value| but(template, |t| t["spec"]["volumes"] = Value::Null);
    let table = [
        ("a machine without a word", machine("a"), machine("b"), Denied, Denied),
        ("that denies it", machine("a"), that("Deny", machine("b")), Denied, Denied),
        ("that allows it", machine("a"), that("Allow", machine("b")), Rebuild, Recreate),
        ("of another size", machine("a"), that("Allow", larger(machine("a"))), Recreate, Recreate),
        ("and another image", machine("a"), that("Allow", larger(machine("b"))), Recreate, Recreate),
        ("that is restarted", machine("a"), marked(machine("a")), Denied, Denied),
        ("which is allowed", machine("a"), that("Allow", marked(machine("a"))), Recreate, Recreate),
        ("with another image for data", machine("a"), that("Allow", data(machine("a"))), Recreate, Recreate),
        ("that allowed it before alone", that("Allow", machine("a")), machine("b"), Denied, Denied),
        ("whose new template has no disks", machine("a"), bare(machine("a")), Denied, Denied),
        ("one without disks before", bare(machine("a")), machine("a"), Recreate, Recreate),
        ("a container", container("a"), container("b"), Recreate, Recreate),
        ("a container that allows it", container("a"), that("Allow", container("b")), Recreate, Recreate),
        ("a container that denies it", container("a"), that("Deny", container("b")), Denied, Denied),
    ];
    for (what, old, new, able, unable) in table {
        let wd = wd(new);
        let deployment = Deployment::from_object(&wd);
        let instance = running(&old);
        assert_eq!(deployment.replacement(&instance, true), able, "{what}, with a provider that rebuilds");
        assert_eq!(deployment.replacement(&instance, false), unable, "{what}, without");
    }
}

#[test]
fn v5_what_never_ran_has_nothing_to_lose() {
    let wd = wd(machine("b"));
    let deployment = Deployment::from_object(&wd);
    let with = |status: Value| {
        let mut instance = made(&machine("a"));
        instance.data["status"] = status;
        deployment.replacement(&instance, true)
    };
    let programmed = |status: &str| json!({"conditions": [{"type": "Programmed", "status": status}]});
    assert_eq!(with(Value::Null), Replacement::Recreate);
    assert_eq!(with(programmed("False")), Replacement::Recreate, "its image is wrong");
    for ran in [
        programmed("True"),
        json!({"provider": {"name": "a", "serverId": "1"}}),
        json!({"controller": {"observedTemplateHash": "v2-a"}}),
    ] {
        assert_eq!(with(ran.clone()), Replacement::Denied, "{ran}");
    }
}

#[test]
fn v5_what_is_lost_is_named() {
    let lost = |old: Value, new: Value, rebuilds| {
        let wd = wd(new);
        let instance = running(&old);
        let disks = Deployment::from_object(&wd).lost(&instance, rebuilds);
        disks.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lost(machine("a"), machine("b"), false), ["data", "boot"]);
    assert_eq!(lost(machine("a"), machine("b"), true), ["boot"], "the other disks stay");
    assert!(lost(container("a"), container("b"), true).is_empty());
}

#[test]
fn v5_a_rebuild_changes_the_image_and_the_hash_alone() {
    let wd = wd(that("Allow", machine("b")));
    let deployment = Deployment::from_object(&wd);
    let mut instance = running(&machine("a"));
    let mut patch = Value::Null;
    deployment.rebuild(&instance, &mut patch);
    let volumes = &wd.spec()["template"]["spec"]["volumes"];
    let hash = &deployment.template_hash;
    assert_eq!(patch, json!({"spec": {"volumes": volumes, "controller": {"templateHash": hash}}}));
    assert!(!is_rebuilding(&instance));
    instance.data["spec"]["controller"]["templateHash"] = json!(hash);
    assert!(is_rebuilding(&instance), "its provider has observed the earlier template");
}

/// What was another name for one template must not be one for two.
#[test]
fn v5_c5_a_rebuild_ends_the_former_name_of_a_template() {
    let wd = wd(that("Allow", machine("b")));
    let mut instance = running(&machine("a"));
    let observed = instance.status()["controller"]["observedTemplateHash"].as_str().unwrap().to_owned();
    instance.metadata.annotations = Some([(FORMER_TEMPLATE_HASH.to_owned(), observed)].into());
    let mut patch = Value::Null;
    Deployment::from_object(&wd).rebuild(&instance, &mut patch);
    assert!(patch["metadata"]["annotations"].as_object().unwrap()[FORMER_TEMPLATE_HASH].is_null());
    instance.data["spec"]["controller"]["templateHash"] = json!("other");
    assert!(!is_rebuilding(&instance), "C5: its provider has nothing to do for another name");
}

/// The case, how many are wanted, the Instances; the step, and which are denied.
type Kept<'a> = (&'a str, u32, &'a [Held], &'a str, &'a [&'a str]);

#[test]
fn v5_what_is_denied_stays_and_holds_up_nothing_else() {
    let old = |ordinal| Held::slot(ordinal).on(1);
    let new = |ordinal| Held::slot(ordinal).on(2);
    let table: &[Kept] = &[
        ("kept", 2, &[old(0).ready().denied(), old(1).ready().denied()], "rest", &["web-0", "web-1"]),
        ("beside what may go", 2, &[old(0).ready().denied(), old(1).ready()], "replace web-1", &["web-0"]),
        ("kept if not Ready", 1, &[old(0).denied()], "NotReady web-0", &["web-0"]),
        ("the others grow", 2, &[old(0).ready().denied()], "create 1", &["web-0"]),
        ("one by one", 3, &[old(0).ready().denied(), new(1)], "NotReady web-1", &["web-0"]),
        ("and shrink", 1, &[old(0).ready(), old(1).ready().denied()], "delete web-1", &[]),
        ("current ones never are", 1, &[new(0).ready().denied()], "rest", &[]),
        ("leaving ones never are", 1, &[old(0).denied().deleting()], "Deleting web-0", &[]),
    ];
    for (what, desired, held, step, denied) in table {
        planned(&wd(template(2)), *desired, held, |plan| {
            assert_eq!(words(plan), *step, "{what}");
            assert_eq!(plan.denied.iter().map(|i| i.name).collect::<Vec<_>>(), *denied, "{what}");
        });
    }
}

#[test]
fn v5_c2_nothing_is_added_for_what_is_denied() {
    let mut wd = wd(template(2));
    wd.data["spec"]["scaleSettings"]["rollingUpdate"] = json!({"maxUnavailable": 0, "maxSurge": 1});
    let denied = [0, 1].map(|ordinal| Held::slot(ordinal).on(1).ready().denied());
    assert_eq!(planned(&wd, 2, &denied, words), "rest");
    let added = [&denied[..], &[Held::slot(2).on(2).ready()]].concat();
    assert_eq!(planned(&wd, 2, &added, words), "delete web-2", "one that was added before");
}
