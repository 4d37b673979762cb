//! The network service of a cell: binds networks to the location, and hands out subnets.

use std::sync::Arc;
use std::time::Duration;

use fedhub_shared::api::external::networking::{NetworkBinding, NetworkContext, SubnetClaim};
use fedhub_shared::clock::Clock;
use fedhub_shared::hash;
use fedhub_shared::object::{Object, ObjectView};
use jiff::Timestamp;
use kube::api::PostParams;
use kube::runtime::controller::Action;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::{Controller, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::FAULT;
use crate::play::{Waits, drive, kind, perform, retry};
use crate::step::{Step, field, holds, set, start_time};

/// How long a binding with the fault `Slow` takes, unless its annotation [`crate::START_TIME`] says otherwise.
pub const SLOW: Duration = Duration::from_secs(10);

/// What goes wrong with a `NetworkBinding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The network cannot be made in the location. Networks whose name begins with `refused` have this fault too.
    NetworkFailedToCreate,
    /// There is no such network.
    NetworkNotFound,
    /// It takes long, and says so.
    Slow,
}

impl Fault {
    /// The fault that the binding's annotation, or the name of its network, asks for. One that is no network service's
    /// is said, and is none.
    pub fn of(binding: &Object) -> Option<Self> {
        match binding.annotation(FAULT) {
            Some("NetworkFailedToCreate") => return Some(Self::NetworkFailedToCreate),
            Some("NetworkNotFound") => return Some(Self::NetworkNotFound),
            Some("Slow") => return Some(Self::Slow),
            Some(other) => {
                tracing::warn!(
                    binding = binding.called(),
                    "annotation {FAULT}: {other:?} is no fault of a network"
                );
            }
            None => {}
        }
        network(binding).starts_with("refused").then_some(Self::NetworkFailedToCreate)
    }
}

fn network(object: &Object) -> &str {
    object.spec()["network"]["name"].as_str().unwrap_or_default()
}

fn location(object: &Object) -> &str {
    object.spec()["location"]["name"].as_str().unwrap_or_default()
}

/// The name of the context that a binding gets: `<network>-<location>`, as a name of an object.
pub fn context_name(binding: &Object) -> String {
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' { c } else { '-' };
    let name = format!("{}-{}", network(binding), location(binding)).to_lowercase();
    let name: String = name.chars().map(plain).take(253).collect();
    name.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
}

/// The context that a binding asks for.
pub fn context(binding: &Object) -> Object {
    let mut context = Object::new(&context_name(binding), &kind::<NetworkContext>()).within(binding.space());
    context.data = json!({
        "spec": {"network": {"name": network(binding)}, "location": {"name": location(binding)}},
    });
    context
}

/// What is to be done for a binding.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Its context is to be made.
    Create(Box<Object>),
    /// Its context is to be made ready.
    Context(Box<Object>, Step),
    /// The binding's own next step.
    Binding(Step),
}

/// The plan for a binding that has been under way for `waited`; `context` is the one of its name that there is.
pub fn plan(
    binding: &Object,
    context: Option<&Object>,
    waited: Duration,
    start: Duration,
    now: Timestamp,
) -> Plan {
    if binding.deleting() {
        return Plan::Binding(Step::done());
    }
    let (network, location) = (network(binding), location(binding));
    let ready = |status: &str, reason: &str, message: &str| {
        let mut next = binding.status().clone();
        set(&mut next, "Ready", status, reason, message, now);
        next
    };
    let refuse = |reason: &str, message: String| {
        Plan::Binding(Step::at_once(binding, ready("False", reason, &message)))
    };
    let fault = Fault::of(binding);
    match fault {
        Some(Fault::NetworkNotFound) => {
            return refuse("NetworkNotFound", format!("Network {network:?} was not found"));
        }
        Some(Fault::NetworkFailedToCreate) => {
            let message =
                format!("Network {network:?} cannot be made in location {location:?}: the fabric refused it");
            return refuse("NetworkFailedToCreate", message);
        }
        Some(Fault::Slow) | None => {}
    }
    let start = start_time(binding, if fault.is_some() { SLOW } else { start });
    let mut bound = ready("True", "NetworkContextReady", "Network is ready");
    let place = json!({"namespace": binding.space(), "name": context_name(binding)});
    field(&mut bound, "networkContextRef", place);
    if bound != *binding.status() && waited < start {
        let status = if fault == Some(Fault::Slow) {
            let message = format!("Network {network:?} is still being made in location {location:?}");
            Step::at_once(binding, ready("False", "NetworkContextNotReady", &message)).status
        } else {
            None
        };
        return Plan::Binding(Step { status, again: Some(start.saturating_sub(waited)), ..Step::default() });
    }
    match context {
        None => Plan::Create(Box::new(self::context(binding))),
        Some(context) if holds(context.status(), "Ready") != "True" => {
            let mut there = context.status().clone();
            set(&mut there, "Ready", "True", "Ready", "Network is there", now);
            Plan::Context(Box::new(context.clone()), Step::at_once(context, there))
        }
        Some(_) => Plan::Binding(Step::at_once(binding, bound)),
    }
}

/// The next step of a subnet claim: it gets the prefix that it asks for, or one of its own.
pub fn claim_step(claim: &Object, now: Timestamp) -> Step {
    if claim.deleting() {
        return Step::done();
    }
    let spec = claim.spec();
    let [a, b, ..] = hash::text(&format!("{}/{}", claim.space(), claim.called())).to_be_bytes();
    let (first, length) = match spec["ipFamily"].as_str() {
        Some("IPv6") => (format!("fd00:{a:x}:{b:x}::"), 64),
        _ => (format!("10.{a}.{b}.0"), 24),
    };
    let or = |asked: &Value, own: Value| if asked.is_null() { own } else { asked.clone() };
    let mut next = claim.status().clone();
    field(&mut next, "startAddress", or(&spec["startAddress"], json!(first)));
    field(&mut next, "prefixLength", or(&spec["prefixLength"], json!(length)));
    field(&mut next, "subnetRef", json!({"name": claim.called()}));
    set(&mut next, "Allocated", "True", "Allocated", "Prefix is allocated", now);
    set(&mut next, "Programmed", "True", "Programmed", "Subnet is programmed", now);
    set(&mut next, "Ready", "True", "Ready", "Subnet is ready", now);
    Step::at_once(claim, next)
}

struct Network {
    client: Client,
    start: Duration,
    clock: Clock,
    waits: Waits,
}

/// Plays the network service of a cell.
pub async fn run(client: Client, start: Duration, clock: Clock) {
    let config = watcher::Config::default;
    let bindings = Api::all_with(client.clone(), &kind::<NetworkBinding>());
    let contexts = Api::<Object>::all_with(client.clone(), &kind::<NetworkContext>());
    let claims = Api::all_with(client.clone(), &kind::<SubnetClaim>());
    let network = Arc::new(Network { client, start, clock, waits: Waits::default() });

    let controller = Controller::new_with(bindings, config(), kind::<NetworkBinding>());
    let store = controller.store();
    let controller = controller
        .watches_with(contexts, kind::<NetworkContext>(), config(), move |context| bound_to(&store, &context))
        .run(bind, |object, error, _| retry(&object, error), network.clone());
    let subnets = Controller::new_with(claims, config(), kind::<SubnetClaim>()).run(
        allocate,
        |object, error, _| retry(&object, error),
        network,
    );
    tokio::join!(drive("network", "cell", controller), drive("subnets", "cell", subnets));
}

/// The bindings that a context serves.
fn bound_to(bindings: &Store<Object>, context: &Object) -> Vec<ObjectRef<Object>> {
    let serves = |binding: &&Arc<Object>| {
        binding.space() == context.space() && context_name(binding) == context.called()
    };
    let all = bindings.state();
    let refer = |binding: &Arc<Object>| ObjectRef::from_obj_with(&**binding, kind::<NetworkBinding>());
    all.iter().filter(serves).map(refer).collect()
}

async fn bind(binding: Arc<Object>, network: Arc<Network>) -> kube::Result<Action> {
    let api = |kind: &_| Api::<Object>::namespaced_with(network.client.clone(), binding.space(), kind);
    let contexts = api(&kind::<NetworkContext>());
    let present = contexts.get_opt(&context_name(&binding)).await?;
    let waited = network.waits.waited(binding.uid());
    match plan(&binding, present.as_ref(), waited, network.start, network.clock.now()) {
        // The context's event brings the binding back.
        Plan::Create(context) => {
            contexts.create(&PostParams::default(), &context).await?;
            Ok(Action::await_change())
        }
        Plan::Context(context, step) => perform(&contexts, &context, step).await,
        Plan::Binding(step) => {
            if step.is_done() {
                network.waits.forget(binding.uid());
            }
            perform(&api(&kind::<NetworkBinding>()), &binding, step).await
        }
    }
}

async fn allocate(claim: Arc<Object>, network: Arc<Network>) -> kube::Result<Action> {
    let api = Api::namespaced_with(network.client.clone(), claim.space(), &kind::<SubnetClaim>());
    perform(&api, &claim, claim_step(&claim, network.clock.now())).await
}
