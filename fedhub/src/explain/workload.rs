//! `fedhub explain workload`: what a Workload says of itself, and where each of its WDs is.

use std::process::ExitCode;

use anyhow::bail;
use fedhub_api::conditions::{find, said};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_terminal::plain;
use fedhub_terminal::report::{Field, Look, Report, Row, parts, table_of_any};
use fedhub_terminal::table::table;
use serde_json::{Value, json};

use super::args::{Asked, exit_code};
use super::chain::{Read, SubjectKind};
use super::diagnose::{diagnose, is_unreadable};
use super::output::{self, Explained};
use super::read::{ProjectPlane, Request, read};
use crate::operator::connect::{Connection, in_time};
use crate::operator::requests::{get, list};

/// A Workload and its WDs.
struct ExplainedWorkload {
    name: String,
    /// The Workload; skipped for a snapshot, which has none.
    workload: Read<Object>,
    deployments: Vec<Explained>,
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
    let wds: Vec<_> = wds.iter().filter(|wd| is_of(wd, name)).map(|wd| wd.name().to_owned()).collect();
    let workload = match asked.snapshot {
        Some(_) => Read::Skipped,
        None => get(&project, Kind::Workload.resource(), namespace, name).await,
    };
    if wds.is_empty() && workload.found().is_none() {
        let why = workload.failure().map_or_else(String::new, |error| format!(": {}", error.message));
        bail!("no Workload {name} is known in namespace {namespace} of project plane {plane}{why}");
    }
    let chains = in_time(&project, chains(asked, &project, wds)).await;
    let deployments = match chains {
        Ok(chains) => chains?,
        Err(error) => bail!("failed to read the WDs of {name} on project plane {plane}: {}", error.message),
    };
    Ok(ExplainedWorkload { name: name.clone(), workload, deployments })
}

/// The chains of these WDs, one after the other.
async fn chains(asked: &Asked<'_>, project: &Connection, wds: Vec<String>) -> anyhow::Result<Vec<Explained>> {
    let mut chains = Vec::new();
    for wd in wds {
        let request = asked.request(SubjectKind::WorkloadDeployment, &wd)?;
        // Discovery has found it.
        let request = Request { project: ProjectPlane::Given(project.clone()), ..request };
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

impl Report for ExplainedWorkload {
    fn text(&self, look: Look) -> String {
        let none = if self.deployments.is_empty() { "it has no WD yet" } else { "" };
        let troubled = self.deployments.iter().filter(|it| it.diagnosis.state.is_trouble());
        let troubled = troubled.map(|Explained { chain, diagnosis }| {
            format!("{}\n{}", plain(&chain.deployment), output::lines(chain, diagnosis, look.colours))
        });
        let tables = [table(&self.conditions()), none.to_owned(), table_of_any(&self.deployments, look)];
        parts(tables.into_iter().chain(troubled))
    }

    fn json(&self) -> Value {
        let conditions = self.workload.found().map(|workload| workload.status()["conditions"].clone());
        json!({
            "workload": self.name,
            "conditions": conditions.filter(Value::is_array).unwrap_or_else(|| json!([])),
            "workloadDeployments": self.deployments.iter().map(Report::json).collect::<Vec<_>>(),
        })
    }
}

impl ExplainedWorkload {
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
