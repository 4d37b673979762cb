//! As a plugin of kubectl, and alone: kubeconfigs.

use std::fs;

use fedhub_testing::condition;
use serde_json::json;

use super::named;
use super::support::{Platform, ended};

const PLANE: &str = "/apis/resourcemanager.miloapis.com/v1alpha1/projects/shop/control-plane";

/// A kubeconfig with a context for the project, as `datumctl auth update-kubeconfig` writes one.
fn kubeconfig(platform: &Platform, path: &str) -> String {
    let file = platform.file("kubeconfig");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "datum-project-shop",
        "clusters": [{ "name": "c", "cluster": {
            "server": format!("https://{}{path}", platform.host), "certificate-authority": platform.file("ca.pem"),
        } }],
        "users": [{ "name": "u", "user": { "token": "good" } }],
        "contexts": [{ "name": "datum-project-shop", "context": { "cluster": "c", "user": "u" } }],
    });
    fs::write(&file, config.to_string()).unwrap();
    file.display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_names_the_program_as_it_was_called() {
    let files = tempfile::tempdir().unwrap();
    for (name, usage) in [("kubectl-compute", "kubectl compute"), ("datumctl-compute", "datumctl compute")] {
        let mut command = named(files.path(), name);
        command.args(["destroy", "--help"]);
        let help = ended(command).await;
        assert!(help.out.contains(&format!("Usage: {usage} destroy ")), "{help:?}");
        assert!(help.out.contains(&format!("\n  {usage} destroy api")), "examples too: {help:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_goes_by_the_kubeconfig_and_not_by_variables_of_datumctl() {
    let platform = Platform::start().await;
    platform.entitle(&json!({ "phase": "Active", "conditions": [condition("Ready", "True", "R", "")] }));
    for (path, flags) in [(PLANE, [].as_slice()), ("", ["--project", "shop"].as_slice())] {
        let mut command = named(platform.files.path(), "kubectl-compute");
        command.arg("access").args(flags).env("KUBECONFIG", kubeconfig(&platform, path));
        command.env("DATUM_API_HOST", "nowhere.invalid").env("DATUM_PROJECT", "elsewhere");
        command.env("DATUM_CREDENTIALS_HELPER", platform.file("helper"));
        let run = ended(command).await;
        assert_eq!(run.code, 0, "{path} {run:?}");
        assert!(run.out.contains("Compute is enabled in project \"shop\""), "{run:?}");
    }
    assert!(platform.asked().is_empty(), "no helper of datumctl is asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_that_is_named_wins_over_datumctl() {
    let platform = Platform::start().await;
    let file = kubeconfig(&platform, PLANE);
    let run = platform.run(&["access", "--kubeconfig", &file]).await;
    assert_eq!(run.code, 0, "{run:?}");
    assert!(platform.asked().is_empty());
    let run = platform.run(&["access", "--kubeconfig", &file, "--context", "nope"]).await;
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("there is no context \"nope\""), "{run:?}");
    let run = platform.run(&["access", "--kubeconfig", "/nowhere/config"]).await;
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("/nowhere/config"), "{run:?}");
}
