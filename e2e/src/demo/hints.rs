//! What is worth a look, and worth trying, once everything stands.

use super::Error;
use super::objects::{NAME, NAMESPACE, PLACEMENT, deployment_name};
use super::printer::relative;
use crate::fedhub::Fedhub;
use crate::progress::Progress;
use crate::tools::{self, Tool};
use crate::topology::planes::cells;
use crate::topology::{self, Planes};

/// All of it.
pub async fn text(planes: &Planes, fedhub: &Fedhub) -> Result<String, Error> {
    let kubectl = tools::ensure(Tool::Kubernetes, &Progress::silent()).await?.program("kubectl");
    let mut lines = vec![String::new(), topology::summary(planes), "fedhub itself:".to_owned()];
    lines.push(page("at the hub", fedhub));
    for (cell, _) in cells() {
        lines.push(page(cell.name, &Fedhub::cell(planes.layout(), cell.name)?));
    }
    for (cell, _) in cells() {
        let services = Fedhub::services(planes.layout(), cell.name)?;
        lines.push(format!("SIMULATED services of {}: {}", cell.name, relative(services.log())));
    }
    lines.push(String::new());
    lines.push("Worth trying, in another terminal:".to_owned());
    lines.extend(tries(&kubectl.display().to_string(), |plane| relative(planes.kubeconfig(plane))));
    lines.push(format!("  curl -s {}/metrics | grep fedhub_propagation_seconds", fedhub.url()));
    lines.push(String::new());
    lines.push("Ctrl-C here, or `make down` in another terminal, ends everything.".to_owned());
    Ok(lines.join("\n"))
}

fn page(place: &str, fedhub: &Fedhub) -> String {
    format!("  {place:<11} {0}/metrics, {0}/readyz, {1}", fedhub.url(), relative(fedhub.log()))
}

/// Commands to type, each with what it shows.
fn tries(kubectl: &str, kubeconfig: impl Fn(&str) -> String) -> Vec<String> {
    let mut lines = Vec::new();
    for (why, commands) in groups(kubectl, kubeconfig) {
        if !why.is_empty() {
            lines.push(format!("  # {why}"));
        }
        lines.extend(commands.into_iter().map(|command| format!("  {command}")));
    }
    lines
}

fn groups(kubectl: &str, kubeconfig: impl Fn(&str) -> String) -> [(&'static str, Vec<String>); 8] {
    let at = |plane: &str| format!("kubectl --kubeconfig {}", kubeconfig(plane));
    let project = at("project-a");
    let patch =
        |patch: &str| format!("{project} -n {NAMESPACE} patch workload {NAME} --type=merge -p '{patch}'");
    let place = |cities: &str, replicas: u32| {
        let scale = format!(r#""scaleSettings":{{"minReplicas":{replicas}}}"#);
        patch(&format!(
            r#"{{"spec":{{"placements":[{{"name":"{PLACEMENT}","cityCodes":[{cities}],{scale}}}]}}}}"#
        ))
    };
    let fault = |value: &str| {
        patch(&format!(
            r#"{{"spec":{{"template":{{"metadata":{{"annotations":{{"simulate.fedhub.dev/fault":{value}}}}}}}}}}}"#
        ))
    };
    let conditions =
        r#"-o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'"#;
    [
        (
            "",
            vec![
                format!("alias kubectl={kubectl}"),
                format!("{project} get workloads,workloaddeployments,instances -A"),
            ],
        ),
        (
            "what it is on the hub, and in a cell",
            vec![
                format!(
                    "{} get workloaddeployments,propagationpolicies,instances -A --show-labels",
                    at("hub")
                ),
                format!("{} get workloaddeployments,instances,configmaps,secrets -A", at("cell-dfw")),
            ],
        ),
        ("four Instances in each city instead of two", vec![place(r#""DFW","ORD""#, 4)]),
        (
            "an image that cannot be pulled: the rollout stops at the first city, whose WorkloadDeployment says why",
            vec![
                fault(r#""ImageUnavailable""#),
                format!(
                    "{project} -n {NAMESPACE} get workloaddeployment {} {conditions}",
                    deployment_name(NAME, "DFW")
                ),
            ],
        ),
        ("and it is mended", vec![fault("null")]),
        (
            "what is deleted by hand comes back",
            vec![format!("{project} -n {NAMESPACE} delete instance {}-0", deployment_name(NAME, "DFW"))],
        ),
        ("a city is left: what runs there goes, and nothing else", vec![place(r#""DFW""#, 2)]),
        (
            "and what its user does not want any more is gone everywhere",
            vec![format!("{project} -n {NAMESPACE} delete workload {NAME}")],
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_json() {
        let lines = tries("kubectl", |plane| format!("{plane}.yaml"));
        let patches: Vec<_> =
            lines.iter().filter_map(|line| line.split_once("-p '")?.1.strip_suffix('\'')).collect();
        assert_eq!(patches.len(), 4);
        for patch in patches {
            let patch: serde_json::Value = serde_json::from_str(patch).unwrap();
            assert!(patch["spec"].is_object(), "{patch}");
        }
    }
}
