//! What `docs/install.md` tells an installer is what is in `deploy/`.

use std::collections::BTreeSet;
use std::fs;

use clap::Parser;
use fedhub_core::names::PlaneName;
use fedhub_planes::discovery::credentials::Source;
use serde_json::Value;

use super::{kustomize, overlays};
use crate::args::{Args, Command};
use crate::kubeconfig::Account;
use crate::kubeconfig::args::{KubeconfigCommand, MintArgs};

/// The documents that name directories of `deploy/`.
const DOCUMENTS: [&str; 8] = [
    "README.md",
    "docs/architecture.md",
    "docs/install.md",
    "docs/limits.md",
    "docs/operations.md",
    "docs/reference/cli.md",
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
        let (purpose, common) = (mint.purpose, &mint.common);
        let plane = common.projects().into_keys().next().map(|name| PlaneName::new(&name).unwrap());
        let store = context(common.store(purpose));
        format!("{store} {}/{} kubeconfig", common.namespace(purpose), purpose.secret(plane.as_ref()))
    };
    stored.map(secret).collect()
}

/// The `ConfigMap`s or Secrets that a command of kubectl makes, each as `CONTEXT NAMESPACE/NAME KEY`.
fn made(kind: &str) -> BTreeSet<String> {
    let commands = commands();
    let making = commands.iter().filter(|command| command.contains(&format!(" create {kind} ")));
    let keys = making.flat_map(|command| {
        let words: Vec<_> = command.split_whitespace().collect();
        let after = |word: &str| words[words.iter().position(|other| *other == word).unwrap() + 1];
        let name = if kind == "configmap" { after(kind) } else { after("generic") };
        let of = format!("{} {}/{name}", after("--context"), after("-n"));
        let key = |word: &&str| {
            let rest = word.strip_prefix("--from-file=").or_else(|| word.strip_prefix("--from-literal="))?;
            rest.split('=').next().map(|key| format!("{of} {key}"))
        };
        words.iter().filter_map(key).collect::<Vec<_>>()
    });
    keys.collect()
}

#[test]
fn every_directory_of_deploy_that_is_named_is_there_and_every_component_is_named() {
    for path in DOCUMENTS {
        let document = document(path);
        for rest in document.split("deploy/").skip(1) {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_./*".contains(c)));
            let named = rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', '/']);
            assert!(kustomize::deploy(named).exists(), "{path} names deploy/{named}");
        }
    }
    let guide = guide();
    for (_, components) in overlays() {
        for component in components {
            assert!(guide.contains(&format!("`{component}`")), "no installer hears of {component}");
        }
    }
}

/// The Pods of a Deployment wait for them by name and key.
#[test]
fn what_deployments_wait_for_is_what_the_commands_make() {
    let (secrets, maps) = (secrets(), made("configmap"));
    assert!(secrets.len() >= 5 && maps.len() == 2 && made("secret").is_empty(), "{secrets:?} {maps:?}");
    for (base, components) in [("base", &[][..]), ("cell", &["cell-quota"])] {
        let objects = kustomize::overlay(base, components);
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let namespace = deployment["metadata"]["namespace"].as_str().unwrap();
        let context = if base == "base" { "MANAGEMENT" } else { "CELL" };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let pod = &deployment["spec"]["template"]["spec"];
        for volume in pod["volumes"].as_array().unwrap() {
            let waits = format!("{context} {namespace}/{} kubeconfig", text(&volume["secret"]["secretName"]));
            assert!(secrets.contains(&waits), "{waits}: {secrets:?}");
        }
        for variable in pod["containers"][0]["env"].as_array().unwrap() {
            let of = &variable["valueFrom"]["configMapKeyRef"];
            if !of.is_null() {
                let waits = format!("{context} {namespace}/{} {}", text(&of["name"]), text(&of["key"]));
                assert!(maps.contains(&waits), "{waits}: {maps:?}");
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
                for object in kustomize::overlay(directory, &[]) {
                    if object["kind"] == "ServiceAccount" {
                        let of = &object["metadata"];
                        let name = (of["namespace"].as_str().unwrap(), of["name"].as_str().unwrap());
                        accounts.insert(format!("{context} {} {}", name.0, name.1));
                    }
                }
            }
            ["deploy/cell-identity.sh", hub, _, name, _] => {
                accounts.insert(format!("{hub} fedhub-cells {name}"));
            }
            _ => {}
        }
    }
    let minted = minted();
    assert!(minted.len() >= 5, "{minted:?}");
    for mint in minted {
        let (purpose, common) = (mint.purpose, &mint.common);
        let target = common.target(purpose).or_else(|| common.projects().into_values().next());
        let Account { namespace, name } = purpose.account(common.cell_name.as_deref().unwrap_or_default());
        let wanted = format!("{} {namespace} {name}", context(target));
        assert!(accounts.contains(&wanted), "{wanted}: {accounts:?}");
    }
}
