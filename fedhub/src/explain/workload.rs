//! `fedhub explain workload`: what a Workload says of itself, and where each of its WDs is.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use fedhub_api::RolloutCity;
use fedhub_api::conditions::{find, said};
use fedhub_core::clock::stamp;
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_terminal::plain;
use fedhub_terminal::report::{Field, Look, Report, Row, list_of, parts, table_of_any};
use fedhub_terminal::table::{age, table};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::args::{Asked, exit_code};
use super::chain::{Read, SubjectKind};
use super::diagnose::{diagnose, is_unreadable};
use super::output::{self, Explained};
use super::read::{ProjectPlane, Request, RolloutSource, read};
use super::rollout::{self, Rollout};
use crate::operator::connect::{Connection, in_time};
use crate::operator::requests::{get, list};

/// A Workload and its WDs.
struct ExplainedWorkload {
    name: String,
    /// The Workload; skipped for a snapshot, which has none.
    workload: Read<Object>,
    deployments: Vec<Explained>,
    rollout: Option<Arc<Rollout>>,
    now: Timestamp,
}

/// Reads, decides and prints.
pub async fn explain(asked: &Asked<'_>) -> anyhow::Result<ExitCode> {
    let report = gather(asked).await?;
    asked.args.output.print(&report)?;
    Ok(report.code())
}

async fn gather(asked: &Asked<'_>) -> anyhow::Result<ExplainedWorkload> {
    let name = &asked.args.name;
    let namespace = &asked.args.namespace;
    let plane = &asked.args.plane;
    let request = asked.request(SubjectKind::WorkloadDeployment, name)?;
    let (project, _) = request.project.connection(plane, request.timeout).await;
    if project.is_absent() {
        bail!("there is no project plane {plane}");
    }
    let wds = list(&project, Kind::WorkloadDeployment.resource(), namespace, "").await;
    let wds = wds.required(|| format!("failed to list workloaddeployments on project plane {plane}"))?;
    let wds: Vec<_> = wds.into_iter().filter(|wd| is_of(wd, name)).collect();
    let workload = match asked.snapshot {
        Some(_) => Read::Skipped,
        None => get(&project, Kind::Workload.resource(), namespace, name).await,
    };
    if wds.is_empty() && workload.found().is_none() {
        let why = workload.failure().map_or_else(String::new, |error| format!(": {}", error.message));
        bail!("no Workload {name} is known in namespace {namespace} of project plane {plane}{why}");
    }
    let now = request.now.unwrap_or_else(Timestamp::now);
    let rollout = match workload.found() {
        Some(workload) => {
            Box::pin(rollout::of_workload(&project, &request.hub, workload, &wds, plane, now)).await
        }
        None => None,
    };
    let chains = in_time(&project, chains(asked, &project, &wds, rollout.as_ref())).await;
    let deployments = match chains {
        Ok(chains) => chains?,
        Err(error) => bail!("failed to read the WDs of {name} on project plane {plane}: {}", error.message),
    };
    Ok(ExplainedWorkload { name: name.clone(), workload, deployments, rollout, now })
}

/// The chains of these WDs, one after the other.
async fn chains(
    asked: &Asked<'_>,
    project: &Connection,
    wds: &[Object],
    rollout: Option<&Arc<Rollout>>,
) -> anyhow::Result<Vec<Explained>> {
    let mut chains = Vec::new();
    for wd in wds {
        let request = asked.request(SubjectKind::WorkloadDeployment, wd.name())?;
        // Discovery has found it, and the rollout is that of all its WDs.
        let project = ProjectPlane::Given(project.clone());
        let request = Request { project, rollout: RolloutSource::Known(rollout.cloned()), ..request };
        let chain = Box::pin(read(request)).await;
        chains.push(Explained { diagnosis: diagnose(&chain), chain });
    }
    Ok(chains)
}

/// Whether a WD belongs to the Workload of that name (W1).
fn is_of(wd: &Object, workload: &str) -> bool {
    let mut owners = wd.metadata.owner_references.iter().flatten();
    owners.any(|owner| owner.kind == "Workload" && owner.name == workload)
}

impl Row for Explained {
    const FIELDS: &'static [Field<Self>] = &[
        Field::column("WD", |it| json!(it.chain.deployment)),
        Field::column("CITY", |it| json!(it.chain.city())),
        Field::column("STATE", |it| json!(output::words(it.diagnosis.state))),
        Field::column("CAUSE", |it| json!(it.diagnosis.cause.id())),
    ];
}

/// A city in the rollout of the Workload.
struct Turn {
    city: RolloutCity,
    /// Since when it is in its state, as far as a WorkloadRollout tells.
    since: Option<Timestamp>,
    /// Why it failed, or what it waits for.
    remark: Option<String>,
    now: Timestamp,
}

impl Turn {
    fn new(city: &RolloutCity, rollout: &Rollout, now: Timestamp) -> Self {
        let cause = city.cause.as_ref().map(|cause| format!("{}: {}", cause.reason, cause.message));
        Self {
            city: city.clone(),
            since: if rollout.is_governed { city.since.parse().ok() } else { None },
            remark: cause.or_else(|| rollout.turns.wait(&city.deployment).map(|wait| wait.to_string())),
            now,
        }
    }
}

impl Row for Turn {
    const FIELDS: &'static [Field<Self>] = &[
        Field::new("workloadDeployment", "WD", |it| json!(it.city.deployment)),
        Field::new("city", "CITY", |it| json!(it.city.city)),
        Field::new("wave", "WAVE", |it| json!(it.city.wave)),
        Field::new("state", "TURN", |it| json!(it.city.state)),
        Field::new("revision", "REVISION", |it| json!(it.city.revision)),
        Field::named("since", |it| json!(it.since.map(stamp))),
        Field::column("AGE", |it| json!(it.since.map(|since| age(since, it.now)))),
        Field::new("remark", "REMARK", |it| json!(it.remark)),
    ];
}

impl Report for ExplainedWorkload {
    fn text(&self, look: Look) -> String {
        let none = if self.deployments.is_empty() { "it has no WD yet" } else { "" };
        let mut told = BTreeSet::new();
        let troubled = self.deployments.iter().filter(|it| it.diagnosis.state.is_trouble());
        // What holds the rollout up holds up many of its WDs: it is printed once.
        let troubled = troubled.filter(|it| {
            let cause = it.diagnosis.cause;
            !cause.is_of_rollout() || told.insert(cause)
        });
        let troubled = troubled.map(|Explained { chain, diagnosis }| {
            format!("{}\n{}", plain(&chain.deployment), output::lines(chain, diagnosis, look.colours))
        });
        let wds = table_of_any(&self.deployments, look);
        let tables = [table(&self.conditions()), none.to_owned(), wds, table_of_any(&self.turns(), look)];
        parts(tables.into_iter().chain(troubled))
    }

    fn json(&self) -> Value {
        let conditions = self.workload.found().map(|workload| workload.status()["conditions"].clone());
        json!({
            "workload": self.name,
            "conditions": conditions.filter(Value::is_array).unwrap_or_else(|| json!([])),
            "workloadDeployments": self.deployments.iter().map(Report::json).collect::<Vec<_>>(),
            "rollout": list_of(&self.turns()),
        })
    }
}

impl ExplainedWorkload {
    /// The cities of its rollout; none where none is under way.
    fn turns(&self) -> Vec<Turn> {
        let Some(rollout) = &self.rollout else { return Vec::new() };
        rollout.turns.cities().map(|city| Turn::new(city, rollout, self.now)).collect()
    }

    /// The conditions of the Workload; why there are none.
    fn conditions(&self) -> Vec<Vec<String>> {
        let workload = match &self.workload {
            Read::Found(workload) => workload,
            Read::Skipped => return Vec::new(),
            Read::Absent => {
                return vec![vec![format!("{}:", self.name), "it is gone, its WDs stand".to_owned()]];
            }
            Read::Failed(error) => return vec![vec![format!("{}:", self.name), error.message.clone()]],
        };
        let conditions = workload.status()["conditions"].as_array().into_iter().flatten();
        conditions
            .map(|condition| {
                let (status, reason, message) = said(condition);
                let kind = condition["type"].as_str().unwrap_or_default();
                vec![format!("{kind}:"), status.to_owned(), reason.to_owned(), message.to_owned()]
            })
            .collect()
    }

    /// That of the WD that is worst off; without any, whether the Workload says that it is not available.
    fn code(&self) -> ExitCode {
        let status = self.workload.found().map(ObjectView::status);
        let available = status.and_then(|status| find(status, "Available"));
        let waits = self.deployments.is_empty() && available.is_some_and(|it| it["status"] == "False");
        let unreadable = self.deployments.iter().any(|it| is_unreadable(&it.chain));
        exit_code(unreadable, waits || self.deployments.iter().any(|it| it.diagnosis.state.is_trouble()))
    }
}
