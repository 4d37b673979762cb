//! `fedhub kubeconfig mint`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use fedhub_core::errors;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, ObjectView};
use fedhub_planes::discovery::credentials::{Source, from_secret};
use fedhub_planes::discovery::kubeconfigs::{plane_of, selector};
use fedhub_terminal::output::print;

use super::args::MintArgs;
use super::plan::{self, Wanted, Write};
use super::purpose::{Account, Purpose, Server};
use super::render;
use super::report::{Line, Outcome, Report};
use super::requests::{Destination, Minted, Target, store, token, tried, write};
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
    /// The name of its Secret.
    secret: String,
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
    fn of(args: &MintArgs, store: Connection) -> Self {
        let (purpose, common) = (args.purpose, &args.common);
        let usual = || purpose.account(common.cell_name.as_deref().unwrap_or_default());
        Self {
            purpose,
            account: args.service_account.clone().unwrap_or_else(usual),
            server: args.server.as_ref().map(|url| url.trim_end_matches('/').to_owned()),
            store,
            namespace: common.namespace(purpose).to_owned(),
            duration: common.duration,
            timeout: common.timeout,
            dry_run: common.dry_run,
            force: args.force,
        }
    }
}

/// Prints the only one on standard output, and what is to be said of it on standard error.
pub async fn printed(args: &MintArgs) -> Result<(), String> {
    let order = Order::of(args, Read::Skipped);
    for job in jobs(args, &BTreeMap::new()) {
        let target = Target::of_source(&job.source, order.timeout)?;
        let (content, minted) = made(&order, &target).await?;
        if let Some(warning) = minted.warning {
            complain(&format!("warning: {warning}"));
        }
        print(content.trim_end()).map_err(|error| errors::chain(&error))?;
    }
    Ok(())
}

/// Makes all, and stores each in its Secret, whatever becomes of the others.
pub async fn stored(args: &MintArgs) -> anyhow::Result<Report> {
    let store = store(&args.common, args.purpose)?;
    let order = Arc::new(Order::of(args, store));
    let names = if args.purpose.server() == Server::Project {
        secrets(&order.store, &order.namespace).await?
    } else {
        BTreeMap::new()
    };
    let lines = all("kubeconfigs", jobs(args, &names), args.common.concurrency.into(), |job| {
        let order = order.clone();
        async move { line(&order, &job).await }
    });
    Ok(Report::of(lines.await?))
}

/// What is to be made; `names` are the Secrets that planes have.
fn jobs(args: &MintArgs, names: &BTreeMap<String, String>) -> Vec<Job> {
    let (purpose, common) = (args.purpose, &args.common);
    if let Some(source) = common.target(purpose) {
        return vec![Job { plane: None, source, secret: purpose.secret(None) }];
    }
    let job = |(name, source): (String, Source)| {
        let plane = PlaneName::new(&name).ok()?;
        let secret = names.get(&name).cloned().unwrap_or_else(|| purpose.secret(Some(&plane)));
        Some(Job { plane: Some(plane), source, secret })
    };
    common.projects().into_iter().filter_map(job).collect()
}

/// The names of the Secrets of project planes, by plane.
async fn secrets(store: &Connection, namespace: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let labels = selector();
    let query = Query { kind: Kind::Secret.resource(), namespace, labels: &labels, fields: "" };
    let mut names = BTreeMap::new();
    let read = each(store, query, Part::Metadata, |secret| {
        let plane = plane_of(&secret);
        names.entry(plane.to_owned()).or_insert_with(|| secret.name().to_owned());
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
        secret: format!("{}/{}", order.namespace, job.secret),
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
    let target = Target::of_source(&job.source, order.timeout)?;
    line.server = order.server.clone().unwrap_or_else(|| plan::server(&target.config));
    let kind = Kind::Secret.resource();
    let existing = match get(&order.store, kind, &order.namespace, &job.secret).await {
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
    let (content, minted) = made(order, &target).await?;
    let store = order.store.found().ok_or("there is no plane for the Secret")?;
    let to = Destination { namespace: &order.namespace, name: &job.secret, plane: job.plane.as_ref() };
    write(store, &to, &how, content).await?;
    (line.expires, line.warning) = (Some(minted.expires), minted.warning);
    Ok(if how == Write::Create { Outcome::Created } else { Outcome::Replaced })
}

/// A kubeconfig with a new token, which its server accepts.
async fn made(order: &Order, target: &Target) -> Result<(String, Minted), String> {
    let mut minted = token(target, &order.account, order.duration, order.purpose).await?;
    let server = order.server.clone().unwrap_or_else(|| plan::server(&target.config));
    let content = render::kubeconfig(&server, &target.config, &order.account, &minted.token)
        .map_err(|error| errors::chain(error.as_ref()))?;
    from_secret(&content).map_err(|error| errors::chain(&error))?;
    let doubt = tried(&content, order.timeout).await?;
    minted.warning = minted.warning.or(doubt);
    Ok((content, minted))
}
