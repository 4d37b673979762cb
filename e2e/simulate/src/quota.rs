//! The quota service of a project plane: grants claims, as many at a time as the namespace's annotation says.
//!
//! As with a Milo, a refusal is final: only a claim that is made anew is evaluated again, and [`admission`]
//! stores none that the resource is not registered for.

use std::sync::Arc;

use fedhub_api::conditions;
use fedhub_api::external::quota::ResourceClaim;
use fedhub_core::clock::{Clock, stamp};
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::admission;
use crate::annotations::QUOTA;
use crate::drive::{ConstantBackoff, drive, kind, perform, retry};
use crate::step::{Step, field, holds, set};

/// The resource that is counted.
const INSTANCES: &str = "compute.datumapis.com/instances";

/// How many claims of a namespace are granted at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// All of them.
    None,
    /// At most this many.
    AtMost(usize),
    /// Claims are refused as not valid: the annotation says `invalid`, or is no number.
    Invalid,
}

impl Limit {
    /// Reads the namespace's annotation [`QUOTA`].
    pub fn from_annotation(annotation: Option<&str>) -> Self {
        annotation.map_or(Self::None, |text| text.parse().map_or(Self::Invalid, Self::AtMost))
    }
}

fn is_granted(claim: &Object) -> bool {
    holds(claim.status(), "Granted") == "True"
}

fn is_refused(claim: &Object) -> bool {
    let granted = conditions::find(claim.status(), "Granted").map(conditions::said);
    granted.is_some_and(|(status, reason, _)| status == "False" && reason != "PendingEvaluation")
}

/// Claims in the order in which they are granted: by age, and by name within a second.
fn rank(claim: &Object) -> (Option<Timestamp>, &str) {
    (claim.metadata.creation_timestamp.as_ref().map(|time| time.0), claim.name())
}

/// The next step of a claim; `all` are the claims of its namespace (needed for [`Limit::AtMost`] only).
///
/// What is granted stays granted until the claim is deleted, also where the limit has become lower. What is
/// refused stays refused, also where it has become higher.
pub fn step(claim: &Object, all: &[Object], limit: &Limit, now: Timestamp) -> Step {
    if claim.is_terminating() || is_refused(claim) {
        return Step::done();
    }
    let (status, reason, message) = match *limit {
        Limit::AtMost(limit) if !is_granted(claim) => {
            let granted = all.iter().filter(|other| is_granted(other)).count();
            let waits = |other: &Object| !is_granted(other) && !is_refused(other) && !other.is_terminating();
            let before = all.iter().filter(|other| waits(other) && rank(other) < rank(claim));
            if granted + before.count() < limit {
                ("True", "QuotaAvailable", "Quota is available".to_owned())
            } else {
                let message = format!(
                    "Insufficient quota: {limit} of {limit} in namespace {:?} are used",
                    claim.namespace()
                );
                ("False", "QuotaExceeded", message)
            }
        }
        Limit::Invalid if !is_granted(claim) => {
            let message =
                format!("No resource type is registered for claims in namespace {:?}", claim.namespace());
            ("False", "ValidationFailed", message)
        }
        _ => ("True", "QuotaAvailable", "Quota is available".to_owned()),
    };
    let generation = claim.metadata.generation;
    let mut next = claim.status().clone();
    field(&mut next, "observedGeneration", json!(generation));
    set(&mut next, "Granted", status, reason, &message, now);
    if let Some(answers) = allocations(claim, reason, &message, now) {
        field(&mut next, "allocations", answers);
    }
    if let Some(mut granted) = conditions::find(&next, "Granted").cloned() {
        granted["observedGeneration"] = json!(generation);
        conditions::put(&mut next, granted);
    }
    Step::at_once(claim, next)
}

/// The answer to each request of a claim, where it has any. Instances alone are counted here, so nothing else
/// is ever short.
fn allocations(claim: &Object, reason: &str, message: &str, now: Timestamp) -> Option<Value> {
    let requests = claim.spec()["requests"].as_array().filter(|requests| !requests.is_empty())?;
    let before = claim.status()["allocations"].as_array();
    let answer = |request: &Value| {
        let kind = &request["resourceType"];
        let status = match reason {
            "QuotaAvailable" => "Granted",
            "QuotaExceeded" if kind == INSTANCES => "Denied",
            _ => "Pending",
        };
        let new = json!({"resourceType": kind, "status": status, "reason": reason, "message": message});
        let old = before.into_iter().flatten().find(|it| it["resourceType"] == *kind);
        old.filter(|old| ["status", "reason", "message"].iter().all(|name| old[name] == new[name]))
            .cloned()
            .unwrap_or_else(|| {
                let mut new = new.clone();
                field(&mut new, "lastTransitionTime", json!(stamp(now)));
                new
            })
    };
    Some(requests.iter().map(answer).collect())
}

struct Quota {
    client: Client,
    clock: Clock,
    /// Held from the list to the write where claims compete, so that no two are granted the same share.
    turn: Mutex<()>,
}

/// Simulates the quota service on a project plane.
pub async fn run(plane: String, client: Client, clock: Clock) {
    admission::enforce(&plane, &client).await;
    let claims = Api::<Object>::all_with(client.clone(), &kind::<ResourceClaim>());
    let controller = Controller::new_with(claims, watcher::Config::default(), kind::<ResourceClaim>())
        .trigger_backoff(ConstantBackoff);
    let quota = Arc::new(Quota { client, clock, turn: Mutex::default() });
    drive("quota", &plane, controller.run(pass, |object, error, _| retry(&object, error), quota)).await;
}

async fn pass(claim: Arc<Object>, quota: Arc<Quota>) -> kube::Result<Action> {
    let claims =
        Api::<Object>::namespaced_with(quota.client.clone(), claim.namespace(), &kind::<ResourceClaim>());
    let namespaces: Api<Namespace> = Api::all(quota.client.clone());
    let namespace = namespaces.get_opt(claim.namespace()).await?;
    let annotations = namespace.and_then(|namespace| namespace.metadata.annotations).unwrap_or_default();
    let limit = Limit::from_annotation(annotations.get(QUOTA).map(String::as_str));
    if !matches!(limit, Limit::AtMost(_)) {
        return perform(&claims, &claim, step(&claim, &[], &limit, quota.clock.now())).await;
    }
    let _turn = quota.turn.lock().await;
    let all = claims.list(&ListParams::default()).await?.items;
    let Some(claim) = all.iter().find(|other| other.uid() == claim.uid()) else {
        return Ok(Action::await_change());
    };
    perform(&claims, claim, step(claim, &all, &limit, quota.clock.now())).await
}
