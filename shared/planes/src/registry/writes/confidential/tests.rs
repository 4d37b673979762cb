use fedhub_core::object::PlaneId;

use super::*;
use crate::registry::pump::stripped::LAST_APPLIED;

fn read(object: &Value) -> Confidential {
    serde_json::from_value(object.clone()).unwrap()
}

#[test]
fn w6_what_holds_content_is_not_printed() {
    let secret = read(&json!({
        "metadata": {"uid": "u", "resourceVersion": "7", "annotations": {LAST_APPLIED: "canary"}},
        "data": {"password": "Y2FuYXJ5"}, "type": "Opaque",
    }));
    let printed = format!(
        "{:?} {:?}",
        secret,
        ConfidentialRead::Found(read(&json!({"metadata": {}, "data": {"a": "Y2FuYXJ5"}})))
    );
    assert!(!printed.contains("Y2FuYXJ5") && !printed.contains("canary"), "{printed}");
    assert_eq!((secret.uid(), secret.version()), ("u", "7"));
}

#[test]
fn w5_content_is_counted_as_it_is_used() {
    let data = json!({"metadata": {}, "data": {"k": "YWJjZA=="}, "binaryData": {"b": "YWJj"}});
    for (kind, bytes) in [(Kind::Secret, 1 + 4 + 1 + 3), (Kind::ConfigMap, 1 + 8 + 1 + 3)] {
        assert_eq!(read(&data).bytes(kind), bytes, "{kind:?}");
    }
    assert_eq!(read(&json!({"metadata": {}})).bytes(Kind::Secret), 0);
}

#[test]
fn w5_a_copy_has_content_and_type_and_nothing_else_of_its_source() {
    let source = read(&json!({
        "metadata": {"uid": "u", "labels": {"a": "b"}}, "immutable": true,
        "data": {"k": "v\n\"q\""}, "type": "kubernetes.io/tls",
    }));
    let metadata = ObjectMeta { name: Some("db".to_owned()), ..ObjectMeta::default() };
    let copied = Copied {
        api_version: "v1",
        kind: "Secret",
        metadata: &metadata,
        data: &source.data,
        binary_data: &source.binary_data,
        secret_type: source.secret_type.as_deref(),
    };
    let body = copied.body().unwrap();
    assert_eq!(body.len(), body.capacity(), "in one buffer");
    let expected = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"},
        "data": {"k": "v\n\"q\""}, "type": "kubernetes.io/tls"});
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
}

#[test]
fn w6_the_words_of_a_server_are_not_passed_on() {
    for (rule, immutable) in [("field is immutable", true), ("must be a list", false)] {
        let words = format!("Invalid value: \"canary\": {rule}");
        let mut status = Status::failure(&format!("data[canary]: {words}"), "Invalid").with_code(422);
        let cause = json!({"reason": "FieldValueInvalid", "message": words, "field": "data[canary]"});
        status.details = serde_json::from_value(json!({"causes": [cause]})).unwrap();
        let error = discreet(ApiError::Server(status.boxed()));
        let text = format!("{} {error:?}", errors::chain(&error));
        assert!(!text.contains("canary"), "{text}");
        assert_eq!(text.contains("immutable"), immutable, "{text}");
        let error = RequestError {
            verb: "update",
            resource: "secrets".to_owned(),
            plane: PlaneId::Hub,
            source: error,
        };
        assert_eq!(error.immutable(), immutable, "still known to its caller: {text}");
    }
}
