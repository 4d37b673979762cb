//! How long lists may be: no object takes long to review (W4, I8).

use fedhub_workload::admission::{Fault, Kind};
use serde_json::{Value, json};

use crate::admission::fixtures::{NONE, faults, judged, machine, with, workload};

const TEMPLATE: &str = "/spec/template/spec";
const SSH_KEYS: &str = "/spec/template/metadata/annotations/compute.datumapis.com~1ssh-keys";
const CONTAINER: &str = "/spec/template/spec/runtime/sandbox/containers/0";

fn many(count: usize, of: impl Fn(usize) -> Value) -> Value {
    (0..count).map(of).collect()
}

/// Where a list is, how answers name it, how many items it has, and what they are.
type List = (String, &'static str, usize, fn(usize) -> Value);

fn lists() -> Vec<List> {
    let scale = "/spec/placements/0/scaleSettings";
    vec![
        (
            "/spec/placements".to_owned(),
            "spec.placements",
            50,
            |i| json!({"name": format!("p{i}"), "cityCodes": ["DFW"], "scaleSettings": {"minReplicas": 1}}),
        ),
        ("/spec/placements/0/cityCodes".to_owned(), "spec.placements[0].cityCodes", 100, |i| {
            json!(format!("c{i}"))
        }),
        (
            format!("{scale}/metrics"),
            "spec.placements[0].scaleSettings.metrics",
            10,
            |_| json!({"resource": {"name": "cpu", "target": {"averageUtilization": 70}}}),
        ),
        (
            format!("{CONTAINER}/env"),
            "containers[0].env",
            500,
            |i| json!({"name": format!("V{i}"), "value": "v"}),
        ),
        (
            format!("{CONTAINER}/envFrom"),
            "containers[0].envFrom",
            100,
            |_| json!({"secretRef": {"name": "a"}}),
        ),
        (
            format!("{CONTAINER}/ports"),
            "containers[0].ports",
            100,
            |i| json!({"name": format!("p{i}"), "port": 1}),
        ),
        (
            format!("{TEMPLATE}/runtime/sandbox/imagePullSecrets"),
            "sandbox.imagePullSecrets",
            100,
            |i| json!({"name": format!("s{i}")}),
        ),
        (
            format!("{TEMPLATE}/networkInterfaces/0/networkPolicy/ingress"),
            "networkPolicy.ingress",
            1000,
            |_| json!({}),
        ),
    ]
}

#[test]
fn w4_a_list_has_so_many_items_and_one_that_is_stored_gets_no_longer() {
    for (pointer, field, most, of) in lists() {
        let with_items = |count| with(workload(), &pointer, many(count, of));
        let update = |old, new| {
            let judged = judged(Kind::Workload, Some(&with_items(old)), &with_items(new));
            judged.faults.iter().map(Fault::to_string).collect::<Vec<_>>()
        };
        assert_eq!(faults(Kind::Workload, &with_items(most)), NONE, "{field}");
        let over = faults(Kind::Workload, &with_items(most + 1));
        let expected = format!("{field}: Too many: \"{}\": it has at most {most} ", most + 1);
        assert!(over.len() == 1 && over[0].contains(&expected), "{over:?}, not {expected}");
        assert_eq!(update(most + 9, most + 9), NONE, "{field}");
        assert_eq!(update(most + 9, most + 1), NONE, "{field}");
        assert_eq!(update(most + 1, most + 9).len(), 1, "{field}");
    }
}

#[test]
fn w4_the_volumes_and_containers_of_an_instance_and_the_keys_of_a_machine_are_so_many() {
    let volumes = |count: usize| {
        let all = many(count, |i| json!({"name": format!("v{i}"), "configMap": {"name": "web"}}));
        let attached = many(count, |i| json!({"name": format!("v{i}"), "mountPath": format!("/v/{i}")}));
        let object = with(workload(), &format!("{TEMPLATE}/volumes"), all);
        with(object, &format!("{CONTAINER}/volumeAttachments"), attached)
    };
    assert_eq!(faults(Kind::Workload, &volumes(100)), NONE);
    let over = faults(Kind::Workload, &volumes(101));
    assert!(over.len() == 2 && over.iter().all(|fault| fault.contains("Too many: \"101\"")), "{over:?}");

    let containers = |count| {
        let plain = with(workload(), &format!("{TEMPLATE}/volumes"), json!([]));
        with(
            plain,
            &format!("{TEMPLATE}/runtime/sandbox/containers"),
            many(count, |i| json!({"name": format!("c{i}"), "image": "ghcr.io/example/web:1"})),
        )
    };
    assert_eq!(faults(Kind::Workload, &containers(32)), NONE);
    assert_eq!(faults(Kind::Workload, &containers(33)).len(), 1);

    let key = machine().pointer(SSH_KEYS).unwrap().as_str().unwrap().to_owned();
    let keys = |count| faults(Kind::Workload, &with(machine(), SSH_KEYS, json!(key.repeat(count))));
    assert_eq!(keys(100), NONE);
    assert!(keys(101).len() == 1 && keys(101)[0].contains("Too many: \"101\""), "{:?}", keys(101));
}

#[test]
fn w4_annotations_that_are_stored_stay_changeable_however_large_they_are() {
    let annotations = |size: usize, at: &str| {
        let all = json!({"annotations": {"a": "x".repeat(size), "compute.datumapis.com/restartedAt": at}});
        with(workload(), "/spec/template/metadata", all)
    };
    let large = annotations(300 << 10, "1");
    let larger = annotations(301 << 10, "1");
    let update = |old: &Value, new: &Value| judged(Kind::Workload, Some(old), new).faults.len();
    assert_eq!(faults(Kind::Workload, &large).len(), 1);
    assert_eq!((update(&large, &annotations(300 << 10, "2")), update(&large, &larger)), (0, 1));
}

/// Three MiB of whatever has more faults than anybody reads are told by few, and no name is repeated below
/// it.
#[test]
fn w4_what_is_huge_has_few_faults_and_small_ones() {
    let huge = [
        with(workload(), &format!("{TEMPLATE}/volumes"), many(80_000, |i| json!({"name": format!("V{i}")}))),
        with(
            workload(),
            &format!("{TEMPLATE}/runtime/sandbox/containers"),
            many(
                80_000,
                |i| json!({"name": format!("c{i}"), "image": "x", "volumeAttachments": [{"name": "none"}]}),
            ),
        ),
        with(
            workload(),
            "/spec/template/metadata",
            json!({"annotations": {
            "compute.datumapis.com/ssh-keys": "a\n".repeat(1_000_000)}}),
        ),
        with(
            workload(),
            &format!("{TEMPLATE}/networkInterfaces/0/networkPolicy"),
            json!({
            "ingress": [{"from": [{"ipBlock": {"cidr": "::/0", "except": vec!["x"; 300_000]}}]}]}),
        ),
        {
            let name = "n".repeat(1_000_000);
            let container =
                json!({"name": name, "image": "", "env": many(500, |i| json!({"name": format!("={i}")}))});
            with(workload(), &format!("{TEMPLATE}/runtime/sandbox/containers"), json!([container]))
        },
    ];
    for object in huge {
        let judgement = judged(Kind::Workload, Some(&workload()), &object);
        assert!((1..1000).contains(&judgement.faults.len()), "{} faults", judgement.faults.len());
        assert!(judgement.warnings.len() <= 32, "{} warnings", judgement.warnings.len());
        let size: usize = judgement.faults.iter().map(|fault| fault.path.stable().len()).sum();
        assert!(size < 500_000, "{size} bytes of paths");
    }
}
