//! `fedhub audit`: whether planes and hub are as fedhub would have them. Reads only, but for `--reclaim`, and
//! asks no fedhub (U4).
//!
//! `read` gathers whole objects into a [`world::World`]; `compare` decides on it alone, by the plans of
//! federator and projector; what seems to differ is read once more, and what still differs is reported
//! (`report`).

pub mod compare;
mod finding;
mod read;
mod reclaim;
mod report;
pub mod world;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use fedhub_core::clock::parse_duration;
use fedhub_core::names::PlaneName;

use crate::common::{MISUSE, complain, misuse, perform};
use crate::operator::plane_name;
use crate::operator::sources::SourceArgs;
use compare::audit;
use fedhub_terminal::consent::{agrees, can_ask};
use fedhub_terminal::output::{OutputArgs, print};
use finding::Finding;
use read::{Gathered, Request, gather};
use report::{Audited, Paused};
use world::World;

/// The exit code where something was found.
const FOUND: u8 = 3;

/// The flags of `fedhub audit`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("hub_kubeconfig", |arg| arg.required(true)),
    mut_arg("timeout", |arg| arg.default_value("30s")), after_help = "\
Examples:
  fedhub audit --management-kubeconfig management.yaml --hub-kubeconfig hub.yaml
  fedhub audit --management-kubeconfig management.yaml --hub-kubeconfig hub.yaml --plane project-a -o wide
  fedhub audit --management-kubeconfig management.yaml --hub-kubeconfig hub.yaml --reclaim

Exit codes: 0: everything was read, and nothing differs; 1: the hub, the management plane or a plane cannot be read, and
            nothing differs in what was; 2: misuse; 3: something differs.
            With --reclaim, 3: an orphan is left.")]
pub struct AuditArgs {
    /// The planes that are read.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Audit this project plane alone.
    #[arg(long, value_name = "PLANE", value_parser = plane_name)]
    pub plane: Option<PlaneName>,
    /// How recent a change may be for what differs to count as under way.
    #[arg(long, default_value = "1m", value_parser = parse_duration, value_name = "DURATION")]
    pub grace: Duration,
    /// How many planes are read at a time.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub concurrency: u16,
    /// Show the orphans on the hub alone, and delete those that are proven, after asking.
    #[arg(long, conflicts_with_all = ["output", "json"])]
    pub reclaim: bool,
    /// Do not ask before deleting.
    #[arg(long, requires = "reclaim")]
    pub yes: bool,
    /// Delete nothing where more orphans than this are proven.
    #[arg(long, default_value_t = 10, requires = "reclaim", value_name = "N")]
    pub at_most: usize,
    /// Delete orphans although they are a large share of the WDs that the plane has on the hub, as after the
    /// plane was restored from an old backup.
    #[arg(long, requires_all = ["reclaim", "plane"])]
    pub any_share: bool,
    /// The format.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Reads, compares and prints.
pub fn main(args: &AuditArgs) -> ExitCode {
    if let Some(code) = misuse(&args.sources.faults()) {
        return code;
    }
    if args.reclaim && !args.yes && !can_ask() {
        complain("--reclaim asks before it deletes, and there is no terminal; --yes does without asking");
        return ExitCode::from(MISUSE);
    }
    perform(report(args))
}

async fn report(args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let mut gathered = Box::pin(gather(request(args)?)).await?;
    let findings = confirmed(&mut gathered).await?;
    if args.reclaim {
        return reclaim(args, &gathered, &findings).await;
    }
    let Gathered { world, unread, .. } = gathered;
    let planes = world.projects.len();
    let paused = pauses(&world);
    let report = Audited { now: world.now, planes, findings, unread, paused };
    args.output.print(&report)?;
    Ok(exit_code(&report))
}

/// Shows the orphans, asks, and deletes those that are proven, whatever becomes of the others.
async fn reclaim(args: &AuditArgs, gathered: &Gathered, findings: &[Finding]) -> anyhow::Result<ExitCode> {
    let orphans = reclaim::orphans(gathered, findings);
    for unread in &gathered.unread {
        complain(&format!("not read: {}: {}", unread.plane, unread.problem));
    }
    if orphans.is_empty() {
        print("no orphans")?;
        return Ok(if gathered.unread.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    print(&format!("{}\n", reclaim::list(&orphans, &reclaim::deployments(gathered), gathered.world.now)))?;
    let provable: Vec<_> = orphans.iter().filter(|it| it.is_provable()).collect();
    let too_many =
        reclaim::too_many(&provable, &reclaim::deployments(gathered), args.at_most, args.any_share);
    for reason in &too_many {
        complain(reason);
    }
    let question = format!("Delete {} of them, and end their Instances?", provable.len());
    if provable.is_empty() || !too_many.is_empty() || !(args.yes || agrees(&question, "yes")) {
        print("nothing was deleted")?;
        return Ok(ExitCode::from(FOUND));
    }
    let mut left = orphans.len();
    for orphan in provable {
        let outcome = orphan.reclaim(gathered).await;
        print(&orphan.line(&outcome))?;
        left -= usize::from(outcome.is_done());
    }
    Ok(match (left, gathered.unread.is_empty()) {
        (0, true) => ExitCode::SUCCESS,
        (0, false) => ExitCode::FAILURE,
        _ => ExitCode::from(FOUND),
    })
}

/// The pauses of the planes that are audited, by plane.
fn pauses(world: &World) -> Vec<Paused> {
    let all = world.paused.all.iter().map(|pause| ("all planes", pause));
    let planes = world.paused.planes.iter().map(|(plane, pause)| (plane.as_str(), pause));
    let audited = |plane: &str| world.only.as_ref().is_none_or(|only| only.as_str() == plane);
    let planes = planes.filter(|(plane, _)| audited(plane));
    all.chain(planes).map(|(plane, pause)| Paused { plane: plane.to_owned(), pause: pause.clone() }).collect()
}

fn exit_code(report: &Audited) -> ExitCode {
    match (report.has_problems(), report.is_complete()) {
        (true, _) => ExitCode::from(FOUND),
        (false, false) => ExitCode::FAILURE,
        (false, true) => ExitCode::SUCCESS,
    }
}

/// What differs, and differs still when it is read once more.
async fn confirmed(gathered: &mut Gathered) -> anyhow::Result<Vec<Finding>> {
    let first = audit(&gathered.world);
    if !first.iter().any(Finding::is_problem) {
        return Ok(first);
    }
    gathered.refresh(&first).await?;
    let before: BTreeSet<_> = first.iter().map(Finding::identity).collect();
    let mut second = audit(&gathered.world);
    second.retain(|finding| before.contains(&finding.identity()));
    Ok(second)
}

fn request(args: &AuditArgs) -> anyhow::Result<Request> {
    let sources = &args.sources;
    let management = sources.management(!sources.project_kubeconfigs.is_empty())?;
    Ok(Request {
        source: sources.planes(&management)?,
        management,
        namespace: sources.own.management_namespace.clone(),
        hub: sources.hub()?,
        projects: sources.projects()?,
        cells: sources.cells()?,
        only: args.plane.clone(),
        concurrency: args.concurrency.into(),
        timeout: sources.timeout,
        grace: args.grace,
    })
}
