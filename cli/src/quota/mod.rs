//! `quota`: what the project may use of compute, what it uses, and what was refused for want of it.

pub mod refusal;
pub mod unit;
pub mod view;

use clap::Args;
use fedhub_core::object::Kind;
use refusal::refusals;
use serde_json::json;
use view::{Allowance, allowances};

use crate::exit::Exit;
use crate::instances::view::{Filter, rows};
use crate::model::{Listed, list};
use crate::problem::Problem;
use crate::reading::{self, Query, is_unserved, known, missing, note};
use crate::session::Session;
use crate::view::Look;

/// The namespace of a project in which its platform counts.
const SYSTEM: &str = "milo-system";

/// Shown after the help.
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

/// The lists that the command reads.
struct Readings {
    buckets: Listed,
    units: Listed,
    claims: Listed,
    instances: Listed,
    deployments: Listed,
}

impl Readings {
    async fn read(session: &Session) -> Self {
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
        Self { buckets, units, claims, instances, deployments }
    }

    /// Returns the problems of what could not be read, limits first. Units are known without their
    /// registrations, and where an Instance belongs mostly without its deployment.
    fn unknown(&self) -> Vec<&Problem> {
        [&self.buckets, &self.claims, &self.instances]
            .into_iter()
            .filter_map(|it| it.as_ref().err())
            .collect()
    }

    /// Says why there are no limits to show.
    fn limits_in_words(&self, session: &Session, args: &QuotaArgs) -> String {
        match &self.buckets {
            Err(_) if is_unserved(&self.buckets) => "This project's platform shows no quota.".to_owned(),
            Err(problem) => note(problem),
            Ok(_) if args.constrained => "Nothing is used up.".to_owned(),
            Ok(_) => format!(
                "No quota for compute was granted to {} yet: no instance starts before that. Ask the platform operator for some.",
                session.project_in_words()
            ),
        }
    }
}

/// Runs the command.
pub async fn run(session: &Session, args: &QuotaArgs) -> Result<(), Problem> {
    let read = Readings::read(session).await;
    let unknown = read.unknown();
    if let [problem, _, _] = unknown.as_slice() {
        return Err((*problem).clone());
    }
    let mut allowances = allowances(known(&read.buckets), known(&read.units));
    let index = reading::index(&read.deployments);
    let filter = Filter { workload: None, cities: &args.city };
    let rows = rows(known(&read.instances), |name| index.deployment(name), filter);
    let refused = refusals(&rows, known(&read.claims), known(&read.units));
    if args.constrained {
        let is_refused = |it: &Allowance| refused.iter().any(|refusal| refusal.resource == it.resource);
        allowances.retain(|it| it.is_used_up() || is_refused(it));
    }
    let value = || {
        json!({
            "project": session.project,
            "quota": read.buckets.is_ok().then(|| view::json(&allowances)),
            "refused": read.instances.is_ok().then(|| refusal::json(&refused)),
            "unknown": unknown.iter().map(|problem| missing(problem)).collect::<Vec<_>>(),
        })
    };
    let text = view::text(&allowances, &refused, &Look::from_session(session));
    if !text.is_empty() || session.global.output.is_structured() {
        session.print(value, || text)?;
    }
    if allowances.is_empty() {
        session.tell(&read.limits_in_words(session, args));
    }
    let told = read.buckets.as_ref().err();
    for problem in unknown.iter().filter(|it| it.exit != Exit::Unavailable && told != Some(**it)) {
        session.tell(&note(problem));
    }
    Ok(())
}
