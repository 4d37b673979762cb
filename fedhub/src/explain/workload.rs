//! `fedhub explain workload`: what a Workload says of itself, and where each of its WDs is.

use std::process::ExitCode;

use anyhow::bail;
use fedhub_api::conditions::{find, said};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_terminal::output::{Format, colours, print, structured};
use fedhub_terminal::plain;
use fedhub_terminal::table::table;
use serde_json::{Value, json};

use super::args::{Asked, exit_code};
use super::chain::{Chain, Read, SubjectKind};
use super::diagnose::{Diagnosis, diagnose, is_unreadable};
use super::output;
use super::read::{ProjectPlane, Request, read};
use crate::operator::connect::{Connection, in_time};
use crate::operator::requests::{get, list};

/// A Workload and its WDs.
struct Report {
    name: String,
    /// The Workload; skipped for a snapshot, which has none.
    workload: Read<Object>,
    deployments: Vec<(Chain, Diagnosis)>,
}

/// Reads, decides and prints.
pub async fn explain(asked: &Asked<'_>) -> anyhow::Result<ExitCode> {
    let report = gather(asked).await?;
    print(&report.print(asked.args.output.format(), colours()))?;
    Ok(report.code())
}

async fn gather(asked: &Asked<'_>) -> anyhow::Result<Report> {
    let (name, namespace, plane) = (&asked.args.name, &asked.args.namespace, &asked.args.plane);
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
    Ok(Report { name: name.clone(), workload, deployments })
}

/// The chains of these WDs, one after the other.
async fn chains(
    asked: &Asked<'_>,
    project: &Connection,
    wds: Vec<String>,
) -> anyhow::Result<Vec<(Chain, Diagnosis)>> {
    let mut chains = Vec::new();
    for wd in wds {
        let request = asked.request(SubjectKind::WorkloadDeployment, &wd)?;
        // Discovery has found it.
        let request = Request { project: ProjectPlane::Given(project.clone()), ..request };
        let chain = Box::pin(read(request)).await;
        let diagnosis = diagnose(&chain);
        chains.push((chain, diagnosis));
    }
    Ok(chains)
}

/// Whether a WD belongs to the Workload of that name (W1).
fn is_of(wd: &Object, workload: &str) -> bool {
    let mut owners = wd.metadata.owner_references.iter().flatten();
    owners.any(|owner| owner.kind == "Workload" && owner.name == workload)
}

impl Report {
    fn print(&self, format: Format, colours: bool) -> String {
        structured(format, &self.json()).unwrap_or_else(|| {
            let troubled = self.deployments.iter().filter(|(_, diagnosis)| diagnosis.state.is_trouble());
            let parts = [table(&self.conditions()), table(&self.lines())].into_iter();
            let parts = parts.chain(troubled.map(|(chain, diagnosis)| {
                format!("{}\n{}", plain(&chain.deployment), output::lines(chain, diagnosis, colours))
            }));
            parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
        })
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
        let row = |condition: &Value| {
            let (status, reason, message) = said(condition);
            let kind = condition["type"].as_str().unwrap_or_default();
            vec![format!("{kind}:"), status.to_owned(), reason.to_owned(), message.to_owned()]
        };
        conditions.map(row).collect()
    }

    fn lines(&self) -> Vec<Vec<String>> {
        if self.deployments.is_empty() {
            return vec![vec!["it has no WD yet".to_owned()]];
        }
        let header = ["WD", "CITY", "STATE", "CAUSE"].map(str::to_owned).to_vec();
        let line = |(chain, diagnosis): &(Chain, Diagnosis)| {
            let state = output::words(diagnosis.state).to_owned();
            let city = chain.project.wd.found().and_then(|wd| wd.spec()["cityCode"].as_str());
            let city = city.unwrap_or_default().to_owned();
            vec![chain.deployment.clone(), city, state, diagnosis.cause.id().to_owned()]
        };
        std::iter::once(header).chain(self.deployments.iter().map(line)).collect()
    }

    fn json(&self) -> Value {
        let conditions = self.workload.found().map(|workload| workload.status()["conditions"].clone());
        json!({
            "workload": self.name,
            "conditions": conditions.filter(Value::is_array).unwrap_or_else(|| json!([])),
            "workloadDeployments":
                self.deployments.iter().map(|(chain, it)| output::json(chain, it)).collect::<Vec<_>>(),
        })
    }

    /// Returns the exit code of the WD that is worst off; without any WD, that of whether the Workload says
    /// it is not available.
    fn code(&self) -> ExitCode {
        let status = self.workload.found().map(ObjectView::status);
        let available = status.and_then(|status| find(status, "Available"));
        let waits = self.deployments.is_empty() && available.is_some_and(|it| it["status"] == "False");
        let unreadable = self.deployments.iter().any(|(chain, _)| is_unreadable(chain));
        exit_code(unreadable, waits || self.deployments.iter().any(|(_, it)| it.state.is_trouble()))
    }
}
