//! `quota`: what the project may use of compute, what it uses, and what was refused for want of it.

pub mod refusal;
pub mod unit;
pub mod view;

use clap::Args;
use fedhub_core::object::Kind;
use refusal::refusals;
use serde_json::json;
use view::allowances;

use crate::exit::Exit;
use crate::instances::view::{Filter, rows};
use crate::model::list;
use crate::problem::Problem;
use crate::reading::{self, Query, is_unserved, known, missing, note};
use crate::session::Session;
use crate::view::Look;

/// The namespace of a project in which its platform counts.
const SYSTEM: &str = "milo-system";

/// What the help ends with.
pub const EXAMPLES: &str = "\
Examples:
  datumctl compute quota
  datumctl compute quota --constrained
  datumctl compute quota -o json

Limits are the project's, in all cities together. In JSON amounts are in base units: `unitFactor` of them make a unit.";

/// The flags of `quota`.
#[derive(Debug, Args)]
pub struct QuotaArgs {
    /// Only what is used up, or was refused.
    #[arg(long)]
    pub constrained: bool,
    /// Only what was refused to instances in these cities; limits are the project's, in all cities together.
    #[arg(long, alias = "location", value_name = "CITY", value_delimiter = ',')]
    pub city: Vec<String>,
}

/// Runs the command.
pub async fn run(session: &Session, args: &QuotaArgs) -> Result<(), Problem> {
    let query = |what, kind, plural, namespace| Query {
        what,
        group: "quota.miloapis.com",
        version: "v1alpha1",
        kind,
        plural,
        namespace,
    };
    let buckets = query("quota limits", "AllowanceBucket", "allowancebuckets", Some(SYSTEM));
    let units = query("quota units", "ResourceRegistration", "resourceregistrations", None);
    let registry = session.root.as_ref().unwrap_or(&session.client);
    let (buckets, units, claims, instances, deployments) = tokio::join!(
        reading::list(&session.client, buckets),
        reading::list(registry, units),
        list(session, Kind::ResourceClaim, ""),
        list(session, Kind::Instance, ""),
        list(session, Kind::WorkloadDeployment, ""),
    );
    if let (Err(problem), Err(_), Err(_)) = (&instances, &claims, &buckets) {
        return Err(problem.clone());
    }
    let mut allowances = allowances(known(&buckets), known(&units));
    let index = reading::index(&deployments);
    let filter = Filter { workload: None, cities: &args.city };
    let rows = rows(known(&instances), |name| index.deployment(name), filter);
    let refused = refusals(&rows, known(&claims), known(&units));
    if args.constrained {
        allowances
            .retain(|it| it.is_used_up() || refused.iter().any(|refusal| refusal.resource == it.resource));
    }
    let look = Look::of(session);
    // Units are known without their registrations, and an unlabelled instance is told by its row.
    let unknown: Vec<&Problem> =
        [&buckets, &claims, &instances].into_iter().filter_map(|it| it.as_ref().err()).collect();
    let value = || {
        json!({
            "project": session.project,
            "quota": buckets.is_ok().then(|| view::json(&allowances)),
            "refused": instances.is_ok().then(|| refusal::json(&refused)),
            "unknown": unknown.iter().map(|problem| missing(problem)).collect::<Vec<_>>(),
        })
    };
    let text = view::text(&allowances, &refused, &look);
    if !text.is_empty() || session.global.output.is_structured() {
        session.print(value, || text)?;
    }
    if is_unserved(&buckets) {
        session.tell("This project's platform keeps no quota: nothing limits what it may use.");
    } else if let Err(problem) = &buckets {
        session.tell(&note(problem));
    } else if allowances.is_empty() && args.constrained {
        session.tell("Nothing is used up.");
    } else if allowances.is_empty() {
        session.tell(&format!(
            "No quota for compute was granted to {} yet: no instance starts before that. Ask the platform operator for some.",
            session.project_in_words()
        ));
    }
    for problem in
        unknown.iter().filter(|it| it.exit != Exit::Unavailable && buckets.as_ref().err() != Some(**it))
    {
        session.tell(&note(problem));
    }
    Ok(())
}
