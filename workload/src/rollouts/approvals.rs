//! Approvals as users ask for them: the annotation [`APPROVED`] of a WorkloadRollout.
//!
//! Its value is a JSON array: `[{"wave": "canary", "gate": "After", "by": "eve", "revision": 7}]`. Who
//! approves is written by admission, as is the revision of the rollout that the approval is for: without it,
//! the annotation that one rollout leaves behind would approve the next one.

use std::collections::BTreeSet;

use fedhub_api::{LONGEST_USER, MOST_APPROVALS, RolloutGate};
use fedhub_core::errors;
use fedhub_core::message::shortened;
use fedhub_core::names::{APPROVED, DNS_LABEL_RULE, is_dns_label};
use fedhub_core::object::{Object, ObjectView};
use fedhub_rollout::{Approved, Gate, Revision, Status};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::admission::fault::{Fault, Faults};
use crate::admission::path::Path;

/// The longest value of the annotation, in bytes.
const LONGEST: usize = 64 << 10;

/// An approval that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The name of the wave.
    pub wave: String,
    /// Which side of it.
    pub gate: RolloutGate,
    /// Who approves; empty where neither admission nor its user says it.
    #[serde(default)]
    pub by: String,
    /// The target of the rollout that it is for; without one it is for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// The approvals that are asked for, none without the annotation, or what is wrong with it.
pub fn requests(rollout: &Object) -> Result<Vec<Request>, Vec<Fault>> {
    let mut faults = Faults::default();
    let requests = read(rollout, &mut faults);
    let faults = faults.into_vec();
    if faults.is_empty() { Ok(requests) } else { Err(faults) }
}

/// The faults of the annotation, among them waves that neither the spec nor the plan has.
pub fn check(rollout: &Object, faults: &mut Faults) {
    let known: BTreeSet<_> = [&rollout.spec()["waves"], &rollout.status()["plan"]]
        .into_iter()
        .flat_map(|waves| waves.as_array().into_iter().flatten())
        .filter_map(|wave| wave["name"].as_str())
        .collect();
    for request in read(rollout, faults) {
        if !known.contains(&*request.wave) {
            faults.not_found(path(), &request.wave, "the rollout has no wave of that name");
        }
    }
}

fn path() -> Path {
    Path::from_field("metadata").field("annotations").key(APPROVED)
}

fn read(rollout: &Object, faults: &mut Faults) -> Vec<Request> {
    let Some(text) = rollout.annotation(APPROVED) else { return Vec::new() };
    if text.len() > LONGEST {
        faults.at_most(text.len(), LONGEST, "bytes", &path());
        return Vec::new();
    }
    let mut requests = match serde_json::from_str::<Vec<Request>>(text) {
        Ok(requests) => requests,
        Err(error) => {
            let rule = "it must be a JSON array such as [{\"wave\": \"canary\", \"gate\": \"After\"}]";
            faults.forbidden(path(), None, &format!("{rule}: {}", errors::json(&error)));
            return Vec::new();
        }
    };
    faults.at_most(requests.len(), MOST_APPROVALS, "approvals", &path());
    requests.truncate(MOST_APPROVALS);
    let mut seen = BTreeSet::new();
    for request in &mut requests {
        faults.name(path(), &request.wave, is_dns_label, DNS_LABEL_RULE);
        if !seen.insert((request.wave.clone(), gate_of(request.gate) == Gate::After, request.revision)) {
            faults.duplicate(path(), &request.wave, "each gate of a wave is approved once");
        }
        request.by = user(&request.by);
    }
    requests
}

/// A user's name as approvals keep it.
fn user(name: &str) -> String {
    let plain: String = name.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    shortened(&plain, LONGEST_USER).into_owned()
}

/// The annotation as it is stored when this user writes `new` in place of `old`: approvals that are new are
/// that user's and for the present target, those that were there stay whose they were. `None` where nothing
/// is to be changed, or nothing can be read.
pub fn authored(by: &str, old: Option<&Object>, new: &Object) -> Option<String> {
    let mut unread = Faults::default();
    let before = old.map(|old| read(old, &mut unread)).unwrap_or_default();
    let wanted = read(new, &mut unread);
    if wanted.is_empty() || !unread.into_vec().is_empty() {
        return None;
    }
    let target = new.status()["targetRevision"].as_u64();
    let authored: Vec<_> = wanted
        .iter()
        .map(|request| {
            let revision = request.revision.or(target);
            let stood = before.iter().find(|it| {
                let is_same = it.revision == request.revision || it.revision == revision;
                it.wave == request.wave && it.gate == request.gate && is_same
            });
            stood.cloned().unwrap_or_else(|| Request { by: user(by), revision, ..request.clone() })
        })
        .collect();
    if authored == wanted { None } else { serde_json::to_string(&authored).ok() }
}

/// Takes the approvals of the waves that are in the plan over into the status, where they stay: those for its
/// target that it does not have yet.
pub fn take(requests: &[Request], status: &mut Status, now: Timestamp) {
    for request in requests {
        let gate = gate_of(request.gate);
        let is_planned = status.plan.iter().any(|wave| *wave.name == *request.wave);
        let is_for_this = request.revision.map(Revision).is_some_and(|it| status.target == Some(it));
        let is_taken = status.approvals.iter().any(|it| *it.wave == *request.wave && it.gate == gate);
        if is_planned && is_for_this && !is_taken {
            status.approvals.push(Approved {
                wave: request.wave.as_str().into(),
                gate,
                by: request.by.as_str().into(),
                at: now,
            });
        }
    }
}

/// The side of a wave.
pub(super) fn gate_of(gate: RolloutGate) -> Gate {
    match gate {
        RolloutGate::Before => Gate::Before,
        RolloutGate::After => Gate::After,
    }
}
