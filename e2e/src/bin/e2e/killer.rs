//! `e2e killer`: fedhub killed at a write of its own.

use std::path::PathBuf;
use std::time::Duration;

use fedhub_e2e::interruption::interruption;
use fedhub_e2e::killer;
use fedhub_e2e::output::say;
use fedhub_e2e::topology::Layout;

use crate::target::Instance;

/// What kills.
#[derive(clap::Args)]
pub struct Killer {
    /// The file with the number of the write.
    #[arg(long, value_name = "FILE")]
    order: PathBuf,
    /// After how many seconds it ends by itself.
    #[arg(long = "for", default_value_t = 900, value_name = "SECONDS")]
    seconds: u64,
    #[command(flatten)]
    instance: Instance,
}

/// Serves until it is asked to end.
pub async fn run(arguments: Killer) -> anyhow::Result<()> {
    let layout = Layout::from_name(&arguments.instance.instance)?;
    let killer = killer::Killer::listen(&layout, &arguments.order).await?;
    say(killer.url());
    tokio::select! {
        () = killer.serve() => {}
        () = tokio::time::sleep(Duration::from_secs(arguments.seconds)) => {}
        ended = interruption::<()>() => drop(ended),
    }
    Ok(())
}
