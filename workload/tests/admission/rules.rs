//! Every rule with its words.

use fedhub_testing::{Messages, assert_messages};
use fedhub_workload::admission::Kind;
use serde_json::{Value, json};

use crate::admission::fixtures::{NONE, faults, instance_type, judged, machine, rollout, with, workload};

const CONTAINER: &str = "/spec/template/spec/runtime/sandbox/containers/0";
const PLACEMENT: &str = "/spec/placements/0";
const INTERFACE: &str = "/spec/template/spec/networkInterfaces/0";
const DISK: &str = "/spec/template/spec/volumes/1/disk/template/spec";
const SSH_KEYS: &str = "/spec/template/metadata/annotations/compute.datumapis.com~1ssh-keys";

type Edit = (&'static str, String, Value);

fn edit(label: &'static str, parent: &str, field: &str, value: Value) -> Edit {
    (label, format!("{parent}{field}"), value)
}

fn placements() -> Vec<Edit> {
    let scale = |field: &str| format!("/scaleSettings{field}");
    let target = |value: Value| json!([{"resource": {"name": "cpu", "target": value}}]);
    vec![
        edit("a name with a dot", "/metadata", "/name", json!("web.shop")),
        edit("no placements", "/spec", "/placements", json!([])),
        edit("a placement's name", PLACEMENT, "/name", json!("North America")),
        edit("no cities", PLACEMENT, "/cityCodes", json!([])),
        edit("a city that is no label value", PLACEMENT, "/cityCodes", json!(["New York"])),
        edit("an empty city", PLACEMENT, "/cityCodes", json!([""])),
        edit("a city twice", PLACEMENT, "/cityCodes", json!(["DFW", "dfw"])),
        edit("less than no instances", PLACEMENT, &scale("/minReplicas"), json!(-1)),
        edit("too many instances", PLACEMENT, &scale("/minReplicas"), json!(1001)),
        edit("a maximum below the minimum", PLACEMENT, &scale("/minReplicas"), json!(4)),
        edit("a maximum without metrics", PLACEMENT, &scale("/metrics"), Value::Null),
        edit("a maximum that is too large", PLACEMENT, &scale("/maxReplicas"), json!(1001)),
        edit(
            "too many replaced at once",
            PLACEMENT,
            &scale("/rollingUpdate"),
            json!({"maxUnavailable": 1001}),
        ),
        edit("no percentage", PLACEMENT, &scale("/rollingUpdate"), json!({"maxSurge": "150%"})),
        edit("nothing to replace", PLACEMENT, &scale("/rollingUpdate"), json!({"maxUnavailable": 0})),
        edit(
            "nothing to replace, in percent",
            PLACEMENT,
            &scale("/rollingUpdate"),
            json!({"maxUnavailable": "0%", "maxSurge": 0}),
        ),
        edit("another policy", PLACEMENT, &scale("/instanceManagementPolicy"), json!("Parallel")),
        edit("a metric of no kind", PLACEMENT, &scale("/metrics"), json!([{}])),
        edit("another metric", PLACEMENT, &scale("/metrics/0/resource/name"), json!("disk")),
        edit("no target", PLACEMENT, &scale("/metrics"), target(json!({}))),
        edit(
            "two targets",
            PLACEMENT,
            &scale("/metrics"),
            target(json!({"averageUtilization": 0, "averageValue": "0"})),
        ),
        edit("the use of all", PLACEMENT, &scale("/metrics"), target(json!({"value": "1"}))),
    ]
}

fn sandboxes() -> Vec<Edit> {
    containers().into_iter().chain(variables()).chain(attachments()).collect()
}

fn containers() -> Vec<Edit> {
    let runtime = "/spec/template/spec/runtime";
    let ports = json!([
        {"name": "HTTP", "port": 1}, {"name": "a--b", "port": 1}, {"name": "80", "port": 1},
        {"name": "sixteen-letters-", "port": 0}, {"name": "a", "port": 1}, {"name": "a", "port": 2, "protocol": "QUIC"},
    ]);
    vec![
        edit("an unknown type", runtime, "/resources/instanceType", json!("x-large")),
        edit("no type", runtime, "/resources/instanceType", json!("")),
        edit("requests", runtime, "/resources/requests", json!({"cpu": "1"})),
        edit("a class", runtime, "/class", json!("micro-vm")),
        edit("no runtime", runtime, "/sandbox", Value::Null),
        edit("both runtimes", runtime, "/virtualMachine", json!({"volumeAttachments": []})),
        edit("no containers", runtime, "/sandbox/containers", json!([])),
        edit("a pull secret's name", runtime, "/sandbox/imagePullSecrets/0/name", json!("Registry")),
        edit("a container's name", CONTAINER, "/name", json!("App")),
        edit(
            "two of one name",
            runtime,
            "/sandbox/containers/-",
            json!({"name": "app", "image": "ghcr.io/example/web:2"}),
        ),
        edit("no image", CONTAINER, "/image", json!("")),
        edit("an image with a space", CONTAINER, "/image", json!("nginx latest")),
        edit("resources", CONTAINER, "/resources", json!({"limits": {"cpu": "1"}})),
        edit("ports", CONTAINER, "/ports", ports),
    ]
}

fn variables() -> Vec<Edit> {
    let both = json!({"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}});
    let key = json!({"name": "A_B", "key": "k"});
    let from = |source: Value| json!({"name": "A", "valueFrom": source});
    vec![
        edit("a variable's name", CONTAINER, "/env/0/name", json!("A=B")),
        edit("a value and a source", CONTAINER, "/env/0/valueFrom", json!({"secretKeyRef": key})),
        edit("no source", CONTAINER, "/env/0", json!({"name": "A", "valueFrom": {}})),
        edit("a field", CONTAINER, "/env/0", from(json!({"fieldRef": {"fieldPath": "metadata.name"}}))),
        edit(
            "a resource",
            CONTAINER,
            "/env/0",
            from(json!({"resourceFieldRef": {"resource": "limits.cpu"}})),
        ),
        edit(
            "a file of variables",
            CONTAINER,
            "/env/0",
            from(json!({"fileKeyRef": {"volumeName": "settings", "path": "../a", "key": "k"}})),
        ),
        edit("two sources of all keys", CONTAINER, "/envFrom/0", both),
        edit("no source of all keys", CONTAINER, "/envFrom/0", json!({"prefix": "A_"})),
    ]
}

fn attachments() -> Vec<Edit> {
    let runtime = "/spec/template/spec/runtime";
    vec![
        edit("a volume that is not there", CONTAINER, "/volumeAttachments/0/name", json!("other")),
        edit("a relative path", CONTAINER, "/volumeAttachments/0/mountPath", json!("etc")),
        edit("a path that leads up", CONTAINER, "/volumeAttachments/0/mountPath", json!("/etc/../bin")),
        edit("files without a place", CONTAINER, "/volumeAttachments/0/mountPath", json!("")),
        edit(
            "a ConfigMap of each cluster's own",
            CONTAINER,
            "/envFrom/0/configMapRef/name",
            json!("kube-root-ca.crt"),
        ),
        edit(
            "a Secret with a long name",
            runtime,
            "/sandbox/imagePullSecrets/0/name",
            json!("s".repeat(243)),
        ),
        edit(
            "two volumes at one path",
            CONTAINER,
            "/volumeAttachments/-",
            json!({"name": "settings", "mountPath": "//etc/./web/"}),
        ),
    ]
}

fn volumes_and_networks() -> Vec<Edit> {
    volumes().into_iter().chain(networks()).collect()
}

fn volumes() -> Vec<Edit> {
    let volume = "/spec/template/spec/volumes/0";
    vec![
        edit("a volume's name", volume, "/name", json!("Settings")),
        edit("no volume source", volume, "/configMap", Value::Null),
        edit("two volume sources", volume, "/secret", json!({"secretName": "a", "defaultMode": 512})),
        edit("a Secret without a name", volume, "", json!({"name": "settings", "secret": {}})),
        edit("items", volume, "/configMap/items", json!([{"key": "a", "path": "a"}])),
        edit(
            "items of a Secret",
            volume,
            "",
            json!({"name": "settings", "secret": {"secretName": "a", "items": [{"key": "a", "path": "../../etc/a"}]}}),
        ),
        edit("a mode", volume, "/configMap/defaultMode", json!(-1)),
    ]
}

fn networks() -> Vec<Edit> {
    let policy = |rule: Value| json!({"ingress": [rule]});
    vec![
        edit("no interface", "/spec/template/spec", "/networkInterfaces", json!([])),
        edit("a network's name", INTERFACE, "/network/name", json!("Default")),
        edit("a network of another namespace", INTERFACE, "/network/namespace", json!("bank")),
        edit(
            "blocks",
            INTERFACE,
            "/networkPolicy",
            policy(json!({"from": [{"ipBlock": {"cidr": "10.0.0.0/33", "except": ["::/x"]}}]})),
        ),
        edit(
            "holes",
            INTERFACE,
            "/networkPolicy",
            policy(
                json!({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8", "192.168.0.0/16", "::/64"]}}]}),
            ),
        ),
        edit(
            "ports of a policy",
            INTERFACE,
            "/networkPolicy",
            policy(
                json!({"ports": [{"port": 5_000_000_000_i64}, {"port": -5}, {"port": "Not A Name"}, {"endPort": 9}]}),
            ),
        ),
        edit("a field that cannot be read", INTERFACE, "/reclaimPolicy", json!("x".repeat(100))),
        edit("a location", "/spec/template/spec", "/location", json!({"name": "dfw-1"})),
        edit("a controller", "/spec/template/spec", "/controller", json!({"templateHash": "a"})),
        edit(
            "metadata",
            "/spec/template",
            "/metadata",
            json!({
                "labels": {"a b": "x!", "example.com/": "", "UP/a": "", "ok": ""},
                "annotations": {"-a": "x!", "Example.com/a": "anything"},
                "finalizers": ["example.com/a"],
            }),
        ),
        edit(
            "annotations",
            "/spec/template",
            "/metadata",
            json!({"annotations": {"a": "x".repeat(256 << 10)}}),
        ),
        edit(
            "a range without a number",
            INTERFACE,
            "/networkPolicy",
            policy(json!({"ports": [{"port": "http", "endPort": 9, "protocol": "tcp"}]})),
        ),
    ]
}

fn machines() -> Vec<Edit> {
    vec![
        edit("no keys", SSH_KEYS, "", Value::Null),
        edit(
            "keys that are none",
            SSH_KEYS,
            "",
            json!("op\nop:ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIAAB\nop:ssh-ed25519 !\nop:ssh-dss AAAA"),
        ),
        edit(
            "a first volume without an image",
            DISK,
            "",
            json!({"resources": {"requests": {"storage": "10Gi"}}}),
        ),
        edit("a type of disk", DISK, "/type", json!("pd-ssd")),
        edit("a small disk", DISK, "/resources/requests/storage", json!("9Gi")),
        edit("a large disk", DISK, "/resources/requests/storage", json!("101Gi")),
        edit("half a Gi", DISK, "/resources/requests/storage", json!("10.5Gi")),
        edit("no quantity", DISK, "/resources/requests/storage", json!("much")),
        edit("a disk without a size", DISK, "/resources", Value::Null),
        edit("no populator", DISK, "/populator", json!({})),
        edit("an image on a small disk", DISK, "/populator", json!({"image": {"name": "datumcloud/other"}})),
        edit(
            "one device twice",
            "/spec/template/spec/volumes/1",
            "/disk/deviceName",
            json!("persistent-disk-0"),
        ),
        edit(
            "a volume that nothing attaches",
            "/spec/template/spec/runtime/virtualMachine",
            "/volumeAttachments/1",
            Value::Null,
        ),
    ]
}

fn messages(kind: Kind, base: &Value, edits: Vec<Edit>) -> Vec<(&'static str, String)> {
    edits
        .into_iter()
        .map(|(label, pointer, value)| {
            let found = faults(kind, &with(base.clone(), &pointer, value));
            assert!(!found.is_empty(), "{label}: no fault");
            (label, found.join("\n"))
        })
        .collect()
}

fn rollouts() -> Vec<Edit> {
    let canary = "/spec/waves/0";
    let approved = "/metadata/annotations/compute.datumapis.com~1approved";
    vec![
        edit("another name", "/metadata", "/name", json!("shop")),
        edit("a deadline of no time", "/spec", "/progressDeadline", json!("0s")),
        edit("too many revisions", "/spec", "/revisionHistoryLimit", json!(21)),
        edit("another strategy", "/spec", "/strategy", json!("Random")),
        edit("a wave's name", canary, "/name", json!("Canary")),
        edit("a wave twice", canary, "/name", json!("rest")),
        edit("two waves for the rest", canary, "/cities", Value::Null),
        edit("a city in two waves", "/spec/waves/1", "/cities", json!(["dfw"])),
        edit("a city twice", canary, "/cities", json!(["DFW", "dfw"])),
        edit("a city that is no label value", canary, "/cities", json!(["New York"])),
        edit("a placement's name", canary, "/placements", json!(["North America"])),
        edit("none at once", canary, "/maxConcurrent", json!(0)),
        edit("too many failures", canary, "/maxFailures", json!(5001)),
        edit("a soak time in words", canary, "/soak", json!("a day")),
        edit("a soak time of more than 30 days", canary, "/soak", json!("721h")),
        edit("approvals that are no list", approved, "", json!("canary")),
        edit("an approval of no wave", approved, "", json!(r#"[{"wave": "canry", "gate": "After"}]"#)),
    ]
}

#[test]
fn w4_every_rule_names_field_value_and_rule() {
    let types = vec![
        edit("a name that reaches no cell", "/metadata", "/name", json!("t".repeat(241))),
        edit("no size", "/spec", "/resources", json!({"cpu": "0"})),
        edit("no phase", "/spec", "/lifecycle", json!({})),
        edit("another phase", "/spec", "/lifecycle/phase", json!("Retired")),
        edit("itself", "/spec", "/lifecycle/replacementInstanceType", json!("d1-standard-2")),
    ];
    let mut machines = machines();
    machines[2].1 = "/spec/template/spec/volumes/0/disk/template/spec".to_owned();
    let mut all = Messages::default();
    all.section("Placements", messages(Kind::Workload, &workload(), placements()))
        .section("Sandboxes", messages(Kind::Workload, &workload(), sandboxes()))
        .section("Volumes and networks", messages(Kind::Workload, &workload(), volumes_and_networks()))
        .section("Virtual machines", messages(Kind::Workload, &machine(), machines))
        .section("Rollouts", messages(Kind::WorkloadRollout, &rollout(), rollouts()))
        .section("Types of instances", messages(Kind::InstanceType, &instance_type(), types));
    assert_messages!("admission", all);
}

#[test]
fn w4_all_faults_of_an_object_are_in_one_answer() {
    let broken = with(workload(), "/metadata/name", json!("Web"));
    let broken = with(broken, &format!("{PLACEMENT}/scaleSettings/minReplicas"), json!(-1));
    let broken = with(broken, &format!("{CONTAINER}/image"), json!(""));
    assert_eq!(faults(Kind::Workload, &broken).len(), 3);
}

#[test]
fn w4_placements_make_no_two_deployments_of_one_name() {
    let scale = json!({"minReplicas": 1, "instanceManagementPolicy": "OrderedReady"});
    let placement =
        |name: &str, city: &str| json!({"name": name, "cityCodes": [city], "scaleSettings": scale});
    let both = |a, b| with(workload(), "/spec/placements", json!([a, b]));
    let found = faults(Kind::Workload, &both(placement("a-b", "c"), placement("a", "b-c")));
    assert!(
        found.len() == 1 && found[0].starts_with("spec.placements[1].cityCodes[0]: Duplicate"),
        "{found:?}"
    );
    assert!(faults(Kind::Workload, &both(placement("a", "c"), placement("b", "C"))).is_empty());
}

#[test]
fn w4_what_is_in_order_and_every_sample_is_admitted() {
    for (kind, object) in [
        (Kind::Workload, workload()),
        (Kind::Workload, machine()),
        (Kind::WorkloadRollout, rollout()),
        (Kind::InstanceType, instance_type()),
    ] {
        assert_eq!(judged(kind, None, &object).faults, [], "{object}");
    }
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/samples");
    let mut seen = 0;
    for file in std::fs::read_dir(samples).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for document in text.split("\n---\n") {
            let sample: Value = serde_saphyr::from_str(document).unwrap();
            if sample["kind"] == "Workload" {
                let judgement = judged(Kind::Workload, None, &sample);
                assert_eq!((judgement.faults, judgement.warnings), (vec![], vec![]), "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 4, "{seen} samples");
}

fn warnings(old: Option<&Value>, new: &Value) -> Vec<String> {
    judged(Kind::Workload, old, new).warnings
}

#[test]
fn w4_warnings_are_given_once() {
    let plain = with(workload(), &format!("{CONTAINER}/image"), json!("nginx:1.29"));
    let idle = with(plain.clone(), &format!("{PLACEMENT}/scaleSettings/maxReplicas"), Value::Null);
    assert_eq!(
        warnings(None, &idle),
        [
            "container \"app\": image \"nginx:1.29\" names no registry: name one, such as docker.io/library/nginx",
            "placement \"america\" has metrics and no maxReplicas: it stays at minReplicas",
        ]
    );
    assert_eq!(warnings(Some(&idle), &plain), NONE);
    let labels = json!({"labels": {"app": "web", "compute.datumapis.com/workload-uid": "u"}});
    let labelled = with(workload(), "/spec/template/metadata", labels);
    assert_eq!(
        warnings(None, &labelled),
        [
            "the template's label \"compute.datumapis.com/workload-uid\" has no effect: fedhub sets it on instances"
        ]
    );
    assert_eq!(warnings(Some(&workload()), &plain).len(), 1);
    for image in ["localhost/web", "registry:5000/web", "docker.io/library/nginx"] {
        let named = with(workload(), &format!("{CONTAINER}/image"), json!(image));
        assert_eq!(warnings(None, &named), NONE, "{image}");
    }
}

#[test]
fn v5_a_template_that_waits_for_consent_is_warned_of() {
    const IMAGE: &str = "/spec/template/spec/volumes/0/disk/template/spec/populator/image/name";
    const DISRUPTION: &str = "/spec/template/spec/disruption";
    let newer = |workload: Value| with(workload, IMAGE, json!("datumcloud/ubuntu-2404-lts"));
    let waits = "the new template would destroy the disks of instances (boot, data): those that run keep the earlier \
                 one, unless spec.template.spec.disruption is Allow";
    let kept = "the new template would replace instances: those that run keep the earlier one, unless \
                spec.template.spec.disruption is Allow";
    let denies = |workload: Value| with(workload, DISRUPTION, json!("Deny"));
    let allows = |workload: Value| with(workload, DISRUPTION, json!("Allow"));
    let placed = with(machine(), &format!("{PLACEMENT}/scaleSettings/minReplicas"), json!(2));
    let nginx = with(workload(), &format!("{CONTAINER}/image"), json!("ghcr.io/example/web:2"));
    for (what, old, new, expected) in [
        ("another image", machine(), newer(machine()), Some(waits)),
        ("denied", machine(), denies(newer(machine())), Some(waits)),
        ("allowed", machine(), allows(newer(machine())), None),
        ("allowed before alone", allows(machine()), newer(machine()), Some(waits)),
        ("denied alone", machine(), denies(machine()), None),
        ("another scale", machine(), placed, None),
        ("a container", workload(), nginx.clone(), None),
        ("a container that denies it", workload(), denies(nginx), Some(kept)),
        ("the first disks", workload(), machine(), None),
    ] {
        assert_eq!(warnings(Some(&old), &new), expected.into_iter().collect::<Vec<_>>(), "{what}");
    }
    assert_eq!(warnings(None, &machine()), NONE, "it runs nowhere yet");
}

/// What Go writes for what is not set.
#[test]
fn w4_what_is_empty_is_not_set() {
    let empty = with(workload(), "/spec/template/spec/runtime/class", json!(""));
    let empty = with(empty, "/spec/template/spec/runtime/resources/requests", json!({}));
    let empty = with(empty, &format!("{CONTAINER}/resources"), json!({"limits": {}}));
    let empty = with(empty, &format!("{INTERFACE}/network/namespace"), json!(""));
    let empty = with(empty, "/spec/template/spec/volumes/0/configMap/items", json!([]));
    let empty = with(empty, "/spec/template/metadata", json!({"finalizers": [], "labels": {"a": ""}}));
    assert_eq!(faults(Kind::Workload, &empty), NONE);
    let device = with(machine(), "/spec/template/spec/volumes/0/disk/deviceName", json!(""));
    let device = with(device, "/spec/template/spec/volumes/1/disk/deviceName", json!(""));
    let device =
        with(device, "/spec/template/spec/runtime/virtualMachine/volumeAttachments/0/mountPath", json!(""));
    assert_eq!(faults(Kind::Workload, &device), NONE);
}

/// What one part is wrong with hides nothing of another, where both can be read.
#[test]
fn w4_a_number_that_is_too_large_hides_no_other_fault() {
    let port = json!({"ingress": [{"ports": [{"port": 5_000_000_000_i64}]}]});
    let broken = with(workload(), &format!("{INTERFACE}/networkPolicy"), port);
    let broken = with(broken, &format!("{CONTAINER}/image"), json!(""));
    let found = faults(Kind::Workload, &broken);
    assert!(found.len() == 2 && found.iter().any(|fault| fault.contains("ports[0].port")), "{found:?}");
}
