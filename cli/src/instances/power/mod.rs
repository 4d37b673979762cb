//! `instances stop`, `start` and `restart`: orders about the power of single instances (V9).
//!
//! An order is written on the deployments of the instances that are named or selected, beside what is asked
//! of others there. The cell's provider carries it out; the command waits until each instance shows that.

pub mod args;
pub mod plan;
pub mod progress;
mod wait;

use fedhub_api::instance_power::{PowerOrder, faults, ordered, power_of};
use fedhub_core::message::Quoted;
use fedhub_core::names::INSTANCE_POWER;
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_terminal::table::counted;
use jiff::Timestamp;
use kube::api::Patch;
use serde_json::json;

use super::deployments::deployments_for;
use crate::args::timeout;
use crate::destroy::plan::{Consent, consent};
use crate::model::{self, Listed, list};
use crate::problem::Problem;
use crate::session::Session;
use args::PowerArgs;
use plan::{Verb, is_wanted, targets};
use progress::Asked;

/// How often an order is decided anew where the deployment was changed at the same time.
const ATTEMPTS: usize = 5;

/// Runs one of the commands.
pub async fn run(session: &Session, order: PowerOrder, args: &PowerArgs) -> Result<(), Problem> {
    let instances = list(session, Kind::Instance, "").await?;
    let deployments = deployments_for(session, &instances).await;
    let targets = chosen(&instances, &deployments, args).map_err(|refusal| refusal.problem(session))?;
    let names: Vec<&str> = targets.values().flatten().copied().collect();
    agree(session, order, args, &names).await?;
    let mut asked = Asked::new();
    for (deployment, names) in &targets {
        asked.extend(write(session, order, deployment, names, &instances).await?);
    }
    let verb = Verb(order);
    if args.no_wait {
        return session.print(
            || json!({ "order": verb.name(), "instances": names, "done": false }),
            || {
                format!(
                    "Asked to {} {}: {}.",
                    verb.name(),
                    counted(names.len(), "instance"),
                    names.join(", ")
                )
            },
        );
    }
    session.tell(&format!("Waiting until {} {} ...", names.join(", "), verb.awaited(names.len())));
    wait::followed(session, order, &asked, timeout::limit(args.timeout)).await?;
    session.print(
        || json!({ "order": verb.name(), "instances": names, "done": true }),
        || format!("{}: {}.", verb.done(), names.join(", ")),
    )
}

/// The instances that are named or selected, by their deployments.
fn chosen<'a>(
    instances: &'a [Object],
    deployments: &'a Listed,
    args: &'a PowerArgs,
) -> Result<plan::Targets<'a>, plan::Refusal> {
    let index = crate::reading::index(deployments);
    targets(instances, |name| index.deployment(name), args)
}

/// Makes sure that the user wants it, where not every instance was named.
async fn agree(
    session: &Session,
    order: PowerOrder,
    args: &PowerArgs,
    names: &[&str],
) -> Result<(), Problem> {
    let verb = Verb(order);
    let is_asked = args.names.is_empty() && order != PowerOrder::Start;
    match consent(args.yes || !is_asked, session.terminal.can_ask()) {
        Consent::Given => Ok(()),
        Consent::Missing => Err(Problem::usage(format!(
            "There is no terminal to ask whether to {} {}: {}.",
            verb.name(),
            counted(names.len(), "instance"),
            names.join(", ")
        ))
        .remedy(format!("Give --yes to {} them without a question, or name them.", verb.name()))),
        Consent::Question => {
            session.tell(&format!(
                "This {} {} in {}: {}.",
                verb.present(),
                counted(names.len(), "instance"),
                session.project_in_words(),
                names.join(", ")
            ));
            let agreed = session.confirms("Go on?", false).await;
            if agreed { Ok(()) } else { Err(Problem::failed("Nothing was asked for.")) }
        }
    }
}

/// Writes an order for these instances of a deployment, and returns what is asked of them now.
async fn write(
    session: &Session,
    order: PowerOrder,
    deployment: &str,
    names: &[&str],
    instances: &[Object],
) -> Result<Asked, Problem> {
    let api = model::api(session.client.clone(), &session.namespace, Kind::WorkloadDeployment);
    let doing = format!("{} {}", Verb(order).name(), names.join(", "));
    let mut again = 1..ATTEMPTS;
    loop {
        let wd = model::get(session, Kind::WorkloadDeployment, deployment).await?;
        for fault in faults(&wd) {
            session.tell(&format!(
                "Note: what was asked of the power of instances of {} {fault}; it counts for nothing.",
                Quoted(deployment)
            ));
        }
        let value = ordered(
            &wd,
            order,
            names,
            |name| is_wanted(&wd, name) || instances.iter().any(|it| it.name() == name),
            Timestamp::now(),
        )
        .map_err(|fault| {
            Problem::failed(format!("Could not {doing}: {fault}."))
                .remedy("Start instances that are stopped, so that there is less to remember.")
        })?;
        // Another's order that came in between is decided about anew, and not overwritten.
        let patch = json!({"metadata": {
            "resourceVersion": wd.metadata.resource_version,
            "annotations": { INSTANCE_POWER: value },
        }});
        match api.patch(deployment, &model::patch_params(), &Patch::Merge(&patch)).await {
            Err(kube::Error::Api(status)) if status.code == 409 && again.next().is_some() => {}
            Err(error) => return Err(Problem::from_error(error, &doing)),
            Ok(written) => {
                let asked = names.iter().map(|name| ((*name).to_owned(), power_of(&written, name)));
                return Ok(asked.collect());
            }
        }
    }
}
