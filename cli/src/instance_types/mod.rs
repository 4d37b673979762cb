//! `instance-types`: what instances can be made of.

pub mod view;

use clap::Args;
use view::{built_in, offers};

use crate::problem::Problem;
use crate::reading::{self, Query, is_unserved};
use crate::session::Session;
use crate::view::Look;

/// What the help ends with.
pub const EXAMPLES: &str = "\
Examples:
  datumctl compute instance-types
  datumctl compute instance-types --all -o wide";

/// The flags of `instance-types`.
#[derive(Debug, Args)]
pub struct InstanceTypesArgs {
    /// Also types that no new workload can have.
    #[arg(long)]
    pub all: bool,
}

/// What to list.
pub const TYPES: Query<'static> = Query {
    what: "instance types",
    group: fedhub_api::GROUP,
    version: fedhub_api::VERSION,
    kind: "InstanceType",
    plural: "instancetypes",
    namespace: None,
};

/// Runs the command.
pub async fn run(session: &Session, args: &InstanceTypesArgs) -> Result<(), Problem> {
    let mut types = reading::list(&session.client, TYPES).await;
    // The catalogue of a platform is at its root, and projects need not have a copy.
    if let (Ok([]), Some(root)) = (types.as_deref(), &session.root) {
        types = reading::list(root, TYPES).await;
    }
    let (mut rows, told) = match types {
        Ok(types) if !types.is_empty() => (offers(&types), None),
        Ok(_) => {
            (vec![built_in()], Some("No instance types are listed here; the default one needs no listing."))
        }
        Err(_) if is_unserved(&types) => (
            vec![built_in()],
            Some("This platform has no catalogue of instance types: the default one is built in."),
        ),
        Err(problem) => return Err(problem),
    };
    rows.retain(|offer| args.all || offer.is_offered());
    let look = Look::of(session);
    session.print(|| view::json(&rows), || view::table(&rows, &look))?;
    if let Some(told) = told {
        session.tell(told);
    }
    Ok(())
}
