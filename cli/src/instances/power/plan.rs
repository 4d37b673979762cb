//! Which instances an order is for, and by which deployments it goes to them. Pure.

use std::collections::BTreeMap;

use fedhub_api::facts::instance::deployment_name;
use fedhub_api::instance_power::PowerOrder;
use fedhub_core::message::Quoted;
use fedhub_core::object::{Kind, Object, ObjectView};

use super::args::PowerArgs;
use crate::instances::view::{Filter, rows};
use crate::model::absent;
use crate::model::status::is_going;
use crate::problem::Problem;
use crate::session::Session;

/// The names of instances by the name of their deployment.
pub type Targets<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// Why no order is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no instance of that name.
    Absent(String),
    /// The instance is being deleted.
    Going(String),
    /// The instance does not say which deployment it is of.
    Unplaced(String),
    /// The flags select none.
    None,
}

impl Refusal {
    /// Describes the refusal to the user.
    pub fn problem(&self, session: &Session) -> Problem {
        match self {
            Self::Absent(name) => absent(session, Kind::Instance, name),
            Self::Going(name) => Problem::failed(format!("Instance {} is being deleted.", Quoted(name)))
                .remedy("What replaces it can be named once it is there."),
            Self::Unplaced(name) => {
                Problem::failed(format!("Instance {} does not say which workload it is of.", Quoted(name)))
                    .remedy("The platform operator has to act; tell them its name.")
            }
            Self::None => Problem::failed("No instance matches.")
                .remedy(format!("`{}` lists those that there are.", session.command("instances"))),
        }
    }
}

/// The instances that are named, or that the flags select; an instance that is being deleted is not selected.
/// `deployment` finds one by name.
pub fn targets<'a>(
    instances: &'a [Object],
    deployment: impl Fn(&str) -> Option<&'a Object>,
    args: &'a PowerArgs,
) -> Result<Targets<'a>, Refusal> {
    let mut targets = Targets::new();
    if args.names.is_empty() {
        let filter = Filter { workload: args.workload.as_deref(), cities: &args.city };
        for row in rows(instances, deployment, filter).iter().filter(|row| !is_going(row.object)) {
            add(&mut targets, row.object)?;
        }
    }
    for name in &args.names {
        let found = instances.iter().find(|instance| instance.name() == name);
        let instance = found.ok_or_else(|| Refusal::Absent(name.clone()))?;
        if is_going(instance) {
            return Err(Refusal::Going(name.clone()));
        }
        add(&mut targets, instance)?;
    }
    if targets.is_empty() { Err(Refusal::None) } else { Ok(targets) }
}

fn add<'a>(targets: &mut Targets<'a>, instance: &'a Object) -> Result<(), Refusal> {
    let name = instance.name();
    let deployment = deployment_name(instance).ok_or_else(|| Refusal::Unplaced(name.to_owned()))?;
    let names = targets.entry(deployment).or_default();
    if !names.contains(&name) {
        names.push(name);
    }
    Ok(())
}

/// Whether a deployment wants an instance of that name, as far as it says how many it wants. One that is
/// being replaced is not there for a while, and what was asked of it stands.
pub fn is_wanted(deployment: &Object, name: &str) -> bool {
    let ordinal = name.strip_prefix(deployment.name()).and_then(|rest| rest.strip_prefix('-'));
    let Some(ordinal) = ordinal.and_then(|digits| digits.parse::<u64>().ok()) else { return false };
    deployment.status()["desiredReplicas"].as_u64().is_none_or(|desired| ordinal < desired)
}

/// An order in words.
#[derive(Clone, Copy, Debug)]
pub struct Verb(pub PowerOrder);

impl Verb {
    /// As the command is called.
    pub fn name(self) -> &'static str {
        match self.0 {
            PowerOrder::Start => "start",
            PowerOrder::Stop => "stop",
            PowerOrder::Restart => "restart",
        }
    }

    /// `This stops ...`.
    pub fn present(self) -> &'static str {
        match self.0 {
            PowerOrder::Start => "starts",
            PowerOrder::Stop => "stops",
            PowerOrder::Restart => "restarts",
        }
    }

    /// `Waiting until web-0 has stopped`.
    pub fn awaited(self, count: usize) -> &'static str {
        match (self.0, count) {
            (PowerOrder::Start, 1) => "is available",
            (PowerOrder::Start, _) => "are available",
            (PowerOrder::Stop, 1) => "has stopped",
            (PowerOrder::Stop, _) => "have stopped",
            (PowerOrder::Restart, 1) => "has restarted",
            (PowerOrder::Restart, _) => "have restarted",
        }
    }

    /// What is said once it is done.
    pub fn done(self) -> &'static str {
        match self.0 {
            PowerOrder::Start => "Available",
            PowerOrder::Stop => "Stopped",
            PowerOrder::Restart => "Restarted",
        }
    }
}
