//! A Workload as flags describe it: the one that is there with what the flags name changed, or a new one.

use fedhub_api::instance_types;
use fedhub_core::message::Quoted;
use fedhub_core::names::{
    DNS_LABEL_RULE, LABEL_VALUE_RULE, OBJECT_NAME_RULE, is_dns_label, is_label_value, is_object_name,
};
use fedhub_core::object::{Kind, Object, bare, set_field};
use serde_json::{Value, json};

use super::cities::{self, CITY_RULE};
use super::container;
use super::edit::find;
use super::fault::Fault;
use super::flags::{Edit, Flags, Keyed};
use crate::scale::settings::{self as scale, Numbers};

/// The one placement of a new Workload.
const PLACEMENT: &str = "default";
/// The network of a new Workload.
const NETWORK: &str = "default";

/// The Workload that the flags ask for.
pub fn desired(
    flags: &Flags,
    name: &str,
    namespace: &str,
    existing: Option<&Object>,
) -> Result<Object, Vec<Fault>> {
    let mut faults = names(flags);
    let mut object = existing.cloned().unwrap_or_else(|| {
        faults.extend(missing(flags));
        new(flags, name, namespace)
    });
    labels(&mut object, flags);
    if let Some(template) = object.data.pointer_mut("/spec/template/spec") {
        faults.extend(container::edit(template, flags).err());
        settings(template, flags);
    }
    if let Some(spec) = object.data.get_mut("spec") {
        faults.extend(placement(spec, flags).err());
    }
    if faults.is_empty() { Ok(object) } else { Err(faults) }
}

/// Returns the faults of names: nothing is sent with an invalid one.
fn names(flags: &Flags) -> Vec<Fault> {
    let label = (is_dns_label as fn(&str) -> bool, DNS_LABEL_RULE);
    let object = (is_object_name as fn(&str) -> bool, OBJECT_NAME_RULE);
    let city = (is_label_value as fn(&str) -> bool, LABEL_VALUE_RULE);
    let image = (container::is_image as fn(&str) -> bool, container::IMAGE_RULE);
    let mut all = Vec::new();
    all.extend(flags.image.iter().map(|it| ("--image", &**it, image)));
    all.extend(flags.placement.iter().map(|it| ("--placement", &**it, label)));
    all.extend(flags.network.iter().map(|it| ("--network", &**it, label)));
    all.extend(flags.city.iter().map(|it| ("--city", &**it, city)));
    all.extend(flags.env_from_configmap.iter().map(|it| ("--env-from-configmap", it.key(), object)));
    all.extend(flags.env_from_secret.iter().map(|it| ("--env-from-secret", it.key(), object)));
    all.extend(flags.configmap.iter().map(|it| ("--configmap", it.key(), object)));
    all.extend(flags.secret.iter().map(|it| ("--secret", it.key(), object)));
    let wrong = all.into_iter().filter(|(_, name, (is_valid, _))| !is_valid(name));
    wrong.map(|(flag, name, (_, rule))| Fault::new(format!("{flag} {}", Quoted(name)), rule)).collect()
}

/// Returns the faults of a new Workload that lacks required parts.
fn missing(flags: &Flags) -> Vec<Fault> {
    let needed = [
        ("--image", flags.image.is_none(), "a new workload needs an image"),
        ("--city", flags.city.is_empty(), "a new workload needs at least one city"),
    ];
    needed.into_iter().filter(|it| it.1).map(|(flag, _, rule)| Fault::new(flag, rule)).collect()
}

fn new(flags: &Flags, name: &str, namespace: &str) -> Object {
    let placement = flags.placement.as_deref().unwrap_or(PLACEMENT);
    let mut object = bare(Kind::Workload, namespace, name);
    let spec = json!({
        "template": {"spec": {
            "runtime": {
                "resources": {"instanceType": instance_types::DEFAULT},
                "sandbox": {"containers": [{"name": container::NAME, "image": ""}]},
            },
            "networkInterfaces": [{"network": {"name": NETWORK}}],
        }},
        "placements": [new_placement(placement)],
    });
    set_field(&mut object, "spec", spec);
    object
}

fn new_placement(name: &str) -> Value {
    json!({"name": name, "cityCodes": [], "scaleSettings": {"minReplicas": 1}})
}

fn labels(object: &mut Object, flags: &Flags) {
    let labels = object.metadata.labels.get_or_insert_default();
    for edit in &flags.label {
        match edit {
            Edit::Set(label) => labels.insert(label.key.clone(), label.value.clone()),
            Edit::Remove(key) => labels.remove(key),
        };
    }
    if labels.is_empty() {
        object.metadata.labels = None;
    }
}

/// The type of the instances, and their network.
fn settings(template: &mut Value, flags: &Flags) {
    let resources = template.pointer_mut("/runtime/resources").and_then(Value::as_object_mut);
    if let (Some(resources), Some(name)) = (resources, &flags.instance_type) {
        resources.insert("instanceType".to_owned(), json!(name));
    }
    let network = template.pointer_mut("/networkInterfaces/0/network").and_then(Value::as_object_mut);
    if let (Some(network), Some(name)) = (network, &flags.network) {
        network.insert("name".to_owned(), json!(name));
    }
}

/// How many instances a new template replaces at once.
fn rolling(settings: &mut Value, flags: &Flags) {
    for (field, share) in [("maxUnavailable", &flags.max_unavailable), ("maxSurge", &flags.max_surge)] {
        if let (Some(share), Some(settings)) = (share, settings.as_object_mut())
            && let Some(update) = settings.entry("rollingUpdate").or_insert_with(|| json!({})).as_object_mut()
        {
            update.insert(field.to_owned(), json!(share));
        }
    }
}

fn placement(spec: &mut Value, flags: &Flags) -> Result<(), Fault> {
    let Some(flag) = flags.of_placement() else { return Ok(()) };
    let codes = cities::codes(&flags.city, spec);
    let listed: Vec<&str> = codes.iter().map(String::as_str).collect();
    if let Some((_, again)) = cities::repeated(&listed).first() {
        return Err(Fault::new(format!("--city {}", Quoted(again)), CITY_RULE));
    }
    let all = spec.get_mut("placements").and_then(Value::as_array_mut);
    let all = all.ok_or_else(|| Fault::new(flag, "the workload has no placements: use -f"))?;
    let index = match &flags.placement {
        Some(name) => match find(all, name) {
            Some(index) => index,
            None if flags.city.is_empty() => {
                return Err(Fault::new(
                    "--city",
                    format!("the new placement {name} needs at least one city"),
                ));
            }
            None => {
                all.push(new_placement(name));
                all.len() - 1
            }
        },
        None if all.len() == 1 => 0,
        None => {
            let names: Vec<_> = all.iter().filter_map(|it| it["name"].as_str()).collect();
            let rule = format!(
                "the workload has several placements ({}): say which by --placement",
                names.join(", ")
            );
            return Err(Fault::new(flag, rule));
        }
    };
    let Some(placement) = all.get_mut(index).and_then(Value::as_object_mut) else { return Ok(()) };
    if !flags.city.is_empty() {
        placement.insert("cityCodes".to_owned(), json!(codes));
    }
    let numbers = Numbers {
        min: flags.min,
        max: flags.max,
        cpu_percent: flags.cpu_percent,
        memory_percent: flags.memory_percent,
    };
    let settings = placement.entry("scaleSettings").or_insert_with(|| json!({}));
    rolling(settings, flags);
    scale::edit(settings, numbers).map_err(|wrong| Fault::new(wrong.flag, wrong.rule))
}
