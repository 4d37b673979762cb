//! The script about many objects: how they are listed and watched, and what hangs together.

use serde_json::{Value, json};

use super::objects::{MAPS, SPACES, VERSION, WIDGETS, map, one, widget, with_meta};
use super::step::Step;

/// All of it, in its order.
pub(super) fn steps() -> Vec<Step> {
    [lists(), watches(), owners(), namespaces()].into_iter().flatten().collect()
}

#[allow(clippy::too_many_lines, reason = "a table of steps")]
fn lists() -> Vec<Step> {
    let mut steps: Vec<Step> = ["p1", "p2", "p3", "p4", "p5"]
        .into_iter()
        .zip(["odd", "even"].into_iter().cycle())
        .map(|(name, parity)| {
            let labelled = with_meta(widget(name, 1), "labels", json!({ "parity": parity }));
            Step::new("an object to list").post(WIDGETS, labelled).expect(201)
        })
        .collect();
    steps.extend([
        Step::new("the first page")
            .get(format!("{WIDGETS}?limit=2"))
            .expect(200)
            .is("/kind", "WidgetList")
            .length("/items", 2)
            .is("/items/0/metadata/name", "p1")
            .is("/items/0/kind", "Widget")
            .is("/metadata/remainingItemCount", 3)
            .save("page", "/metadata/continue")
            .save("list", VERSION),
        Step::new("an object created between pages").post(WIDGETS, widget("p33", 1)).expect(201),
        Step::new("an object deleted between pages").delete(one("p4"), Value::Null).expect(200),
        Step::new("the next page shows the same snapshot")
            .get(format!("{WIDGETS}?limit=2&continue={{page}}"))
            .expect(200)
            .length("/items", 2)
            .is("/items/0/metadata/name", "p3")
            .is("/items/1/metadata/name", "p4")
            .is("/metadata/remainingItemCount", 1)
            .is(VERSION, "{list}")
            .save("page", "/metadata/continue"),
        Step::new("the last page has no next")
            .get(format!("{WIDGETS}?limit=2&continue={{page}}"))
            .expect(200)
            .length("/items", 1)
            .is("/items/0/metadata/name", "p5")
            .is("/metadata/continue", "")
            .missing("/metadata/remainingItemCount"),
        Step::new("a list at an exact version")
            .get(format!("{WIDGETS}?limit=500&resourceVersion={{list}}&resourceVersionMatch=Exact"))
            .expect(200)
            .length("/items", 5)
            .is(VERSION, "{list}"),
        Step::new("a list by labels")
            .get(format!("{WIDGETS}?labelSelector=parity%3Deven"))
            .expect(200)
            .length("/items", 1)
            .is("/items/0/metadata/name", "p2"),
        Step::new("a list by their absence")
            .get(format!("{WIDGETS}?labelSelector=%21parity"))
            .expect(200)
            .length("/items", 1)
            .is("/items/0/metadata/name", "p33"),
        Step::new("a list by name")
            .get(format!("{WIDGETS}?fieldSelector=metadata.name%3Dp5"))
            .expect(200)
            .length("/items", 1),
        Step::new("an invalid selector")
            .get(format!("{WIDGETS}?labelSelector=a%20b"))
            .refused(400, "BadRequest"),
        Step::new("an invalid continue token")
            .get(format!("{WIDGETS}?continue=nonsense"))
            .refused(400, "BadRequest"),
        Step::new("a selection is deleted at once")
            .delete(format!("{WIDGETS}?labelSelector=parity%3Deven"), Value::Null)
            .expect(200),
        Step::new("and nothing else is").get(WIDGETS).expect(200).length("/items", 4),
        Step::new("items of built-in resources do not say their type")
            .get(MAPS)
            .expect(200)
            .there("/items/0/metadata/name")
            .missing("/items/0/kind"),
    ]);
    steps
}

fn watches() -> Vec<Step> {
    let from = |rest: &str| format!("{WIDGETS}?watch=true&resourceVersion={{now}}{rest}");
    vec![
        Step::new("where a watch begins").get(WIDGETS).expect(200).save("now", VERSION),
        Step::new("an object is created").post(WIDGETS, with_meta(widget("w", 1), "labels", json!({ "on": "1" }))).expect(201),
        Step::new("an object changes").merge(one("w"), json!({ "spec": { "size": 2 } })).expect(200),
        Step::new("an object leaves a selection").merge(one("w"), json!({ "metadata": { "labels": { "on": null } } })).expect(200),
        Step::new("an object is deleted").delete(one("w"), Value::Null).expect(200),
        Step::new("a watch delivers all of it in order")
            .get(from(""))
            .events(4)
            .expect(200)
            .is("/0/type", "ADDED")
            .is("/0/object/metadata/name", "w")
            .is("/0/object/spec/size", 1)
            .is("/1/type", "MODIFIED")
            .is("/1/object/spec/size", 2)
            .is("/2/type", "MODIFIED")
            .is("/3/type", "DELETED")
            .is("/3/object/metadata/name", "w")
            .save("gone", "/3/object/metadata/resourceVersion"),
        Step::new("a watch with a selector reports what leaves it")
            .get(from("&labelSelector=on%3D1"))
            .events(3)
            .is("/0/type", "ADDED")
            .is("/1/type", "MODIFIED")
            .is("/2/type", "DELETED")
            // The object as it was when it was still selected, at the version at which it left.
            .is("/2/object/metadata/labels/on", "1")
            .differs("/2/object/metadata/resourceVersion", "gone")
            .expect(200),
        Step::new("a watch from too long ago gets 410")
            .get(format!("{WIDGETS}?watch=true&resourceVersion=1"))
            .events(1)
            .expect(200)
            .is("/0/type", "ERROR")
            .is("/0/object/code", 410)
            .is("/0/object/reason", "Expired"),
        Step::new("a watch can begin with all objects, and marks the end of them")
            .get(format!(
                "{WIDGETS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
            ))
            .events(5)
            .expect(200)
            .is("/0/type", "ADDED")
            .is("/3/type", "ADDED")
            .is("/4/type", "BOOKMARK")
            .is("/4/object/kind", "Widget")
            .is("/4/object/metadata/annotations/k8s.io~1initial-events-end", "true")
            .there("/4/object/metadata/resourceVersion"),
        Step::new("which needs bookmarks")
            .get(format!("{WIDGETS}?watch=true&sendInitialEvents=true"))
            .expect(422)
            .is("/kind", "Status"),
    ]
}

fn owners() -> Vec<Step> {
    let owned = |name: &str, uid: &str| {
        let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid });
        with_meta(map(name), "ownerReferences", json!([owner]))
    };
    vec![
        Step::new("an owner").post(MAPS, map("owner")).expect(201).save("owner", "/metadata/uid"),
        Step::new("what it owns").post(MAPS, owned("owned", "{owner}")).expect(201),
        Step::new("an owner reference without a UID is rejected")
            .post(MAPS, owned("nobodys", ""))
            .refused(422, "Invalid"),
        Step::new("the owner is deleted")
            .delete(format!("{MAPS}/owner?propagationPolicy=Background"), Value::Null)
            .expect(200),
        Step::new("what it owned is deleted after it")
            .get(format!("{MAPS}/owned"))
            .eventually()
            .refused(404, "NotFound"),
        Step::new("an object whose owner is gone").post(MAPS, owned("orphan", "{owner}")).expect(201),
        Step::new("is deleted too").get(format!("{MAPS}/orphan")).eventually().refused(404, "NotFound"),
    ]
}

fn namespaces() -> Vec<Step> {
    let maps = "/api/v1/namespaces/{doomed}/configmaps";
    let held = with_meta(map("held"), "finalizers", json!(["fake.example.com/hold"]));
    vec![
        Step::new("a namespace to delete")
            .post(
                SPACES,
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{doomed}" } }),
            )
            .expect(201),
        Step::new("with an object that has a finalizer").post(maps, held).expect(201),
        Step::new("a deleted namespace is terminating")
            .delete(format!("{SPACES}/{{doomed}}"), Value::Null)
            .expect(200)
            .is("/status/phase", "Terminating")
            .there("/metadata/deletionTimestamp"),
        Step::new("accepts no new objects")
            .post(maps, map("late"))
            .refused(403, "Forbidden")
            .is("/details/causes/0/reason", "NamespaceTerminating"),
        Step::new("deletes its objects")
            .get(format!("{maps}/held"))
            .eventually()
            .expect(200)
            .there("/metadata/deletionTimestamp"),
        Step::new("the finalizers are removed")
            .merge(format!("{maps}/held"), json!({ "metadata": { "finalizers": null } }))
            .expect(200),
        Step::new("and the namespace is gone")
            .get(format!("{SPACES}/{{doomed}}"))
            .eventually()
            .refused(404, "NotFound"),
        Step::new("the namespace of this script is deleted too")
            .delete(format!("{SPACES}/{{ns}}"), Value::Null)
            .expect(200),
    ]
}
