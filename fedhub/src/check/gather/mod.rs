//! Reads what is decided by: of every plane the same, of the hub more, and which project planes there are.

mod hub;
mod plane;

use std::sync::Arc;

use anyhow::Context;
use fedhub_core::errors;
use fedhub_planes::discovery::Discovery;
use fedhub_planes::discovery::credentials::Source;
use jiff::Timestamp;
use kube::Config;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::facts::{Facts, OwnCell, PlaneFacts};
use super::finding::{Part, PlaneName};
use super::flags::CheckArgs;
use super::rights::{Right, needed};
use super::schema::{Ours, ours};
use crate::args::{InstanceTypesSource, RunArgs};
use crate::operator::connect::{Connection, plane as connect};
use crate::operator::discovery::PlaneSource;
use crate::operator::planes::{paused, remembered};
use crate::operator::read::Read;
use crate::run::sources;
use fedhub_terminal::progress::Progress;
use plane::Target;
#[cfg(test)]
pub use plane::exempt;

/// Reads everything.
pub async fn gather(args: &CheckArgs, run: &RunArgs) -> anyhow::Result<Facts> {
    let mut facts = Facts {
        now: Timestamp::now(),
        pre: args.pre,
        planes: Vec::new(),
        discovered: Vec::new(),
        hub: None,
        remembered: Read::Skipped,
        paused: Read::Skipped,
        cell: own_cell(run),
    };
    let mut targets = Vec::new();
    let ours = ours()?;
    for (part, source) in servers(run) {
        let name = PlaneName::from_part(part);
        let ours = Arc::new(belonging(&ours, args.pre, run, part));
        let rights = rights(run, part)?;
        let is_admitting = !args.pre && admitting(run) == Some(part);
        targets.push(Target { name, config: read(&source), rights, ours, is_admitting });
    }
    let roots = roots(run);
    let asked = ask(args, targets, "servers").await?;
    let connection = |part: Part| {
        let found = asked.iter().find(|(plane, _)| plane.name.part == part);
        found.map_or(Read::Skipped, |(_, connection)| connection.clone())
    };
    let hub = connection(Part::Hub);
    if hub.found().is_some() {
        facts.hub = Some(hub::gather(&hub, args.pre).await?);
    }
    if run.enable_management_controllers {
        let management = connection(Part::Management);
        facts.remembered = remembered(&management, run.namespace()).await;
        facts.paused = paused(&management, run.namespace()).await;
    }
    let mut projects = Vec::new();
    for (part, root) in roots {
        let found = planes_of(run, connection(root), root).list().await;
        // A Project that is not Ready has no plane that would have to answer.
        let found = found.map(|all| all.into_iter().filter(|it| it.ready).collect::<Vec<_>>());
        facts.discovered.push((PlaneName::from_part(root), found.clone().map(|found| found.len())));
        let rights = rights(run, part)?;
        let ours = Arc::new(belonging(&ours, args.pre, run, part));
        for found in found.found().cloned().unwrap_or_default() {
            let name = PlaneName::project(part, &found.name);
            let rights = rights.clone();
            let is_admitting = !args.pre && admitting(run) == Some(part);
            projects.push(Target { name, config: found.config, rights, ours: ours.clone(), is_admitting });
        }
    }
    facts.planes = asked.into_iter().map(|(plane, _)| plane).collect();
    let projects = ask(args, projects, "project planes").await?;
    facts.planes.extend(projects.into_iter().map(|(plane, _)| plane));
    Ok(facts)
}

fn own_cell(args: &RunArgs) -> Option<OwnCell> {
    let name = args.cell_name.clone().filter(|_| args.enable_cell_controllers)?;
    Some(OwnCell { name, city: args.cell_city.clone() })
}

/// The servers that the flags name, project planes aside.
fn servers(args: &RunArgs) -> Vec<(Part, Source)> {
    let management = args.enable_management_controllers;
    let cell = args.enable_cell_controllers;
    let hub = args.hub.source().filter(|_| management || args.write_back);
    let discovery = sources::projects(args).filter(|_| management);
    [
        management.then(|| (Part::Management, args.management.source())),
        hub.map(|source| (Part::Hub, source)),
        discovery.map(|source| (Part::Discovery, source)),
        cell.then(|| (Part::Cell, sources::cell(args))),
        sources::quota(args).filter(|_| cell).map(|source| (Part::Quota, source)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The parts of project planes that there are, and where they are found.
fn roots(args: &RunArgs) -> Vec<(Part, Part)> {
    let own = if sources::projects(args).is_some() { Part::Discovery } else { Part::Management };
    let management = args.enable_management_controllers.then_some((Part::Project, own));
    let quota = args.enable_cell_controllers && args.quota_kubeconfig.is_some();
    management.into_iter().chain(quota.then_some((Part::QuotaProject, Part::Quota))).collect()
}

/// The project planes of a server where they are found.
fn planes_of(args: &RunArgs, server: Connection, root: Part) -> PlaneSource {
    let source = servers(args).into_iter().find(|(part, _)| *part == root);
    let config = source.map_or_else(|| Err("no kubeconfig".to_owned()), |(_, source)| read(&source));
    PlaneSource { mode: args.discovery.mode, namespace: args.namespace().to_owned(), server, config }
}

fn read(source: &Source) -> Result<Config, String> {
    source.read().map(|loaded| loaded.config).map_err(|error| errors::chain(&error))
}

/// The rights to ask for on a plane of that part.
fn rights(run: &RunArgs, part: Part) -> anyhow::Result<Vec<Right>> {
    let mut rights = needed(run, part)?;
    // Where the Projects are on the management plane, their rights are asked for there.
    let milo = run.discovery.mode == Discovery::Milo && sources::projects(run).is_none();
    if part == Part::Management && milo {
        rights.extend(needed(run, Part::Discovery)?);
    }
    Ok(rights)
}

/// Returns our CRDs that belong on a plane of that part, and are installed by now.
fn belonging(ours: &Ours, pre: bool, run: &RunArgs, part: Part) -> Ours {
    let catalog = catalog(run).is_some_and(|source| part == source || part == Part::Hub);
    ours.on(!pre && catalog, !pre && matches!(part, Part::Hub | Part::Cell | Part::Project))
}

/// Where webhooks are that ask fedhub, if there are any: a Milo has those of all its projects at its root.
fn admitting(run: &RunArgs) -> Option<Part> {
    match run.discovery.mode {
        _ if !run.webhooks.enabled => None,
        Discovery::Milo if sources::projects(run).is_some() => Some(Part::Discovery),
        Discovery::Milo => Some(Part::Management),
        Discovery::Single | Discovery::Kubeconfigs => Some(Part::Project),
    }
}

/// Where the catalogue of instance types is, if there is one.
fn catalog(run: &RunArgs) -> Option<Part> {
    match run.instance_types {
        _ if !run.enable_management_controllers => None,
        InstanceTypesSource::Off => None,
        InstanceTypesSource::Discovery if sources::projects(run).is_some() => Some(Part::Discovery),
        InstanceTypesSource::Management | InstanceTypesSource::Discovery => Some(Part::Management),
    }
}

/// Asks all targets, several at a time.
async fn ask(
    args: &CheckArgs,
    targets: Vec<Target>,
    what: &'static str,
) -> anyhow::Result<Vec<(PlaneFacts, Connection)>> {
    let mut progress = Progress::new(what, targets.len());
    let mut tasks = JoinSet::new();
    let room = Arc::new(Semaphore::new(args.concurrency.into()));
    for (at, target) in targets.into_iter().enumerate() {
        let room = room.clone();
        let timeout = args.timeout;
        tasks.spawn(async move {
            // It is never closed.
            let _room = room.acquire().await;
            let name = target.name.clone();
            let connection = match &target.config {
                Ok(config) => connect(config.clone(), timeout).map_err(|error| errors::chain(error.as_ref())),
                Err(error) => Err(error.clone()),
            };
            let plane = match connection {
                Ok(plane) => plane,
                Err(refused) => {
                    let refused = Some(refused);
                    return (at, PlaneFacts { refused, ..PlaneFacts::new(name) }, Read::Skipped);
                }
            };
            let facts = plane::facts(&plane, target).await;
            // What does not answer is not asked for more.
            let connection = if facts.answers() { Read::Found(plane) } else { Read::Skipped };
            (at, facts, connection)
        });
    }
    let mut asked = Vec::new();
    while let Some(done) = tasks.join_next().await {
        asked.push(done.context("a plane was not asked to the end")?);
        progress.done(asked.len());
    }
    progress.finish();
    asked.sort_by_key(|(at, ..)| *at);
    Ok(asked.into_iter().map(|(_, facts, connection)| (facts, connection)).collect())
}
