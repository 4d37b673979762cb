//! `instance-types`: what instances can be made of.

pub mod view;

use clap::Args;
use view::{Offer, built_in, offers};

use crate::exit::Exit;
use crate::model::Listed;
use crate::problem::Problem;
use crate::reading::{self, Query, is_unserved, note};
use crate::session::Session;
use crate::view::Look;
use crate::view::condition::sentence;

/// Shown after the help.
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

/// The query for instance types.
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
    let here = reading::list(&session.client, TYPES).await;
    let is_here = here.as_ref().is_ok_and(|types| !types.is_empty());
    // The catalogue of a platform is at its root, and projects need not have a copy.
    let root = match (&session.root, &here) {
        (Some(root), Ok(_)) if !is_here => Some(reading::list(root, TYPES).await),
        (Some(root), Err(_)) if is_unserved(&here) => Some(reading::list(root, TYPES).await),
        _ => None,
    };
    let (mut rows, told) = offered(session, here, root)?;
    rows.retain(|offer| args.all || offer.is_offered());
    let look = Look::from_session(session);
    session.print(|| view::json(&rows), || view::table(&rows, &look))?;
    if let Some(told) = told {
        session.tell(&told);
    }
    Ok(())
}

/// The types by what the project lists and, where that is none, by what the platform's root does; what there
/// is to say of that. Without any, the built-in one is what is known.
fn offered(
    session: &Session,
    here: Listed,
    root: Option<Listed>,
) -> Result<(Vec<Offer>, Option<String>), Problem> {
    let built_in = |told: String| Ok((vec![built_in()], Some(told)));
    match (here, root) {
        (Ok(types), None) | (_, Some(Ok(types))) if !types.is_empty() => Ok((offers(&types), None)),
        (_, Some(Ok(_))) => built_in("No instance types are listed: the default one is built in.".to_owned()),
        (_, Some(root)) if is_unserved(&root) => built_in(
            "This platform has no catalogue of instance types: the default one is built in.".to_owned(),
        ),
        (_, Some(Err(problem))) => built_in(format!("Only the built-in type is known. {}", note(&problem))),
        (Err(problem), None) if problem.exit != Exit::Unavailable => Err(problem),
        (_, None) => built_in(format!(
            "{} lists no instance types, and whether its platform has others is not known: this one is built in.",
            sentence(&session.project_in_words())
        )),
    }
}
