//! `deploy`: makes workloads what flags or files say, and waits until that runs.
//!
//! # The way through
//!
//! 1. [`args::asked`] reads flags and files; what is wrong with them is known before a login is asked for.
//! 2. [`plan::decide`], a pure function, says of each workload what it is to be and what changes.
//! 3. The server checks all of them by a dry run before the first is written ([`apply`]); what it refuses is
//!    told by the flag or the field ([`refusal`]).
//! 4. The user sees the changes and is asked ([`consent`]); networks that are missing are made ([`network`]).
//! 5. [`apply::send`] writes; the file is saved ([`save`]), the URL is published, and the rollout is waited
//!    for.

pub mod apply;
pub mod args;
mod cities;
pub mod consent;
mod container;
mod described;
pub mod document;
pub(crate) mod edit;
pub mod fault;
pub mod flags;
pub mod network;
pub mod plan;
mod publish;
pub mod refusal;
pub mod save;
pub mod schema;
pub mod view;
mod warnings;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fedhub_core::object::{Object, ObjectView};

use args::{Asked, DryRun};
pub use args::{DeployArgs, asked};
use consent::Consent;
use plan::{DeployPlan, Wanted};
use save::Saving;
use view::{printed, together};
use warnings::Warnings;

use crate::access;
use crate::problem::Problem;
use crate::session::Session;

/// Runs the command, once [`args::asked`] has read the files.
pub async fn run(session: &Session, args: &DeployArgs, asked: &Asked<'_>) -> Result<(), Problem> {
    asked.check(&session.namespace)?;
    access::gate(session, args.writes()).await?;
    let wanted = asked.wanted();
    let plans = plans(session, &wanted).await?;
    if args.dry_run == Some(DryRun::Client) {
        return dry(session, &plans, None).await;
    }
    let checked = check(session, &wanted, &plans).await?;
    if args.dry_run == Some(DryRun::Server) {
        return dry(session, &plans, Some(&checked)).await;
    }
    plans.iter().flat_map(view::plan).for_each(|line| session.tell(&line));
    agree(session, args, &plans).await?;
    let created = networks(session, args, &plans).await?;
    let (stored, failed) = write(session, &wanted, &plans, created).await?;
    if let (Asked::Flags(..), [object], [plan]) = (asked, &stored[..], &plans[..]) {
        save(session, args, object, plan.before.as_ref()).await;
    }
    publish::finish(session, args, asked, &stored, failed).await
}

/// Plans each Workload; all faults are reported at once.
async fn plans(session: &Session, wanted: &[Wanted<'_>]) -> Result<Vec<DeployPlan>, Problem> {
    let mut plans = Vec::new();
    let mut faults = Vec::new();
    for wanted in wanted {
        let existing = apply::existing(session, wanted.name()).await?;
        match plan::decide(*wanted, &session.namespace, existing.as_ref()) {
            Ok(plan) => plans.push(plan),
            Err(wrong) => faults.extend(wrong),
        }
    }
    if faults.is_empty() { Ok(plans) } else { Err(args::refused(&faults)) }
}

/// Sends every change as a dry run of the server and prints the warnings it returns. Returns the objects as
/// the server would store them.
async fn check(
    session: &Session,
    wanted: &[Wanted<'_>],
    plans: &[DeployPlan],
) -> Result<Vec<Object>, Problem> {
    let warnings = Warnings::default();
    let session = Session { client: warnings.client(&session.client, &session.namespace), ..session.clone() };
    let mut checked = Vec::new();
    for (wanted, plan) in wanted.iter().zip(plans).filter(|(_, plan)| !plan.is_noop()) {
        checked.push(apply::send(&session, *wanted, plan, true).await?);
    }
    warnings.take().iter().for_each(|warning| session.tell(&format!("Warning: {warning}")));
    Ok(checked)
}

/// Prints what would be done; as the server would store it, where it was asked.
async fn dry(session: &Session, plans: &[DeployPlan], checked: Option<&[Object]>) -> Result<(), Problem> {
    let names: BTreeSet<_> = plans.iter().flat_map(|plan| network::names(&plan.object)).collect();
    for name in network::missing(session, names).await {
        session.tell(&format!("The network {name} does not exist: it would be created, after a question."));
    }
    let planned = || plans.iter().map(|plan| printed(&plan.object));
    let answered = |name: &str| checked.and_then(|all| all.iter().find(|object| object.name() == name));
    let value = || {
        let objects = plans.iter().zip(planned());
        objects.map(|(plan, planned)| answered(plan.object.name()).map_or(planned, printed)).collect()
    };
    session
        .print(|| together(value()), || plans.iter().flat_map(view::plan).collect::<Vec<_>>().join("\n"))?;
    session.tell("Nothing was changed: --dry-run.");
    Ok(())
}

/// Asks, where there is a terminal to ask on.
async fn agree(session: &Session, args: &DeployArgs, plans: &[DeployPlan]) -> Result<(), Problem> {
    match consent::needed(plans, args.yes, session.terminal.can_ask()) {
        Consent::Given => Ok(()),
        Consent::Ask(question, default) if session.confirms(question, default).await => Ok(()),
        Consent::Ask(..) => Err(Problem::failed("Nothing was deployed.")),
        Consent::Needed(what) => {
            Err(Problem::usage(format!("Nothing was deployed. {what}")).remedy(consent::NEEDS_YES))
        }
    }
}

/// Creates the networks that are missing, if that is wanted. Returns what was created, for messages.
async fn networks(
    session: &Session,
    args: &DeployArgs,
    plans: &[DeployPlan],
) -> Result<Vec<String>, Problem> {
    let mut created = Vec::new();
    let changed = plans.iter().filter(|plan| !plan.is_noop());
    let names: BTreeSet<_> = changed.flat_map(|plan| network::names(&plan.object)).collect();
    for name in network::missing(session, names).await {
        let question = format!("The network {name} does not exist. Create it?");
        let sentence = format!("Nothing was deployed: the network {name} does not exist.");
        let other = "Or name a network that exists with --network.";
        if !args.yes && !session.terminal.can_ask() {
            let problem = Problem::usage(sentence).remedy(format!("{} {other}", consent::NEEDS_YES));
            return Err(after(problem, &created));
        }
        if !args.yes && !session.confirms(&question, true).await {
            return Err(after(Problem::failed(sentence).remedy(other), &created));
        }
        network::create(session, &name).await.map_err(|problem| after(problem, &created))?;
        session.tell(&format!("Created the network {name}."));
        created.push(format!("network {name}"));
    }
    Ok(created)
}

/// Writes one after another, up to one that fails. What is stored then, and the failure; that alone where
/// nothing was written. `done` is what was written before, as messages say it.
async fn write(
    session: &Session,
    wanted: &[Wanted<'_>],
    plans: &[DeployPlan],
    mut done: Vec<String>,
) -> Result<(Vec<Object>, Option<Problem>), Problem> {
    let mut stored = Vec::new();
    let before = done.len();
    for (wanted, plan) in wanted.iter().zip(plans) {
        if plan.is_noop() {
            stored.push(plan.object.clone());
            continue;
        }
        match apply::send(session, *wanted, plan, false).await {
            Ok(object) => stored.push(object),
            Err(problem) if done.len() == before => return Err(after(problem, &done)),
            Err(problem) => return Ok((stored, Some(after(problem, &done)))),
        }
        done.push(format!("workload {}", wanted.name()));
    }
    Ok((stored, None))
}

/// A problem, with what was written before it came.
fn after(problem: Problem, done: &[String]) -> Problem {
    if done.is_empty() {
        return problem;
    }
    let sentence = format!("{}\nWritten before that: {}.", problem.sentence, done.join(", "));
    Problem { sentence, ..problem }
}

/// Saves the workload, which was `before`. A file that cannot be written does not undo a deployment: it is
/// said.
async fn save(session: &Session, args: &DeployArgs, object: &Object, before: Option<&Object>) {
    if args.no_save {
        return;
    }
    let path = args.save.clone().unwrap_or_else(|| PathBuf::from(save::FILE));
    let Some(text) = save::text(object) else { return };
    let written = saved(session, &path, &text, before.and_then(save::text).as_deref()).await;
    session.tell(&match written {
        Ok(done) => done,
        Err(error) => format!("Could not save {}: {error}.", path.display()),
    });
}

async fn saved(session: &Session, path: &Path, text: &str, before: Option<&str>) -> std::io::Result<String> {
    let content = match std::fs::read_to_string(path) {
        Ok(content) => Some(content),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let shown = path.display();
    let question = format!("{shown} says something else. Replace it?");
    Ok(match save::decide(content.as_deref(), text, before, session.terminal.can_ask()) {
        Saving::Same => format!("{shown} says the same."),
        Saving::Write => save::write(path, text, false).map(|()| format!("Saved as {shown}."))?,
        Saving::Replace => save::write(path, text, true).map(|()| format!("Saved as {shown}."))?,
        Saving::Ask if session.confirms(&question, false).await => {
            save::write(path, text, true).map(|()| format!("Replaced {shown}."))?
        }
        Saving::Ask | Saving::Keep => {
            format!("Kept {shown}, which says something else: --save=FILE saves the workload elsewhere.")
        }
    })
}
