//! What an Instance does at its first boot, as cloud-init's user data: its containers, for an image with
//! podman, or the users of a virtual machine.
//!
//! Containers are a list of commands, each a list of arguments that no shell sees: what users write cannot
//! end one and begin another.

use std::collections::BTreeMap;

use fedhub_api::{Container, SandboxRuntime, SeccompProfileType};
use serde_json::{Value, json};

/// What a container asks for that a server does not get from this provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The field, below `runtime.sandbox`.
    pub field: String,
    /// Why.
    pub why: &'static str,
}

/// Why references are refused: a request to the region carries them where others can read them.
const REFERENCE: &str = "values from ConfigMaps, Secrets and fields do not reach servers of a region";

/// The user data that starts the containers of a sandbox, in their order, and after each boot.
pub fn sandbox(sandbox: &SandboxRuntime) -> Result<String, Unsupported> {
    if sandbox.image_pull_secrets.as_ref().is_some_and(|secrets| !secrets.is_empty()) {
        return Err(Unsupported { field: "imagePullSecrets".to_owned(), why: REFERENCE });
    }
    let mut commands = vec![json!(["systemctl", "enable", "podman-restart.service"])];
    for container in &sandbox.containers {
        commands.push(run(container)?);
    }
    Ok(cloud_config(&json!({ "runcmd": commands })))
}

/// The user data that lets the users of a machine log in: a line for each key, the user before a colon. None
/// where there is no key.
pub fn machine(keys: &str) -> Option<String> {
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (user, key) in keys.lines().filter_map(|line| line.trim().split_once(':')) {
        users.entry(user).or_default().push(key.trim());
    }
    if users.is_empty() {
        return None;
    }
    let users = users.into_iter().map(|(name, keys)| {
        json!({"name": name, "shell": "/bin/bash", "sudo": "ALL=(ALL) NOPASSWD:ALL", "ssh_authorized_keys": keys})
    });
    let users: Vec<_> = [json!("default")].into_iter().chain(users).collect();
    Some(cloud_config(&json!({ "users": users })))
}

/// JSON is YAML.
fn cloud_config(content: &Value) -> String {
    format!("#cloud-config\n{content}\n")
}

fn run(container: &Container) -> Result<Value, Unsupported> {
    let refused =
        |field: &str, why| Unsupported { field: format!("containers[{}].{field}", container.name), why };
    let mut command: Vec<String> = ["podman", "run", "--detach", "--restart=always", "--network=host"]
        .into_iter()
        .map(str::to_owned)
        .collect();
    command.push(format!("--name={}", container.name));
    if container.env_from.as_ref().is_some_and(|sources| !sources.is_empty()) {
        return Err(refused("envFrom", REFERENCE));
    }
    if container.volume_attachments.as_ref().is_some_and(|volumes| !volumes.is_empty()) {
        return Err(refused("volumeAttachments", "containers on servers of a region have no volumes"));
    }
    for variable in container.env.iter().flatten() {
        if variable.value_from.is_some() {
            return Err(refused("env", REFERENCE));
        }
        command.push(format!("--env={}={}", variable.name, variable.value.as_deref().unwrap_or_default()));
    }
    command.extend(security(container));
    if let Some(entrypoint) = &container.command {
        command.push(format!("--entrypoint={}", json!(entrypoint)));
    }
    // What follows is the image and its arguments, whatever they begin with.
    command.push("--".to_owned());
    command.push(container.image.clone());
    command.extend(container.args.iter().flatten().cloned());
    Ok(json!(command))
}

fn security(container: &Container) -> Vec<String> {
    let Some(context) = &container.security_context else { return Vec::new() };
    let mut options = Vec::new();
    if context.allow_privilege_escalation == Some(false) {
        options.push("--security-opt=no-new-privileges".to_owned());
    }
    if context.seccomp_profile.as_ref().is_some_and(|it| it.type_ == SeccompProfileType::Unconfined) {
        options.push("--security-opt=seccomp=unconfined".to_owned());
    }
    if let Some(capabilities) = &context.capabilities {
        options.extend(capabilities.drop.iter().flatten().map(|name| format!("--cap-drop={name}")));
        options.extend(capabilities.add.iter().flatten().map(|name| format!("--cap-add={name}")));
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime(containers: Value) -> SandboxRuntime {
        serde_json::from_value(json!({ "containers": containers })).unwrap()
    }

    fn commands(containers: Value) -> Value {
        let text = sandbox(&runtime(containers)).unwrap();
        let json = text.strip_prefix("#cloud-config\n").unwrap();
        serde_json::from_str::<Value>(json).unwrap()["runcmd"].take()
    }

    #[test]
    fn a_container_is_one_command_whose_arguments_no_shell_sees() {
        let nasty = "; rm -rf / #";
        let commands = commands(json!([{
            "name": "web", "image": "docker.io/library/nginx:1", "command": ["/bin/sh", "-c"], "args": [nasty],
            "env": [{"name": "A", "value": "$(reboot)\n- x"}],
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
        }]));
        let expected = json!([
            ["systemctl", "enable", "podman-restart.service"],
            [
                "podman",
                "run",
                "--detach",
                "--restart=always",
                "--network=host",
                "--name=web",
                "--env=A=$(reboot)\n- x",
                "--security-opt=no-new-privileges",
                "--cap-drop=ALL",
                "--entrypoint=[\"/bin/sh\",\"-c\"]",
                "--",
                "docker.io/library/nginx:1",
                nasty
            ],
        ]);
        assert_eq!(commands, expected);
    }

    #[test]
    fn references_are_refused_by_name() {
        let secret = json!({"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}});
        for (field, more) in [
            ("containers[web].env", json!({"env": [secret]})),
            ("containers[web].envFrom", json!({"envFrom": [{"secretRef": {"name": "s"}}]})),
            ("containers[web].volumeAttachments", json!({"volumeAttachments": [{"name": "v"}]})),
        ] {
            let mut container = json!({"name": "web", "image": "i"});
            container.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(sandbox(&runtime(json!([container]))).unwrap_err().field, field);
        }
    }

    #[test]
    fn the_users_of_a_machine_have_their_keys() {
        let text = machine("ada:ssh-ed25519 A a\n\n  bob: ssh-ed25519 B\nada:ssh-ed25519 C\n").unwrap();
        let config: Value = serde_json::from_str(text.strip_prefix("#cloud-config\n").unwrap()).unwrap();
        assert_eq!(config["users"][0], "default");
        assert_eq!(config["users"][1]["ssh_authorized_keys"], json!(["ssh-ed25519 A a", "ssh-ed25519 C"]));
        assert_eq!(config["users"][2]["name"], "bob");
        assert_eq!(machine("\n"), None);
    }

    #[test]
    fn the_same_containers_are_the_same_user_data() {
        let containers = json!([{"name": "a", "image": "i", "env": [{"name": "X", "value": "1"}]}]);
        assert_eq!(sandbox(&runtime(containers.clone())), sandbox(&runtime(containers)));
    }
}
