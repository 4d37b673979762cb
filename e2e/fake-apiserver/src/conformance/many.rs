//! The script about many objects: how they are listed and watched, and what hangs together.

use serde_json::{Value, json};

use super::script::{MAPS, SPACES, VERSION, WIDGETS, map, one, widget, with_meta};
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
        Step::new("an object that comes between pages").post(WIDGETS, widget("p33", 1)).expect(201),
        Step::new("an object that goes between pages").delete(one("p4"), Value::Null).expect(200),
        Step::new("the next page shows the same moment")
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
        Step::new("a selector that is none")
            .get(format!("{WIDGETS}?labelSelector=a%20b"))
            .refused(400, "BadRequest"),
        Step::new("a token that is none")
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
        Step::new("something comes").post(WIDGETS, with_meta(widget("w", 1), "labels", json!({ "on": "1" }))).expect(201),
        Step::new("something changes").merge(one("w"), json!({ "spec": { "size": 2 } })).expect(200),
        Step::new("something leaves a selection").merge(one("w"), json!({ "metadata": { "labels": { "on": null } } })).expect(200),
        Step::new("something goes").delete(one("w"), Value::Null).expect(200),
        Step::new("a watch tells all of it in order")
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
        Step::new("a watch of a selection tells of what leaves it")
            .get(from("&labelSelector=on%3D1"))
            .events(3)
            .is("/0/type", "ADDED")
            .is("/1/type", "MODIFIED")
            .is("/2/type", "DELETED")
            // The object as it was when it was still selected, at the version at which it left.
            .is("/2/object/metadata/labels/on", "1")
            .differs("/2/object/metadata/resourceVersion", "gone")
            .expect(200),
        Step::new("a watch from too long ago is told so")
            .get(format!("{WIDGETS}?watch=true&resourceVersion=1"))
            .events(1)
            .expect(200)
            .is("/0/type", "ERROR")
            .is("/0/object/code", 410)
            .is("/0/object/reason", "Expired"),
        Step::new("a watch can begin with all there is, and says when it was all")
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
        Step::new("an owner reference without a UID is none")
            .post(MAPS, owned("nobodys", ""))
            .refused(422, "Invalid"),
        Step::new("the owner goes")
            .delete(format!("{MAPS}/owner?propagationPolicy=Background"), Value::Null)
            .expect(200),
        Step::new("what it owned goes after it")
            .get(format!("{MAPS}/owned"))
            .eventually()
            .refused(404, "NotFound"),
        Step::new("what a dead one owns").post(MAPS, owned("orphan", "{owner}")).expect(201),
        Step::new("goes too").get(format!("{MAPS}/orphan")).eventually().refused(404, "NotFound"),
    ]
}

fn namespaces() -> Vec<Step> {
    let maps = "/api/v1/namespaces/{doomed}/configmaps";
    let held = with_meta(map("held"), "finalizers", json!(["fake.example.com/hold"]));
    vec![
        Step::new("a namespace that is to go")
            .post(
                SPACES,
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{doomed}" } }),
            )
            .expect(201),
        Step::new("with something held in it").post(maps, held).expect(201),
        Step::new("a deleted namespace is terminating")
            .delete(format!("{SPACES}/{{doomed}}"), Value::Null)
            .expect(200)
            .is("/status/phase", "Terminating")
            .there("/metadata/deletionTimestamp"),
        Step::new("takes nothing new")
            .post(maps, map("late"))
            .refused(403, "Forbidden")
            .is("/details/causes/0/reason", "NamespaceTerminating"),
        Step::new("deletes what is in it")
            .get(format!("{maps}/held"))
            .eventually()
            .expect(200)
            .there("/metadata/deletionTimestamp"),
        Step::new("what was held is let go")
            .merge(format!("{maps}/held"), json!({ "metadata": { "finalizers": null } }))
            .expect(200),
        Step::new("and the namespace is gone")
            .get(format!("{SPACES}/{{doomed}}"))
            .eventually()
            .refused(404, "NotFound"),
        Step::new("the namespace of this script goes too")
            .delete(format!("{SPACES}/{{ns}}"), Value::Null)
            .expect(200),
    ]
}
