//! The condition of a terminating Workload: what it waits for (W2, W3).

use fedhub_core::message::{Quoted, named};

use super::snapshot::Snapshot;

/// The WDs that hold the Workload with that UID, and what refuses their deletion.
pub fn waits(seen: &Snapshot, uid: &str) -> String {
    let names: Vec<_> = seen.own(uid).map(|(name, ..)| Quoted(name).to_string()).collect();
    let Some(listed) = named(&names) else { return stranger(seen) };
    let plural = if names.len() > 1 { "s" } else { "" };
    let waits = format!("Waiting for WorkloadDeployment{plural} {listed} to be deleted");
    let refusal = seen.own(uid).find_map(|(name, ..)| seen.learnt.refused.get(name));
    refusal.map_or_else(|| waits.clone(), |refusal| format!("{waits}: {}", refusal.message))
}

fn stranger(seen: &Snapshot) -> String {
    let Some(name) = &seen.learnt.stranger else { return String::new() };
    format!(
        "WorkloadDeployment {} is owned by this Workload and names another one in spec.workloadRef, so that it is not deleted \
         with this one: delete it",
        Quoted(name)
    )
}
