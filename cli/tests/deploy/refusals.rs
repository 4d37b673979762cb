//! A server's refusal in the user's words.

use fedhub_cli::deploy::document::read;
use fedhub_cli::deploy::plan::Wanted;
use fedhub_cli::deploy::refusal::{flag, sentences};
use fedhub_core::object::ObjectView;
use kube::core::Status;
use serde_json::{Value, json};

use super::fixtures::{args, plan, web};

fn status(causes: &[(&str, &str)]) -> Status {
    let causes: Vec<Value> =
        causes.iter().map(|(field, message)| json!({"field": field, "message": message})).collect();
    let value = json!({"status": "Failure", "message": "", "reason": "Invalid", "code": 422,
        "details": {"name": "web", "causes": causes}, "metadata": {}});
    serde_json::from_value(value).unwrap()
}

#[test]
fn each_field_is_named_by_the_flag_that_says_it() {
    let words = ["--secret=tls:/etc/tls", "--env-from-secret=db", "--env=NEW=1"];
    let plan = plan(&words, Some(&web())).unwrap();
    let spec = "spec.template.spec.";
    let container = "spec.template.spec.runtime.sandbox.containers[0].";
    for (field, expected) in [
        ("metadata.name".to_owned(), Some("WORKLOAD")),
        ("metadata.labels".to_owned(), Some("--label")),
        ("spec.placements[0].name".to_owned(), Some("--placement")),
        ("spec.placements[0].cityCodes[1]".to_owned(), Some("--city")),
        ("spec.placements".to_owned(), Some("--city")),
        ("spec.placements[0].scaleSettings.minReplicas".to_owned(), Some("--min")),
        ("spec.placements[1].scaleSettings.maxReplicas".to_owned(), Some("--max")),
        (
            "spec.placements[0].scaleSettings.rollingUpdate.maxUnavailable".to_owned(),
            Some("--max-unavailable"),
        ),
        ("spec.placements[0].scaleSettings.rollingUpdate.maxSurge".to_owned(), Some("--max-surge")),
        (
            "spec.placements[0].scaleSettings.metrics[0].resource.target.averageUtilization".to_owned(),
            Some("--cpu-percent or --memory-percent"),
        ),
        (format!("{spec}runtime.resources.instanceType"), Some("--instance-type")),
        (format!("{spec}networkInterfaces[0].network.name"), Some("--network")),
        (format!("{spec}networkInterfaces[0].networkPolicy.ingress[0]"), None),
        (format!("{spec}volumes[0].configMap.name"), Some("--configmap")),
        (format!("{spec}volumes[1].secret.secretName"), Some("--secret")),
        (format!("{container}image"), Some("--image")),
        (format!("{container}env[2].name"), Some("--env NEW")),
        (format!("{container}envFrom[0].configMapRef.name"), Some("--env-from-configmap")),
        (format!("{container}envFrom[1].secretRef.name"), Some("--env-from-secret")),
        (format!("{container}ports[0].port"), Some("--http-port")),
        (format!("{container}volumeAttachments[0].mountPath"), Some("--configmap")),
        (format!("{container}volumeAttachments[1].mountPath"), Some("--secret")),
        (format!("{container}securityContext"), None),
        ("spec".to_owned(), None),
    ] {
        assert_eq!(flag(&field, plan.object.spec()).as_deref(), expected, "{field}");
    }
}

#[test]
fn a_refusal_is_told_by_flag_or_by_file_and_field() {
    let causes = [
        (
            "spec.placements[0].scaleSettings.maxReplicas",
            "Invalid value: \"5\": it needs at least one metric",
        ),
        ("spec.template.spec.runtime.class", "Forbidden: classes of runtimes are not implemented"),
        ("<others>", "and 3 more faults"),
    ];
    let args = args(&["web", "--max=5"]).unwrap();
    let told = sentences(&status(&causes), Wanted::Flags("web", &args.flags), &web()["spec"]).unwrap();
    let expected = [
        "--max: invalid value: \"5\": it needs at least one metric",
        "spec.template.spec.runtime.class: forbidden: classes of runtimes are not implemented",
        "and 3 more faults",
    ];
    assert_eq!(told, expected);
    let documents = read("a.yaml", &web().to_string()).unwrap();
    let told = sentences(&status(&causes[..1]), Wanted::Document(&documents[0]), &web()["spec"]).unwrap();
    let field = "spec.placements[0].scaleSettings.maxReplicas";
    assert_eq!(told, [format!("a.yaml: {field}: invalid value: \"5\": it needs at least one metric")]);
    assert_eq!(sentences(&status(&[]), Wanted::Document(&documents[0]), &web()["spec"]), None);
}
