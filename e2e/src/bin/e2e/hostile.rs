//! `e2e hostile`: a plane behind a server that plays tricks.

use std::path::PathBuf;
use std::time::Duration;

use fedhub_e2e::hostile;
use fedhub_e2e::interruption::interruption;
use fedhub_e2e::output::say;
use fedhub_e2e::topology::Layout;

use crate::target::Instance;

/// Which plane.
#[derive(clap::Args)]
pub struct Hostile {
    /// The plane that it passes requests on to.
    #[arg(long)]
    plane: String,
    /// fedhub's kubeconfig for the plane by way of this server, to be written.
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// After how many seconds it ends by itself.
    #[arg(long = "for", default_value_t = 1800, value_name = "SECONDS")]
    seconds: u64,
    #[command(flatten)]
    instance: Instance,
}

/// Serves until it is asked to end.
pub async fn run(arguments: Hostile) -> anyhow::Result<()> {
    let Hostile { plane, kubeconfig, seconds, instance } = arguments;
    let layout = Layout::from_name(&instance.instance)?;
    let hostile = hostile::Hostile::listen(&layout, &plane, &kubeconfig).await?;
    say(hostile.control());
    tokio::select! {
        () = hostile.serve() => {}
        () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
        ended = interruption::<()>() => drop(ended),
    }
    Ok(())
}
