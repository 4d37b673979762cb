//! `instance-types`: what instances can be made of.

pub mod view;

use clap::Args;
use fedhub_core::object::Kind;
use view::{Offer, built_in, offers};

use crate::model::project::list_with;
use crate::problem::Problem;
use crate::reading::{is_unserved, note};
use crate::session::Session;
use crate::view::Look;

/// The flags of `instance-types`.
#[derive(Debug, Args)]
pub struct InstanceTypesArgs {
    /// Also types that no new workload can have.
    #[arg(long)]
    pub all: bool,
}

/// Runs the command.
pub async fn run(session: &Session, args: &InstanceTypesArgs) -> Result<(), Problem> {
    let mut types = list_with(session.client.clone(), &session.namespace, Kind::InstanceType, "").await;
    // The catalogue of a platform is at its root, and projects need not have a copy.
    if let (Ok([]), Some(root)) = (types.as_deref(), &session.root) {
        types = list_with(root.clone(), "", Kind::InstanceType, "").await;
    }
    let (mut rows, told): (Vec<Offer>, Option<String>) = match &types {
        Ok(types) if !types.is_empty() => (offers(types), None),
        Err(problem) if !is_unserved(&types) => (Vec::new(), Some(note(problem))),
        Ok(_) | Err(_) => {
            let told = "The platform has no catalogue of instance types here: this one is built in.";
            (vec![built_in()], Some(told.to_owned()))
        }
    };
    rows.retain(|offer| args.all || offer.is_offered());
    let look = Look::of(session);
    if let (Err(problem), true) = (&types, rows.is_empty()) {
        return Err(problem.clone());
    }
    session.print(|| view::json(&rows), || view::table(&rows, &look))?;
    if let Some(told) = told {
        session.tell(&told);
    }
    Ok(())
}
