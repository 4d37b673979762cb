//! `fedhub kubeconfig rotate`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use fedhub_core::errors;
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::discovery::credentials::Source;
use fedhub_planes::discovery::kubeconfigs::{plane_of, selector};
use jiff::Timestamp;

use super::args::RotateArgs;
use super::plan::{self, Held, Write};
use super::purpose::{Purpose, Server};
use super::render;
use super::report::{Line, Outcome, Report};
use super::requests::{Destination, Target, store, token, tried, write};
use crate::operator::concurrent;
use crate::operator::connect::Connection;
use crate::operator::read::{Read, ReadError};
use crate::operator::requests::{get, list};

/// A kubeconfig that may be due.
struct Job {
    purpose: Purpose,
    /// The name of its plane in the report.
    label: String,
    secret: Object,
    /// Where its server is; `None` where it renews itself.
    source: Option<Source>,
    store: Connection,
}

/// How all of them are renewed.
struct Order {
    duration: Duration,
    timeout: Duration,
    dry_run: bool,
    all: bool,
}

/// Renews those that are due, whatever becomes of the others.
pub async fn all(args: &RotateArgs) -> anyhow::Result<Report> {
    let common = &args.common;
    let order = Arc::new(Order {
        duration: common.duration,
        timeout: common.timeout,
        dry_run: common.dry_run,
        all: args.all,
    });
    let (mut jobs, mut lines) = (Vec::new(), Vec::new());
    for purpose in &args.purposes {
        let store = store(common, *purpose)?;
        if purpose.server() == Server::Project {
            let found = of_projects(args, *purpose, &store).await?;
            lines.extend(missing(args, *purpose, &found));
            jobs.extend(found);
        } else {
            jobs.push(single(args, *purpose, &store).await?);
        }
    }
    let renewed = concurrent::all("kubeconfigs", jobs, common.concurrency.into(), |job| {
        let order = order.clone();
        async move { line(&order, &job).await }
    });
    lines.extend(renewed.await?);
    Ok(Report::of(lines))
}

fn failed(what: &str, error: &ReadError) -> anyhow::Error {
    anyhow!("failed to read {what}: {}", error.message)
}

/// The one of a part.
async fn single(args: &RotateArgs, purpose: Purpose, store: &Connection) -> anyhow::Result<Job> {
    let (namespace, name) = (args.common.namespace(purpose), purpose.secret(None));
    let what = format!("Secret {namespace}/{name}");
    let secret = match get(store, Kind::Secret.resource(), namespace, &name).await {
        Read::Found(secret) => secret,
        Read::Absent | Read::Skipped => {
            return Err(anyhow!(
                "{what} does not exist: create it by fedhub kubeconfig mint --for {purpose}"
            ));
        }
        Read::Failed(error) => return Err(failed(&what, &error)),
    };
    // Without an administrator's, it renews itself.
    let given = match purpose.server() {
        Server::Management => {
            let management = &args.common.management;
            Source::named(management.kubeconfig.as_deref(), management.context.as_deref())
        }
        _ => args.common.target(purpose),
    };
    Ok(Job { purpose, label: purpose.part().to_owned(), secret, source: given, store: store.clone() })
}

/// Those of project planes: of all labelled Secrets.
async fn of_projects(args: &RotateArgs, purpose: Purpose, store: &Connection) -> anyhow::Result<Vec<Job>> {
    let labels = selector();
    let namespace = args.common.namespace(purpose);
    let secrets = match list(store, Kind::Secret.resource(), namespace, &labels).await {
        Read::Found(secrets) => secrets,
        Read::Absent | Read::Skipped => Vec::new(),
        Read::Failed(error) => return Err(failed("the Secrets of project planes", &error)),
    };
    let mut given: BTreeMap<String, Source> = args.common.projects();
    let job = |secret: Object| {
        let plane = plane_of(&secret).to_owned();
        let source = given.remove(&plane);
        args.includes(&plane).then(|| Job { purpose, label: plane, secret, source, store: store.clone() })
    };
    Ok(secrets.into_iter().filter_map(job).collect())
}

/// Planes that were asked for, and have no Secret.
fn missing(args: &RotateArgs, purpose: Purpose, found: &[Job]) -> Vec<Line> {
    let is_there = |plane: &str| found.iter().any(|job| job.label == plane);
    let absent = args.planes.iter().filter(|plane| !is_there(plane.as_str()));
    let line = |plane: &fedhub_core::names::PlaneName| Line {
        purpose,
        plane: plane.to_string(),
        secret: format!("{}/{}", args.common.namespace(purpose), purpose.secret(Some(plane))),
        account: None,
        server: String::new(),
        expires: None,
        outcome: Outcome::Failed(format!(
            "no Secret stands for the plane: create it by fedhub kubeconfig mint --for {purpose}"
        )),
        warning: None,
    };
    absent.map(line).collect()
}

/// Renews one, and says what became of it.
async fn line(order: &Order, job: &Job) -> Line {
    let mut line = Line {
        purpose: job.purpose,
        plane: job.label.clone(),
        secret: format!("{}/{}", job.secret.namespace(), job.secret.name()),
        account: None,
        server: String::new(),
        expires: None,
        outcome: Outcome::Kept,
        warning: None,
    };
    line.outcome = renew(order, job, &mut line).await.unwrap_or_else(Outcome::Failed);
    line
}

async fn renew(order: &Order, job: &Job, line: &mut Line) -> Result<Outcome, String> {
    let held = Held::of(&job.secret)?;
    line.account.clone_from(&held.account);
    line.server = held.server();
    line.expires = held.end.and_then(|end| end.at);
    let due = plan::rotate(&held, job.source.is_none(), Timestamp::now(), order.all)?;
    let account = match &held.account {
        Some(account) if due => account,
        _ => return Ok(Outcome::Kept),
    };
    if order.dry_run {
        return Ok(Outcome::WouldReplace);
    }
    let target = match &job.source {
        Some(source) => Target::of_source(source, order.timeout)?,
        None => Target::of_config(held.config.clone(), order.timeout)?,
    };
    let minted = token(&target, account, order.duration, job.purpose).await?;
    let content =
        render::with_token(&held.content, &minted.token).map_err(|error| errors::chain(error.as_ref()))?;
    let doubt = tried(&content, order.timeout).await?;
    let store = job.store.found().ok_or("there is no plane for the Secret")?;
    // Its labels are right: fedhub reads it.
    let to = Destination { namespace: job.secret.namespace(), name: job.secret.name(), plane: None };
    write(store, &to, &Write::Replace(job.secret.version().to_owned()), content).await?;
    line.expires = Some(minted.expires);
    line.warning = minted.warning.or(doubt);
    Ok(Outcome::Replaced)
}
