//! Every Deployment of `deploy/`, as a kubelet would start it.

use clap::{CommandFactory, Parser};
use serde_json::{Value, json};

use super::{Overlay, overlays, strings};
use fedhub::args::{Args, Command, RunArgs};

/// The Deployment of an overlay, and all of its objects.
pub(super) fn deployment(overlay: &Overlay) -> (Value, Vec<Value>) {
    let objects = overlay.objects();
    let mut found = objects.iter().filter(|object| object["kind"] == "Deployment");
    let deployment = found.next().unwrap_or_else(|| panic!("{overlay:?} has no Deployment")).clone();
    assert!(found.next().is_none(), "{overlay:?} has several");
    (deployment, objects)
}

fn pod(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]
}

fn container(deployment: &Value) -> &Value {
    let containers = pod(deployment)["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    &containers[0]
}

/// The flags of its variables: each has to be one of the program's.
fn variables(deployment: &Value) -> Vec<String> {
    let command = Args::command();
    let run = command.find_subcommand("run").unwrap();
    let variables = container(deployment)["env"].as_array().unwrap();
    variables
        .iter()
        .map(|variable| {
            let name = variable["name"].as_str().unwrap();
            let known = run.get_arguments().find(|arg| arg.get_env().is_some_and(|env| env == name));
            let flag = known.unwrap_or_else(|| panic!("no flag has the variable {name}")).get_long().unwrap();
            let from = &variable["valueFrom"];
            let value = match (from["fieldRef"]["fieldPath"].as_str(), &from["configMapKeyRef"]) {
                (Some("metadata.namespace"), _) => deployment["metadata"]["namespace"].as_str().unwrap(),
                (None, map) if map["name"] == "fedhub-cell" && map["key"] == "name" => "cell-dfw",
                (None, map) if map["name"] == "fedhub-cell" && map["key"] == "city" => "DFW",
                _ => panic!("{name} is of {from}"),
            };
            format!("--{flag}={value}")
        })
        .collect()
}

/// Where the configuration of a cell's provider is mounted.
const PROVIDER: &str = "/etc/fedhub/provider";
/// Where the certificates of admission and of the metrics are mounted.
const CERTIFICATES: [&str; 2] = ["/etc/fedhub/webhook-tls", "/etc/fedhub/metrics-tls"];

fn is_tls(key: &str) -> bool {
    matches!(key, "tls.crt" | "tls.key" | "ca.crt")
}

/// What the program makes of a command line.
fn parsed(arguments: &[String]) -> RunArgs {
    let all = std::iter::once("fedhub").chain(arguments.iter().map(String::as_str));
    match Args::try_parse_from(all).unwrap_or_else(|error| panic!("{error}")).command {
        Command::Run(args) => *args,
        _ => panic!("{arguments:?} is not `run`"),
    }
}

/// The arguments, with each file of a volume in place of one that is here.
fn arguments(deployment: &Value) -> Vec<String> {
    let mounts = container(deployment)["volumeMounts"].as_array().unwrap();
    let mounted = |path: &str| {
        let within = |mount: &&Value| {
            let at = mount["mountPath"].as_str().unwrap();
            let key = path.strip_prefix(at).and_then(|rest| rest.strip_prefix('/'));
            key.is_some_and(|key| match at {
                PROVIDER => key == "config.yaml",
                at if CERTIFICATES.contains(&at) => is_tls(key),
                _ => key == "kubeconfig",
            })
        };
        mounts.iter().filter(within).count() == 1
    };
    let argument = |argument: &str| match argument.split_once("=/") {
        Some((flag, path)) => {
            assert!(mounted(&format!("/{path}")), "{argument} is the key of no volume");
            // What the program reads before it starts.
            let config = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/deploy/provider/config.yaml");
            let file = if flag == "--provider-config" { config } else { "/dev/null" };
            format!("{flag}={file}")
        }
        None => argument.to_owned(),
    };
    strings(&container(deployment)["args"]).into_iter().map(argument).collect()
}

#[test]
fn every_flag_of_every_overlay_is_one_that_the_program_knows_and_finds_nothing_wrong_with() {
    for overlay in overlays() {
        let (deployment, _) = deployment(&overlay);
        assert!(
            container(&deployment)["command"].is_null(),
            "{overlay:?} does not start what the image does"
        );
        let mut all = arguments(&deployment);
        all.extend(variables(&deployment));
        let args = parsed(&all);
        assert_eq!(args.validate(), Vec::<String>::new(), "{overlay:?}");
        let has = |component: &str| overlay.has(component);
        let single = has("single-cluster");
        assert_eq!(args.enable_management_controllers, !overlay.is_cell());
        assert_eq!(args.enable_cell_controllers, overlay.is_cell() || single);
        assert_eq!(args.is_single_cluster(), single);
        assert_eq!(args.write_back, !has("cell-without-write-back"));
        assert_eq!(args.hub.kubeconfig.is_some(), args.write_back);
        assert_eq!(args.networking, has("cell-networking"));
        assert_eq!(args.referenced_data, has("cell-referenced-data"));
        assert_eq!(args.enable_provider, has("cell-provider"));
        assert_eq!(args.webhooks.enabled, has("webhooks"));
        assert_eq!(args.webhooks.client_ca.is_some(), has("webhooks"));
        assert_eq!(args.webhooks.trust_network, has("webhooks-trust-network"));
        assert_eq!(args.quota_kubeconfig.is_some(), has("cell-quota") || has("cell-quota-milo"));
        let name = (args.cell_name.as_deref(), args.cell_city.as_deref());
        assert_eq!(name == (Some("cell-dfw"), Some("DFW")), args.enable_cell_controllers, "{overlay:?}");
    }
}

/// Only so does the process find its Lease, and the Secrets of its project planes, where it has rights.
#[test]
fn its_namespace_is_the_programs_default_too() {
    for overlay in overlays() {
        let (deployment, _) = deployment(&overlay);
        let namespace = deployment["metadata"]["namespace"].as_str().unwrap();
        let told = variables(&deployment);
        let untold = arguments(&deployment);
        assert!(told.contains(&format!("--namespace={namespace}")), "{overlay:?}");
        assert_eq!(parsed(&untold).namespace(), namespace, "{overlay:?}");
    }
}

/// Each volume with its mount.
fn volumes(deployment: &Value) -> Vec<(&Value, &Value)> {
    let volumes = &pod(deployment)["volumes"];
    let mounts = &container(deployment)["volumeMounts"];
    let volumes = volumes.as_array().unwrap();
    let mounts = mounts.as_array().unwrap();
    assert_eq!(volumes.len(), mounts.len());
    for (volume, mount) in volumes.iter().zip(mounts) {
        assert_eq!(volume["name"], mount["name"]);
        assert_eq!(mount["readOnly"], true);
    }
    volumes.iter().zip(mounts).collect()
}

#[test]
fn what_it_names_is_there() {
    for overlay in overlays() {
        let (deployment, objects) = deployment(&overlay);
        let namespace = &deployment["metadata"]["namespace"];
        let mine = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
        let named = |kind, name: &Value| mine(kind).any(|object| object["metadata"]["name"] == *name);
        for object in &objects {
            let own = &object["metadata"]["namespace"];
            // The CA of admission is where fedhub reads no Secrets.
            let of_issuer = overlay.has("webhooks-cert-manager") && *own == "cert-manager";
            let known = own.is_null() || of_issuer || named("Namespace", own);
            assert!(known, "{overlay:?}: {} is nowhere", object["kind"]);
            let elsewhere = of_issuer || overlay.has("single-cluster") && *own == "fedhub-cells";
            assert!(own.is_null() || own == namespace || elsewhere, "{overlay:?}: {}", object["kind"]);
        }
        assert!(named("ServiceAccount", &pod(&deployment)["serviceAccountName"]), "{overlay:?}");
        let mut tokens = 0;
        for (volume, mount) in volumes(&deployment) {
            let at = mount["mountPath"].as_str().unwrap().strip_prefix("/etc/fedhub/").unwrap();
            if let Some(of) = volume["secret"]["secretName"].as_str() {
                let folder = format!("/etc/fedhub/{at}");
                let is_other = folder == PROVIDER || CERTIFICATES.contains(&&*folder);
                let name = if is_other { format!("fedhub-{at}") } else { format!("fedhub-{at}-kubeconfig") };
                assert_eq!(of, name);
                continue;
            }
            let token = &volume["projected"]["sources"][0]["serviceAccountToken"];
            // The least that a server grants.
            assert!(token["expirationSeconds"].as_u64().unwrap() >= 600);
            assert_eq!((at, &token["path"]), ("hub-token", &"token".into()));
            tokens += 1;
        }
        assert_eq!(tokens == 1, overlay.has("projected-hub-token"), "{overlay:?}");
        for map in mine("ConfigMap") {
            assert_eq!(
                (&map["metadata"]["name"], &map["metadata"]["namespace"]),
                (&"fedhub-cell".into(), namespace)
            );
            assert!(map["data"]["name"].is_string() && map["data"]["city"].is_string(), "{overlay:?}");
        }
    }
}

/// The port of a Service, a budget, a policy and a monitor are about its Pods.
#[test]
fn what_belongs_to_it_selects_its_pods() {
    for overlay in overlays() {
        let (deployment, objects) = deployment(&overlay);
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        assert_eq!(deployment["spec"]["selector"]["matchLabels"], *labels);
        let of = |kind: &str, at: &str| -> Vec<Value> {
            let all = objects.iter().filter(|object| object["kind"] == kind);
            all.map(|object| object.pointer(at).unwrap().clone()).collect()
        };
        let own = |has: bool| if has { vec![labels.clone()] } else { Vec::new() };
        let services = [own(true), own(overlay.has("webhooks"))].concat();
        assert_eq!(of("Service", "/spec/selector"), services, "{overlay:?}");
        let available = own(overlay.has("high-availability"));
        assert_eq!(of("PodDisruptionBudget", "/spec/selector/matchLabels"), available, "{overlay:?}");
        let spread = pod(&deployment)["topologySpreadConstraints"].as_array();
        let spread = spread.into_iter().flatten().map(|of| of["labelSelector"]["matchLabels"].clone());
        assert_eq!(spread.collect::<Vec<_>>(), available, "{overlay:?}");
        let fenced = own(overlay.has("network-policy"));
        assert_eq!(of("NetworkPolicy", "/spec/podSelector/matchLabels"), fenced, "{overlay:?}");
        let monitored = own(overlay.has("service-monitor") || overlay.has("service-monitor-self-signed"));
        assert_eq!(of("ServiceMonitor", "/spec/selector/matchLabels"), monitored, "{overlay:?}");
        for kind in ["PodDisruptionBudget", "NetworkPolicy", "ServiceMonitor"] {
            for field in ["name", "namespace", "labels"] {
                for value in of(kind, &format!("/metadata/{field}")) {
                    assert_eq!(value, deployment["metadata"][field], "{overlay:?}: {kind}");
                }
            }
        }
    }
}

/// A port that is not let in is not scraped; what goes out is DNS and API servers.
#[test]
fn the_network_policy_and_the_monitor_name_the_port_of_metrics() {
    let overlay =
        Overlay::new("overlays/cell", &["cell-metrics-auth", "metrics-cert-manager", "service-monitor"]);
    let (deployment, objects) = deployment(&overlay);
    let of = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let metrics = &container(&deployment)["ports"][1]["name"];
    let policy = &of("NetworkPolicy")["spec"];
    let ingress = policy["ingress"].as_array().unwrap();
    let lets_in: Vec<_> = ingress.iter().flat_map(|from| from["ports"].as_array().unwrap()).collect();
    // No Pod of a cell has a port for admission.
    assert_eq!(lets_in.iter().map(|port| &port["port"]).collect::<Vec<_>>(), [metrics, &json!("webhooks")]);
    assert_eq!(strings(&policy["policyTypes"]), ["Ingress", "Egress"]);
    let monitor = &of("ServiceMonitor")["spec"]["endpoints"][0];
    let service = of("Service");
    assert_eq!(monitor["port"], service["spec"]["ports"][0]["name"]);
    // The label by which alerts about a cell inhibit others: Prometheus writes other characters as `_`.
    let relabelled = &monitor["relabelings"][0];
    assert_eq!(relabelled["targetLabel"], "cell");
    let source = strings(&relabelled["sourceLabels"])[0];
    let labels = service["metadata"]["labels"].as_object().unwrap();
    let as_meta = |label: &str| {
        let plain = label.replace(|character: char| !character.is_ascii_alphanumeric(), "_");
        format!("__meta_kubernetes_service_label_{plain}")
    };
    let taken = labels.iter().find(|(label, _)| as_meta(label) == source);
    assert_eq!(taken.unwrap().1, &of("ConfigMap")["data"]["name"]);
}

/// The token of Prometheus is sent to none but who holds the key of the certificate that it trusts.
#[test]
fn i14_a_monitor_verifies_the_certificate_that_is_served() {
    for (overlay, metrics) in
        [("overlays/management-plane", "metrics-auth"), ("overlays/cell", "cell-metrics-auth")]
    {
        let overlay = Overlay::new(overlay, &[metrics, "metrics-cert-manager", "service-monitor"]);
        let (deployment, objects) = deployment(&overlay);
        let of = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
        let tls = &of("ServiceMonitor")["spec"]["endpoints"][0]["tlsConfig"];
        assert!(tls["insecureSkipVerify"].is_null(), "{overlay:?}");
        let certificate = of("Certificate");
        let spec = &certificate["spec"];
        let secret = &tls["ca"]["secret"];
        assert_eq!((&secret["name"], &secret["key"]), (&spec["secretName"], &json!("ca.crt")), "{overlay:?}");
        assert!(strings(&spec["dnsNames"]).contains(&tls["serverName"].as_str().unwrap()), "{overlay:?}");
        for object in [certificate, of("Issuer"), of("ServiceMonitor")] {
            assert_eq!(object["metadata"]["namespace"], deployment["metadata"]["namespace"], "{overlay:?}");
        }
        let volumes = pod(&deployment)["volumes"].as_array().unwrap();
        let volume =
            volumes.iter().find(|volume| volume["secret"]["secretName"] == spec["secretName"]).unwrap();
        let mounts = container(&deployment)["volumeMounts"].as_array().unwrap();
        let mount = mounts.iter().find(|mount| mount["name"] == volume["name"]).unwrap();
        let path = mount["mountPath"].as_str().unwrap();
        let args = strings(&container(&deployment)["args"]);
        for argument in
            [format!("--metrics-tls-cert={path}/tls.crt"), format!("--metrics-tls-key={path}/tls.key")]
        {
            assert!(args.contains(&&*argument), "{overlay:?}: {argument}");
        }
    }
}

#[test]
fn its_probes_ask_where_the_program_answers_and_its_end_may_take_its_time() {
    for overlay in overlays() {
        let (deployment, objects) = deployment(&overlay);
        let container = container(&deployment);
        let args = parsed(&arguments(&deployment));
        let port = &container["ports"][0];
        assert_eq!(port["containerPort"], args.admin_address.port(), "{overlay:?}");
        assert!(args.admin_address.ip().is_unspecified());
        for (probe, path) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
            let asked = &container[probe]["httpGet"];
            assert_eq!((&asked["path"], &asked["port"]), (&path.into(), &port["name"]), "{overlay:?}");
        }
        let service = objects.iter().find(|object| object["kind"] == "Service").unwrap();
        let (ports, served) = (container["ports"].as_array().unwrap(), &service["spec"]["ports"]);
        let scraped = overlay.has("metrics-auth") || overlay.has("cell-metrics-auth");
        assert_eq!(args.metrics.address.is_some(), scraped, "{overlay:?}");
        // Elsewhere than on the same host metrics are served over HTTPS only, so that is what is called by
        // their name.
        assert_eq!(served[0]["name"] == "metrics", scraped, "{overlay:?}");
        assert_eq!(served[0]["targetPort"], ports[usize::from(scraped)]["name"], "{overlay:?}");
        if let Some(address) = args.metrics.address {
            assert_eq!(ports[1]["containerPort"], address.port(), "{overlay:?}");
            assert!(address.ip().is_unspecified() && served[0]["port"] == address.port());
        }
        let grace = pod(&deployment)["terminationGracePeriodSeconds"].as_u64().unwrap_or(30);
        assert!(
            grace > args.shutdown_timeout.as_secs(),
            "{overlay:?}: killed before it has released its Lease"
        );
        // Several, of which one leads.
        assert!(deployment["spec"]["replicas"].as_u64().unwrap() > 1 && args.leader_elect, "{overlay:?}");
    }
}

/// Requests are what the scheduler goes by; docs/sizing.md has what they are made of.
#[test]
fn its_containers_request_what_they_need() {
    for overlay in overlays() {
        let (deployment, _) = deployment(&overlay);
        let resources = &container(&deployment)["resources"];
        for (of, what) in [("requests", "cpu"), ("requests", "memory"), ("limits", "memory")] {
            assert!(resources[of][what].is_string(), "{overlay:?}: {of} of {what}");
        }
        assert!(
            resources["limits"]["cpu"].is_null(),
            "{overlay:?}: a leader that is throttled loses its Lease"
        );
    }
}

/// The port of admission is that of the program, of its Service and of the policy; what certificates are for
/// is the Secret that is mounted.
#[test]
fn w4_admission_is_reached_where_it_answers() {
    let overlay = Overlay::new("base", &["network-policy", "webhooks", "webhooks-cert-manager"]);
    let (deployment, objects) = deployment(&overlay);
    let named = |kind: &str, name: &str| {
        let mut all = objects.iter().filter(|object| object["kind"] == kind);
        all.find(|object| object["metadata"]["name"] == name).unwrap()
    };
    let args = parsed(&arguments(&deployment));
    let port = &container(&deployment)["ports"][1];
    assert_eq!(port["containerPort"], args.webhooks.address.port());
    let service = named("Service", "fedhub-webhooks");
    assert_eq!(service["spec"]["ports"][0]["targetPort"], port["name"]);
    let lets_in = named("NetworkPolicy", "fedhub")["spec"]["ingress"].as_array().unwrap();
    assert!(lets_in.iter().any(|rule| rule["ports"][0]["port"] == port["name"]));
    let certificate = &named("Certificate", "fedhub-webhook-tls")["spec"];
    assert!(
        volumes(&deployment)
            .iter()
            .any(|(volume, _)| volume["secret"]["secretName"] == certificate["secretName"])
    );
    assert_eq!(strings(&certificate["dnsNames"])[0], "fedhub-webhooks.fedhub-system.svc");
    // A Pod that ends answers for a while, and is not killed before it has shut down.
    let sleeps = container(&deployment)["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64().unwrap();
    assert!(sleeps + args.shutdown_timeout.as_secs() < 30);
}
