//! How far the newest generation of a Workload has come. Pure.
//!
//! It is done only when that generation was observed on the Workload and on each of its deployments, every
//! wanted Instance is ready and up to date, and no other Instance is left. Numbers count only where they were
//! reported about the newest generation, and Instances count beside numbers: the two come back on different
//! ways, and the slower one decides.

use std::collections::BTreeSet;

use fedhub_api::conditions::{find, said};
use fedhub_api::facts::workload::{is_paused, problems_beside_available};
use fedhub_api::instance_power::is_stopped;
use fedhub_api::reason::Reason;
use fedhub_core::names::deployment_name;
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;
use serde_json::Value;

pub use super::row::Row;
pub use super::stage::Phase;

use super::held::{self, is_waiting};
use super::revision::has_earlier;
use super::stage::Stage;
use super::template::{carries_spec, carries_template};
use super::waves::{Stop, Waves, pause};
use crate::model::status::{awaited, generation, is_going, is_observed, is_ready};
use crate::model::{Counts, Obstacle, Paused, Site, Workload};

/// The state of a rollout as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum Verdict {
    /// The newest generation runs everywhere, and nothing else does.
    Done,
    /// The rollout is in progress.
    Progressing,
    /// The rollout makes no progress until the user or the operator acts.
    Blocked,
    /// A pause holds back a part of it.
    Paused,
    /// A wave of the rollout requires approval.
    AwaitingApproval,
    /// The Workload is being deleted.
    Deleted,
}

/// The judgement of a rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The generation that is rolled out.
    pub generation: i64,
    /// Whether any controller has taken up the Workload.
    pub taken_up: bool,
    /// The cities, in the order of the spec; those that it leaves behind them.
    pub rows: Vec<Row>,
    /// Instances that are in no city of it any more.
    pub strays: usize,
    /// The obstacle in the way of the Workload as a whole.
    pub obstacle: Option<Obstacle>,
    /// The pause of its rollout.
    pub paused: Option<Paused>,
    /// Whether a revision is recorded that it can go back to.
    pub has_earlier: bool,
    /// The waves of its rollout; `None` where it has none, or nothing is said of the newest template.
    pub waves: Option<Waves>,
    /// The verdict that follows from all of it.
    pub verdict: Verdict,
}

impl Judgement {
    /// What keeps a rollout over waves from going on by itself.
    pub fn stop(&self) -> Option<&Stop> {
        self.waves.as_ref()?.stop.as_ref()
    }
}

/// Judges a Workload by what belongs to it, its WorkloadRollout left out.
pub fn judge(seen: &Workload<'_>) -> Judgement {
    judge_with(seen, None, Timestamp::UNIX_EPOCH)
}

/// Judges a Workload by what belongs to it, and by its WorkloadRollout where it has one.
pub fn judge_with(seen: &Workload<'_>, rollout: Option<&Object>, now: Timestamp) -> Judgement {
    let workload = seen.object;
    let waves = rollout.and_then(|rollout| Waves::read(workload, rollout, now));
    let observed = is_observed(workload);
    let refusal = observed.then(|| refusal(workload)).flatten();
    let mut rows: Vec<Row> = seen
        .sites
        .iter()
        .map(|site| {
            let row = row(workload, observed, refusal.as_ref(), site);
            match &waves {
                Some(waves) => row_of_waves(waves, workload, site, row),
                None => row,
            }
        })
        .collect();
    held::name_cities_before(&mut rows);
    let ended = match waves.as_ref().and_then(|waves| waves.stop.as_ref()) {
        Some(Stop::Ended(obstacle)) if rows.iter().any(|row| row.phase != Phase::Done) => {
            Some(obstacle.clone())
        }
        _ => None,
    };
    let mut judgement = Judgement {
        generation: generation(workload),
        taken_up: !workload.status()["observedGeneration"].is_null(),
        // Whatever a city says itself is newer and nearer.
        obstacle: ended.or_else(|| {
            refusal.or_else(|| overdue(workload)).filter(|_| !rows.iter().any(|row| row.obstacle.is_some()))
        }),
        strays: seen.strays.len(),
        paused: Paused::from_workload(workload)
            .or_else(|| rollout.and_then(|rollout| pause(workload, rollout).map(Paused::from_rollout))),
        has_earlier: has_earlier(workload),
        rows,
        waves,
        verdict: Verdict::Progressing,
    };
    judgement.verdict = verdict(workload, &judgement);
    judgement
}

fn verdict(workload: &Object, judgement: &Judgement) -> Verdict {
    let Judgement { rows, strays, obstacle, .. } = judgement;
    let unfinished = || rows.iter().filter(|row| row.phase != Phase::Done);
    let progressing = find(workload.status(), "Progressing").is_some_and(|condition| {
        // Unknown it is of a pause that has been ended since, too.
        said(condition).0 != "False" || condition["observedGeneration"] != generation(workload)
    });
    if workload.is_terminating() {
        return Verdict::Deleted;
    }
    if judgement.paused.as_ref().is_some_and(|paused| paused.holds) {
        return Verdict::Paused;
    }
    match judgement.stop() {
        Some(Stop::Approval { .. }) => return Verdict::AwaitingApproval,
        Some(Stop::Ended(_)) if unfinished().next().is_some() => return Verdict::Blocked,
        Some(Stop::Ended(_)) | None => {}
    }
    // What waits for a city that is blocked does not go on either.
    let blocked = unfinished().all(|row| matches!(row.phase, Phase::Blocked | Phase::Waiting))
        && unfinished().any(|row| row.phase == Phase::Blocked);
    // A refused write of a deployment may not show in its row: planes prune fields, so that those of the
    // Workload alone prove nothing.
    let refused = obstacle.is_some() && (rows.is_empty() || progressing);
    let is_late = overdue(workload).is_some() && unfinished().next().is_some();
    let nothing_else = unfinished().next().is_none() && refused;
    if is_late || blocked || nothing_else {
        return Verdict::Blocked;
    }
    let done = is_observed(workload) && !progressing && !rows.is_empty() && *strays == 0;
    if done && unfinished().next().is_none() { Verdict::Done } else { Verdict::Progressing }
}

/// Why some city gets no deployment, or not the newest one, in the Workload's words.
fn refusal(workload: &Object) -> Option<Obstacle> {
    let available = find(workload.status(), "Available")?;
    if available["observedGeneration"] != generation(workload) {
        return None;
    }
    let (status, reason, message) = said(available);
    if status != "True" {
        // Any other repeats the words of one deployment, whose row has them.
        let is_own = Reason::parse(reason).is_some_and(Reason::is_of_workload);
        return if is_own { Obstacle::from_condition(available) } else { None };
    }
    problems_beside_available(message)
        .map(|message| Obstacle::new(Reason::NoMatchingLocations.as_str(), message))
}

/// Returns the obstacle that the newest generation has made no progress for longer than it may.
fn overdue(workload: &Object) -> Option<Obstacle> {
    let progressing = find(workload.status(), "Progressing")?;
    let is_late = said(progressing).1 == Reason::ProgressDeadlineExceeded
        && progressing["observedGeneration"] == generation(workload);
    is_late.then(|| Obstacle::from_condition(progressing)).flatten()
}

fn row(workload: &Object, observed: bool, refusal: Option<&Obstacle>, site: &Site<'_>) -> Row {
    let (phase, obstacle, awaits) = match site.deployment {
        _ if !site.wanted => leaving(site),
        Some(deployment)
            if observed && !is_current(workload, site, deployment) && is_waiting(workload, deployment) =>
        {
            held::waiting()
        }
        Some(deployment) if !observed || !is_current(workload, site, deployment) => {
            let refused = refusal.filter(|_| !deployment.is_terminating()).cloned();
            pending(refused, "waits for the platform to take up the change")
        }
        None if observed && refusal.is_none() && is_paused(workload) => held::without_deployment(),
        None if observed => pending(refusal.cloned(), "has no deployment yet"),
        None => pending(None, "waits for the platform to take up the workload"),
        Some(deployment) => held::with_deployment(workload, deployment, deployed(site, deployment)),
    };
    let mut counts = site.counts().filter(|_| observed && site.is_observed());
    if let (Phase::Waiting, Some(counts)) = (phase, &mut counts) {
        // What it reports is about the template that it keeps.
        counts.updated = 0;
    }
    Row {
        placement: site.placement.to_owned(),
        city: site.city.to_owned(),
        phase,
        counts,
        old: old(site, counts),
        obstacle,
        awaits,
        turn: None,
    }
}

/// A row with how far its city is in a rollout over waves, and what it waits for there.
fn row_of_waves(waves: &Waves, workload: &Object, site: &Site<'_>, row: Row) -> Row {
    let name = match site.deployment {
        Some(deployment) => deployment.name().to_owned(),
        None => deployment_name(workload.name(), site.placement, site.city),
    };
    let wait = if row.phase == Phase::Waiting { waves.wait(&name) } else { None };
    Row { turn: waves.turn(&name), awaits: wait.map(|wait| wait.to_string()).or(row.awaits), ..row }
}

fn pending(obstacle: Option<Obstacle>, awaits: &str) -> Stage {
    let phase = if obstacle.is_some() { Phase::Blocked } else { Phase::Pending };
    (phase, obstacle, Some(awaits.to_owned()))
}

/// A city that the Workload has left.
fn leaving(site: &Site<'_>) -> Stage {
    let conditions = ["TerminationOverdue", "Available", "Federated"];
    let status = site.deployment.map_or(&Value::Null, |deployment| deployment.status());
    let overdue = conditions.iter().filter_map(|kind| find(status, kind)).find_map(|condition| {
        let held = matches!(
            Reason::parse(said(condition).1),
            Some(Reason::CleanupHeld | Reason::TerminationDeadlineExceeded | Reason::DeletionRefused)
        );
        held.then(|| Obstacle::new(said(condition).1, said(condition).2))
    });
    let phase = if overdue.is_some() { Phase::Blocked } else { Phase::Draining };
    (phase, overdue, Some("is being removed".to_owned()))
}

/// Whether a deployment has what the Workload says now. The Workload's status says that it was written; this
/// is for a deployment that the plane did not let be written, and for one that is read later than the
/// Workload.
fn is_current(workload: &Object, site: &Site<'_>, deployment: &Object) -> bool {
    let wanted = workload.spec();
    let is = deployment.spec();
    let placements = wanted["placements"].as_array().into_iter().flatten();
    let mut placement = placements.filter(|it| it["name"] == site.placement);
    let scale = placement.next().map_or(&Value::Null, |placement| &placement["scaleSettings"]);
    let same = |field: &str| scale[field] == is["scaleSettings"][field];
    !deployment.is_terminating()
        && same("minReplicas")
        && same("maxReplicas")
        && carries_spec(&scale["metrics"], &is["scaleSettings"]["metrics"])
        && carries_spec(&scale["rollingUpdate"], &is["scaleSettings"]["rollingUpdate"])
        && (is_paused(workload) || carries_template(&wanted["template"], &is["template"]))
}

/// A city with a deployment of what the Workload says now.
fn deployed(site: &Site<'_>, deployment: &Object) -> Stage {
    let status = deployment.status();
    let awaits = || {
        let stale = site.instances.iter().find(|instance| !is_ready(instance));
        let instance = stale.and_then(|instance| awaited(instance.status(), &["Ready"]));
        awaited(status, &["ReferencedDataReady", "Federated", "ReplicasReady", "Available"]).or(instance)
    };
    let Some(counts) = site.counts().filter(|_| site.is_observed()) else {
        let obstacle = project_obstacle(deployment);
        let phase = if obstacle.is_some() { Phase::Blocked } else { Phase::Pending };
        return (phase, obstacle, awaits());
    };
    let complete = counts.are_complete() && is_plausible(deployment, counts.desired);
    if complete && is_settled(site, deployment, counts.desired) {
        return (Phase::Done, None, None);
    }
    let obstacle = suspension(status).or_else(|| obstacle(site, deployment));
    let phase = match &obstacle {
        Some(_) => Phase::Blocked,
        None if complete && old(site, Some(counts)) > 0 => Phase::Draining,
        None => Phase::Updating,
    };
    (phase, obstacle, awaits())
}

/// Returns the obstacle that a deployment is suspended, by itself or with its Workload: its instances start
/// when it is resumed.
fn suspension(status: &Value) -> Option<Obstacle> {
    const WORDS: &str = "the instances are suspended: they are kept, and do not run";
    (status["suspended"] == true).then(|| Obstacle::new(Reason::Suspended.as_str(), WORDS))
}

/// Whether a number of wanted Instances can be that of the deployment's settings: the one that it names, or
/// at least the smallest where a measure moves it (C13).
fn is_plausible(deployment: &Object, desired: i64) -> bool {
    let spec = deployment.spec();
    let settings = &spec["scaleSettings"];
    let least = settings["minReplicas"].as_i64().unwrap_or(1);
    let scales =
        settings["maxReplicas"].is_i64() && settings["metrics"].as_array().is_some_and(|all| !all.is_empty());
    if scales { desired >= least } else { desired == spec["replicas"].as_i64().unwrap_or(least) }
}

/// Whether the Instances are those that are wanted, and no others.
fn is_settled(site: &Site<'_>, deployment: &Object, desired: i64) -> bool {
    let hash = |instance: &Object| instance.spec()["controller"]["templateHash"].clone();
    let runs = |instance: &Object| {
        let started = &instance.status()["controller"]["observedTemplateHash"];
        started.is_null() || *started == hash(instance)
    };
    let hashes: BTreeSet<String> = site.instances.iter().map(|instance| hash(instance).to_string()).collect();
    i64::try_from(site.instances.len()) == Ok(desired)
        && hashes.len() <= 1
        && site.instances.iter().all(|instance| {
            (is_ready(instance) || is_stopped(instance)) && runs(instance) && !is_stale(deployment, instance)
        })
}

fn is_stale(deployment: &Object, instance: &Object) -> bool {
    !carries_spec(&deployment.spec()["template"]["spec"], instance.spec())
}

/// How many Instances are to go: by what they are, and by how many are wanted. Numbers of updated ones lag
/// behind new ones that were not reported yet.
fn old(site: &Site<'_>, counts: Option<Counts>) -> i64 {
    let Some(deployment) = site.deployment else { return 0 };
    let listed = i64::try_from(
        site.instances
            .iter()
            .filter(|instance| !site.wanted || is_going(instance) || is_stale(deployment, instance))
            .count(),
    )
    .unwrap_or(i64::MAX);
    listed.max(counts.map_or(0, |counts| {
        i64::try_from(site.instances.len()).unwrap_or(i64::MAX).saturating_sub(counts.desired)
    }))
}

/// Returns the obstacle that the project's own side reports for a deployment that its cell has not observed.
/// Only reports about its newest generation count.
fn project_obstacle(deployment: &Object) -> Option<Obstacle> {
    let status = deployment.status();
    let newest = |kind: &str| {
        find(status, kind).filter(|condition| condition["observedGeneration"] == generation(deployment))
    };
    let federated = newest("Federated");
    let refused = federated.and_then(|_| find(status, "Available"));
    let refused = refused
        .filter(|available| Reason::parse(said(available).1).is_some_and(Reason::is_reported_by_federation));
    [refused, federated, newest("ReferencedDataReady")]
        .into_iter()
        .flatten()
        .find_map(Obstacle::from_condition)
}

/// Returns the obstacle of a deployment of the newest generation: the nearest report first.
fn obstacle(site: &Site<'_>, deployment: &Object) -> Option<Obstacle> {
    let current = site.instances.iter().filter(|instance| !is_stale(deployment, instance));
    let instances =
        current.filter_map(|instance| find(instance.status(), "Ready")).find_map(Obstacle::from_condition);
    let status = deployment.status();
    let kinds = ["Available", "ReplicasReady", "TerminationOverdue", "ScalingActive"];
    instances
        .or_else(|| project_obstacle(deployment))
        .or_else(|| kinds.iter().filter_map(|kind| find(status, kind)).find_map(Obstacle::from_condition))
}
