use super::*;

/// A Deployment with these arguments, a hub kubeconfig from a Secret and a name from a `ConfigMap`.
fn deployment(arguments: &[&str]) -> Deployment {
    serde_json::from_value(json!({
        "metadata": { "name": "fedhub-cell", "namespace": "fedhub-cells" },
        "spec": { "selector": {}, "template": { "spec": {
            "serviceAccountName": "fedhub-cell",
            "containers": [{
                "name": "fedhub",
                "args": arguments,
                "env": [
                    { "name": "FEDHUB_NAMESPACE", "valueFrom": { "fieldRef": { "fieldPath": "metadata.namespace" } } },
                    { "name": "FEDHUB_CELL_NAME", "valueFrom": { "configMapKeyRef": { "name": "fedhub-cell", "key": "name" } } },
                ],
                "volumeMounts": [{ "name": "hub", "mountPath": "/etc/fedhub/hub" }],
            }],
            "volumes": [{ "name": "hub", "secret": { "secretName": "fedhub-hub-kubeconfig" } }],
        } } },
    }))
    .unwrap()
}

fn surroundings() -> Surroundings {
    let key = |name: &str, key: &str| (name.to_owned(), key.to_owned());
    Surroundings {
        files: BTreeMap::from([(
            key("fedhub-hub-kubeconfig", "kubeconfig"),
            PathBuf::from("/here/hub.yaml"),
        )]),
        values: BTreeMap::from([(key("fedhub-cell", "name"), "cell-dfw".to_owned())]),
        account: PathBuf::from("/here/cell-dfw.yaml"),
    }
}

const USUAL: [&str; 3] = ["run", "--enable-cell-controllers", "--hub-kubeconfig=/etc/fedhub/hub/kubeconfig"];

#[test]
fn a_process_is_told_what_its_container_would_be_told() {
    let arguments = [&USUAL[..], &["--metrics-address=0.0.0.0:8443"]].concat();
    let pod = pod(&deployment(&arguments), &surroundings(), 7).unwrap();
    let expected = [
        "run",
        "--enable-cell-controllers",
        "--hub-kubeconfig=/here/hub.yaml",
        "--metrics-address=127.0.0.1:0",
        "--management-kubeconfig=/here/cell-dfw.yaml",
        "--admin-address=127.0.0.1:7",
    ];
    assert_eq!(pod.arguments, expected);
    let variables = [("FEDHUB_CELL_NAME", "cell-dfw"), ("FEDHUB_NAMESPACE", "fedhub-cells")];
    assert_eq!(pod.environment, variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
}

#[test]
fn admission_is_served_at_any_port_of_this_machine() {
    let arguments = [&USUAL[..], &["--enable-webhooks"]].concat();
    let pod = pod(&deployment(&arguments), &surroundings(), 7).unwrap();
    assert!(pod.arguments.contains(&"--webhook-address=127.0.0.1:0".to_owned()), "{:?}", pod.arguments);
}

#[test]
fn what_a_kubelet_would_not_find_or_this_does_not_know_fails() {
    let fails = |arguments: &[&str], surroundings: &Surroundings| {
        pod(&deployment(arguments), surroundings, 7).unwrap_err()
    };
    for wrong in ["--hub-kubeconfig=/etc/fedhub/hub/config", "--hub-kubeconfig=/etc/fedhub/quota/kubeconfig"]
    {
        assert!(fails(&["run", wrong], &surroundings()).contains(wrong));
    }
    let without = Surroundings { files: BTreeMap::new(), ..surroundings() };
    assert!(fails(&USUAL, &without).contains("no Secret"));
    let without = Surroundings { values: BTreeMap::new(), ..surroundings() };
    assert!(fails(&USUAL, &without).contains("FEDHUB_CELL_NAME"));
    let own = [USUAL[0], "--management-kubeconfig=x"];
    assert!(fails(&own, &surroundings()).contains("in the cluster"));
    let mut other = deployment(&USUAL);
    let spec = other.spec.template.spec.as_mut().unwrap();
    spec.containers[0].command = Some(vec!["sh".to_owned()]);
    assert!(pod(&other, &surroundings(), 7).is_err());
}

#[test]
fn a_suite_may_not_say_what_deploy_has_to_say() {
    let may = |flag: &str| may_differ(&[flag.to_owned()]).is_ok();
    assert!(may("--lease-duration=10m") && may("--hub-kubeconfig=/x") && may("--quota=false"));
    assert!(may("--metrics-tls-cert=/x") && may("--traces"));
    let may_set = |name: &str| may_be_set(&[(name.to_owned(), "x".to_owned())]).is_ok();
    assert!(may_set("OTEL_EXPORTER_OTLP_ENDPOINT") && !may_set("FEDHUB_DISCOVERY"));
    for flag in [
        "--networking",
        "--discovery=milo",
        "--namespace=x",
        "--quota-kubeconfig=/x",
        "--enable-cell-controllers",
        "--metrics-address=0.0.0.0:1",
    ] {
        assert!(!may(flag), "{flag}");
    }
}

#[test]
fn an_overlay_is_found_from_anywhere() {
    let way = relative(Path::new("/a/b"), Path::new("/c/d"));
    assert_eq!(way, Path::new("../../c/d"));
}
