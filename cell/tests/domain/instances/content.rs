//! C5: an Instance whose hash is inconclusive is compared by its content.

use fedhub_cell::domain::instances::{Deployment, Likeness, TemplateSchema, build, template_hash};
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::support::*;

/// The form of the Go reference's hashes.
const GO: &str = "5c7f9b8d6";

/// A template as the Go reference's users write it.
fn said() -> Value {
    let mut template = template(1);
    template["spec"]["runtime"] = json!({
        "resources": {"instanceType": "datumcloud/d1-standard-2", "requests": {"cpu": "1000m", "memory": "2048Mi"}},
        "sandbox": {"containers": [{
            "name": "app", "image": "docker.io/library/nginx:1", "args": [], "env": [{"name": "EMPTY", "value": ""}],
        }]},
    });
    template
}

/// The Instance `web-0` that the WD makes of its template, bent.
fn made(wd: &Object, bend: impl FnOnce(&mut Object)) -> Object {
    let mut instance = build(&Deployment::from_object(wd), 0, None, []);
    bend(&mut instance);
    instance
}

fn hashed(instance: &mut Object, hash: &str) {
    instance.data["spec"]["controller"] = json!({"templateHash": hash});
}

/// `web-0` as the Go reference makes it: typed structs lose what is empty and write quantities in their own
/// way.
fn made_by_go(wd: &Object) -> Object {
    made(wd, |instance| {
        hashed(instance, GO);
        let spec = &mut instance.data["spec"];
        spec["location"] = json!({"name": "dfw-1"});
        spec["runtime"]["resources"]["requests"] = json!({"cpu": "1", "memory": "2Gi"});
        spec["runtime"]["sandbox"]["containers"] =
            json!([{"name": "app", "image": "docker.io/library/nginx:1", "env": [{"name": "EMPTY"}]}]);
        // Fields that the user left out, and the schema defaults.
        spec["networkInterfaces"][0]["name"] = json!("eth0");
        spec["networkInterfaces"][0]["ipFamilies"] = json!(["IPv6"]);
        // What others have added since.
        let annotations = instance.metadata.annotations.get_or_insert_default();
        annotations
            .insert("compute.datumapis.com/referenced-data-gate-start".to_owned(), "2026-01-01".to_owned());
        instance.metadata.labels.get_or_insert_default().insert("other.example/x".to_owned(), "y".to_owned());
    })
}

#[test]
fn c5_another_controllers_instance_of_equal_content_is_not_replaced() {
    let wd = wd(said());
    let deployment = Deployment::from_object(&wd);
    let instance = made_by_go(&wd);
    assert_eq!(deployment.likeness(&instance), Likeness::Equal);
    assert!(!deployment.outdates(&deployment.view(&instance)));
    // Nor one without any hash, nor one of this program's first form, with or without a location.
    for hash in
        [json!({}), Value::Null, json!({"templateHash": "339761732d3f1ed3"}), json!({"templateHash": ""})]
    {
        let mut instance = instance.clone();
        instance.data["spec"]["controller"] = hash.clone();
        instance.data["spec"].as_object_mut().unwrap().remove("location");
        assert_eq!(deployment.likeness(&instance), Likeness::Equal, "{hash}");
    }
}

type Bend = fn(&mut Object);

#[test]
fn c5_another_controllers_instance_of_other_content_is_replaced() {
    let wd = wd(said());
    let deployment = Deployment::from_object(&wd);
    let bends: [(&str, Bend); 7] = [
        ("image", |i| i.data["spec"]["runtime"]["sandbox"]["containers"][0]["image"] = json!("nginx:2")),
        ("quantity", |i| i.data["spec"]["runtime"]["resources"]["requests"]["cpu"] = json!("2")),
        ("one more", |i| i.data["spec"]["volumes"] = json!([{"name": "v"}])),
        ("family", |i| i.data["spec"]["networkInterfaces"][0]["ipFamilies"] = json!(["IPv4"])),
        ("restart", |i| _ = i.metadata.annotations.as_mut().unwrap().remove("release")),
        ("label", |i| _ = i.metadata.labels.as_mut().unwrap().insert("app".to_owned(), "b".to_owned())),
        ("no labels", |i| i.metadata.labels = None),
    ];
    for (what, bend) in bends {
        let mut instance = made_by_go(&wd);
        bend(&mut instance);
        assert_eq!(deployment.likeness(&instance), Likeness::Different, "{what}");
        assert!(deployment.outdates(&deployment.view(&instance)), "{what}");
    }
}

/// Only a hash of our own shows what was in a template and is there no more.
#[test]
fn c5_our_own_hash_of_this_version_tells_what_was_taken_away() {
    let before = said();
    let mut after = said();
    after["metadata"]["labels"] = json!({});
    let instance = made(&wd(before.clone()), |_| {});
    let now = wd(after);
    assert_eq!(Deployment::from_object(&now).likeness(&instance), Likeness::Different);
    let mut after = before.clone();
    after["spec"]["runtime"]["sandbox"]["containers"][0].as_object_mut().unwrap().remove("env");
    let now = wd(after);
    assert_eq!(
        Deployment::from_object(&now).likeness(&instance),
        Likeness::Different,
        "what is empty was said"
    );
    let mut after = before;
    after["spec"]["location"] = json!({"name": "elsewhere"});
    let now = wd(after);
    assert_eq!(Deployment::from_object(&now).likeness(&instance), Likeness::Extended);
}

#[test]
fn c5_what_a_newer_schema_may_have_added_is_in_doubt_until_it_is_known() {
    let before = wd(said());
    let instance = made(&before, |_| {});
    let mut template = said();
    template["spec"]["tier"] = json!("standard");
    let now = wd(template);
    assert_eq!(Deployment::from_object(&now).likeness(&instance), Likeness::Extended);
    let newer = TemplateSchema::from_template(
        json!({"properties": {"spec": {"properties": {"tier": {"default": "standard"}}}}}),
    );
    assert_eq!(Deployment::by(&now, &newer).likeness(&instance), Likeness::Hashed);
    // Where the server shows it on the Instance, too, the hash alone is another.
    let shown = made(&before, |i| i.data["spec"]["tier"] = json!("standard"));
    assert_eq!(Deployment::from_object(&now).likeness(&shown), Likeness::Equal);
    assert_eq!(Deployment::by(&now, &newer).likeness(&shown), Likeness::Hashed);
    // A default that changed stays as it was written: it is said then, by both.
    let changed = TemplateSchema::from_template(
        json!({"properties": {"spec": {"properties": {"tier": {"default": "premium"}}}}}),
    );
    let was = build(&Deployment::by(&now, &newer), 0, None, []);
    assert_eq!(Deployment::by(&now, &changed).likeness(&was), Likeness::Equal);
}

/// A hash of the template that the federator writes beside the generation would be made from the template
/// that the project plane shows. ADR 27 says why no cell relies on one.
#[test]
fn c5_a_hash_by_a_plane_with_another_schema_would_replace_what_nobody_changed() {
    let before = wd(said());
    let instance = made(&before, |_| {});
    let mut template = said();
    template["spec"]["tier"] = json!("standard");
    // The CRD of the project plane defaults one more field than this version knows: its hash is another, and
    // the next change of the scale would bring it.
    let built_in = TemplateSchema::built_in();
    assert_ne!(template_hash(&template, built_in), template_hash(&said(), built_in));
    // A cell that prunes the field sees the template that it had, also where a user has set it.
    assert_eq!(Deployment::from_object(&before).likeness(&instance), Likeness::Hashed);
    // The cell whose CRD has that default ignores it.
    let newer = TemplateSchema::from_template(
        json!({"properties": {"spec": {"properties": {"tier": {"default": "standard"}}}}}),
    );
    let now = wd(template);
    assert_eq!(Deployment::by(&now, &newer).likeness(&instance), Likeness::Hashed);
    assert_eq!(template_hash(&said(), built_in), Deployment::by(&now, &newer).template_hash);
}

#[test]
fn c5_a_hash_that_is_right_is_enough() {
    let wd = wd(said());
    let instance = made(&wd, |i| i.data["spec"]["runtime"] = json!({"edited": "by hand"}));
    assert_eq!(Deployment::from_object(&wd).likeness(&instance), Likeness::Hashed);
    assert_eq!(instance.name(), "web-0");
}

/// C3: what another WD made is not this one's to judge.
#[test]
fn c3_an_instance_of_another_owner_keeps_its_hash() {
    let wd = wd(said());
    let mut instance = made_by_go(&wd);
    instance.metadata.owner_references = None;
    assert_eq!(Deployment::from_object(&wd).view(&instance).template_hash, Some(GO));
}
