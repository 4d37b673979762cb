//! `access`: whether compute is enabled in the project.

use crate::problem::Problem;
use crate::session::Session;

/// The flags of `access`.
#[derive(Debug, clap::Args)]
pub struct AccessArgs {}

/// Runs the command.
pub async fn run(_session: &Session, _args: &AccessArgs) -> Result<(), Problem> {
    Err(Problem::failed("not built yet"))
}

/// Makes sure that compute is enabled, before a command of the project runs.
pub async fn gate(_session: &Session) -> Result<(), Problem> {
    Ok(())
}
