//! The script: what each answer is on a real kube-apiserver.

use serde_json::{Value, json};

use super::step::Step;

pub(super) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(super) const WIDGETS_EVERYWHERE: &str = "/apis/sim.example.com/v1/widgets";
const WIDGETS: &str = "/apis/sim.example.com/v1/namespaces/{ns}/widgets";
const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const SPACES: &str = "/api/v1/namespaces";
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const VERSION: &str = "/metadata/resourceVersion";

/// All steps, in their order.
pub(super) fn steps() -> Vec<Step> {
    let parts =
        [discovery, creates, replaces, patches, statuses, deletes, lists, watches, owners, namespaces];
    parts.into_iter().flat_map(|part| part()).collect()
}

fn widget(name: &str, size: u32) -> Value {
    json!({
        "apiVersion": "sim.example.com/v1", "kind": "Widget", "metadata": { "name": name }, "spec": { "size": size },
    })
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "k": "v" } })
}

fn with_meta(mut object: Value, field: &str, value: Value) -> Value {
    object["metadata"][field] = value;
    object
}

fn one(name: &str) -> String {
    format!("{WIDGETS}/{name}")
}

fn discovery() -> Vec<Step> {
    vec![
        Step::new("discovery names the resource and its subresource")
            .get("/apis/sim.example.com/v1")
            .expect(200)
            .is("/kind", "APIResourceList")
            .is("/groupVersion", "sim.example.com/v1")
            .is("/resources/0/name", "widgets")
            .is("/resources/0/kind", "Widget")
            .is("/resources/0/namespaced", true)
            .is("/resources/1/name", "widgets/status"),
        Step::new("discovery names the group")
            .get("/apis/sim.example.com")
            .expect(200)
            .is("/kind", "APIGroup"),
        Step::new("a path that nobody serves is not found")
            .get("/apis/nobody.example.com/v1/things")
            .expect(404),
        Step::new("a namespace is made")
            .post(SPACES, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{ns}" } }))
            .expect(201)
            .is("/status/phase", "Active")
            .is("/spec/finalizers/0", "kubernetes")
            .is("/metadata/labels/kubernetes.io~1metadata.name", "{ns}"),
        Step::new("a namespace is made once")
            .post(SPACES, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{ns}" } }))
            .refused(409, "AlreadyExists"),
    ]
}

fn creates() -> Vec<Step> {
    let mut rich = widget("a", 1);
    (rich["spec"]["unknown"], rich["status"]) = (json!(1), json!({ "ready": 1 }));
    vec![
        Step::new("a create defaults, prunes, and drops the status")
            .post(WIDGETS, rich)
            .expect(201)
            .is("/metadata/generation", 1)
            .is("/metadata/namespace", "{ns}")
            .is("/spec", json!({ "color": "blue", "size": 1 }))
            .missing("/status")
            .there("/metadata/uid")
            .there("/metadata/creationTimestamp")
            .save("uid", "/metadata/uid")
            .save("first", VERSION),
        Step::new("a name is given once").post(WIDGETS, widget("a", 1)).refused(409, "AlreadyExists"),
        Step::new("a dry run of a create answers as the create")
            .post(format!("{WIDGETS}?dryRun=All"), widget("dry", 1))
            .expect(201)
            .is("/spec/color", "blue"),
        Step::new("a dry run stores nothing").get(one("dry")).refused(404, "NotFound"),
        Step::new("a create does not take a resourceVersion")
            .post(WIDGETS, with_meta(widget("b", 1), "resourceVersion", json!("1")))
            .expect(500),
        Step::new("a create into a namespace that is not there")
            .post("/apis/sim.example.com/v1/namespaces/{ns}-missing/widgets", widget("b", 1))
            .refused(404, "NotFound"),
        Step::new("a create of another kind").post(WIDGETS, map("b")).refused(400, "BadRequest"),
        Step::new("a name that is none").post(WIDGETS, widget("B_", 1)).refused(422, "Invalid"),
        Step::new("a label that is none")
            .post(WIDGETS, with_meta(widget("b", 1), "labels", json!({ "k": "a b" })))
            .refused(422, "Invalid"),
        Step::new("a generated name")
            .post(format!("{WIDGETS}?dryRun=All"), json!({
                "apiVersion": "sim.example.com/v1", "kind": "Widget", "metadata": { "generateName": "gen-" },
            }))
            .expect(201)
            .there("/metadata/name"),
        Step::new("metadata only").get(one("a")).accept(METADATA_ONLY).expect(200).is("/kind", "PartialObjectMetadata").missing("/spec"),
        Step::new("what is read is what was answered").get(one("a")).expect(200).is(VERSION, "{first}").is("/metadata/uid", "{uid}"),
    ]
}

fn replaces() -> Vec<Step> {
    let at = |version: &str, size| with_meta(widget("a", size), "resourceVersion", json!(version));
    vec![
        Step::new("a replace of a custom resource needs a resourceVersion")
            .put(one("a"), widget("a", 2))
            .refused(422, "Invalid"),
        Step::new("a replace of an old version").put(one("a"), at("1", 2)).refused(409, "Conflict"),
        Step::new("a replace of another object")
            .put(one("a"), with_meta(at("{first}", 2), "uid", json!("00000000-0000-4000-8000-000000000000")))
            .refused(409, "Conflict"),
        Step::new("a replace under another name")
            .put(one("other"), at("{first}", 2))
            .refused(400, "BadRequest"),
        Step::new("a replace of nothing")
            .put(one("c"), with_meta(widget("c", 1), "resourceVersion", json!("1")))
            .refused(404, "NotFound"),
        Step::new("a replace counts the generation")
            .put(one("a"), at("{first}", 2))
            .expect(200)
            .is("/metadata/generation", 2)
            .is("/spec/color", "blue")
            .differs(VERSION, "first")
            .save("second", VERSION),
        Step::new("a replace by the same writes nothing")
            .put(one("a"), at("{second}", 2))
            .expect(200)
            .is(VERSION, "{second}"),
        Step::new("a dry run of a replace")
            .put(format!("{}?dryRun=All", one("a")), at("{second}", 5))
            .expect(200)
            .is("/spec/size", 5)
            .is("/metadata/generation", 3),
        Step::new("a built-in resource").post(MAPS, map("m")).expect(201).missing("/metadata/generation"),
        Step::new("a replace of a built-in resource needs no resourceVersion")
            .put(format!("{MAPS}/m"), map("m"))
            .expect(200),
    ]
}

fn patches() -> Vec<Step> {
    let json_patch = "application/json-patch+json";
    vec![
        Step::new("a merge patch").merge(one("a"), json!({ "spec": { "size": 3 } })).expect(200).is("/metadata/generation", 3),
        Step::new("a merge patch that takes a defaulted field away")
            .merge(one("a"), json!({ "spec": { "color": null } }))
            .expect(200)
            .is("/spec/color", "blue")
            .is("/metadata/generation", 3),
        Step::new("metadata is no new generation")
            .merge(one("a"), json!({ "metadata": { "annotations": { "x": "y" }, "labels": { "l": "1" } } }))
            .expect(200)
            .is("/metadata/generation", 3)
            .is("/metadata/annotations", json!({ "x": "y" }))
            .save("third", VERSION),
        Step::new("a merge patch with an old resourceVersion")
            .merge(one("a"), json!({ "metadata": { "resourceVersion": "{second}" }, "spec": { "size": 4 } }))
            .refused(409, "Conflict"),
        Step::new("a merge patch with the right one")
            .merge(one("a"), json!({ "metadata": { "resourceVersion": "{third}", "annotations": { "x": null } } }))
            .expect(200)
            .missing("/metadata/annotations")
            .differs(VERSION, "third"),
        Step::new("a merge patch of nothing").merge(one("c"), json!({ "spec": { "size": 4 } })).refused(404, "NotFound"),
        Step::new("a JSON patch whose test holds")
            .patch(one("a"), json_patch, json!([
                { "op": "test", "path": "/spec/size", "value": 3 }, { "op": "replace", "path": "/spec/size", "value": 4 },
            ]))
            .expect(200)
            .is("/spec/size", 4),
        Step::new("a JSON patch whose test does not hold")
            .patch(one("a"), json_patch, json!([{ "op": "test", "path": "/spec/size", "value": 3 }]))
            .refused(422, "Invalid"),
        Step::new("a patch in a format that is not served").patch(one("a"), "text/plain", json!({})).refused(415, "UnsupportedMediaType"),
        Step::new("a UID cannot be patched")
            .merge(one("a"), json!({ "metadata": { "uid": "00000000-0000-4000-8000-000000000000" } }))
            .expect(422)
            .or(409),
    ]
}

fn statuses() -> Vec<Step> {
    let status = format!("{}/status", one("a"));
    vec![
        Step::new("a status is written to its subresource, and nothing else is")
            .merge(status.clone(), json!({ "spec": { "size": 9 }, "status": { "ready": 1, "unknown": 1 } }))
            .expect(200)
            .is("/status", json!({ "ready": 1 }))
            .is("/spec/size", 4)
            .is("/metadata/generation", 4)
            .save("fourth", VERSION),
        Step::new("the same status again writes nothing")
            .merge(status.clone(), json!({ "status": { "ready": 1 } }))
            .expect(200)
            .is(VERSION, "{fourth}"),
        Step::new("a status is not written elsewhere")
            .merge(one("a"), json!({ "status": { "ready": 7 } }))
            .expect(200)
            .is("/status/ready", 1)
            .is(VERSION, "{fourth}"),
        Step::new("a status is read at its subresource too").get(status).expect(200).is("/status/ready", 1),
    ]
}

fn deletes() -> Vec<Step> {
    let only = |field: &str, value: &str| json!({ "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": { field: value } });
    let held = json!({ "metadata": { "finalizers": ["sim.example.com/hold"] } });
    vec![
        Step::new("a delete of another object")
            .delete(one("a"), only("uid", "00000000-0000-4000-8000-000000000000"))
            .refused(409, "Conflict"),
        Step::new("a delete of an old version")
            .delete(one("a"), only("resourceVersion", "{first}"))
            .refused(409, "Conflict"),
        Step::new("a dry run of a delete")
            .delete(format!("{}?dryRun=All", one("a")), Value::Null)
            .expect(200),
        Step::new("it deleted nothing")
            .merge(one("a"), held)
            .expect(200)
            .missing("/metadata/deletionTimestamp"),
        Step::new("a finalizer holds what is deleted")
            .delete(one("a"), only("uid", "{uid}"))
            .expect(200)
            .is("/kind", "Widget")
            .there("/metadata/deletionTimestamp")
            .is("/metadata/generation", 5)
            .save("marked", VERSION),
        Step::new("it is marked once").delete(one("a"), Value::Null).expect(200).is(VERSION, "{marked}"),
        Step::new("no finalizer joins then")
            .merge(
                one("a"),
                json!({ "metadata": { "finalizers": ["sim.example.com/hold", "sim.example.com/late"] } }),
            )
            .refused(422, "Invalid"),
        Step::new("the last finalizer lets it go")
            .merge(one("a"), json!({ "metadata": { "finalizers": null } }))
            .expect(200),
        Step::new("then it is gone").get(one("a")).refused(404, "NotFound"),
        Step::new("a delete of nothing").delete(one("a"), Value::Null).refused(404, "NotFound"),
        Step::new("one without finalizers")
            .post(WIDGETS, widget("free", 1))
            .expect(201)
            .save("free", "/metadata/uid"),
        Step::new("goes at once")
            .delete(one("free"), Value::Null)
            .expect(200)
            .is("/kind", "Status")
            .is("/status", "Success")
            .is("/details/uid", "{free}"),
    ]
}

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
            .missing("/metadata/continue")
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
            .missing("/2/object/metadata/labels/on")
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
            .events(6)
            .expect(200)
            .is("/0/type", "ADDED")
            .is("/4/type", "ADDED")
            .is("/5/type", "BOOKMARK")
            .is("/5/object/kind", "Widget")
            .is("/5/object/metadata/annotations/k8s.io~1initial-events-end", "true")
            .there("/5/object/metadata/resourceVersion"),
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
    let held = with_meta(map("held"), "finalizers", json!(["sim.example.com/hold"]));
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
