//! What an Instance wants to run: a pure function.

use std::collections::BTreeMap;

use fedhub_api::{EnvVar, InstanceSpec};
use fedhub_core::object::Object;
use fedhub_provider::{Place, Refusal, Wanted};
use serde::{Deserialize, Serialize};

/// The variable in which a command finds its address.
pub const ADDRESS: &str = "INSTANCE_ADDRESS";
/// The region of all servers.
pub const REGION: &str = "local";

/// What a process runs: the specification of a server of this provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The program and its arguments.
    pub arguments: Vec<String>,
    /// Its variables.
    pub environment: BTreeMap<String, String>,
}

/// The place and the command that an Instance of a project wants.
///
/// # Errors
///
/// What this provider has no means for, in words for the Instance's user.
pub fn wanted(project: &str, instance: &Object) -> Result<Wanted<Command>, Refusal> {
    let spec: InstanceSpec =
        serde_json::from_value(instance.data["spec"].clone()).map_err(|error| Refusal {
            by_user: false,
            message: format!("the Instance cannot be read: {error}; see that its CRD is fedhub's"),
        })?;
    let [interface] = spec.network_interfaces.as_slice() else {
        return Err(refused("a process has one address: leave one network interface"));
    };
    let containers = spec.runtime.sandbox.as_ref().map(|sandbox| sandbox.containers.as_slice());
    let Some([container]) = containers else {
        return Err(refused("processes run the command of one container: use a sandbox with one"));
    };
    let arguments: Vec<_> = container.command.iter().chain(&container.args).flatten().cloned().collect();
    if container.command.as_ref().is_none_or(Vec::is_empty) {
        return Err(refused("an image is not used: name the program in the container's command"));
    }
    if container.env_from.is_some() || spec.volumes.as_ref().is_some_and(|volumes| !volumes.is_empty()) {
        return Err(refused("processes have no volumes and take no variables from elsewhere: remove these"));
    }
    let environment = container.env.iter().flatten().map(variable).collect::<Result<_, _>>()?;
    let place = Place {
        region: REGION.into(),
        project: project.into(),
        network: interface.network.name.as_str().into(),
    };
    Ok(Wanted { place, spec: Command { arguments, environment } })
}

fn variable(variable: &EnvVar) -> Result<(String, String), Refusal> {
    match &variable.value_from {
        None => Ok((variable.name.clone(), variable.value.clone().unwrap_or_default())),
        Some(_) => Err(refused("processes take no variables from elsewhere: give each a value")),
    }
}

fn refused(message: &str) -> Refusal {
    Refusal { by_user: true, message: message.to_owned() }
}
