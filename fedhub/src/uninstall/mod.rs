//! `fedhub uninstall`: takes fedhub away from planes without ending what runs.
//!
//! fedhub has to be stopped: its Leases say whether it is (`lease`). Then its finalizers go, plane by plane
//! (`strip`), and where it is wanted the hub is emptied (`hub`). `plan` decides both; each write is of an
//! object as it was read.

mod hub;
mod lease;
mod plan;
mod report;
mod strip;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use fedhub_core::errors;

use crate::common::{CELL_NAMESPACE, complain, misuse, perform};
use crate::operator::concurrent::all;
use crate::operator::connect::Connection;
use crate::operator::fleet::{check_identity, discover, planes_of};
use crate::operator::read::Read;
use crate::operator::sources::SourceArgs;
use fedhub_terminal::consent::{agrees, can_ask};
use fedhub_terminal::output::{Format, OutputArgs, print_error};
use fedhub_terminal::report::Report;
use plan::{Emptying, Place};
use report::{Line, Uninstalled};
use strip::Order;

/// The exit code where something of fedhub remains.
const REMAINS: u8 = 3;

/// What becomes of the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum HubFate {
    /// It stays as it is, and Karmada keeps the cells as they are.
    Keep,
    /// fedhub's WDs, Instances and policies are deleted on it. What runs in the cells is left to itself.
    Empty,
}

/// The flags of `fedhub uninstall`.
#[derive(Debug, clap::Args)]
#[command(
    group(clap::ArgGroup::new("mode").required(true).args(["plan", "run"])),
    mut_arg("timeout", |arg| arg.default_value("30s")),
    mut_arg("cell_kubeconfigs", |arg| {
        arg.help("Name and kubeconfig of a cell, which fedhub is taken away from too then; may be given more than once")
    }),
    after_help = "\
Examples:
  fedhub uninstall --plan --management-kubeconfig management.yaml --hub-kubeconfig hub.yaml
  fedhub uninstall --run --management-kubeconfig management.yaml --hub-kubeconfig hub.yaml \\
      --cell-kubeconfig cell-dfw=cell-dfw.yaml
  fedhub uninstall --run --hub empty --management-kubeconfig management.yaml --hub-kubeconfig hub.yaml

Stop fedhub first. Instances keep running in every case.

Exit codes: 0: nothing of fedhub remains, or would; 1: fedhub runs, or a plane that is needed cannot be read; 2: misuse;
            3: something remains, or would; run it again."
)]
pub struct UninstallArgs {
    /// Show what would be written, and write nothing.
    #[arg(long)]
    pub plan: bool,
    /// Show it, ask, and do it.
    #[arg(long)]
    pub run: bool,
    /// What becomes of the hub.
    #[arg(long = "hub", default_value = "keep", value_name = "FATE")]
    pub fate: HubFate,
    /// The planes; fedhub is taken away from the cells that are given, too.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Name of fedhub's Lease; that of a cell ends in `-cell`.
    #[arg(long, env = "FEDHUB_LEASE_NAME", default_value = "fedhub", value_name = "NAME")]
    pub lease_name: String,
    /// Namespace of fedhub in cells; of one process with both roles, its namespace on the management plane.
    #[arg(long, default_value = CELL_NAMESPACE, value_name = "NAME")]
    pub cell_namespace: String,
    /// Release objects that are being deleted, too. What runs for them stays.
    #[arg(long)]
    pub abandon_deletions: bool,
    /// Do not ask before writing.
    #[arg(long, conflicts_with = "plan")]
    pub yes: bool,
    /// Do not ask whether fedhub is stopped where it has no Lease that says so.
    #[arg(long, conflicts_with = "plan")]
    pub yes_stopped: bool,
    /// Do not ask before the hub is emptied.
    #[arg(long, conflicts_with = "plan")]
    pub yes_empty_hub: bool,
    /// How many planes are worked on at a time.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub concurrency: u16,
    /// The format.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl UninstallArgs {
    fn validate(&self, can_ask: bool) -> Vec<String> {
        let empties = self.fate == HubFate::Empty;
        let mut faults = self.sources.faults();
        if empties && self.sources.hub.kubeconfig.is_none() {
            faults.push("--hub empty needs --hub-kubeconfig".to_owned());
        }
        if self.yes_empty_hub && !empties {
            faults.push("--yes-empty-hub is for --hub empty".to_owned());
        }
        if self.run && !self.yes && !can_ask {
            faults.push(
                "--run asks before it writes, and there is no terminal; --yes does without asking".to_owned(),
            );
        }
        if self.run && empties && !self.yes_empty_hub && !can_ask {
            faults.push(
                "--hub empty asks of its own, and there is no terminal; --yes-empty-hub does without asking"
                    .to_owned(),
            );
        }
        faults
    }
}

/// Plans, asks, and does it.
pub fn main(args: &UninstallArgs) -> ExitCode {
    if let Some(code) = misuse(&args.validate(can_ask())) {
        return code;
    }
    perform(uninstall(args))
}

/// The planes that are worked on.
struct Planes {
    /// Project planes and cells, as the report names them.
    all: Vec<(String, Place, Connection)>,
    /// The planes that are known and cannot be worked on.
    unread: Vec<Line>,
    management: Connection,
    hub: Connection,
}

async fn uninstall(args: &UninstallArgs) -> anyhow::Result<ExitCode> {
    let planes = planes(args).await?;
    let emptying = match args.fate {
        HubFate::Keep => None,
        HubFate::Empty => Some(hub::plan(&planes.hub).await?),
    };
    let planned = report(args, &planes, emptying.as_ref(), false).await?;
    if args.plan {
        args.output.print(&planned)?;
        for place in stopped(args, &planes).await? {
            complain(&format!("{place}; --run asks whether every fedhub is stopped"));
        }
        return Ok(code(&planned));
    }
    let unproven = stopped(args, &planes).await?;
    if !is_stopped(args, &unproven)? || !consents(args, &planned, emptying.as_ref()) {
        complain("nothing was written");
        return Ok(ExitCode::from(REMAINS));
    }
    let done = report(args, &planes, emptying.as_ref(), true).await?;
    args.output.print(&done)?;
    stopped(args, &planes).await.context("a fedhub was started meanwhile: stop it, and run this again")?;
    Ok(code(&done))
}

fn code(report: &Uninstalled) -> ExitCode {
    if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(REMAINS) }
}

fn consents(args: &UninstallArgs, planned: &Uninstalled, emptying: Option<&Emptying>) -> bool {
    if !args.yes {
        print_error(&format!("{}\n", planned.print(Format::Table, false)));
        let question = format!("Write to {} objects? Instances keep running.", planned.planned());
        if !agrees(&question, "yes") {
            return false;
        }
    }
    match emptying {
        Some(plan) if !args.yes_empty_hub => {
            print_error(&format!(
                "The hub is to be emptied: {} WDs, {} Instances and {} policies are deleted on it. Karmada is first made to leave \
                 what runs in the cells (preserveResourcesOnDeletion); from then on nothing manages it there.",
                plan.deployments.len(),
                plan.instances.len(),
                plan.policies.len()
            ));
            agrees("Empty the hub?", "empty")
        }
        _ => true,
    }
}

/// What becomes of all planes; with `run`, after it has.
async fn report(
    args: &UninstallArgs,
    planes: &Planes,
    emptying: Option<&Emptying>,
    run: bool,
) -> anyhow::Result<Uninstalled> {
    let order = Order { abandon_deletions: args.abandon_deletions, run };
    let lines = all("planes", planes.all.clone(), args.concurrency.into(), |(name, place, connection)| {
        strip::plane(name, place, connection, order)
    });
    let mut lines = lines.await?;
    lines.extend(planes.unread.iter().cloned());
    if let Some(plan) = emptying {
        let clean = Uninstalled::from_lines(lines.clone()).is_clean();
        lines.push(match (run, clean) {
            (false, _) => hub::planned(plan),
            (true, true) => hub::empty(&planes.hub, plan, args.concurrency.into()).await?,
            (true, false) => Line {
                plane: "hub".to_owned(),
                problem: Some("left as it is, for something remains on other planes".to_owned()),
                ..Line::default()
            },
        });
    }
    Ok(Uninstalled::from_lines(lines))
}

/// Connects to everything, and checks which cluster each project plane is.
async fn planes(args: &UninstallArgs) -> anyhow::Result<Planes> {
    let sources = &args.sources;
    let management = sources.management(false)?;
    let hub = match sources.hub.kubeconfig {
        Some(_) => sources.hub().context("failed to connect to the hub")?,
        None => Read::Skipped,
    };
    let source = sources.planes(&management)?;
    let (found, identities) = discover(&source, &management, &sources.own.management_namespace).await?;
    let (projects, unread) = planes_of(found, sources.projects()?, None, sources.timeout);
    let mut unread: Vec<Line> = unread.iter().map(Line::unread).collect();
    let names: BTreeSet<String> = projects
        .keys()
        .map(ToString::to_string)
        .chain(unread.iter().map(|line| line.plane.clone()))
        .collect();
    unread.extend(match hub.found() {
        Some(_) => unknown(&hub::read(&hub).await?, &names),
        None => forgotten(&identities, &names),
    });
    let identities = Arc::new(identities);
    let checked = all("planes", projects, args.concurrency.into(), |(name, connection)| {
        let identities = identities.clone();
        async move {
            let refused = check_identity(&name, &connection, &identities).await.err();
            (name, connection, refused)
        }
    });
    let mut working = Vec::new();
    for (name, connection, refused) in checked.await? {
        match refused {
            Some(refused) => unread.push(Line::unread(&refused)),
            None => working.push((name.to_string(), Place::Project, connection)),
        }
    }
    let cells = sources.cells()?.into_iter();
    working.extend(cells.map(|(name, connection)| (format!("cell {name}"), Place::Cell, connection)));
    Ok(Planes { all: working, unread, management, hub })
}

/// Planes that have WDs on the hub, and to which nothing leads: their WDs may hold fedhub's finalizer.
fn unknown(hub: &plan::Hub, known: &BTreeSet<String>) -> Vec<Line> {
    let missing = plan::planes(hub).into_iter().filter(|name| !known.contains(name));
    let problem = "it has WDs on the hub, and discovery does not find it: give its --project-kubeconfig";
    missing.map(|plane| Line { plane, entries: Vec::new(), problem: Some(problem.to_owned()) }).collect()
}

/// Planes that fedhub remembers, and to which nothing leads: without the hub nothing shows that they have no
/// WDs.
fn forgotten(remembered: &BTreeMap<String, String>, known: &BTreeSet<String>) -> Vec<Line> {
    let missing = remembered.keys().filter(|name| !known.contains(*name));
    let problem = "fedhub remembers it, and discovery does not find it: give its --project-kubeconfig, or \
                   --hub-kubeconfig, by which planes that fedhub left nothing on are passed over";
    missing
        .map(|plane| Line { plane: plane.clone(), entries: Vec::new(), problem: Some(problem.to_owned()) })
        .collect()
}

/// Each Lease of fedhub, with the connection of its plane.
fn leases<'a>(args: &'a UninstallArgs, planes: &'a Planes) -> Vec<(&'a Connection, lease::Seat)> {
    let management = lease::Seat {
        what: "the management plane".to_owned(),
        namespace: args.sources.own.management_namespace.clone(),
        name: args.lease_name.clone(),
        remedy: scale_down(&args.sources.own.management_namespace, "fedhub"),
    };
    let cells = planes.all.iter().filter(|(_, place, _)| *place == Place::Cell);
    let cell = |(name, _, connection): &'a (String, Place, Connection)| {
        let place = lease::Seat {
            what: name.clone(),
            namespace: args.cell_namespace.clone(),
            name: format!("{}-cell", args.lease_name),
            remedy: scale_down(&args.cell_namespace, "fedhub-cell"),
        };
        (connection, place)
    };
    std::iter::once((&planes.management, management)).chain(cells.map(cell)).collect()
}

/// How to stop who holds a Lease.
fn scale_down(namespace: &str, deployment: &str) -> String {
    format!("stop it, such as by kubectl -n {namespace} scale deployment {deployment} --replicas=0")
}

/// An error that names each fedhub that runs; else the places where nothing tells whether one does.
async fn stopped(args: &UninstallArgs, planes: &Planes) -> anyhow::Result<Vec<String>> {
    let mut unproven = Vec::new();
    let mut running = Vec::new();
    for (connection, seat) in leases(args, planes) {
        let Some(plane) = connection.found() else { continue };
        match lease::refuse_while_held(plane, &seat).await {
            Ok(true) => {}
            Ok(false) => unproven.push(without_lease(&seat)),
            Err(error) => running.push(errors::chain(error.as_ref())),
        }
    }
    if running.is_empty() { Ok(unproven) } else { bail!(running.join("; ")) }
}

fn without_lease(seat: &lease::Seat) -> String {
    let lease::Seat { what, namespace, name, .. } = seat;
    format!(
        "{what}: neither a Lease {namespace}/{name} nor Deployments tell whether fedhub runs: one with \
         --leader-elect=false, or whose Lease has another name or namespace, is not noticed"
    )
}

/// Whether the operator says that fedhub is stopped where no Lease does.
fn is_stopped(args: &UninstallArgs, unproven: &[String]) -> anyhow::Result<bool> {
    if unproven.is_empty() || args.yes_stopped {
        return Ok(true);
    }
    let places = unproven.join("\n");
    if !can_ask() {
        bail!("{places}\nwithout a terminal to ask, --yes-stopped says that every fedhub is stopped");
    }
    print_error(&places);
    Ok(agrees("Is every fedhub stopped?", "stopped"))
}
