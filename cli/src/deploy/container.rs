//! The container that flags are about: its image, variables, files and port.

use fedhub_core::hash;
use fedhub_core::names::is_dns_label;
use serde_json::{Value, json};

use super::edit::{edit_list, find, put};
use super::fault::Fault;
use super::flags::{Edit, Flags, Keys, Mount, Variable};

/// The name of the one container of a new Workload.
pub const NAME: &str = "app";
/// The name of the port that is published.
pub const HTTP: &str = "http";

/// The rule of [`is_image`], for messages.
pub const IMAGE_RULE: &str = "it must be the name of an image, without white space";

/// Whether a text can be the name of an image; whether there is such an image, its registry knows.
pub fn is_image(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// The path of a template's containers.
const CONTAINERS: &str = "/runtime/sandbox/containers";

/// Edits the container of a template as the flags say.
pub fn edit(template: &mut Value, flags: &Flags) -> Result<(), Fault> {
    let Some(flag) = flags.of_container() else { return Ok(()) };
    let index = index(template, flag)?;
    let before = attached(template);
    let mut volumes = template["volumes"].as_array().cloned().unwrap_or_default();
    let Some(container) = template.pointer_mut(&format!("{CONTAINERS}/{index}")) else { return Ok(()) };
    if let (Some(fields), Some(image)) = (container.as_object_mut(), &flags.image) {
        fields.insert("image".to_owned(), json!(image));
    }
    edit_list(container, "env", |env| flags.env.iter().for_each(|it| variable(env, it)));
    edit_list(container, "envFrom", |sources| {
        flags.env_from_configmap.iter().for_each(|it| keys(sources, "configMapRef", it));
        flags.env_from_secret.iter().for_each(|it| keys(sources, "secretRef", it));
    });
    edit_list(container, "ports", |ports| port(ports, flags));
    edit_list(container, "volumeAttachments", |mounts| {
        let mut files = Files { volumes: &mut volumes, mounts };
        flags.configmap.iter().for_each(|it| files.apply(CONFIG_MAP, it));
        flags.secret.iter().for_each(|it| files.apply(SECRET, it));
    });
    // A volume that nothing attaches any more is refused.
    let after = attached(template);
    volumes.retain(|it| !before.contains(&it["name"]) || after.contains(&it["name"]));
    edit_list(template, "volumes", |all| *all = volumes);
    Ok(())
}

/// The names of the volumes that containers attach.
fn attached(template: &Value) -> Vec<Value> {
    let containers = template.pointer(CONTAINERS).and_then(Value::as_array).into_iter().flatten();
    let mounts = containers.flat_map(|it| it["volumeAttachments"].as_array().into_iter().flatten());
    mounts.map(|it| it["name"].clone()).collect()
}

/// The container of that name, or the only one.
fn index(template: &Value, flag: &'static str) -> Result<usize, Fault> {
    let containers = template.pointer(CONTAINERS).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    match (find(containers, NAME), containers) {
        (Some(index), _) => Ok(index),
        (None, [_]) => Ok(0),
        (None, []) => Err(Fault::new(flag, "the workload is a virtual machine: change it with -f")),
        (None, _) => {
            let rule =
                format!("the workload has several containers, none of them named {NAME}: change it with -f");
            Err(Fault::new(flag, rule))
        }
    }
}

fn variable(env: &mut Vec<Value>, edit: &Edit<Variable>) {
    match edit {
        Edit::Set(it) => put(env, json!({"name": it.key, "value": it.value})),
        Edit::Remove(key) => env.retain(|it| it["name"] != **key),
    }
}

fn keys(sources: &mut Vec<Value>, field: &str, edit: &Edit<Keys>) {
    match edit {
        Edit::Set(Keys { name, prefix }) => {
            let mut wanted = json!({field: {"name": name}});
            if let Some(prefix) = prefix {
                wanted["prefix"] = json!(prefix);
            }
            let same =
                |it: &Value| it[field]["name"] == wanted[field]["name"] && it["prefix"] == wanted["prefix"];
            if !sources.iter().any(same) {
                sources.push(wanted);
            }
        }
        Edit::Remove(name) => sources.retain(|it| it[field]["name"] != **name),
    }
}

fn port(ports: &mut Vec<Value>, flags: &Flags) {
    if flags.no_http {
        ports.retain(|it| it["name"] != HTTP);
    }
    if let Some(port) = flags.http_port {
        put(ports, json!({"name": HTTP, "port": port, "protocol": "TCP"}));
    }
}

/// A kind of object whose keys are files.
#[derive(Clone, Copy)]
struct Source {
    /// The field of a volume, and in it that of the object's name.
    field: &'static str,
    name: &'static str,
    /// The prefix of its volumes' names.
    prefix: &'static str,
}

const CONFIG_MAP: Source = Source { field: "configMap", name: "name", prefix: "configmap-" };
const SECRET: Source = Source { field: "secret", name: "secretName", prefix: "secret-" };

/// The volumes of a template, and where one container has them.
struct Files<'a> {
    volumes: &'a mut Vec<Value>,
    mounts: &'a mut Vec<Value>,
}

impl Files<'_> {
    fn apply(&mut self, source: Source, edit: &Edit<Mount>) {
        match edit {
            Edit::Set(Mount { name, path }) => {
                let volume = self.volume(source, name);
                // One place has one volume.
                self.mounts.retain(|it| it["mountPath"] != **path);
                self.mounts.push(json!({"name": volume, "mountPath": path}));
            }
            Edit::Remove(name) => {
                let gone: Vec<_> = self
                    .volumes
                    .iter()
                    .filter(|it| it[source.field][source.name] == **name)
                    .map(|it| it["name"].clone())
                    .collect();
                self.mounts.retain(|it| !gone.contains(&it["name"]));
            }
        }
    }

    /// The name of the volume with that object's keys, which is made where there is none.
    fn volume(&mut self, source: Source, name: &str) -> String {
        let known = self.volumes.iter().find(|it| it[source.field][source.name] == *name);
        if let Some(known) = known.and_then(|it| it["name"].as_str()) {
            return known.to_owned();
        }
        let volume = volume_name(source.prefix, name, |it| find(self.volumes, it).is_some());
        self.volumes.push(json!({"name": volume, source.field: {source.name: name}}));
        volume
    }
}

/// A name that says what is in the volume: names of objects may be longer than those of volumes, and have
/// dots.
fn volume_name(prefix: &str, name: &str, taken: impl Fn(&str) -> bool) -> String {
    let plain = format!("{prefix}{name}");
    if is_dns_label(&plain) && !taken(&plain) {
        return plain;
    }
    let head: String = name.chars().map(|c| if c == '.' { '-' } else { c }).take(40).collect();
    format!("{prefix}{}-{:08x}", head.trim_end_matches('-'), hash::text(name) & 0xffff_ffff)
}
