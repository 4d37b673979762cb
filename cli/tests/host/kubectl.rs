//! As a plugin of kubectl, and alone: kubeconfigs.

use std::fs;

use fedhub_testing::{condition, until};
use serde_json::{Value, json};

use super::named;
use crate::support::{Platform, ended, script};

pub(super) const PLANE: &str = "/apis/resourcemanager.miloapis.com/v1alpha1/projects/shop/control-plane";

/// A kubeconfig with a context for the project, as `datumctl auth update-kubeconfig` writes one.
pub(super) fn kubeconfig(platform: &Platform, path: &str) -> String {
    kubeconfig_of(platform, path, &json!({ "token": "good" }))
}

/// Writes the kubeconfig with this user.
fn kubeconfig_of(platform: &Platform, path: &str, user: &Value) -> String {
    kubeconfig_in(platform, path, user, "default")
}

/// Writes the kubeconfig with this user and this namespace.
fn kubeconfig_in(platform: &Platform, path: &str, user: &Value, namespace: &str) -> String {
    let file = platform.file("kubeconfig");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "datum-project-shop",
        "clusters": [{ "name": "c", "cluster": {
            "server": format!("https://{}{path}", platform.host), "certificate-authority": platform.file("ca.pem"),
        } }],
        "users": [{ "name": "u", "user": user }],
        "contexts": [{ "name": "datum-project-shop", "context": { "cluster": "c", "user": "u", "namespace": namespace } }],
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

/// The client asks a kubeconfig's login program again when a token is about to end: what fails then is the
/// login, not the connection, and no patience mends it.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_program_that_gives_no_token_any_more_ends_a_wait() {
    let platform = Platform::start().await;
    platform.entitle(&json!({ "phase": "Active", "conditions": [condition("Ready", "True", "R", "")] }));
    platform.workload("api", &["compute.datumapis.com/workload-controller"]);
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": { "token": "good", "expirationTimestamp": "2020-01-01T00:00:00Z" },
    });
    let end = platform.file("ended");
    let text = format!("if [ -e {} ]; then exit 1; fi\necho '{credential}'\n", end.display());
    let login = script(platform.files.path(), "login", &text);
    let exec = json!({ "apiVersion": "client.authentication.k8s.io/v1", "command": login, "interactiveMode": "Never" });
    let mut command = named(platform.files.path(), "kubectl-compute");
    command.args(["destroy", "api", "--yes", "--timeout", "20s"]);
    command.env("KUBECONFIG", kubeconfig_of(&platform, PLANE, &json!({ "exec": exec })));
    let waiting = tokio::spawn(ended(command));
    until("a watch", || platform.plane.audit().iter().any(|entry| entry.verb == "watch")).await;
    fs::write(end, "").unwrap();
    platform.plane.break_watches();
    let run = waiting.await.unwrap();
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.contains("Log in again") && !run.err.contains("Check your network"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_of_a_kubeconfig_is_checked_before_anything_is_sent() {
    let platform = Platform::start().await;
    let user = json!({ "token": "good" });
    for (namespace, code) in [("../../x", 2), ("a?b", 2), ("", 0), ("default", 0)] {
        let file = kubeconfig_in(&platform, PLANE, &user, namespace);
        let mark = platform.plane.mark();
        let run = platform.run(&["access", "--kubeconfig", &file]).await;
        assert_eq!(run.code, code, "{namespace} {run:?}");
        assert_eq!(platform.plane.requests_since(mark).is_empty(), code == 2, "{namespace}");
        assert_eq!(run.err.contains("is not the name of a namespace"), code == 2, "{run:?}");
    }
}
