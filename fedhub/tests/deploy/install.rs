//! What `docs/install.md` tells an installer is what is in `deploy/`.

use std::collections::BTreeSet;
use std::fs;

use clap::Parser;
use fedhub_core::names::PlaneName;
use fedhub_planes::discovery::credentials::Source;
use serde_json::Value;

use super::kustomize;
use fedhub::args::{Args, Command};
use fedhub::kubeconfig::args::{KubeconfigCommand, MintArgs};

/// The documents that name directories of `deploy/`.
const DOCUMENTS: [&str; 10] = [
    "README.md",
    "docs/architecture.md",
    "docs/install.md",
    "docs/limits.md",
    "docs/operations.md",
    "docs/reference/cli.md",
    "docs/runbooks/README.md",
    "docs/sizing.md",
    "docs/testing.md",
    "docs/uninstall.md",
];

fn document(path: &str) -> String {
    fs::read_to_string(kustomize::deploy("..").join(path)).unwrap()
}

fn guide() -> String {
    document("docs/install.md")
}

/// Its commands, each on a line.
fn commands() -> Vec<String> {
    let guide = guide();
    let blocks = guide.split("\n```sh\n").skip(1).map(|block| block.split("\n```\n").next().unwrap());
    blocks
        .flat_map(|block| block.replace("\\\n", " ").lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// What `cp -r` makes: the copies, each with what it is of.
fn copies() -> Vec<(String, String)> {
    commands()
        .into_iter()
        .filter_map(|command| match command.split_whitespace().collect::<Vec<_>>()[..] {
            ["cp", "-r", from, to] => {
                Some((to.strip_prefix("deploy/")?.to_owned(), from.strip_prefix("deploy/")?.to_owned()))
            }
            _ => None,
        })
        .collect()
}

/// The directory of `deploy/` that one is, or is a copy of.
fn original(directory: &str) -> String {
    copies()
        .iter()
        .find_map(|(to, from)| directory.strip_prefix(to).map(|rest| format!("{from}{rest}")))
        .unwrap_or_else(|| directory.to_owned())
}

/// The kubeconfigs that the commands mint.
fn minted() -> Vec<MintArgs> {
    let mints = commands().into_iter().filter(|command| command.starts_with("fedhub kubeconfig mint "));
    let parsed = mints.map(|command| {
        let words = command.split_whitespace().take_while(|word| !word.starts_with('>'));
        match Args::try_parse_from(words).unwrap().command {
            Command::Kubeconfig(KubeconfigCommand::Mint(args)) => {
                assert!(args.validate().is_empty(), "{command}: {:?}", args.validate());
                *args
            }
            _ => panic!("{command}"),
        }
    });
    parsed.collect()
}

/// The context of a plane that a kubeconfig is of, or is stored on.
fn context(source: Option<Source>) -> String {
    match source {
        Some(Source::Kubectl { context }) => context,
        other => panic!("no context: {other:?}"),
    }
}

/// The Secrets of minted kubeconfigs, each as `CONTEXT NAMESPACE/NAME KEY`.
fn secrets() -> BTreeSet<String> {
    let stored = minted().into_iter().filter(|mint| !mint.print);
    let secret = |mint: MintArgs| {
        let purpose = mint.purpose;
        let common = &mint.common;
        let plane = common.projects().into_keys().next().map(|name| PlaneName::new(&name).unwrap());
        let store = context(common.store(purpose));
        format!("{store} {}/{} kubeconfig", common.namespace(purpose), purpose.secret(plane.as_ref()))
    };
    stored.map(secret).collect()
}

#[test]
fn every_directory_of_deploy_that_is_named_is_there_and_every_component_is_named() {
    for path in DOCUMENTS {
        let document = document(path);
        for (at, name) in document.match_indices("deploy/") {
            // A folder of that name elsewhere is another one.
            if document[..at].ends_with('/') {
                continue;
            }
            let rest = &document[at + name.len()..];
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_./*".contains(c)));
            let named = rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', '/']);
            assert!(kustomize::deploy(&original(named)).exists(), "{path} names deploy/{named}");
        }
    }
    let guide = guide();
    for (directory, kustomization) in kustomize::all() {
        let name = directory.file_name().unwrap().to_str().unwrap();
        let told = kustomization.kind != "Component" || guide.contains(&format!("`{name}`"));
        assert!(told, "no installer hears of {name}");
    }
}

/// The Pods of a Deployment wait for them by name and key.
#[test]
fn what_deployments_wait_for_is_what_the_commands_make() {
    let secrets = secrets();
    assert!(secrets.len() >= 5, "{secrets:?}");
    assert!(!commands().iter().any(|command| command.contains(" create secret ")));
    for (overlay, components) in [("management-plane", &[][..]), ("cell", &["cell-quota"])] {
        let objects = kustomize::overlay(&format!("overlays/{overlay}"), components);
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let namespace = deployment["metadata"]["namespace"].as_str().unwrap();
        let context = if overlay == "cell" { "CELL" } else { "MANAGEMENT" };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let pod = &deployment["spec"]["template"]["spec"];
        for volume in pod["volumes"].as_array().unwrap() {
            let waits = format!("{context} {namespace}/{} kubeconfig", text(&volume["secret"]["secretName"]));
            assert!(secrets.contains(&waits), "{waits}: {secrets:?}");
        }
        for variable in pod["containers"][0]["env"].as_array().unwrap() {
            let of = &variable["valueFrom"]["configMapKeyRef"];
            if !of.is_null() {
                let maps = objects.iter().filter(|object| object["kind"] == "ConfigMap");
                assert!(
                    maps.into_iter().any(|map| {
                        map["metadata"]["name"] == of["name"]
                            && map["data"][of["key"].as_str().unwrap()].is_string()
                    }),
                    "{of}"
                );
            }
        }
    }
}

/// Each kubeconfig is of an account that its plane has.
#[test]
fn kubeconfigs_are_of_accounts_that_were_made_before() {
    let mut accounts = BTreeSet::new();
    for command in commands() {
        let words: Vec<_> = command.split_whitespace().collect();
        match words[..] {
            ["kubectl", "--context", context, "apply", "--server-side", "-k", directory] => {
                let Some(directory) = directory.strip_prefix("deploy/").filter(|of| *of != "crds") else {
                    continue;
                };
                for object in kustomize::overlay(&original(directory), &[]) {
                    if object["kind"] == "ServiceAccount" {
                        let of = &object["metadata"];
                        let name = (of["namespace"].as_str().unwrap(), of["name"].as_str().unwrap());
                        accounts.insert(format!("{context} {} {}", name.0, name.1));
                    }
                }
            }
            ["fedhub", "cells", "admit", name, "--hub-context", hub, ..] => {
                accounts.insert(format!("{hub} fedhub-cells {name}"));
            }
            _ => {}
        }
    }
    let minted = minted();
    assert!(minted.len() >= 5, "{minted:?}");
    for mint in minted {
        let purpose = mint.purpose;
        let common = &mint.common;
        let target = common.target(purpose).or_else(|| common.projects().into_values().next());
        let account = purpose.account(common.cell_name.as_deref().unwrap_or_default());
        let wanted = format!("{} {} {}", context(target), account.namespace, account.name);
        assert!(accounts.contains(&wanted), "{wanted}: {accounts:?}");
    }
}

/// Figures are measured once, in `docs/benchmarks.md`.
#[test]
fn what_sizing_says_was_measured_was_measured() {
    let sizing = document("docs/sizing.md");
    let benchmarks = document("docs/benchmarks.md");
    let measured = sizing.split("\n## Measured\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = measured.lines().filter(|line| line.starts_with("| `"));
    let mut figures = 0;
    for row in rows {
        let words: Vec<_> = row.split([' ', ',', ';']).collect();
        for pair in words.windows(2) {
            if ["MB", "kB", "%", "times"].contains(&pair[1]) {
                let figure = format!("{} {}", pair[0], pair[1]);
                assert!(benchmarks.contains(&figure), "docs/benchmarks.md has no {figure}");
                figures += 1;
            }
        }
    }
    assert!(figures >= 10, "{figures}");
}

#[test]
fn the_first_row_of_what_to_request_is_what_deployments_request() {
    let sizing = document("docs/sizing.md");
    let row = sizing.lines().find(|line| line.starts_with("| up to 100 ")).unwrap();
    for directory in ["base", "cell"] {
        let objects = kustomize::overlay(directory, &[]);
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let resources = &deployment["spec"]["template"]["spec"]["containers"][0]["resources"];
        let requests = &resources["requests"];
        let limits = &resources["limits"];
        let said = [&requests["cpu"], &requests["memory"], &limits["memory"]].map(|of| of.as_str().unwrap());
        assert!(row.ends_with(&format!("| {} |", said.join(" | "))), "{directory}: {said:?}");
    }
}
