use std::path::Path;

use serde_json::{Value, json};

use super::*;

const CONFIG: &str = "
regions:
- name: eu
  url: https://region.example.com
  organizationId: d0000000-0000-4000-8000-000000000001
  regionId: c7b0a3a1-4a11-4c6e-8f5a-0c1d2e3f4a5b
  auth: {mtls: {certFile: tls.crt, keyFile: tls.key}}
  projects:
    shop:
      projectId: e0000000-0000-4000-8000-000000000001
      networks: {default: a3c5e7f1-0000-4000-8000-000000000001}
  instanceTypes: {small: f1a0e000-0000-4000-8000-000000000001}
  images: {ubuntu: e1a0e000-0000-4000-8000-000000000001}
  sandbox: {imageId: e1a0e000-0000-4000-8000-000000000002}
";

fn config() -> Config {
    Config::parse(CONFIG, Path::new("")).unwrap()
}

fn instance(spec: Value) -> Object {
    let mut object = fedhub_core::object::bare(fedhub_core::object::Kind::Instance, "ns", "web-0");
    object.data = json!({ "spec": spec });
    object
}

fn containers() -> Value {
    json!({
        "location": {"name": "fra"},
        "networkInterfaces": [{"network": {"name": "default"}}],
        "runtime": {
            "resources": {"instanceType": "small"},
            "sandbox": {"containers": [{"name": "web", "image": "nginx"}]},
        },
    })
}

fn machine() -> Value {
    let disk = json!({"template": {"spec": {"populator": {"image": {"name": "ubuntu"}}}}});
    let mut spec = containers();
    spec["runtime"] = json!({
        "resources": {"instanceType": "small"},
        "virtualMachine": {"volumeAttachments": [{"name": "boot"}]},
    });
    spec["volumes"] = json!([{"name": "boot", "disk": disk}]);
    spec["networkInterfaces"][0]["addresses"] = json!([{"class": "public"}]);
    spec
}

#[test]
fn containers_run_on_the_image_of_the_sandbox() {
    let wanted = wanted(&config(), "shop", &instance(containers())).unwrap();
    assert_eq!(&*wanted.place.region, "eu");
    assert_eq!(&*wanted.place.project, "e0000000-0000-4000-8000-000000000001");
    assert_eq!(&*wanted.place.network, "a3c5e7f1-0000-4000-8000-000000000001");
    assert_eq!(&*wanted.spec.image_id, "e1a0e000-0000-4000-8000-000000000002");
    assert_eq!(&*wanted.spec.flavor_id, "f1a0e000-0000-4000-8000-000000000001");
    assert!(wanted.spec.user_data.is_some() && !wanted.spec.public_ip);
}

#[test]
fn a_machine_boots_its_image_and_lets_its_users_in() {
    let mut object = instance(machine());
    let key = "ada:ssh-ed25519 A".to_owned();
    object.metadata.annotations = Some([(SSH_KEYS.to_owned(), key)].into());
    let wanted = wanted(&config(), "shop", &object).unwrap();
    assert_eq!(&*wanted.spec.image_id, "e1a0e000-0000-4000-8000-000000000001");
    assert!(wanted.spec.public_ip && wanted.spec.user_data.is_some());
}

#[test]
fn a_refusal_says_who_acts_and_what_to_do() {
    for (what, base, pointer, value, by_user, says) in [
        ("type", containers(), "/runtime/resources/instanceType", json!("huge"), true, "huge"),
        ("requests", containers(), "/runtime/resources/requests", json!({"cpu": "3"}), true, "remove"),
        ("network", containers(), "/networkInterfaces/0/network/name", json!("other"), false, "other"),
        ("class", machine(), "/networkInterfaces/0/addresses/0/class", json!("anycast"), true, "anycast"),
        ("image", machine(), "/volumes/0/disk/template/spec/populator/image/name", json!("dos"), true, "dos"),
        ("no image", machine(), "/volumes/0/disk/template/spec/populator", json!({}), true, "boot"),
        (
            "disks",
            machine(),
            "/runtime/virtualMachine/volumeAttachments",
            json!([{"name": "a"}, {"name": "b"}]),
            true,
            "one volume",
        ),
        ("secret", containers(), "/runtime/sandbox/imagePullSecrets", json!([{"name": "s"}]), true, "remove"),
        (
            "args",
            containers(),
            "/runtime/sandbox/containers/0/args",
            json!(["x".repeat(70_000)]),
            true,
            "KiB",
        ),
        ("form", containers(), "/networkInterfaces", json!("x"), false, "CRD"),
    ] {
        let mut spec = base;
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = if parent.is_empty() { &mut spec } else { spec.pointer_mut(parent).unwrap() };
        parent[field] = value;
        let refusal = wanted(&config(), "shop", &instance(spec)).unwrap_err();
        assert_eq!(refusal.by_user, by_user, "{what}: {refusal}");
        assert!(refusal.message.contains(says), "{what}: {refusal}");
    }
    let refusal = wanted(&config(), "stranger", &instance(containers())).unwrap_err();
    assert!(!refusal.by_user && refusal.message.contains("stranger"), "{refusal}");
}

#[test]
fn a_location_says_the_region() {
    let other = CONFIG.replace("\nregions:\n", "").replace("name: eu", "name: us");
    let text = format!("{CONFIG}{other}locations: {{fra: us}}\n");
    let config = Config::parse(&text, Path::new("")).unwrap();
    assert_eq!(&*wanted(&config, "shop", &instance(containers())).unwrap().place.region, "us");
    let mut elsewhere = containers();
    elsewhere["location"]["name"] = json!("nowhere");
    let refusal = wanted(&config, "shop", &instance(elsewhere)).unwrap_err();
    assert!(!refusal.by_user && refusal.message.contains("nowhere"), "{refusal}");
}
