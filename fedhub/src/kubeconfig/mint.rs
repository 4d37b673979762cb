//! `fedhub kubeconfig mint`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use fedhub_core::errors;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, ObjectView};
use fedhub_planes::discovery::credentials::Source;
use fedhub_planes::discovery::kubeconfigs::{plane_of, selector};
use fedhub_terminal::output::print;

use super::args::MintArgs;
use super::plan::{self, Wanted, Write};
use super::purpose::{Account, Purpose, Server};
use super::report::{Kubeconfigs, Line, Outcome};
use super::requests::{Destination, Target, Terms, made, store, write};
use crate::common::complain;
use crate::operator::concurrent::all;
use crate::operator::connect::Connection;
use crate::operator::read::Read;
use crate::operator::requests::{Part, Query, each, get};

/// A kubeconfig that is to be made.
struct Job {
    /// Its project plane.
    plane: Option<PlaneName>,
    /// Where its server is.
    source: Source,
    /// The names of its Secrets: more than one is a fault.
    secrets: Vec<String>,
}

/// How all of them are made.
struct Order {
    purpose: Purpose,
    account: Account,
    server: Option<String>,
    store: Connection,
    namespace: String,
    duration: Duration,
    timeout: Duration,
    dry_run: bool,
    force: bool,
}

impl Order {
    fn new(args: &MintArgs, store: Connection) -> Self {
        let purpose = args.purpose;
        let common = &args.common;
        Self {
            purpose,
            account: common.account(purpose),
            server: common.named_server(),
            store,
            namespace: common.namespace(purpose).to_owned(),
            duration: common.duration,
            timeout: common.timeout,
            dry_run: common.dry_run,
            force: args.force,
        }
    }

    fn terms(&self) -> Terms<'_> {
        let Self { purpose, account, duration, timeout, .. } = self;
        Terms { purpose: *purpose, account, duration: *duration, timeout: *timeout }
    }
}

/// Prints the only one on standard output, and what is to be said of it on standard error.
pub async fn printed(args: &MintArgs) -> Result<(), String> {
    let order = Order::new(args, Read::Skipped);
    for job in jobs(args, &BTreeMap::new()) {
        let target = Target::of_source(&job.source, order.timeout)?;
        let server = order.server.clone().unwrap_or_else(|| plan::server(&target.config));
        let (content, minted) = made(&order.terms(), &target, &server).await?;
        if let Some(warning) = minted.warning {
            complain(&format!("warning: {warning}"));
        }
        print(content.trim_end()).map_err(|error| errors::chain(&error))?;
    }
    Ok(())
}

/// Makes all, and stores each in its Secret, whatever becomes of the others.
pub async fn stored(args: &MintArgs) -> anyhow::Result<Kubeconfigs> {
    let store = store(&args.common, args.purpose)?;
    let order = Arc::new(Order::new(args, store));
    let names = if args.purpose.server() == Server::Project {
        secrets(&order.store, &order.namespace).await?
    } else {
        BTreeMap::new()
    };
    let lines = all("kubeconfigs", jobs(args, &names), args.common.concurrency.into(), |job| {
        let order = order.clone();
        async move { line(&order, &job).await }
    });
    Ok(Kubeconfigs::from_lines(lines.await?))
}

/// What is to be made; `names` are the Secrets that planes have.
fn jobs(args: &MintArgs, names: &BTreeMap<String, Vec<String>>) -> Vec<Job> {
    let purpose = args.purpose;
    let common = &args.common;
    if let Some(source) = common.target(purpose) {
        return vec![Job { plane: None, source, secrets: vec![purpose.secret(None)] }];
    }
    common
        .projects()
        .into_iter()
        .filter_map(|(name, source)| {
            let plane = PlaneName::new(&name).ok()?;
            let secrets = names.get(&name).cloned().unwrap_or_else(|| vec![purpose.secret(Some(&plane))]);
            Some(Job { plane: Some(plane), source, secrets })
        })
        .collect()
}

/// The names of the Secrets of project planes, by plane.
async fn secrets(store: &Connection, namespace: &str) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let labels = selector();
    let query = Query { kind: Kind::Secret.resource(), namespace, labels: &labels, fields: "" };
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let read = each(store, query, Part::Metadata, |secret| {
        let plane = plane_of(&secret);
        names.entry(plane.to_owned()).or_default().push(secret.name().to_owned());
        ControlFlow::Continue(())
    });
    match read.await {
        Read::Failed(error) => {
            Err(anyhow!("failed to list secrets on the management plane: {}", error.message))
        }
        Read::Found(()) | Read::Absent | Read::Skipped => Ok(names),
    }
}

/// Makes one, and says what became of it.
async fn line(order: &Order, job: &Job) -> Line {
    let label = job.plane.as_ref().map_or_else(|| order.purpose.part().to_owned(), ToString::to_string);
    let mut line = Line {
        purpose: order.purpose,
        plane: label,
        secret: format!("{}/{}", order.namespace, job.secrets.join(",")),
        account: Some(order.account.clone()),
        server: String::new(),
        expires: None,
        outcome: Outcome::Kept,
        warning: None,
    };
    line.outcome = make(order, job, &mut line).await.unwrap_or_else(Outcome::Failed);
    line
}

async fn make(order: &Order, job: &Job, line: &mut Line) -> Result<Outcome, String> {
    let [secret] = job.secrets.as_slice() else { return Err(plan::twins(&line.plane, &job.secrets)) };
    let target = Target::of_source(&job.source, order.timeout)?;
    line.server = order.server.clone().unwrap_or_else(|| plan::server(&target.config));
    let kind = Kind::Secret.resource();
    let existing = match get(&order.store, kind, &order.namespace, secret).await {
        Read::Found(secret) => Some(secret),
        Read::Absent | Read::Skipped => None,
        Read::Failed(error) => return Err(format!("failed to read the Secret: {}", error.message)),
    };
    let wanted =
        Wanted { server: line.server.clone(), account: order.account.clone(), plane: job.plane.clone() };
    let how = plan::mint(existing.as_ref(), &wanted, order.force)?;
    if order.dry_run {
        return Ok(if how == Write::Create { Outcome::WouldCreate } else { Outcome::WouldReplace });
    }
    let (content, minted) = made(&order.terms(), &target, &line.server).await?;
    let store = order.store.found().ok_or("there is no plane for the Secret")?;
    let to = Destination { namespace: &order.namespace, name: secret, plane: job.plane.as_ref() };
    write(store, &to, &how, content).await?;
    (line.expires, line.warning) = (Some(minted.expires), minted.warning);
    Ok(if how == Write::Create { Outcome::Created } else { Outcome::Replaced })
}
