//! What flags make of a Workload: what they name, and nothing else.

use fedhub_cli::deploy::flags::{Edit, Keys, Mount, Variable, keys, mount, share, variable};
use fedhub_core::object::ObjectView;
use serde_json::{Value, json};

use super::fixtures::{args, lines, object, plan, told, two_placements, web};

const CONTAINER: &str = "spec.template.spec.runtime.sandbox.containers[app]";

#[test]
fn a_flag_changes_what_it_names_and_nothing_else() {
    let at = |path: &str| path.replace("APP", CONTAINER);
    for (words, expected) in [
        (&[][..], &[][..]),
        (&["--image=ghcr.io/example/web:1"], &[]),
        (
            &["--image=ghcr.io/example/web:2"],
            &[r#"~ APP.image: "ghcr.io/example/web:1" -> "ghcr.io/example/web:2""#],
        ),
        (&["--min=3"], &["~ spec.placements[america].scaleSettings.minReplicas: 1 -> 3"]),
        (&["--max-surge=1"], &["+ spec.placements[america].scaleSettings.rollingUpdate"]),
        (&["--city=DFW,LHR"], &[r#"~ spec.placements[america].cityCodes: ["DFW", "ORD"] -> ["DFW", "LHR"]"#]),
        (&["--city=dfw,lhr"], &[r#"~ spec.placements[america].cityCodes: ["DFW", "ORD"] -> ["DFW", "LHR"]"#]),
        (&["--city=dfw,Ord"], &[]),
        (&["--env=LEVEL=debug"], &["~ APP.env[LEVEL].value"]),
        (&["--env=LEVEL-", "--env=NEW=a=b", "--env=GONE-"], &["- APP.env[LEVEL]", "+ APP.env[NEW]"]),
        (&["--env=TOKEN=plain"], &["+ APP.env[TOKEN].value", "- APP.env[TOKEN].valueFrom"]),
        (&["--env-from-configmap=web"], &[]),
        (&["--http-port=9090"], &["~ APP.ports[http].port: 8080 -> 9090"]),
        (&["--no-http"], &["- APP.ports[http]"]),
        (&["--configmap=web:/etc/web"], &[]),
        (
            &["--configmap=web-"],
            &["- APP.volumeAttachments[settings]", "- spec.template.spec.volumes[settings]"],
        ),
        (
            &["--label=team-", "--label=tier=front"],
            &["- metadata.labels.team", r#"+ metadata.labels.tier: "front""#],
        ),
        (
            &["--instance-type=d2"],
            &[r#"~ spec.template.spec.runtime.resources.instanceType: "datumcloud/d1-standard-2" -> "d2""#],
        ),
        (
            &["--network=other"],
            &[r#"~ spec.template.spec.networkInterfaces[eth0].network.name: "default" -> "other""#],
        ),
        (
            &["--max=5", "--cpu-percent=70"],
            &[
                "+ spec.placements[america].scaleSettings.maxReplicas: 5",
                "+ spec.placements[america].scaleSettings.metrics",
            ],
        ),
    ] {
        let plan = plan(words, Some(&web())).unwrap();
        let expected: Vec<_> = expected.iter().map(|line| at(line)).collect();
        assert_eq!(lines(&plan), expected, "{words:?}");
        assert_eq!(plan.is_noop(), expected.is_empty(), "{words:?}");
    }
}

/// A city that the workload has keeps its name; others are written in capitals. None stands twice.
#[test]
fn cities_are_understood_in_any_case_and_named_once() {
    let mut small = web();
    small["spec"]["placements"][0]["cityCodes"] = json!(["dfw"]);
    for (words, existing, expected) in [
        (["--city=dfw,ord"], None, json!(["DFW", "ORD"])),
        (["--city=DFW,ord"], Some(&small), json!(["dfw", "ORD"])),
    ] {
        let plan = plan(&[&["--image=ghcr.io/a/b:1"], &words[..]].concat(), existing).unwrap();
        assert_eq!(plan.object.spec()["placements"][0]["cityCodes"], expected, "{words:?}");
    }
    for (words, existing, again) in [
        (&["--city=DFW,DFW"][..], None, "DFW"),
        (&["--city=ORD", "--city=DFW,ord"], Some(&small), "ORD"),
        (&["--city=DFW,dfw"], Some(&small), "dfw"),
    ] {
        let faults = plan(&[&["--image=ghcr.io/a/b:1"], words].concat(), existing).unwrap_err();
        let expected = format!("--city \"{again}\": a city stands once in a placement, in whatever case");
        assert_eq!(told(&faults), [expected], "{words:?}");
    }
}

#[test]
fn files_of_a_secret_get_a_volume_and_one_place_has_one_volume() {
    let template =
        |words: &[&str]| plan(words, Some(&web())).unwrap().object.spec()["template"]["spec"].clone();
    let added = template(&["--secret=tls.example.com:/etc/tls", "--configmap=web:/srv"]);
    let volumes = added["volumes"].as_array().unwrap();
    let secret = &volumes[1];
    assert_eq!((volumes.len(), &secret["secret"]), (2, &json!({"secretName": "tls.example.com"})));
    let name = secret["name"].as_str().unwrap();
    assert!(name.starts_with("secret-tls-example-com-") && fedhub_core::names::is_dns_label(name), "{name}");
    let mounts = &added["runtime"]["sandbox"]["containers"][0]["volumeAttachments"];
    let expected = json!([
        {"name": "settings", "mountPath": "/etc/web"},
        {"name": "settings", "mountPath": "/srv"},
        {"name": name, "mountPath": "/etc/tls"},
    ]);
    assert_eq!(*mounts, expected);
    // Another object in that place: the volume that nothing attaches any more goes.
    let replaced = template(&["--secret=tls:/etc/web"]);
    assert_eq!(replaced["volumes"], json!([{"name": "secret-tls", "secret": {"secretName": "tls"}}]));
}

#[test]
fn scaling_is_set_changed_and_turned_off() {
    let settings = |words: &[&str], before: &Value| {
        let plan = plan(words, Some(before)).unwrap();
        plan.object.spec()["placements"][0]["scaleSettings"].clone()
    };
    let metric = |name: &str, percent: i32| json!({"resource": {"name": name, "target": {"averageUtilization": percent}}});
    let mut scaled = web();
    let both = settings(&["--max=4", "--cpu-percent=70", "--memory-percent=80"], &web());
    assert_eq!(both["metrics"], json!([metric("cpu", 70), metric("memory", 80)]));
    scaled["spec"]["placements"][0]["scaleSettings"] = both;
    assert_eq!(
        settings(&["--cpu-percent=50"], &scaled)["metrics"],
        json!([metric("cpu", 50), metric("memory", 80)])
    );
    assert_eq!(settings(&["--cpu-percent=0"], &scaled)["metrics"], json!([metric("memory", 80)]));
    let off = settings(&["--max=0"], &scaled);
    assert_eq!(off, json!({"minReplicas": 1, "instanceManagementPolicy": "OrderedReady"}));
}

#[test]
fn how_many_are_replaced_at_once_is_set_one_by_one() {
    let updated = |words: &[&str], before: &Value| {
        let plan = plan(words, Some(before)).unwrap();
        plan.object.spec()["placements"][0]["scaleSettings"]["rollingUpdate"].clone()
    };
    let first = updated(&["--max-unavailable=0", "--max-surge=25%"], &web());
    assert_eq!(first, json!({"maxUnavailable": 0, "maxSurge": "25%"}));
    let mut rolling = web();
    rolling["spec"]["placements"][0]["scaleSettings"]["rollingUpdate"] = first;
    let second = updated(&["--max-surge=2"], &rolling);
    assert_eq!(second, json!({"maxUnavailable": 0, "maxSurge": 2}), "what is not named stands");
}

#[test]
fn placements_stay_as_they_are_and_are_never_guessed() {
    let several = two_placements();
    let faults = plan(&["--min=3"], Some(&several)).unwrap_err();
    let expected = "--min: the workload has several placements (america, europe): say which by --placement";
    assert_eq!(told(&faults), [expected]);
    let named = plan(&["--min=3", "--placement=europe"], Some(&several)).unwrap();
    assert_eq!(lines(&named), ["~ spec.placements[europe].scaleSettings.minReplicas: 2 -> 3"]);
    let image = plan(&["--image=a.b/c:2"], Some(&several)).unwrap();
    assert_eq!(image.object.spec()["placements"], several["spec"]["placements"]);
    let added = plan(&["--placement=asia", "--city=NRT"], Some(&several)).unwrap();
    assert_eq!(lines(&added), ["+ spec.placements[asia]"]);
    let faults = plan(&["--placement=asia", "--min=2"], Some(&several)).unwrap_err();
    assert_eq!(told(&faults), ["--city: the new placement asia needs at least one city"]);
}

#[test]
fn a_new_workload_needs_an_image_and_a_city_and_has_the_rest_by_default() {
    let faults = plan(&["--min=2"], None).unwrap_err();
    let expected =
        ["--image: a new workload needs an image", "--city: a new workload needs at least one city"];
    assert_eq!(told(&faults), expected);
    let new =
        plan(&["--image=ghcr.io/a/b:1", "--city=DFW,ORD", "--min=2", "--http-port=80", "--env=A=1"], None)
            .unwrap();
    let expected = json!({
        "template": {"spec": {
            "runtime": {
                "resources": {"instanceType": "datumcloud/d1-standard-2"},
                "sandbox": {"containers": [{
                    "name": "app",
                    "image": "ghcr.io/a/b:1",
                    "env": [{"name": "A", "value": "1"}],
                    "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
                }]},
            },
            "networkInterfaces": [{"network": {"name": "default"}}],
        }},
        "placements": [{"name": "default", "cityCodes": ["DFW", "ORD"], "scaleSettings": {"minReplicas": 2}}],
    });
    assert_eq!(*new.object.spec(), expected);
    assert_eq!((new.before.is_some(), new.object.name(), new.object.namespace()), (false, "web", "default"));
}

#[test]
fn names_are_checked_before_anything_is_sent() {
    let faults = plan(
        &["--city=New York", "--network=A", "--placement=b_c", "--secret=X:/x", "--env-from-configmap=Y"],
        Some(&web()),
    );
    let at: Vec<_> = faults.unwrap_err().into_iter().map(|fault| fault.at).collect();
    let expected = [
        r#"--placement "b_c""#,
        r#"--network "A""#,
        r#"--city "New York""#,
        r#"--env-from-configmap "Y""#,
        r#"--secret "X""#,
    ];
    assert_eq!(at, expected);
}

#[test]
fn a_container_is_never_guessed() {
    let mut two = web();
    let containers = &mut two["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"];
    *containers = json!([{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]);
    let faults = plan(&["--env=A=1"], Some(&two)).unwrap_err();
    let expected = "--env: the workload has several containers, none of them named app: change it with -f";
    assert_eq!(told(&faults), [expected]);
    let mut machine = web();
    machine["spec"]["template"]["spec"]["runtime"]["sandbox"].take();
    let faults = plan(&["--image=a"], Some(&machine)).unwrap_err();
    assert_eq!(told(&faults), ["--image: the workload is a virtual machine: change it with -f"]);
}

#[test]
fn what_a_flag_takes_is_checked_when_it_is_read() {
    let of = |key: &str, value: &str| Variable { key: key.to_owned(), value: value.to_owned() };
    assert_eq!(variable("A=b=c"), Ok(Edit::Set(of("A", "b=c"))));
    assert_eq!(variable("A="), Ok(Edit::Set(of("A", ""))));
    assert_eq!(variable("A-"), Ok(Edit::Remove("A".to_owned())));
    let prefixed = Keys { name: "a".to_owned(), prefix: Some("P_".to_owned()) };
    assert_eq!(keys("a:P_"), Ok(Edit::Set(prefixed)));
    assert_eq!(keys("a-"), Ok(Edit::Remove("a".to_owned())));
    let mounted = Mount { name: "a".to_owned(), path: "/b:c".to_owned() };
    assert_eq!(mount("a:/b:c"), Ok(Edit::Set(mounted)));
    for wrong in ["", "A", "=b", "-"] {
        assert!(variable(wrong).is_err(), "{wrong:?}");
    }
    for wrong in ["", "a", "a:b", ":/b", "-"] {
        assert!(mount(wrong).is_err(), "{wrong:?}");
    }
    assert!(keys("").is_err() && keys(":P").is_err() && keys("-").is_err());
    for (text, expected) in [("0", json!(0)), ("1000", json!(1000)), ("25%", json!("25%"))] {
        assert_eq!(json!(share(text).unwrap()), expected);
    }
    for wrong in ["", "-1", "1001", "some", "101%", "1.5", "%"] {
        assert!(share(wrong).is_err(), "{wrong:?}");
    }
    let error = args(&["web", "--env", "A"]).unwrap_err();
    assert!(error.contains("KEY=VALUE sets, KEY- removes"), "{error}");
}

#[test]
fn flags_and_files_do_not_mix() {
    for words in
        [&["web", "-f", "a.yaml"][..], &["-f", "a.yaml", "--image=a"], &["web", "--http-port=1", "--no-http"]]
    {
        let error = args(words).unwrap_err();
        assert!(error.contains("cannot be used with"), "{words:?}: {error}");
    }
    assert!(args(&["-f", "a.yaml", "-f", "-", "--yes", "--dry-run=server", "--no-wait"]).is_ok());
}

#[test]
fn a_server_may_have_stored_what_this_version_does_not_know() {
    let mut newer = web();
    newer["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]["livenessProbe"] =
        json!({"port": 1});
    newer["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let plan = plan(&["--image=a.b/c:2"], Some(&newer)).unwrap();
    newer["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]["image"] = json!("a.b/c:2");
    assert_eq!(plan.object, object(&newer));
}

#[test]
fn a_maximum_below_the_minimum_is_refused_whichever_of_them_is_new() {
    let mut scaled = web();
    scaled["spec"]["placements"][0]["scaleSettings"]["maxReplicas"] = json!(4);
    for (words, workload, expected) in [
        (&["--min=3", "--max=2"][..], web(), "--max: 2 is less than the minimum, 3"),
        (&["--min=5"], scaled.clone(), "--min: 5 is more than the maximum, 4"),
    ] {
        let faults = plan(words, Some(&workload)).unwrap_err();
        assert_eq!(faults.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected], "{words:?}");
    }
    assert!(plan(&["--min=4"], Some(&scaled)).is_ok());
    // A new workload has one instance in each city where nothing else is said.
    let new = ["--image=a.b/c:1", "--city=DFW"];
    for (words, expected) in [
        (&["--min=3", "--max=2"][..], &["--max: 2 is less than the minimum, 3"][..]),
        (&["--max=2"], &[]),
        (&["--max=1"], &[]),
    ] {
        let faults = plan(&[&new, words].concat(), None).err().unwrap_or_default();
        assert_eq!(told(&faults), expected, "{words:?}");
    }
}
