//! Public URLs: what is made for one, what is left alone, and how far it has come.

use fedhub_cli::url::plan::{NameTaken, Url, port, proxy, service, url};
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::fixtures::{object, web};

fn workload() -> Object {
    let mut web = web();
    web["metadata"]["uid"] = json!("w");
    object(&web)
}

fn made(value: Object) -> Value {
    serde_json::to_value(value).unwrap()
}

#[test]
fn a_url_needs_a_service_over_the_instances_and_a_proxy_before_it() {
    assert_eq!(port(&workload()), Some(8080));
    let service = made(service(&workload(), 8080, None).unwrap().unwrap());
    let proxy = made(proxy(&workload(), None).unwrap().unwrap());
    let selector = json!({"matchLabels": {"compute.datumapis.com/workload-name": "web"}});
    let expected = json!({
        "networkInterfaces": {"selector": selector},
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    });
    assert_eq!((&service["kind"], &service["spec"]), (&json!("NetworkService"), &expected));
    let expected = json!({"rules": [{"backends": [{"networkService": {"name": "web", "port": "http"}}]}]});
    assert_eq!((&proxy["kind"], &proxy["spec"]), (&json!("HTTPProxy"), &expected));
    for it in [service, proxy] {
        let labels = json!({
            "compute.datumapis.com/workload-name": "web",
            "compute.datumapis.com/workload-uid": "w",
        });
        assert_eq!((&it["metadata"]["name"], &it["metadata"]["labels"]), (&json!("web"), &labels));
        let owner = json!([{"apiVersion": "compute.datumapis.com/v1alpha", "kind": "Workload", "name": "web", "uid": "w"}]);
        assert_eq!(it["metadata"]["ownerReferences"], owner);
    }
}

#[test]
fn what_is_right_is_not_written_again_and_what_a_user_added_stays() {
    let mut right = service(&workload(), 8080, None).unwrap().unwrap();
    let key = "compute.datumapis.com/placement-name";
    right.data["spec"]["networkInterfaces"]["selector"]["matchLabels"][key] = json!("america");
    right.data["spec"]["ports"].as_array_mut().unwrap().push(json!({"name": "admin", "port": 9}));
    assert_eq!(service(&workload(), 8080, Some(&right)), Ok(None));
    let moved = service(&workload(), 9090, Some(&right)).unwrap().unwrap();
    right.data["spec"]["ports"][0]["port"] = json!(9090);
    assert_eq!(moved, right);
    let mut edited = proxy(&workload(), None).unwrap().unwrap();
    edited.data["spec"]["hostnames"] = json!(["example.com"]);
    let other = json!({"backends": [{"endpoint": "https://example.org"}]});
    edited.data["spec"]["rules"].as_array_mut().unwrap().push(other);
    assert_eq!(proxy(&workload(), Some(&edited)), Ok(None));
    edited.data["spec"]["rules"][0]["backends"][0]["networkService"]["port"] = json!("web");
    let mended = proxy(&workload(), Some(&edited)).unwrap().unwrap();
    edited.data["spec"]["rules"][0]["backends"][0]["networkService"]["port"] = json!("http");
    assert_eq!(mended, edited);
}

#[test]
fn an_object_that_is_somebody_elses_is_not_touched() {
    let mut other = proxy(&workload(), None).unwrap().unwrap();
    other.metadata.labels = None;
    assert_eq!(proxy(&workload(), Some(&other)), Err(NameTaken));
    assert_eq!(service(&workload(), 8080, Some(&other)), Err(NameTaken));
    // One of an earlier workload of that name is the present one's: it would be collected with the earlier
    // one.
    let mut earlier = proxy(&workload(), None).unwrap().unwrap();
    earlier.metadata.owner_references.as_mut().unwrap()[0].uid = "before".to_owned();
    let adopted = proxy(&workload(), Some(&earlier)).unwrap().unwrap();
    assert_eq!(adopted.metadata.owner_references.unwrap()[0].uid, workload().uid());
}

#[test]
fn a_url_is_live_when_the_proxy_and_its_certificate_are() {
    let of = |status: Value| {
        let mut proxy = proxy(&workload(), None).unwrap().unwrap();
        proxy.data["status"] = status;
        url(&proxy)
    };
    let condition = |kind: &str, status: &str, message: &str| json!({"type": kind, "status": status, "reason": "R", "message": message});
    let host = json!("a.example.net");
    let programmed = condition("Programmed", "True", "");
    let live = Url::Live("https://a.example.net".to_owned());
    let pending = |why: &str| Url::Pending(why.to_owned());
    for (status, expected) in [
        (json!({"canonicalHostname": host, "conditions": [programmed]}), live.clone()),
        (
            json!({"canonicalHostname": host, "conditions": [programmed, condition("CertificatesReady", "True", "")]}),
            live,
        ),
        (
            json!({"canonicalHostname": host, "conditions": [programmed, condition("CertificatesReady", "False", "")]}),
            pending("R"),
        ),
        (
            json!({"canonicalHostname": host, "conditions": [condition("Programmed", "False", "no gateway")]}),
            pending("no gateway"),
        ),
        (json!({"canonicalHostname": host}), pending("the platform has not taken it up")),
        (json!({"conditions": [programmed]}), pending("it has no host name yet")),
        (Value::Null, pending("the platform has not taken it up")),
    ] {
        assert_eq!(of(status.clone()), expected, "{status}");
    }
}
