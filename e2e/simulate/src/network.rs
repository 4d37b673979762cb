//! The network service of a cell: binds networks to the location, each by a context. Subnets are in
//! [`crate::subnet`].

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::external::networking::{NetworkBinding, NetworkContext};
use fedhub_core::clock::Clock;
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;
use kube::api::PostParams;
use kube::runtime::controller::Action;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::{Controller, watcher};
use kube::{Api, Client};
use serde_json::json;

use crate::annotations::{FAULT, START_TIME};
use crate::drive::{ConstantBackoff, Waits, drive, kind, perform, retry};
use crate::step::{Step, field, holds, set, start_time};

/// How long a binding with the fault `Slow` takes, unless its annotation [`crate::START_TIME`] says
/// otherwise.
pub const SLOW: Duration = Duration::from_secs(10);

/// What goes wrong with a network. It is asked for on the binding, and the context and its subnets inherit it
/// when they are made: those of the later stages end when the annotation is taken off what they hold up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The network cannot be made in the location. Networks whose name begins with `refused` have this fault
    /// too.
    NetworkFailedToCreate,
    /// The network does not exist.
    NetworkNotFound,
    /// The binding takes long, and says so.
    Slow,
    /// The binding is Ready although its context takes long.
    ContextSlow,
    /// The binding is Ready although its context fails.
    ContextFailed,
    /// Claims are Ready although their subnets take long.
    SubnetSlow,
    /// Claims are Ready although their subnets fail.
    SubnetFailed,
}

impl Fault {
    /// The fault that the object's annotation, or the name of its network, asks for. An unknown one is logged
    /// and ignored.
    pub fn from_object(object: &Object) -> Option<Self> {
        match object.annotation(FAULT) {
            Some("NetworkFailedToCreate") => return Some(Self::NetworkFailedToCreate),
            Some("NetworkNotFound") => return Some(Self::NetworkNotFound),
            Some("Slow") => return Some(Self::Slow),
            Some("ContextSlow") => return Some(Self::ContextSlow),
            Some("ContextFailed") => return Some(Self::ContextFailed),
            Some("SubnetSlow") => return Some(Self::SubnetSlow),
            Some("SubnetFailed") => return Some(Self::SubnetFailed),
            Some(other) => {
                tracing::warn!(
                    name = object.name(),
                    "annotation {FAULT}: {other:?} is no fault of a network"
                );
            }
            None => {}
        }
        network(object).starts_with("refused").then_some(Self::NetworkFailedToCreate)
    }
}

/// Copies the faults that are requested on `from` to an object that is made for it.
pub(crate) fn inherit(from: &Object, to: &mut Object) {
    let asked = [FAULT, START_TIME]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), from.annotation(key)?.to_owned())));
    to.metadata.annotations = Some(asked.collect());
}

fn network(object: &Object) -> &str {
    object.spec()["network"]["name"].as_str().unwrap_or_default()
}

fn location(object: &Object) -> &str {
    object.spec()["location"]["name"].as_str().unwrap_or_default()
}

/// The name of the context that a binding gets: `<network>-<location>`, as a name of an object.
pub fn context_name(binding: &Object) -> String {
    let name = format!("{}-{}", network(binding), location(binding)).to_lowercase();
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' { c } else { '-' })
        .take(253)
        .collect();
    name.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
}

/// The context that a binding asks for.
pub fn context(binding: &Object) -> Object {
    let mut context =
        Object::new(&context_name(binding), &kind::<NetworkContext>()).within(binding.namespace());
    context.data = json!({
        "spec": {"network": {"name": network(binding)}, "location": {"name": location(binding)}},
    });
    inherit(binding, &mut context);
    context
}

/// The step for a binding.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Its context is to be made.
    Create(Box<Object>),
    /// The binding's own next step.
    Binding(Step),
}

/// The plan for a binding that has been under way for `waited`; `context` is the one of its name that there
/// is.
pub fn plan(
    binding: &Object,
    context: Option<&Object>,
    waited: Duration,
    start: Duration,
    now: Timestamp,
) -> Plan {
    if binding.is_terminating() {
        return Plan::Binding(Step::done());
    }
    let network = network(binding);
    let location = location(binding);
    let ready = |status: &str, reason: &str, message: &str| {
        let mut next = binding.status().clone();
        set(&mut next, "Ready", status, reason, message, now);
        next
    };
    let refuse = |reason: &str, message: String| {
        Plan::Binding(Step::at_once(binding, ready("False", reason, &message)))
    };
    let fault = Fault::from_object(binding);
    match fault {
        Some(Fault::NetworkNotFound) => {
            return refuse("NetworkNotFound", format!("Network {network:?} was not found"));
        }
        Some(Fault::NetworkFailedToCreate) => {
            let message = format!(
                "Network {network:?} cannot be created in location {location:?}: the fabric refused it"
            );
            return refuse("NetworkFailedToCreate", message);
        }
        _ => {}
    }
    let slow = fault == Some(Fault::Slow);
    // What is to take long is the context, or a subnet.
    let start =
        if fault.is_some() && !slow { start } else { start_time(binding, if slow { SLOW } else { start }) };
    let mut bound = ready("True", "NetworkContextReady", "Network is ready");
    let place = json!({"namespace": binding.namespace(), "name": context_name(binding)});
    field(&mut bound, "networkContextRef", place);
    if bound != *binding.status() && waited < start {
        let status = if slow {
            let message = format!("Network {network:?} is still being created in location {location:?}");
            Step::at_once(binding, ready("False", "NetworkContextNotReady", &message)).status
        } else {
            None
        };
        return Plan::Binding(Step { status, again: Some(start.saturating_sub(waited)), ..Step::default() });
    }
    match context {
        None => Plan::Create(Box::new(self::context(binding))),
        // Its event brings the binding back.
        Some(context) if holds(context.status(), "Ready") != "True" && !is_early(fault) => {
            Plan::Binding(Step::done())
        }
        Some(_) => Plan::Binding(Step::at_once(binding, bound)),
    }
}

/// Whether a binding is Ready before its context.
fn is_early(fault: Option<Fault>) -> bool {
    matches!(fault, Some(Fault::ContextSlow | Fault::ContextFailed))
}

/// The next step of a context that has been under way for `waited`.
pub fn context_step(context: &Object, waited: Duration, now: Timestamp) -> Step {
    if context.is_terminating() {
        return Step::done();
    }
    let ready = |status: &str, reason: &str, message: &str| {
        let mut next = context.status().clone();
        set(&mut next, "Ready", status, reason, message, now);
        Step::at_once(context, next)
    };
    let slow = start_time(context, SLOW);
    match Fault::from_object(context) {
        Some(Fault::ContextFailed) => {
            ready("False", "RoutesRefused", "The fabric refused the network's routes")
        }
        Some(Fault::ContextSlow) if waited < slow && holds(context.status(), "Ready") != "True" => {
            let step = ready("False", "ProgrammingInProgress", "The network's routes are on their way");
            Step { again: Some(slow.saturating_sub(waited)), ..step }
        }
        _ => ready("True", "Ready", "Network is there"),
    }
}

struct Network {
    client: Client,
    start: Duration,
    clock: Clock,
    waits: Waits,
}

/// Simulates the network service of a cell, without its subnets.
pub async fn run(client: Client, start: Duration, clock: Clock) {
    let config = watcher::Config::default;
    let bindings = Api::all_with(client.clone(), &kind::<NetworkBinding>());
    let contexts = Api::<Object>::all_with(client.clone(), &kind::<NetworkContext>());
    let network = Arc::new(Network { client, start, clock, waits: Waits::default() });

    let controller =
        Controller::new_with(bindings, config(), kind::<NetworkBinding>()).trigger_backoff(ConstantBackoff);
    let store = controller.store();
    let bound = controller
        .watches_with(contexts.clone(), kind::<NetworkContext>(), config(), move |context| {
            bound_to(&store, &context)
        })
        .run(bind, |object, error, _| retry(&object, error), network.clone());
    let contexts = Controller::new_with(contexts, config(), kind::<NetworkContext>())
        .trigger_backoff(ConstantBackoff)
        .run(bring_up, |object, error, _| retry(&object, error), network);
    tokio::join!(drive("network", "cell", bound), drive("contexts", "cell", contexts));
}

/// The bindings that a context serves.
fn bound_to(bindings: &Store<Object>, context: &Object) -> Vec<ObjectRef<Object>> {
    let all = bindings.state();
    all.iter()
        .filter(|binding| {
            binding.namespace() == context.namespace() && context_name(binding) == context.name()
        })
        .map(|binding| ObjectRef::from_obj_with(&**binding, kind::<NetworkBinding>()))
        .collect()
}

async fn bind(binding: Arc<Object>, network: Arc<Network>) -> kube::Result<Action> {
    let api = |kind: &_| Api::<Object>::namespaced_with(network.client.clone(), binding.namespace(), kind);
    let contexts = api(&kind::<NetworkContext>());
    let present = contexts.get_opt(&context_name(&binding)).await?;
    let waited = network.waits.waited(binding.uid());
    match plan(&binding, present.as_ref(), waited, network.start, network.clock.now()) {
        // The context's event brings the binding back.
        Plan::Create(context) => {
            contexts.create(&PostParams::default(), &context).await?;
            Ok(Action::await_change())
        }
        Plan::Binding(step) => {
            if step.is_done() {
                network.waits.forget(binding.uid());
            }
            perform(&api(&kind::<NetworkBinding>()), &binding, step).await
        }
    }
}

async fn bring_up(context: Arc<Object>, network: Arc<Network>) -> kube::Result<Action> {
    let step = context_step(&context, network.waits.waited(context.uid()), network.clock.now());
    let api = Api::namespaced_with(network.client.clone(), context.namespace(), &kind::<NetworkContext>());
    perform(&api, &context, step).await
}
