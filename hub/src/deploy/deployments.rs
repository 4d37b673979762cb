//! Every Deployment of `deploy/`, as a kubelet would start it.

use clap::{CommandFactory, Parser};
use serde_json::Value;

use super::{Overlay, kustomize, overlays, strings};
use crate::args::{Args, Command, RunArgs};

/// The Deployment of an overlay, and all of its objects.
fn deployment((base, components): &Overlay) -> (Value, Vec<Value>) {
    let objects = kustomize::overlay(base, components);
    let mut found = objects.iter().filter(|object| object["kind"] == "Deployment");
    let deployment = found.next().unwrap_or_else(|| panic!("{base} has no Deployment")).clone();
    assert!(found.next().is_none(), "{base} {components:?} has several");
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
            path.strip_prefix(at).is_some_and(|rest| rest == "/kubeconfig")
        };
        mounts.iter().filter(within).count() == 1
    };
    let argument = |argument: &str| match argument.split_once("=/") {
        Some((flag, path)) => {
            assert!(mounted(&format!("/{path}")), "{argument} is the key `kubeconfig` of no volume");
            format!("{flag}=/dev/null")
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
        let (base, components) = overlay;
        let has = |component: &str| components.contains(&component);
        let single = has("single-cluster");
        assert_eq!(args.enable_management_controllers, base == "base");
        assert_eq!(args.enable_cell_controllers, base == "cell" || single);
        assert_eq!(args.is_single_cluster(), single);
        assert_eq!(args.write_back, !has("cell-without-write-back"));
        assert_eq!(args.hub.kubeconfig.is_some(), args.write_back);
        assert_eq!(args.networking, has("cell-networking"));
        assert_eq!(args.referenced_data, has("cell-referenced-data"));
        assert_eq!(args.quota_kubeconfig.is_some(), has("cell-quota") || has("cell-quota-milo"));
        let name = (args.cell_name.as_deref(), args.cell_city.as_deref());
        assert_eq!(name == (Some("cell-dfw"), Some("DFW")), args.enable_cell_controllers, "{components:?}");
    }
}

/// Only so does the process find its Lease, and the Secrets of its project planes, where it has rights.
#[test]
fn its_namespace_is_the_programs_default_too() {
    for overlay in overlays() {
        let (deployment, _) = deployment(&overlay);
        let namespace = deployment["metadata"]["namespace"].as_str().unwrap();
        let (told, untold) = (variables(&deployment), arguments(&deployment));
        assert!(told.contains(&format!("--namespace={namespace}")), "{overlay:?}");
        assert_eq!(parsed(&untold).namespace(), namespace, "{overlay:?}");
    }
}

#[test]
fn what_it_names_is_there() {
    for overlay in overlays() {
        let (deployment, objects) = deployment(&overlay);
        let (pod, container) = (pod(&deployment), container(&deployment));
        let namespace = &deployment["metadata"]["namespace"];
        let mine = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
        assert!(mine("Namespace").any(|object| object["metadata"]["name"] == *namespace), "{overlay:?}");
        for object in &objects {
            let own = &object["metadata"]["namespace"];
            assert!(own.is_null() || own == namespace, "{overlay:?}: {} is elsewhere", object["kind"]);
        }
        let account = &pod["serviceAccountName"];
        assert!(mine("ServiceAccount").any(|object| object["metadata"]["name"] == *account), "{overlay:?}");
        let (volumes, mounts) =
            (pod["volumes"].as_array().unwrap(), container["volumeMounts"].as_array().unwrap());
        assert_eq!(volumes.len(), mounts.len(), "{overlay:?}");
        for (volume, mount) in volumes.iter().zip(mounts) {
            assert_eq!(volume["name"], mount["name"], "{overlay:?}");
            let of = volume["secret"]["secretName"].as_str().unwrap();
            let at = mount["mountPath"].as_str().unwrap().strip_prefix("/etc/fedhub/").unwrap();
            assert_eq!(of, format!("fedhub-{at}-kubeconfig"));
            assert_eq!(mount["readOnly"], true);
        }
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        assert_eq!(deployment["spec"]["selector"]["matchLabels"], *labels);
        let spread = &pod["topologySpreadConstraints"][0];
        assert_eq!(spread["labelSelector"]["matchLabels"], *labels);
        let selecting = |kind| mine(kind).map(|object| &object["spec"]["selector"]).collect::<Vec<_>>();
        assert_eq!(selecting("Service"), [labels], "{overlay:?}");
        let of_budget = selecting("PodDisruptionBudget");
        assert!(of_budget.len() == 1 && of_budget[0]["matchLabels"] == *labels, "{overlay:?}");
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
        let scraped = overlay.1.iter().any(|component| component.ends_with("metrics-auth"));
        assert_eq!(args.metrics.address.is_some(), scraped, "{overlay:?}");
        // Elsewhere than on the same host metrics are served over HTTPS only, so that is what is called by their name.
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

/// What the Pod Security Standard `restricted` asks for, and a read-only root file system.
#[test]
fn its_pods_are_allowed_nothing_that_they_do_not_need() {
    for overlay in overlays() {
        let (deployment, _) = deployment(&overlay);
        let (of_pod, container) = (&pod(&deployment)["securityContext"], container(&deployment));
        let of_container = &container["securityContext"];
        assert_eq!(of_pod["runAsNonRoot"], true);
        assert_eq!(of_pod["seccompProfile"]["type"], "RuntimeDefault");
        assert_eq!(of_container["allowPrivilegeEscalation"], false);
        assert_eq!(of_container["readOnlyRootFilesystem"], true);
        assert_eq!(strings(&of_container["capabilities"]["drop"]), ["ALL"]);
        let resources = &container["resources"];
        assert!(resources["limits"]["memory"].is_string() && resources["requests"]["cpu"].is_string());
    }
}
