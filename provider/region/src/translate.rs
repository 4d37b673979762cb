//! The server that an Instance wants, by the configuration: a pure function.

use fedhub_api::{Disk, InstanceSpec, NetworkInterface, VirtualMachineRuntime, Volume};
use fedhub_core::message::Quoted;
use fedhub_core::object::Object;
use fedhub_provider::{Place, Refusal, Wanted};

use crate::config::{Config, Region};
use crate::ids::Uuid;
use crate::spec::{ServerSpec, UserData};
use crate::user_data;

/// The annotation with the keys of a machine's users.
const SSH_KEYS: &str = "compute.datumapis.com/ssh-keys";
/// The class of address that is one from outside.
const PUBLIC: &str = "public";
/// The longest user data: what clouds take.
const LONGEST_USER_DATA: usize = 48 << 10;

/// Where the server of an Instance is to be, and what it is to be made of.
pub fn wanted(config: &Config, project: &str, instance: &Object) -> Result<Wanted<ServerSpec>, Refusal> {
    let spec: InstanceSpec = serde_json::from_value(instance.data["spec"].clone()).map_err(|error| {
        by_operator(format!("the Instance cannot be read: {error}; see that its CRD is fedhub's"))
    })?;
    let location = spec.location.as_ref().map(|location| location.name.as_str());
    let region = region(config, location)?;
    let name = &region.name;
    let own = region.projects.get(project).ok_or_else(|| {
        by_operator(format!(
            "project {} is not known in region {name}: add it to its projects in the provider's configuration",
            Quoted(project)
        ))
    })?;
    let interface = interface(&spec)?;
    let network = own.networks.get(&interface.network.name).ok_or_else(|| {
        by_operator(format!(
            "network {} of project {} is not known in region {name}: add it to the project's networks in the \
             provider's configuration",
            Quoted(&interface.network.name),
            Quoted(project)
        ))
    })?;
    let place = Place {
        region: name.as_str().into(),
        project: own.project_id.to_string().into(),
        network: network.to_string().into(),
    };
    let annotations = instance.metadata.annotations.as_ref();
    let keys = annotations.and_then(|all| all.get(SSH_KEYS)).map_or("", String::as_str);
    let content = content(region, &spec, keys)?;
    let spec = ServerSpec {
        flavor_id: flavor(region, &spec)?.to_string().into(),
        image_id: content.image.to_string().into(),
        public_ip: public_ip(interface)?,
        security_groups: Vec::new(),
        allowed_source_addresses: Vec::new(),
        user_data: content.user_data,
    };
    Ok(Wanted { place, spec })
}

/// What a server boots: an image, and what it does at first.
struct Content {
    image: Uuid,
    user_data: Option<UserData>,
}

fn by_user(message: String) -> Refusal {
    Refusal { by_user: true, message }
}

fn by_operator(message: String) -> Refusal {
    Refusal { by_user: false, message }
}

fn region<'a>(config: &'a Config, location: Option<&str>) -> Result<&'a Region, Refusal> {
    let named = location.and_then(|location| config.locations.get(location));
    let found = match (named, config.regions.as_slice()) {
        (Some(name), regions) => regions.iter().find(|region| region.name == *name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found.ok_or_else(|| {
        by_operator(format!(
            "location {} is in no region: add it to locations in the provider's configuration",
            Quoted(location.unwrap_or_default())
        ))
    })
}

fn interface(spec: &InstanceSpec) -> Result<&NetworkInterface, Refusal> {
    match spec.network_interfaces.as_slice() {
        [one] => Ok(one),
        _ => Err(by_user("a server has one network interface: leave one in networkInterfaces".to_owned())),
    }
}

fn public_ip(interface: &NetworkInterface) -> Result<bool, Refusal> {
    for address in interface.addresses.iter().flatten() {
        if address.class != PUBLIC {
            return Err(by_user(format!(
                "addresses of class {} are not to be had here: ask for class \"{PUBLIC}\", or for none",
                Quoted(&address.class)
            )));
        }
    }
    Ok(interface.addresses.as_ref().is_some_and(|addresses| !addresses.is_empty()))
}

fn flavor(region: &Region, spec: &InstanceSpec) -> Result<Uuid, Refusal> {
    let resources = &spec.runtime.resources;
    if resources.requests.as_ref().is_some_and(|requests| !requests.is_empty()) {
        return Err(by_user(
            "servers have the CPU and memory of their instance type: remove runtime.resources.requests"
                .to_owned(),
        ));
    }
    region.instance_types.get(&resources.instance_type).copied().ok_or_else(|| {
        by_user(format!(
            "instance type {} is not offered in region {}: choose another one, or ask the platform for it",
            Quoted(&resources.instance_type),
            region.name
        ))
    })
}

fn content(region: &Region, spec: &InstanceSpec, keys: &str) -> Result<Content, Refusal> {
    if let Some(machine) = &spec.runtime.virtual_machine {
        let image = boot_image(region, machine, spec.volumes.as_deref().unwrap_or_default())?;
        let user_data = user_data::machine(keys).map(|text| UserData::new(&text));
        return Ok(Content { image, user_data });
    }
    let Some(sandbox) = &spec.runtime.sandbox else {
        return Err(by_user(
            "the Instance has neither containers nor a virtual machine: say what runs".to_owned(),
        ));
    };
    let Some(own) = &region.sandbox else {
        return Err(by_operator(format!(
            "region {} runs no containers: set sandbox.imageId in the provider's configuration",
            region.name
        )));
    };
    let text = user_data::sandbox(sandbox).map_err(|unsupported| {
        by_user(format!(
            "runtime.sandbox.{}: {}: remove it",
            fedhub_core::message::excerpt(&unsupported.field),
            unsupported.why
        ))
    })?;
    if text.len() > LONGEST_USER_DATA {
        return Err(by_user(format!(
            "the containers take more than {} KiB to describe: shorten their variables and arguments",
            LONGEST_USER_DATA >> 10
        )));
    }
    Ok(Content { image: own.image_id, user_data: Some(UserData::new(&text)) })
}

fn boot_image(region: &Region, machine: &VirtualMachineRuntime, volumes: &[Volume]) -> Result<Uuid, Refusal> {
    let [boot] = machine.volume_attachments.as_slice() else {
        return Err(by_user("servers of a region have a boot disk alone: attach one volume".to_owned()));
    };
    let disk = volumes.iter().find(|volume| volume.name == boot.name).and_then(|volume| volume.disk.as_ref());
    let image = disk.and_then(image_name).ok_or_else(|| {
        by_user(format!("volume {} is not a disk with an image: a server boots from one", Quoted(&boot.name)))
    })?;
    region.images.get(image).copied().ok_or_else(|| {
        by_user(format!(
            "image {} is not offered in region {}: choose another one, or ask the platform for it",
            Quoted(image),
            region.name
        ))
    })
}

fn image_name(disk: &Disk) -> Option<&str> {
    Some(disk.template.spec.populator.as_ref()?.image.as_ref()?.name.as_str())
}

#[cfg(test)]
mod tests;
