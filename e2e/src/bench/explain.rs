//! `explain`: how long the operator's commands take with many planes, without a fedhub.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio::process::Command;

use super::Options;
use super::environment::HANDS;
use super::fake_apiserver::{Fleet, name};
use super::figure::Figure;
use super::judge::Bar;
use super::report::Findings;
use super::stats::{median, rounded};
use crate::Error;

/// Planes.
const PLANES: usize = 1_000;
/// WDs and as many Instances, each on both sides: twenty thousand objects.
const DEPLOYMENTS: usize = 5_000;
/// Explanations of each lap: as many of planes whose Secret has their name as of those that an annotation
/// names.
const EXPLANATIONS: usize = 10;
/// The namespace of fedhub on the management plane.
const OWN: &str = "fedhub-system";

/// Explains WDs all over the planes; audits one plane, then all.
pub async fn run(options: &Options) -> Result<Findings, Error> {
    let fleet = Fleet::up(options, options.scaled(PLANES)).await?;
    let count = options.scaled(DEPLOYMENTS);
    fleet.populate(count, count, "in-order", "wd").await?;
    secrets(&fleet).await?;
    let operator = Operator { fleet: &fleet, program: options.fedhub()? };
    let mut explained = Ran::default();
    let mut one = Ran::default();
    let mut all = Ran::default();
    for lap in 0..options.counts() {
        for turn in 0..EXPLANATIONS {
            // Each of another plane; every second is named by an annotation.
            let nth = (lap * EXPLANATIONS + turn) * (fleet.planes / EXPLANATIONS).max(1) + turn;
            let plane = nth % fleet.planes;
            let wd = format!("wd-{plane:05}");
            let flags = ["explain", "wd", &wd, "-n", "default", "--plane", &name(plane)];
            operator.run(&flags, &mut explained).await?;
        }
        operator.run(&["audit", "--plane", &name(lap % fleet.planes)], &mut one).await?;
        operator.run(&["audit"], &mut all).await?;
        let last = [&explained, &one, &all].map(Ran::last);
        fleet.progress.step(format!(
            "explain {:.2} s, audit of one {:.2} s, of all {:.2} s",
            last[0], last[1], last[2]
        ));
    }
    let slowest = explained.seconds.iter().copied().fold(f64::NAN, f64::max);
    let details = json!({
        "planes": fleet.planes, "objects": count * 4,
        "explain": explained.json(), "audit_of_one": one.json(), "audit_of_all": all.json(),
    });
    let seconds = |what, ran: &Ran| Figure::exact(what, "s", median(&ran.seconds).unwrap_or(f64::NAN));
    let figures = vec![
        Figure::exact("the slowest explanation", "s", slowest).exactly(Bar::at_most(2.0)),
        seconds("the median explanation", &explained),
        seconds("audit of one plane", &one),
        seconds("audit of all planes", &all),
    ];
    Ok(Findings { figures, details })
}

/// Puts a Secret for each plane, every second one under another name than the plane's.
async fn secrets(fleet: &Fleet) -> Result<(), Error> {
    let api: Api<Secret> = Api::namespaced(fleet.management().await?, OWN);
    let creates = (0..fleet.planes).map(|plane| {
        let api = api.clone();
        async move {
            let named = if plane % 2 == 0 { name(plane) } else { format!("other-{plane:05}") };
            let kubeconfig = ByteString(fleet.kubeconfig_of(plane)?.into_bytes());
            let secret = json!({
                "metadata": {
                    "name": named, "labels": { "federation.datumapis.com/plane": "project" },
                    "annotations": { "federation.datumapis.com/plane-name": name(plane) },
                },
                "data": { "kubeconfig": kubeconfig },
            });
            let secret = serde_json::from_value(secret)
                .map_err(|error| Error::Benchmark(format!("Secret {named}: {error}")))?;
            let created = api.create(&PostParams::default(), &secret).await;
            created.map(drop).map_err(Error::api(format!("create Secret {named}")))
        }
    });
    stream::iter(creates).buffer_unordered(HANDS).try_collect().await
}

/// The operator who runs the commands.
struct Operator<'a> {
    fleet: &'a Fleet,
    program: PathBuf,
}

/// The results of a command, run after run.
#[derive(Default)]
struct Ran {
    seconds: Vec<f64>,
    requests: u64,
    last: Value,
}

impl Operator<'_> {
    async fn run(&self, flags: &[&str], ran: &mut Ran) -> Result<(), Error> {
        let (hub, management) = self.fleet.kubeconfigs();
        self.fleet.count_anew().await?;
        let mut command = Command::new(&self.program);
        command.args(flags).arg("--hub-kubeconfig").arg(hub).arg("--management-kubeconfig").arg(management);
        command.arg("--json").env_clear().stdin(Stdio::null()).kill_on_drop(true);
        let began = Instant::now();
        let output = command.output().await.map_err(Error::file("run", &self.program))?;
        ran.seconds.push(began.elapsed().as_secs_f64());
        // The control API is not counted.
        ran.requests = self.fleet.counters().await?.sum(|_| true);
        // 3: something is blocked or differs, for there is no Karmada.
        if !matches!(output.status.code(), Some(0 | 3)) {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(Error::Benchmark(format!("fedhub {}: {}: {errors}", flags.join(" "), output.status)));
        }
        ran.last = serde_json::from_slice(&output.stdout).unwrap_or_default();
        Ok(())
    }
}

impl Ran {
    fn last(&self) -> f64 {
        self.seconds.last().copied().unwrap_or(f64::NAN)
    }

    fn json(&self) -> Value {
        let seconds: Vec<_> = self.seconds.iter().map(|seconds| rounded(*seconds, 3)).collect();
        json!({
            "median_s": median(&self.seconds).map(|seconds| rounded(seconds, 3)), "s": seconds,
            "requests": self.requests, "cause": self.last["cause"],
            "findings": self.last["findings"].as_array().map(Vec::len),
        })
    }
}
