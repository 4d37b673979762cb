//! The script about one object: how it is made, changed and deleted.

use serde_json::{Value, json};

use super::objects::{MAPS, METADATA_ONLY, VERSION, WIDGETS, map, one, widget, with_meta};
use super::step::Step;

/// All of it, in its order.
pub(super) fn steps() -> Vec<Step> {
    [creates(), replaces(), patches(), statuses(), deletes()].into_iter().flatten().collect()
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
        Step::new("a name can be used once").post(WIDGETS, widget("a", 1)).refused(409, "AlreadyExists"),
        Step::new("a dry run of a create answers as the create")
            .post(format!("{WIDGETS}?dryRun=All"), widget("dry", 1))
            .expect(201)
            .is("/spec/color", "blue"),
        Step::new("a dry run stores nothing").get(one("dry")).refused(404, "NotFound"),
        Step::new("a create does not take a resourceVersion")
            .post(WIDGETS, with_meta(widget("b", 1), "resourceVersion", json!("1")))
            .expect(500),
        Step::new("a create into a missing namespace")
            .post("/apis/fake.example.com/v1/namespaces/{ns}-missing/widgets", widget("b", 1))
            .refused(404, "NotFound"),
        Step::new("a create of another kind").post(WIDGETS, map("b")).refused(400, "BadRequest"),
        Step::new("an invalid name").post(WIDGETS, widget("B_", 1)).refused(422, "Invalid"),
        Step::new("an invalid label")
            .post(WIDGETS, with_meta(widget("b", 1), "labels", json!({ "k": "a b" })))
            .refused(422, "Invalid"),
        Step::new("a generated name")
            .post(format!("{WIDGETS}?dryRun=All"), json!({
                "apiVersion": "fake.example.com/v1", "kind": "Widget", "metadata": { "generateName": "gen-" },
            }))
            .expect(201)
            .there("/metadata/name"),
        Step::new("metadata only").get(one("a")).accept(METADATA_ONLY).expect(200).is("/kind", "PartialObjectMetadata").missing("/spec"),
        Step::new("what is read is what was answered").get(one("a")).expect(200).is(VERSION, "{first}").is("/metadata/uid", "{uid}"),
    ]
}

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/l";

fn lease() -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "l" },
        "spec": { "holderIdentity": "me", "leaseDurationSeconds": 15 },
    })
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
        Step::new("a replace of a missing object")
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
        Step::new("a replace creates a missing Lease").put(LEASE, lease()).expect(201),
        Step::new("but not a new version of one without a resourceVersion")
            .put(LEASE, lease())
            .refused(422, "Invalid"),
    ]
}

fn patches() -> Vec<Step> {
    let json_patch = "application/json-patch+json";
    vec![
        Step::new("a merge patch").merge(one("a"), json!({ "spec": { "size": 3 } })).expect(200).is("/metadata/generation", 3),
        Step::new("a merge patch that removes a defaulted field")
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
        Step::new("a merge patch of a missing object").merge(one("c"), json!({ "spec": { "size": 4 } })).refused(404, "NotFound"),
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
    let with_status = |version: &str, ready: u32| {
        let mut object = with_meta(widget("a", 9), "resourceVersion", json!(version));
        object["status"] = json!({ "ready": ready });
        object
    };
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
        Step::new("a replace of a status by an old version")
            .put(status.clone(), with_status("{third}", 2))
            .refused(409, "Conflict"),
        Step::new("a dry run of a replace of a status")
            .put(format!("{status}?dryRun=All"), with_status("{fourth}", 2))
            .expect(200)
            .is("/status/ready", 2),
        Step::new("a replace of a status changes nothing else")
            .put(status.clone(), with_status("{fourth}", 2))
            .expect(200)
            .is("/status", json!({ "ready": 2 }))
            .is("/spec/size", 4)
            .is("/metadata/generation", 4),
        Step::new("and is restored").merge(status.clone(), json!({ "status": { "ready": 1 } })).expect(200),
        Step::new("a status is read at its subresource too").get(status).expect(200).is("/status/ready", 1),
    ]
}

fn deletes() -> Vec<Step> {
    let only = |field: &str, value: &str| json!({ "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": { field: value } });
    let held = json!({ "metadata": { "finalizers": ["fake.example.com/hold"] } });
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
        Step::new("the deletion is marked once")
            .delete(one("a"), Value::Null)
            .expect(200)
            .is(VERSION, "{marked}"),
        Step::new("no finalizer can be added then")
            .merge(
                one("a"),
                json!({ "metadata": { "finalizers": ["fake.example.com/hold", "fake.example.com/late"] } }),
            )
            .refused(422, "Invalid"),
        Step::new("removing the last finalizer deletes it")
            .merge(one("a"), json!({ "metadata": { "finalizers": null } }))
            .expect(200),
        Step::new("then it is gone").get(one("a")).refused(404, "NotFound"),
        Step::new("a delete of a missing object").delete(one("a"), Value::Null).refused(404, "NotFound"),
        Step::new("one without finalizers")
            .post(WIDGETS, widget("free", 1))
            .expect(201)
            .save("free", "/metadata/uid"),
        Step::new("is deleted at once")
            .delete(one("free"), Value::Null)
            .expect(200)
            .is("/kind", "Status")
            .is("/status", "Success")
            .is("/details/uid", "{free}"),
    ]
}
