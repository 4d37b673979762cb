//! The status of one object: numbers, conditions, and what keeps it from being ready.

use fedhub_api::conditions::{find, is_default, is_true, said};
use fedhub_api::reason::{Reason, Responsible, needs_action, separated};
use fedhub_core::object::{Object, ObjectView};
use serde_json::Value;

/// Numbers of Instances, as a deployment or a Workload reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// How many are wanted.
    pub desired: i64,
    /// How many there are, terminating ones not counted.
    pub replicas: i64,
    /// How many have the newest template.
    pub updated: i64,
    /// How many are ready.
    pub ready: i64,
    /// How many do not run because their users stopped them.
    pub stopped: i64,
}

impl Counts {
    /// Reads the counts of a status; `None` until something was reported. The schema puts zeros there from
    /// the first moment (U1), and those are no numbers of anything.
    pub fn from_status(status: &Value) -> Option<Self> {
        status["observedGeneration"].as_i64()?;
        let count = |counter: &str| status[counter].as_i64();
        Some(Self {
            desired: count("desiredReplicas")?,
            replicas: count("replicas").unwrap_or_default(),
            updated: count("updatedReplicas").unwrap_or_default(),
            ready: count("readyReplicas").unwrap_or_default(),
            stopped: count("stoppedReplicas").unwrap_or_default(),
        })
    }

    /// Whether exactly the wanted Instances are there, all of them of the newest template, and ready unless
    /// their users stopped them.
    pub fn are_complete(self) -> bool {
        [self.replicas, self.updated, self.ready + self.stopped].iter().all(|count| *count == self.desired)
    }
}

/// The generation that an object has now; zero for one that no server has seen.
pub fn generation(object: &Object) -> i64 {
    object.metadata.generation.unwrap_or_default()
}

/// Whether the status of an object is about the generation that it has now.
pub fn is_observed(object: &Object) -> bool {
    object.status()["observedGeneration"].as_i64().is_some_and(|seen| seen >= generation(object))
}

/// Whether a Workload is suspended, with all its instances.
pub fn is_suspended(workload: &Object) -> bool {
    workload.spec()["suspend"] == true
}

/// How a Workload is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, clap::ValueEnum)]
pub enum Health {
    /// It serves, with all Instances that are wanted.
    Available,
    /// It serves, with less than is wanted.
    Degraded,
    /// It does not serve.
    Unavailable,
    /// Nothing has been reported.
    Unknown,
}

/// An obstacle that stays until the user or the platform's operator acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The reason of the condition, such as `ImageUnavailable`.
    pub reason: String,
    /// Its message: what is wrong, whose job it is, and what to do.
    pub message: String,
}

impl Obstacle {
    /// Reads a condition; `None` for one that is True, that is the schema's default, that passes by itself,
    /// or that a user asked for.
    pub fn from_condition(condition: &Value) -> Option<Self> {
        let (status, reason, message) = said(condition);
        // A deployment repeats the message of its Instances under a reason of its own: the ending of that
        // message names who has to act (C9).
        let said = separated(reason, message).responsible;
        let acts = matches!(said, Some(Responsible::User | Responsible::Operator)) || needs_action(reason);
        let is_wanted = Reason::parse(reason).is_some_and(Reason::is_wanted);
        let stands = status != "True" && !is_default(condition) && acts && !is_wanted;
        stands.then(|| Self::new(reason, message))
    }

    /// Creates an obstacle with this reason and message.
    pub fn new(reason: &str, message: &str) -> Self {
        let message = if message.is_empty() { reason } else { message };
        Self { reason: reason.to_owned(), message: message.to_owned() }
    }
}

/// The words of the first of these conditions that is not True and says something: what is awaited.
pub fn awaited(status: &Value, kinds: &[&str]) -> Option<String> {
    let mut conditions = kinds.iter().filter_map(|kind| find(status, kind));
    conditions.find_map(|condition| {
        let (stands, reason, message) = said(condition);
        let words = if message.is_empty() { reason } else { message };
        (stands != "True" && !is_default(condition) && !words.is_empty()).then(|| words.to_owned())
    })
}

/// Whether an Instance is ready, and stays.
pub fn is_ready(instance: &Object) -> bool {
    is_true(instance.status(), "Ready") && !is_going(instance)
}

/// Whether an Instance is being deleted: here, or in its cell, whose word its projection has (C12).
pub fn is_going(instance: &Object) -> bool {
    let reason = find(instance.status(), "Ready").map_or("", |ready| said(ready).1);
    instance.is_terminating()
        || matches!(Reason::parse(reason), Some(Reason::Terminating | Reason::TerminationDeadlineExceeded))
}

/// The images of a template, in the order of its containers.
pub fn images(template: &Value) -> Vec<&str> {
    let containers = template["spec"]["runtime"]["sandbox"]["containers"].as_array().into_iter().flatten();
    containers.filter_map(|container| container["image"].as_str()).collect()
}
