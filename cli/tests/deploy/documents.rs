//! What is read of files, what is wrong with them, and what they make of a Workload.

use fedhub_api::facts::workload::is_paused;
use fedhub_cli::deploy::document::{Document, distinct, read};
use fedhub_cli::deploy::plan::{DeployPlan, Wanted, decide};
use fedhub_cli::exit::Exit;
use fedhub_core::object::ObjectView;
use serde_json::{Value, json};

use super::fixtures::{lines, object, told, two_placements, web};
use super::runs::{file, plane, run, stored};

const MINIMAL: &str = include_str!("../../../deploy/samples/minimal.yaml");

fn one(text: &str) -> Document {
    let mut documents = read("web.yaml", text).map_err(|faults| told(&faults)).unwrap();
    assert_eq!(documents.len(), 1);
    documents.remove(0)
}

fn of(value: &Value) -> Document {
    one(&value.to_string())
}

fn plan(document: &Document, existing: Option<&Value>) -> DeployPlan {
    decide(Wanted::Document(document), "default", existing.map(object).as_ref()).unwrap()
}

fn faults(text: &str) -> Vec<String> {
    told(&read("web.yaml", text).unwrap_err())
}

#[test]
fn every_document_is_read_and_every_fault_is_told_at_once() {
    let two = format!("{MINIMAL}---\n# nothing\n---\n{}", MINIMAL.replace("minimal", "second"));
    let documents = read("all.yaml", &two).unwrap();
    let names: Vec<_> = documents.iter().map(|it| (it.name.as_str(), it.source.as_str())).collect();
    assert_eq!(names, [("minimal", "all.yaml, document 1"), ("second", "all.yaml, document 2")]);
    let wrong = format!(
        "{}---\n{}",
        MINIMAL.replace("image:", "imgae:"),
        MINIMAL.replace("minReplicas: 1", "minReplicas: two").replace("kind: W", "extra: 1\nkind: W")
    );
    let containers = "spec.template.spec.runtime.sandbox.containers[0]";
    let expected = [
        format!("web.yaml, document 1: {containers}.imgae: there is no such field: did you mean image?"),
        format!("web.yaml, document 1: {containers}.image: it is required"),
        "web.yaml, document 2: extra: there is no such field".to_owned(),
        "web.yaml, document 2: spec.placements[0].scaleSettings.minReplicas: it must be a whole number, not text"
            .to_owned(),
    ];
    assert_eq!(faults(&wrong), expected);
}

#[test]
fn v5_the_user_sees_what_becomes_of_disks() {
    let with = |disk: bool, disruption: Option<&str>, image: &str| {
        let mut web = web();
        let template = &mut web["spec"]["template"]["spec"];
        template["runtime"]["sandbox"]["containers"][0]["image"] = json!(image);
        if disk {
            template["runtime"]["sandbox"]["containers"][0]["volumeAttachments"] = json!([{"name": "settings", "mountPath": "/etc/web"}, {"name": "data", "mountPath": "/data"}]);
            let disk = json!({"template": {"spec": {"type": "pd-standard"}}});
            template["volumes"] =
                json!([{"name": "settings", "configMap": {"name": "web"}}, {"name": "data", "disk": disk}]);
        }
        if let Some(disruption) = disruption {
            template["disruption"] = json!(disruption);
        }
        web
    };
    let rolled = "Its instances are replaced, one after the other in each city.";
    let lost =
        "Its instances are replaced, one after the other in each city. What is on their disks is lost: data.";
    let kept = "Its instances keep the earlier template: the new one would destroy their disks data. To let it, set \
                spec.template.spec.disruption to Allow.";
    let denied = "Its instances keep the earlier template: the new one would replace them. To let it, set \
                  spec.template.spec.disruption to Allow.";
    let opened = "Its instances that keep an earlier template for now are replaced.";
    let newer = "ghcr.io/example/web:2";
    let older = "ghcr.io/example/web:1";
    for (disk, before, after, image, expected) in [
        (false, None, None, newer, Some(rolled)),
        (false, None, Some("Deny"), newer, Some(denied)),
        (false, None, Some("Allow"), older, None),
        (true, None, None, newer, Some(kept)),
        (true, Some("Allow"), None, newer, Some(kept)),
        (true, None, Some("Allow"), newer, Some(lost)),
        (true, None, Some("Allow"), older, Some(opened)),
        (true, None, Some("Deny"), older, None),
    ] {
        let plan = plan(&of(&with(disk, after, image)), Some(&with(disk, before, older)));
        let shown = fedhub_cli::deploy::view::plan(&plan);
        let said = shown.iter().find(|line| line.starts_with("Its instances"));
        assert_eq!(said.map(String::as_str), expected, "{disk} {before:?} {after:?} {image}");
    }
}

#[test]
fn a_city_that_stands_twice_in_a_placement_is_refused() {
    let mut twice = two_placements();
    twice["spec"]["placements"][0]["cityCodes"] = json!(["DFW", "ORD", "dfw"]);
    twice["spec"]["placements"][1]["cityCodes"] = json!(["DFW"]);
    let expected = "web.yaml: spec.placements[0].cityCodes[2] \"dfw\": a city stands once in a placement, in whatever case";
    assert_eq!(faults(&twice.to_string()), [expected]);
    twice["spec"]["placements"][0]["cityCodes"] = json!(["dfw", "ORD"]);
    assert_eq!(of(&twice).spec["placements"][0]["cityCodes"][0], "dfw", "a file is taken as it stands");
}

#[test]
fn two_documents_of_one_workload_are_refused() {
    let documents = read("web.yaml", &format!("{MINIMAL}---\n{MINIMAL}")).unwrap();
    let expected = "web.yaml, document 2: an earlier document is of the workload minimal, too";
    assert_eq!(told(&distinct(&documents)), [expected]);
}

#[test]
fn what_is_no_workload_is_said_with_its_field() {
    let edited = |edit: &dyn Fn(&mut Value)| {
        let mut value = web();
        edit(&mut value);
        faults(&value.to_string())
    };
    let nothing = faults("# nothing\n");
    assert_eq!(nothing, ["web.yaml: there is nothing in it"]);
    assert_eq!(faults("a: [")[0].split(": ").nth(1), Some("it is not valid YAML"));
    assert_eq!(faults("[1]"), ["web.yaml: it is not an object with apiVersion, kind, metadata and spec"]);
    for (edit, expected) in [
        (
            (&|it: &mut Value| it["kind"] = json!("ConfigMap")) as &dyn Fn(&mut Value),
            r#"web.yaml: it is of apiVersion "compute.datumapis.com/v1alpha" and kind "ConfigMap": deploy takes those of compute.datumapis.com/v1alpha and Workload"#,
        ),
        (
            &|it| {
                it["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]["image"] = json!("x y");
            },
            r#"web.yaml: spec.template.spec.runtime.sandbox.containers[0].image "x y": it must be the name of an image, without white space"#,
        ),
        (
            &|it| it["metadata"]["namespace"] = json!(7),
            "web.yaml: metadata.namespace: it must be text: quote it",
        ),
        (&|it| it["metadata"]["name"] = Value::Null, "web.yaml: metadata.name: it is required"),
        (
            &|it| it["metadata"]["name"] = json!("Web"),
            r#"web.yaml: metadata.name "Web": it must have 1 to 63 lower-case letters, digits or '-', and begin and end with a letter or digit"#,
        ),
        (
            &|it| it["metadata"]["labels"]["n"] = json!(1),
            "web.yaml: metadata.labels.n: it must be text: quote it",
        ),
        (
            &|it| it["metadata"]["lables"] = json!({}),
            "web.yaml: metadata.lables: there is no such field: did you mean labels?",
        ),
        (&|it| it["spec"]["placements"] = Value::Null, "web.yaml: spec.placements: it is required"),
        (
            &|it| it["spec"]["placements"][0]["locations"] = json!([]),
            "web.yaml: spec.placements[0].locations: there is no such field",
        ),
    ] {
        assert_eq!(edited(edit), [expected]);
    }
}

#[test]
fn a_document_of_another_namespace_is_refused() {
    let mut value = web();
    value["metadata"]["namespace"] = json!("other");
    let document = of(&value);
    assert_eq!(document.misplaced("other"), None);
    let expected = r#"web.yaml: metadata.namespace "other": this command works in the namespace "default": leave it out"#;
    assert_eq!(told(&[document.misplaced("default").unwrap()]), [expected]);
}

#[test]
fn secrets_of_a_file_are_not_in_what_is_said_of_it() {
    let text = faults("spec:\n  token: s3cret\n bad: [").join("\n");
    assert!(!text.contains("s3cret"), "{text}");
}

#[test]
fn a_file_made_from_an_object_changes_nothing() {
    let mut stored = web();
    stored["metadata"]["uid"] = json!("u");
    stored["metadata"]["resourceVersion"] = json!("7");
    stored["metadata"]["annotations"]["compute.datumapis.com/current-revision"] = json!("4");
    stored["status"] = json!({"replicas": 1});
    let document = of(&stored);
    assert!(plan(&document, Some(&stored)).is_noop());
    // An older file does not put an older record back.
    stored["metadata"]["annotations"]["compute.datumapis.com/current-revision"] = json!("5");
    assert!(plan(&document, Some(&stored)).is_noop());
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [stored]});
    assert_eq!(of(&list).name, "web");
}

#[test]
fn what_a_server_defaults_is_no_change() {
    let mut short = web();
    let template = &mut short["spec"]["template"]["spec"];
    template["networkInterfaces"] = json!([{"network": {"name": "default"}, "addresses": null}]);
    template["runtime"]["resources"].take();
    short["spec"]["placements"][0]["scaleSettings"] = json!({"minReplicas": 1});
    short["spec"]["template"]["metadata"].take();
    short["metadata"]["labels"].take();
    assert_eq!(lines(&plan(&of(&short), Some(&web()))), [""; 0]);
}

#[test]
fn a_file_says_the_whole_spec_and_only_its_own_labels() {
    let mut less = web();
    less["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]
        .as_object_mut()
        .unwrap()
        .remove("env");
    less["spec"]["placements"][0]["cityCodes"] = json!(["ORD"]);
    less["metadata"]["labels"] = json!({"tier": "front"});
    let plan = plan(&of(&less), Some(&web()));
    let expected = [
        r#"+ metadata.labels.tier: "front""#,
        r#"~ spec.placements[america].cityCodes: ["DFW", "ORD"] -> ["ORD"]"#,
        "- spec.template.spec.runtime.sandbox.containers[app].env[LEVEL]",
        "- spec.template.spec.runtime.sandbox.containers[app].env[TOKEN]",
    ];
    assert_eq!(lines(&plan), expected);
    assert_eq!(plan.object.label("team"), Some("shop"));
    assert_eq!(plan.leaves, [("america".to_owned(), "DFW".to_owned())]);
    assert!(plan.replaces);
}

#[test]
fn a_pause_that_a_file_does_not_name_stays() {
    let mut paused = web();
    paused["metadata"]["annotations"] = json!({"compute.datumapis.com/rollout-paused": "true"});
    let mut file = web();
    file["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]["image"] = json!("web:9");
    file["metadata"].as_object_mut().unwrap().remove("annotations");
    let plan = plan(&of(&file), Some(&paused));
    assert!(is_paused(&plan.object), "{:?}", plan.object.metadata.annotations);
    let said = fedhub_cli::deploy::view::plan(&plan).join("\n");
    assert!(said.contains("paused") && !said.contains("one after the other"), "{said}");
}

/// What is stored and not what is planned: the file has annotations of its own, and the pause is none of
/// them.
#[tokio::test]
async fn a_deployed_file_resumes_no_rollout() {
    let server = plane(&[]);
    let mut paused = web();
    paused["metadata"]["annotations"]["compute.datumapis.com/rollout-paused"] = json!("true");
    server.put(paused).unwrap();
    let mut newer = web();
    newer["metadata"]["annotations"] = json!({"example.com/note": "yours"});
    newer["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]["image"] = json!("web:9");
    run(&server, &["-f", file(&newer.to_string()).path().to_str().unwrap()]).await.unwrap();
    let after = stored(&server, "web").unwrap();
    assert_eq!(after["spec"]["template"], newer["spec"]["template"]);
    let expected = json!({"compute.datumapis.com/rollout-paused": "true", "example.com/note": "yours"});
    assert_eq!(after["metadata"]["annotations"], expected);
}

#[tokio::test]
async fn a_maximum_below_the_minimum_is_a_fault_before_anything_is_sent() {
    let mut wrong = two_placements();
    wrong["spec"]["placements"][1]["scaleSettings"]["maxReplicas"] = json!(1);
    let expected = "web.yaml: spec.placements[1].scaleSettings.maxReplicas: 1 is less than the minimum, 2";
    assert_eq!(faults(&wrong.to_string()), [expected]);
    let server = plane(&[]);
    let on_disk = file(&format!("{MINIMAL}\n---\n{wrong}\n"));
    let problem = run(&server, &["-f", on_disk.path().to_str().unwrap()]).await.unwrap_err();
    assert_eq!((problem.exit, server.audit().len()), (Exit::Usage, 0), "{problem:?}");
    assert!(problem.sentence.contains("document 2: spec.placements[1].scaleSettings.maxReplicas: 1 is"));
    // By flags, what is there is read, and nothing is written.
    let mark = server.mark();
    let words = ["web", "--image=ghcr.io/a/b:1", "--city=DFW", "--min=3", "--max=2"];
    let problem = run(&server, &words).await.unwrap_err();
    assert_eq!((problem.exit, stored(&server, "web")), (Exit::Usage, None), "{problem:?}");
    assert!(server.writes_since(mark).is_empty());
    wrong["spec"]["placements"][1]["scaleSettings"]["maxReplicas"] = json!(2);
    assert_eq!(of(&wrong).name, "web", "as many as the minimum are in order");
}

#[test]
fn every_sample_can_be_deployed() {
    for sample in ["minimal", "multi-placement", "sandbox", "vm"] {
        let path = format!("{}/../deploy/samples/{sample}.yaml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let document = one(&text);
        assert_eq!(
            (document.name.is_empty(), plan(&document, None).before.is_some()),
            (false, false),
            "{sample}"
        );
    }
}
