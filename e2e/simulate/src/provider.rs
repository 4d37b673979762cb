//! The hypervisor's provider of a cell: brings Instances up, and says why where they do not come up.

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::instance_power::PowerAsked;
use fedhub_api::{Instance, WorkloadDeployment, conditions};
use fedhub_core::clock::{Clock, stamp};
use fedhub_core::hash;
use fedhub_core::names::{FORMER_TEMPLATE_HASH, UPSTREAM_CLUSTER};
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::annotations::{FAULT, PROVIDER_FINALIZER, Times};
use crate::drive::{ConstantBackoff, Waits, drive, kind, perform, retry};
use crate::power::{self, Orders};
use crate::step::{Step, field, holds, set, start_time};
use crate::teardown;

/// Condition of an Instance, and its reason: its boot disk is being made anew.
const REBUILDING: &str = "Rebuilding";

/// A fault of an Instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its image cannot be pulled.
    ImageUnavailable,
    /// The Instance exits again and again right after its start.
    InstanceCrashing,
    /// The configuration of the Instance is invalid.
    ConfigurationError,
    /// The Instance is programmed, and never becomes available.
    NeverStarts,
}

impl Fault {
    /// The fault that the Instance's annotation asks for. An unknown one is logged and ignored.
    pub fn from_instance(instance: &Object) -> Option<Self> {
        match instance.annotation(FAULT)? {
            "ImageUnavailable" => Some(Self::ImageUnavailable),
            "InstanceCrashing" => Some(Self::InstanceCrashing),
            "ConfigurationError" => Some(Self::ConfigurationError),
            "NeverStarts" => Some(Self::NeverStarts),
            other => {
                tracing::warn!(
                    instance = instance.name(),
                    "annotation {FAULT}: {other:?} is no fault of an Instance"
                );
                None
            }
        }
    }

    /// The reason of `Programmed`, and words in the manner of a runtime. None where the Instance is
    /// programmed.
    fn refusal(self, spec: &Value) -> Option<(&'static str, String)> {
        let (who, image) = program(spec);
        Some(match self {
            Self::ImageUnavailable => (
                "ImageUnavailable",
                format!("{who}: failed to pull image {image:?}: manifest unknown or access denied"),
            ),
            Self::InstanceCrashing => (
                "InstanceCrashing",
                format!("{who}: image {image:?} exited with code 1 right after its start, again and again"),
            ),
            Self::ConfigurationError => (
                "ConfigurationError",
                format!(
                    "{who}: image {image:?} cannot be run as configured: executable file not found in $PATH"
                ),
            ),
            Self::NeverStarts => return None,
        })
    }
}

/// The fault of an image that no registry can serve: hosts below `.invalid` (RFC 2606) never resolve.
fn of_image(spec: &Value) -> Option<Fault> {
    let registry = program(spec).1.split_once('/')?.0;
    registry.ends_with(".invalid").then_some(Fault::ImageUnavailable)
}

/// Returns the name and the image of the program that an Instance runs.
fn program(spec: &Value) -> (String, &str) {
    let container = &spec["runtime"]["sandbox"]["containers"][0];
    if let Some(name) = container["name"].as_str() {
        return (format!("container {name:?}"), container["image"].as_str().unwrap_or_default());
    }
    let volumes = spec["volumes"].as_array().into_iter().flatten();
    let mut images =
        volumes.filter_map(|v| v["disk"]["template"]["spec"]["populator"]["image"]["name"].as_str());
    ("virtual machine".to_owned(), images.next().unwrap_or("unknown"))
}

/// The next step of an Instance that has been under way for `waited`; `start` is how long that takes by
/// default. Where the template is another than the one observed, the boot disk is made anew from its image.
///
/// The provider owns `Programmed`, `Available`, `Rebuilding`, the observed hash and the addresses. `Ready`
/// and `QuotaGranted` are fedhub's, as is whatever else there is. Nothing is done while gates stand or quota
/// is denied (fedhub says so in our conditions too); the way out is [`teardown`]'s. An Instance that its user
/// stopped is programmed and does not run; a restart is one start more, and remembered in the status (V9).
pub fn step(instance: &Object, power: PowerAsked, waited: Duration, start: Duration, now: Timestamp) -> Step {
    let spec = instance.spec();
    let status = instance.status();
    if instance.is_terminating() || !may_run(instance) {
        return Step::done();
    }
    let mut next = status.clone();
    if status["suspended"] == true {
        // Why it is not available may have been said by fedhub, in other words: those stand.
        if holds(status, "Available") != "False" {
            set(&mut next, "Available", "False", "Stopped", "Instance is stopped: it is suspended", now);
        }
        return Step::at_once(instance, next);
    }
    let start = start_time(instance, start);
    let fault = Fault::from_instance(instance).or_else(|| of_image(spec));
    if let Some((reason, message)) = fault.and_then(|fault| fault.refusal(spec)) {
        set(&mut next, "Programmed", "False", reason, &message, now);
        set(&mut next, "Available", "False", "Stopped", "Instance is not running", now);
        return Step::towards(instance, next, waited, start);
    }
    if is_rebuilt(instance) && holds(status, REBUILDING) != "True" {
        // It is said before the disk is lost, and the start begins after that.
        let message =
            format!("Instance is rebuilt from image {:?}: its boot disk is made anew", program(spec).1);
        set(&mut next, REBUILDING, "True", REBUILDING, &message, now);
        set(&mut next, "Available", "False", REBUILDING, &message, now);
        return Step::at_once(instance, next);
    }
    let hash = &spec["controller"]["templateHash"];
    conditions::remove(&mut next, REBUILDING);
    let programmed = holds(status, "Programmed") == "True";
    set(&mut next, "Programmed", "True", "Programmed", "Instance is programmed", now);
    if hash.is_string() {
        field(&mut next, "controller", json!({"observedTemplateHash": hash}));
    }
    interfaces(instance, &mut next);
    if power.is_stopped() {
        set(&mut next, "Available", "False", "Stopped", "Instance is stopped: its user asked for it", now);
        return Step::at_once(instance, next);
    }
    if let Some(restart) = power.restart_due(instance) {
        set(&mut next, "Available", "False", "Starting", "Instance restarts: its user asked for it", now);
        field(&mut next, "provider", json!({"name": "simulated", "restartedAt": stamp(restart)}));
        return Step::at_once(instance, next);
    }
    if fault == Some(Fault::NeverStarts) {
        set(
            &mut next,
            "Available",
            "False",
            "Starting",
            "Instance was requested to start, and has not started",
            now,
        );
    } else if programmed || holds(status, "Available") == "True" {
        set(&mut next, "Available", "True", "Available", "Instance is running", now);
    } else {
        set(&mut next, "Available", "False", "Starting", "Instance is starting", now);
    }
    Step::towards(instance, next, waited, start)
}

/// Whether the Instance was changed in place since it was programmed. Another name for the same template
/// changes nothing.
fn is_rebuilt(instance: &Object) -> bool {
    let observed = instance.status()["controller"]["observedTemplateHash"].as_str();
    let wanted = instance.spec()["controller"]["templateHash"].as_str();
    observed.is_some() && observed != wanted && observed != instance.annotation(FORMER_TEMPLATE_HASH)
}

/// Whether nothing keeps the Instance from being started: neither a gate nor quota.
fn may_run(instance: &Object) -> bool {
    let gates = instance.spec()["controller"]["schedulingGates"].as_array();
    gates.is_none_or(Vec::is_empty) && holds(instance.status(), "QuotaGranted") != "False"
}

/// Gives each interface of the spec an address of each of its families, unless it has one. The first is its
/// address.
fn interfaces(instance: &Object, status: &mut Value) {
    let mut all = status["networkInterfaces"].as_array().cloned().unwrap_or_default();
    let Some(wanted) = instance.spec()["networkInterfaces"].as_array() else { return };
    for interface in wanted {
        let name = interface["name"].as_str().unwrap_or("eth0");
        let at = all.iter().position(|known| known["name"] == name).unwrap_or_else(|| {
            all.push(json!({"name": name}));
            all.len() - 1
        });
        if all[at]["assignments"]["networkIP"].is_string() {
            continue;
        }
        let families = interface["ipFamilies"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let all_of =
            families.map(|family| (family, address(instance.uid(), name, family))).collect::<Vec<_>>();
        let first =
            all_of.first().map_or_else(|| address(instance.uid(), name, "IPv4"), |(_, first)| first.clone());
        all[at]["assignments"]["networkIP"] = json!(first);
        if !all_of.is_empty() {
            let known = all_of.iter().map(|(family, address)| {
                let length = if *family == "IPv6" { 128 } else { 32 };
                json!({"family": family, "address": format!("{address}/{length}"), "primary": *address == first})
            });
            all[at]["addresses"] = known.collect();
        }
    }
    field(status, "networkInterfaces", Value::Array(all));
}

/// An address that an interface has for life. Nothing is reached by it.
fn address(uid: &str, interface: &str, family: &str) -> String {
    let [a, b, c, d, ..] = hash::text(&format!("{uid}/{interface}")).to_be_bytes();
    match family {
        "IPv6" => format!("fd00::{a:x}:{b:x}:{c:x}:{d:x}"),
        _ => format!("10.{a}.{b}.{}", c % 254 + 1),
    }
}

struct Provider {
    client: Client,
    times: Times,
    clock: Clock,
    waits: Waits,
}

/// Simulates the provider of a cell.
pub async fn run(client: Client, times: Times, clock: Clock) {
    let instances = Api::all_with(client.clone(), &kind::<Instance>());
    let provider = Arc::new(Provider { client, times, clock, waits: Waits::default() });
    // What has the label of a project is a projection: in a cell that is a project plane too.
    let selects = watcher::Config::default().labels(&format!("!{UPSTREAM_CLUSTER}"));
    let controller =
        Controller::new_with(instances, selects, kind::<Instance>()).trigger_backoff(ConstantBackoff);
    let deployments = Api::<Object>::all_with(provider.client.clone(), &kind::<WorkloadDeployment>());
    let known = controller.store();
    let orders = Orders::default();
    let controller = controller.watches_with(
        deployments,
        kind::<WorkloadDeployment>(),
        watcher::Config::default(),
        move |wd: Object| orders.concerned(&wd, &known),
    );
    drive("provider", "cell", controller.run(pass, |object, error, _| retry(&object, error), provider)).await;
}

async fn pass(instance: Arc<Object>, provider: Arc<Provider>) -> kube::Result<Action> {
    let Times { start, teardown } = provider.times;
    // Another template is another start.
    let hash = instance.spec()["controller"]["templateHash"].as_str().unwrap_or_default();
    let stage = if instance.is_terminating() { "teardown" } else { hash };
    let key = format!("{}/{stage}", instance.uid());
    let now = provider.clock.now();
    let waited = provider.waits.waited(&key);
    let hold = if may_run(&instance) { teardown::hold(&instance, teardown) } else { None };
    let step = match hold {
        Some(hold) => hold,
        None if instance.is_terminating() => teardown::step(&instance, waited, teardown, now),
        None => {
            let power = power::asked(&provider.client, &instance).await?;
            step(&instance, power, waited, start, now)
        }
    };
    // A teardown that fails or hangs has begun all the same.
    let tears_down = instance.is_terminating() && instance.has_finalizer(PROVIDER_FINALIZER);
    let ended = if tears_down { step.finalizers.is_some() } else { step.is_done() };
    let api = Api::namespaced_with(provider.client.clone(), instance.namespace(), &kind::<Instance>());
    let action = perform(&api, &instance, step).await?;
    // A conflict with another writer is retried at once, without a second wait for the teardown.
    if ended {
        provider.waits.forget(&key);
    }
    Ok(action)
}
