//! `destroy`: deletes a workload, and waits until nothing of it is left.

use crate::problem::Problem;
use crate::session::Session;

/// The flags of `destroy`.
#[derive(Debug, clap::Args)]
pub struct DestroyArgs {
    /// Name of the workload.
    pub name: String,
}

/// Runs the command.
pub async fn run(_session: &Session, _args: &DestroyArgs) -> Result<(), Problem> {
    Err(Problem::failed("not built yet"))
}
