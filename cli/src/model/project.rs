//! Reads of a project.

use fedhub_core::message::Quoted;
use fedhub_core::names::{WORKLOAD_NAME, is_label_value};
use fedhub_core::object::{Kind, Object, ObjectView};
use kube::Api;
use kube::api::{ListParams, PatchParams};

use super::index::Index;
use crate::problem::Problem;
use crate::session::Session;

/// The field manager of this program's writes, which the history of a workload names.
pub const MANAGER: &str = "datumctl-compute";

/// How many objects a page of a list has.
const PAGE: u32 = 500;

/// The objects of one kind, by name, or why they could not be read.
pub type Listed = Result<Vec<Object>, Problem>;

/// The objects of a project, by the three kinds.
#[derive(Debug)]
pub struct Project {
    /// Workloads.
    pub workloads: Listed,
    /// Their deployments.
    pub deployments: Listed,
    /// Instances.
    pub instances: Listed,
}

impl Project {
    /// Reads all three kinds at once.
    pub async fn list(session: &Session) -> Self {
        let (workloads, deployments, instances) = tokio::join!(
            list(session, Kind::Workload, ""),
            list(session, Kind::WorkloadDeployment, ""),
            list(session, Kind::Instance, ""),
        );
        Self { workloads, deployments, instances }
    }

    /// Reads one Workload and what belongs to it. One that does not exist is an error.
    pub async fn of_workload(session: &Session, name: &str) -> Self {
        let labels = selector(name);
        let (workload, deployments, instances) = tokio::join!(
            get(session, Kind::Workload, name),
            list(session, Kind::WorkloadDeployment, &labels),
            list(session, Kind::Instance, &labels),
        );
        Self { workloads: workload.map(|workload| vec![workload]), deployments, instances }
    }

    /// Joins the deployments and Instances that could be read.
    pub fn index(&self) -> Index<'_> {
        Index::new(self.deployments.iter().flatten(), self.instances.iter().flatten())
    }
}

/// The selector of what belongs to a Workload; all, where its name is no label value (W1).
pub fn selector(workload: &str) -> String {
    if is_label_value(workload) { format!("{WORKLOAD_NAME}={workload}") } else { String::new() }
}

/// The objects of a kind with these labels, by name; all where `labels` is empty.
pub async fn list(session: &Session, kind: Kind, labels: &str) -> Listed {
    pages(&api(session.client.clone(), &session.namespace, kind), labels, &words(kind)).await
}

/// Lists all objects of an API with these labels, by name, page by page. `what` is the users' name of them.
pub async fn pages(api: &Api<Object>, labels: &str, what: &str) -> Listed {
    let doing = format!("list {what}");
    let mut params = ListParams::default().limit(PAGE).labels(labels);
    let mut objects = Vec::new();
    loop {
        let page = api.list(&params).await.map_err(|error| Problem::from_error(error, &doing))?;
        objects.extend(page.items);
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            objects.sort_by(|a, b| a.name().cmp(b.name()));
            return Ok(objects);
        }
    }
}

/// Reads an object.
pub async fn get(session: &Session, kind: Kind, name: &str) -> Result<Object, Problem> {
    let api = api(session.client.clone(), &session.namespace, kind);
    api.get(name).await.map_err(|error| match &error {
        // An object that is missing is named; a kind that is not served is not.
        kube::Error::Api(status) if status.code == 404 && names_object(status) => absent(session, kind, name),
        _ => Problem::from_error(error, &format!("read {} {name:?}", word(kind))),
    })
}

fn names_object(status: &kube::core::Status) -> bool {
    status.details.as_ref().is_some_and(|details| !details.name.is_empty())
}

/// Returns the error for a name of which there is no object.
pub fn absent(session: &Session, kind: Kind, name: &str) -> Problem {
    let here = if kind.namespaced() { session.place_in_words() } else { session.project_in_words() };
    let problem = Problem::failed(format!("There is no {} {} in {here}.", word(kind), Quoted(name)));
    match kind {
        Kind::Workload | Kind::Instance => {
            problem.remedy(format!("`{}` lists those that there are.", session.command(&words(kind))))
        }
        _ => problem,
    }
}

/// The API of a kind, in `namespace` where its objects live in one.
pub fn api(client: kube::Client, namespace: &str, kind: Kind) -> Api<Object> {
    let resource = kind.resource();
    if kind.namespaced() {
        Api::namespaced_with(client, namespace, resource)
    } else {
        Api::all_with(client, resource)
    }
}

/// A kind in the words of users.
fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Workload => "workload",
        Kind::WorkloadDeployment => "deployment",
        Kind::Instance => "instance",
        Kind::InstanceType => "instance type",
        Kind::ConfigMap => "config map",
        Kind::LocationBinding => "location",
        _ => "object",
    }
}

fn words(kind: Kind) -> String {
    format!("{}s", word(kind))
}

/// The parameters of a patch by this program.
pub fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}
