//! `cli`: how soon the users' command line answers: its help, and the status of a project beside kubectl's
//! lists of it.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use futures::{StreamExt, TryStreamExt, stream};
use kube::api::PostParams;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::process::Command;

use super::Options;
use super::environment::{Environment, HANDS, PROJECT, Space};
use super::figure::Figure;
use super::judge::Bar;
use super::loader::{self, create};
use super::objects::{self, CITIES, Kind, Owner, api};
use super::race::{Race, digits};
use super::report::Findings;
use super::stats::median;
use crate::Error;
use crate::demo::objects::{PLACEMENT, deployment_name};
use crate::fedhub;
use crate::tools::{self, Tool};

/// Workloads of the project, each with an Instance in each of two cities.
const WORKLOADS: usize = 500;
/// Runs of each command in a lap.
const RUNS: usize = 5;
/// The kinds that kubectl lists: those that `status` is made of.
const KINDS: &str = "workloads.compute.datumapis.com,workloaddeployments.compute.datumapis.com,instances.compute.datumapis.com";

/// Laps of the help, of `status` and of kubectl's lists in turn.
pub async fn run(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let count = options.scaled(WORKLOADS);
    let spaces = loader::spaces(&environment.project, "cli", 1).await?;
    let space = spaces.first().ok_or_else(|| Error::Benchmark("no namespace".to_owned()))?;
    populate(&environment.project, space, count).await?;
    environment.progress.step(format!("{count} Workloads are there"));
    let kubectl = tools::ensure(Tool::Kubernetes, &environment.progress).await?.program("kubectl");
    let user = User {
        program: fedhub::beside(&options.fedhub()?, "datumctl-compute"),
        kubectl,
        kubeconfig: environment.planes().kubeconfig(PROJECT),
        home: environment.planes().layout().scratch("cli"),
        namespace: space.name.clone(),
    };
    // kubectl keeps what a server serves; the first time it has to ask.
    user.lists().await?;
    let middle = |runs: &[f64]| median(runs).unwrap_or(f64::NAN);
    let (race, figures) = Race::run(
        options,
        async |_| {
            let mut help = Vec::new();
            let mut status = Vec::new();
            for _ in 0..RUNS {
                help.push(user.help().await?);
                status.push(user.status(count).await?);
            }
            Ok([help, status].map(|runs| middle(&runs)))
        },
        async |_| {
            let mut lists = Vec::new();
            for _ in 0..RUNS {
                lists.push(user.lists().await?);
            }
            Ok(middle(&lists))
        },
        |race: &Race<[f64; 2], f64>, error| {
            let ratios = race.ratios(|[_, status]| *status, |lists| *lists);
            let help = race.each(|[help, _]| help * 1e3);
            vec![
                Figure::ratio("`status`", "times kubectl's lists", &ratios).within(Bar::at_most(1.5), error),
                Figure::mean("`--help`", "ms", &help).within(Bar::at_most(20.0), error),
            ]
        },
    )
    .await?;
    let details = json!({
        "workloads": count, "runs_of_a_lap": RUNS, "help_s": digits(&race.each(|[help, _]| *help), 4),
        "status_s": digits(&race.each(|[_, status]| *status), 4), "kubectl_s": digits(&race.bare, 4),
    });
    Ok(Findings { figures, details })
}

/// A project as its planes leave it where all runs. No fedhub is needed for that.
async fn populate(project: &Client, space: &Space, count: usize) -> Result<(), Error> {
    let made = (0..count).map(|index| workload(project, space, format!("web-{index}")));
    stream::iter(made).buffer_unordered(HANDS).try_collect().await
}

async fn workload(project: &Client, space: &Space, name: String) -> Result<(), Error> {
    let manifest = objects::workload(&space.name, &name, &CITIES);
    let made = create(project, Kind::Workload, Some(&space.name), manifest).await?;
    let owner = made.uid().unwrap_or_default();
    for city in CITIES {
        let mut manifest = objects::deployment(&space.name, &deployment_name(&name, city));
        let labels = labels(&name, &owner, city);
        manifest["metadata"]["labels"] = labels.clone();
        manifest["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Workload", "name": name, "uid": owner,
            "controller": true,
        }]);
        manifest["spec"]["cityCode"] = json!(city);
        manifest["spec"]["placementName"] = json!(PLACEMENT);
        manifest["spec"]["workloadRef"] = json!({ "name": name, "uid": owner });
        let wd = stored(project, Kind::Deployment, space, manifest, objects::reported(1)).await?;
        let mut manifest = json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Instance",
            "metadata": {
                "namespace": space.name, "name": format!("{}-0", wd.name), "labels": labels,
                "ownerReferences": [objects::owner_reference(&wd, true)],
            },
            "spec": made.data["spec"]["template"]["spec"],
        });
        manifest["metadata"]["labels"]["compute.datumapis.com/workload-deployment-name"] = json!(wd.name);
        stored(project, Kind::Instance, space, manifest, objects::running("10.0.0.5")).await?;
    }
    Ok(())
}

fn labels(workload: &str, uid: &str, city: &str) -> Value {
    json!({
        "compute.datumapis.com/workload-name": workload,
        "compute.datumapis.com/workload-uid": uid,
        "compute.datumapis.com/placement-name": PLACEMENT,
        "compute.datumapis.com/city-code": city,
    })
}

/// Makes an object and reports on it.
async fn stored(
    project: &Client,
    kind: Kind,
    space: &Space,
    manifest: Value,
    status: Value,
) -> Result<Owner, Error> {
    let mut made = create(project, kind, Some(&space.name), manifest).await?;
    made.data["status"] = status;
    let api = api(project, kind, &space.name);
    let name = made.name_any();
    let reported = api.replace_status(&name, &PostParams::default(), &made).await;
    reported.map_err(Error::api(format!("report on {name}")))?;
    Ok(Owner { uid: made.uid().unwrap_or_default(), name })
}

/// The user who runs the commands.
struct User {
    program: PathBuf,
    kubectl: PathBuf,
    kubeconfig: PathBuf,
    /// Where kubectl keeps what it knows of servers.
    home: PathBuf,
    namespace: String,
}

impl User {
    async fn help(&self) -> Result<f64, Error> {
        Ok(self.run(&self.program, &["--help"]).await?.0)
    }

    /// Runs `status`, whose output has to name every Workload: a quick wrong answer does not count.
    async fn status(&self, workloads: usize) -> Result<f64, Error> {
        let (seconds, printed) = self.run(&self.program, &["status"]).await?;
        let named = printed.lines().filter(|line| line.trim_start().starts_with("web-")).count();
        if named < workloads {
            return Err(Error::Benchmark(format!(
                "status names {named} of {workloads} Workloads:\n{printed}"
            )));
        }
        Ok(seconds)
    }

    async fn lists(&self) -> Result<f64, Error> {
        Ok(self.run(&self.kubectl, &["get", KINDS]).await?.0)
    }

    /// Runs a command. Returns how many seconds it took, and its output.
    async fn run(&self, program: &PathBuf, arguments: &[&str]) -> Result<(f64, String), Error> {
        let mut command = Command::new(program);
        command.args(arguments).arg("--kubeconfig").arg(&self.kubeconfig).args(["-n", &self.namespace]);
        command.env_clear().env("HOME", &self.home).stdin(Stdio::null()).kill_on_drop(true);
        let began = Instant::now();
        let output = command.output().await.map_err(Error::file("run", program))?;
        let seconds = began.elapsed().as_secs_f64();
        if output.status.success() {
            return Ok((seconds, String::from_utf8_lossy(&output.stdout).into_owned()));
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let line = format!("{} {}", program.display(), arguments.join(" "));
        Err(Error::Benchmark(format!("{line}: {}: {errors}", output.status)))
    }
}
