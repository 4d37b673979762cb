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
use super::purpose::{Account, Purpose, Server};
use super::render;
use super::report::{Kubeconfigs, Line, Outcome};
use super::requests::{Destination, Minted, Target, Terms, made, store, token, tried, write};
use crate::operator::concurrent;
use crate::operator::connect::Connection;
use crate::operator::read::{Read, ReadError};
use crate::operator::requests::{get, list};

/// A kubeconfig that may be due.
struct Job {
    purpose: Purpose,
    /// The name of its plane in the report.
    label: String,
    /// Who it has to act as.
    account: Account,
    secret: Object,
    /// The names of all Secrets that stand for its plane, where that is a project plane.
    twins: Vec<String>,
    /// Where its server is; `None` where it renews itself.
    source: Option<Source>,
    store: Connection,
}

/// How all of them are renewed.
struct Order {
    /// The server that the kubeconfig has to name, in place of that of the context.
    server: Option<String>,
    duration: Duration,
    timeout: Duration,
    dry_run: bool,
    all: bool,
}

/// Renews those that are due, whatever becomes of the others.
pub async fn all(args: &RotateArgs) -> anyhow::Result<Kubeconfigs> {
    let common = &args.common;
    let order = Arc::new(Order {
        server: common.named_server(),
        duration: common.duration,
        timeout: common.timeout,
        dry_run: common.dry_run,
        all: args.all,
    });
    let mut jobs = Vec::new();
    let mut lines = Vec::new();
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
    Ok(Kubeconfigs::from_lines(lines))
}

fn failed(what: &str, error: &ReadError) -> anyhow::Error {
    anyhow!("failed to read {what}: {}", error.message)
}

/// The one of a part.
async fn single(args: &RotateArgs, purpose: Purpose, store: &Connection) -> anyhow::Result<Job> {
    let namespace = args.common.namespace(purpose);
    let name = purpose.secret(None);
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
    Ok(Job {
        purpose,
        label: purpose.part().to_owned(),
        account: args.common.account(purpose),
        secret,
        twins: Vec::new(),
        source: given,
        store: store.clone(),
    })
}

/// Returns the jobs of project planes: those of all labelled Secrets.
async fn of_projects(args: &RotateArgs, purpose: Purpose, store: &Connection) -> anyhow::Result<Vec<Job>> {
    let labels = selector();
    let namespace = args.common.namespace(purpose);
    let secrets = match list(store, Kind::Secret.resource(), namespace, &labels).await {
        Read::Found(secrets) => secrets,
        Read::Absent | Read::Skipped => Vec::new(),
        Read::Failed(error) => return Err(failed("the Secrets of project planes", &error)),
    };
    let given: BTreeMap<String, Source> = args.common.projects();
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for secret in &secrets {
        names.entry(plane_of(secret).to_owned()).or_default().push(secret.name().to_owned());
    }
    let account = args.common.account(purpose);
    let job = |secret: Object| {
        let label = plane_of(&secret).to_owned();
        let twins = names.get(&label).cloned().unwrap_or_default();
        let source = given.get(&label).cloned();
        Job { purpose, label, account: account.clone(), secret, twins, source, store: store.clone() }
    };
    Ok(secrets.into_iter().map(job).filter(|job| args.includes(&job.label)).collect())
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
    if let [_, _, ..] = job.twins.as_slice() {
        return Err(plan::twins(&job.label, &job.twins));
    }
    let held = Held::from_secret(&job.secret)?;
    line.account.clone_from(&held.account);
    line.server = held.server();
    line.expires = held.end.and_then(|end| end.at);
    let given = match &job.source {
        Some(source) => Some(Target::of_source(source, order.timeout)?),
        None => None,
    };
    let server = given.as_ref().map(|target| match &order.server {
        Some(server) => server.clone(),
        None => plan::server(&target.config),
    });
    if !plan::rotate(&held, &job.account, server.as_deref(), Timestamp::now(), order.all)? {
        return Ok(Outcome::Kept);
    }
    if order.dry_run {
        return Ok(Outcome::WouldReplace);
    }
    let terms = Terms {
        purpose: job.purpose,
        account: &job.account,
        duration: order.duration,
        timeout: order.timeout,
    };
    let (content, minted) = match given.zip(server) {
        Some((target, server)) => made(&terms, &target, &server).await?,
        None => by_itself(&terms, &held).await?,
    };
    let store = job.store.found().ok_or("there is no plane for the Secret")?;
    // Its labels are right: fedhub reads it.
    let to = Destination { namespace: job.secret.namespace(), name: job.secret.name(), plane: None };
    write(store, &to, &Write::Replace(job.secret.version().to_owned()), content).await?;
    line.expires = Some(minted.expires);
    line.warning = minted.warning;
    Ok(Outcome::Replaced)
}

/// Exchanges the token of a kubeconfig for a new one, which the kubeconfig's own account requests. Returns
/// the kubeconfig with the new token.
async fn by_itself(terms: &Terms<'_>, held: &Held) -> Result<(String, Minted), String> {
    let target = Target::of_config(held.config.clone(), terms.timeout)?;
    let mut minted = token(terms, &target).await?;
    let content =
        render::with_token(&held.content, &minted.token).map_err(|error| errors::chain(error.as_ref()))?;
    let doubt = tried(&content, terms.timeout).await?;
    minted.warning = minted.warning.or(doubt);
    Ok((content, minted))
}
