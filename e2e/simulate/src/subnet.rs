//! The network service of a cell, continued: hands out a subnet for each claim.

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::external::networking::{NetworkContext, Subnet, SubnetClaim};
use fedhub_core::clock::Clock;
use fedhub_core::hash;
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::PostParams;
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, Resource};
use serde_json::{Value, json};

use crate::drive::{ConstantBackoff, Waits, drive, kind, perform, retry};
use crate::network::{Fault, SLOW, inherit};
use crate::step::{Step, field, holds, set, start_time};

/// The step for a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Its subnet is to be made.
    Create(Box<Object>),
    /// The claim's own next step.
    Claim(Step),
}

/// The plan for a claim. `subnet` is the one of its name that there is, `context` the context that it is for.
pub fn plan(claim: &Object, subnet: Option<&Object>, context: Option<&Object>, now: Timestamp) -> Plan {
    if claim.is_terminating() {
        return Plan::Claim(Step::done());
    }
    let Some(subnet) = subnet else { return Plan::Create(Box::new(made_for(claim, context))) };
    let mut next = claim.status().clone();
    for name in ["startAddress", "prefixLength"] {
        field(&mut next, name, subnet.spec()[name].clone());
    }
    field(&mut next, "subnetRef", json!({"name": subnet.name()}));
    set(&mut next, "Allocated", "True", "Allocated", "Prefix is allocated", now);
    let early = matches!(Fault::from_object(subnet), Some(Fault::SubnetSlow | Fault::SubnetFailed));
    if holds(subnet.status(), "Ready") == "True" || early {
        set(&mut next, "Programmed", "True", "Programmed", "Subnet is programmed", now);
        set(&mut next, "Ready", "True", "Ready", "Subnet is ready", now);
    }
    Plan::Claim(Step::at_once(claim, next))
}

/// The subnet of a claim: with the prefix that it asks for, or one of its own.
fn made_for(claim: &Object, context: Option<&Object>) -> Object {
    let spec = claim.spec();
    let [a, b, ..] = hash::text(&format!("{}/{}", claim.namespace(), claim.name())).to_be_bytes();
    let (first, length) = match spec["ipFamily"].as_str() {
        Some("IPv6") => (format!("fd00:{a:x}:{b:x}::"), 64),
        _ => (format!("10.{a}.{b}.0"), 24),
    };
    let or = |asked: &Value, own: Value| if asked.is_null() { own } else { asked.clone() };
    let mut subnet = Object::new(claim.name(), &kind::<Subnet>()).within(claim.namespace());
    subnet.metadata.owner_references = Some(vec![OwnerReference {
        api_version: SubnetClaim::api_version(&()).into_owned(),
        kind: SubnetClaim::kind(&()).into_owned(),
        name: claim.name().to_owned(),
        uid: claim.uid().to_owned(),
        controller: Some(true),
        block_owner_deletion: None,
    }]);
    if let Some(context) = context {
        inherit(context, &mut subnet);
    }
    let mut made = spec.clone();
    made["startAddress"] = or(&spec["startAddress"], json!(first));
    made["prefixLength"] = or(&spec["prefixLength"], json!(length));
    subnet.data = json!({"spec": made});
    subnet
}

/// The next step of a subnet that has been under way for `waited`.
pub fn subnet_step(subnet: &Object, waited: Duration, now: Timestamp) -> Step {
    if subnet.is_terminating() {
        return Step::done();
    }
    let spec = subnet.spec();
    let said = |status: &str, programmed: (&str, &str), ready: (&str, &str)| {
        let mut next = subnet.status().clone();
        for name in ["startAddress", "prefixLength"] {
            field(&mut next, name, spec[name].clone());
        }
        set(&mut next, "Allocated", "True", "Allocated", "Prefix is allocated", now);
        set(&mut next, "Programmed", status, programmed.0, programmed.1, now);
        set(&mut next, "Ready", status, ready.0, ready.1, now);
        Step::at_once(subnet, next)
    };
    let slow = start_time(subnet, SLOW);
    match Fault::from_object(subnet) {
        Some(Fault::SubnetFailed) => {
            let words = "The fabric refused the subnet";
            said("False", ("SubnetRefused", words), ("SubnetRefused", words))
        }
        Some(Fault::SubnetSlow) if waited < slow && holds(subnet.status(), "Ready") != "True" => {
            let words = "Subnet is being programmed";
            let step = said("False", ("ProgrammingInProgress", words), ("NotProgrammed", words));
            Step { again: Some(slow.saturating_sub(waited)), ..step }
        }
        _ => said("True", ("Programmed", "Subnet is programmed"), ("Ready", "Subnet is ready")),
    }
}

struct Subnets {
    client: Client,
    clock: Clock,
    waits: Waits,
}

/// Simulates the subnets of a cell's network service.
pub async fn run(client: Client, clock: Clock) {
    let config = watcher::Config::default;
    let service = Arc::new(Subnets { client: client.clone(), clock, waits: Waits::default() });
    let claims = Api::all_with(client.clone(), &kind::<SubnetClaim>());
    let subnets = Api::<Object>::all_with(client, &kind::<Subnet>());
    let claims = Controller::new_with(claims, config(), kind::<SubnetClaim>())
        .trigger_backoff(ConstantBackoff)
        .watches_with(subnets.clone(), kind::<Subnet>(), config(), |subnet| {
            let of = ObjectRef::new_with(subnet.name(), kind::<SubnetClaim>()).within(subnet.namespace());
            Some(of)
        })
        .run(allocate, |object, error, _| retry(&object, error), service.clone());
    let subnets = Controller::new_with(subnets, config(), kind::<Subnet>())
        .trigger_backoff(ConstantBackoff)
        .run(bring_up, |object, error, _| retry(&object, error), service);
    tokio::join!(drive("claims", "cell", claims), drive("subnets", "cell", subnets));
}

async fn allocate(claim: Arc<Object>, service: Arc<Subnets>) -> kube::Result<Action> {
    let api = |kind: &_| Api::<Object>::namespaced_with(service.client.clone(), claim.namespace(), kind);
    let subnets = api(&kind::<Subnet>());
    let subnet = subnets.get_opt(claim.name()).await?;
    let context = match claim.spec()["networkContext"]["name"].as_str() {
        Some(name) if subnet.is_none() => api(&kind::<NetworkContext>()).get_opt(name).await?,
        _ => None,
    };
    match plan(&claim, subnet.as_ref(), context.as_ref(), service.clock.now()) {
        // The subnet's event brings the claim back.
        Plan::Create(subnet) => {
            subnets.create(&PostParams::default(), &subnet).await?;
            Ok(Action::await_change())
        }
        Plan::Claim(step) => perform(&api(&kind::<SubnetClaim>()), &claim, step).await,
    }
}

async fn bring_up(subnet: Arc<Object>, service: Arc<Subnets>) -> kube::Result<Action> {
    let step = subnet_step(&subnet, service.waits.waited(subnet.uid()), service.clock.now());
    let api = Api::namespaced_with(service.client.clone(), subnet.namespace(), &kind::<Subnet>());
    perform(&api, &subnet, step).await
}
