//! What is kept of objects within and over the limits, however they are cut into chunks.

use serde_json::{Value, json};

use super::*;

/// What is kept of an object, however it is cut into chunks, and how much was held at most.
fn cut(object: &Value, limit: usize) -> (Value, Extent, usize) {
    let text = format!(" {object}, {{}}");
    let mut all = [1, 2, 3, 7, 64, 4096, usize::MAX].into_iter().map(|chunk| {
        let mut cutter = ObjectCutter::new(limit);
        let mut held = 0;
        for bytes in text.as_bytes().chunks(chunk.min(text.len())) {
            let (used, cut) = cutter.push(bytes);
            held = held.max(cutter.held());
            if let Some(cut) = cut {
                assert_eq!(bytes.get(used), if used < bytes.len() { Some(&b',') } else { None });
                return (serde_json::from_slice(&cut.text).unwrap(), cut.extent, held.min(limit * 2 + 65));
            }
        }
        panic!("it does not end");
    });
    let first = all.next().unwrap();
    for next in all {
        assert_eq!((&next.0, next.1), (&first.0, first.1));
    }
    first
}

fn wd(padding: usize) -> Value {
    json!({
        "apiVersion": "g/v1", "kind": "K", "a": 1,
        "metadata": {
            "annotations": {"name": "x\"{[,", "managedFields": "mine"}, "finalizers": ["f"],
            "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}],
            "name": "wd", "namespace": "n", "resourceVersion": "7", "uid": "u",
        },
        "spec": {"text": "x".repeat(padding), "status": {"metadata": {"name": "no"}}},
        "status": {"conditions": [{"type": "Ready"}], "metadata": {"managedFields": 1}},
    })
}

#[test]
fn an_object_within_the_limit_is_whole_less_its_managed_fields() {
    let mut expected = wd(100);
    expected["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(cut(&wd(100), 4096), (expected, Extent::Whole, cut(&wd(100), 4096).2));
    for odd in
        [json!({}), json!({"metadata": {}}), json!({"metadata": []}), json!({"metadata": [["a"], "b"]})]
    {
        assert_eq!(cut(&odd, 100).0, odd);
    }
}

#[test]
fn i8_of_an_object_over_the_limit_metadata_and_status_are_kept_in_bounded_memory() {
    let (kept, extent, held) = cut(&wd(100_000), 1024);
    let mut expected = wd(0);
    expected.as_object_mut().unwrap().retain(|key, _| key != "spec" && key != "a");
    expected["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!((kept, extent), (expected, Extent::Metadata));
    assert!(held <= 1024 + 64, "{held}");
}

#[test]
fn i8_metadata_over_the_limit_still_names_its_object_wherever_the_names_stand() {
    for key in ["annotations", "labels", "zzz"] {
        let mut object = wd(10);
        object["metadata"][key] = json!({"pad": "x".repeat(9000), "name": "not this one"});
        let (kept, extent, _) = cut(&object, 1024);
        let names = json!({"name": "wd", "namespace": "n", "resourceVersion": "7", "uid": "u"});
        assert_eq!((kept, extent), (json!({"metadata": names}), Extent::Names), "{key}");
    }
    let mut object = wd(10);
    object["metadata"]["name"] = json!("x".repeat(9000));
    assert_eq!(cut(&object, 1024).0["metadata"].get("name"), None, "a name that is none");
}

#[test]
fn i8_managed_fields_and_a_status_do_not_make_an_object_too_large() {
    let mut object = wd(10);
    object["metadata"]["managedFields"] = json!(vec![json!({"manager": "m"}); 9000]);
    object["status"]["conditions"] = json!(vec![json!({"type": "Ready"}); 9000]);
    let (kept, extent, held) = cut(&object, 1024);
    assert_eq!((extent, kept.get("status"), &kept["spec"]), (Extent::Whole, None, &object["spec"]));
    assert!(held <= 2048 + 64, "{held}");
}

#[test]
fn i8_what_would_take_many_times_its_text_in_memory_is_too_large() {
    let mut object = wd(0);
    object["spec"]["list"] = json!(vec![json!({"a": 1}); 100]);
    assert_eq!(cut(&object, 3000).1, Extent::Metadata, "{} bytes of text", object.to_string().len());
    assert_eq!(cut(&object, 8000).1, Extent::Whole);
}

#[test]
fn what_is_no_object_ends_too() {
    for text in ["<html>", "null,", "]", "\"text\" "] {
        let (_, cut) = ObjectCutter::new(100).push(text.as_bytes());
        assert!(cut.is_some(), "{text}");
    }
}
