//! Which planes and which fedhub a command is about.

use std::path::PathBuf;

use fedhub_e2e::output::say;
use fedhub_e2e::progress::Progress;
use fedhub_e2e::topology::Layout;
use fedhub_e2e::topology::planes::Cells;
use fedhub_e2e::{fedhub, servers};

/// The flag of every command that does something to planes that run.
#[derive(clap::Args)]
pub struct Instance {
    /// The instance.
    #[arg(long = "name", env = "E2E_INSTANCE")]
    pub instance: String,
}

/// The flags of every command that brings planes and fedhub up.
#[derive(clap::Args)]
pub struct Target {
    /// The instance of the planes [default: a name of this run's own].
    #[arg(long, value_name = "INSTANCE")]
    pub name: Option<String>,
    /// The fedhub to test [default: the one beside this program].
    #[arg(long, value_name = "PATH")]
    pub fedhub: Option<PathBuf>,
    /// Leave everything that was started running, for a look; `e2e down` ends it.
    #[arg(long)]
    pub keep: bool,
}

impl Target {
    /// Fresh planes, and fedhub as its Deployment has it.
    pub fn servers(&self) -> servers::Options {
        servers::Options {
            name: self.name.clone().unwrap_or_else(|| format!("e2e-{}", std::process::id())),
            fedhub: self.fedhub.clone().unwrap_or_else(|| fedhub::Options::new().program),
            cells: Cells::default(),
            fedhub_arguments: Vec::new(),
            reuse: false,
            replace: false,
            progress: Progress::stderr(),
        }
    }
}

/// Prints what logs and audit logs say against a run.
pub fn print(complaints: &[String]) {
    for complaint in complaints {
        say(complaint);
    }
}

/// Takes planes and fedhub down, or keeps them. With `evidence`, logs and audit logs stay.
pub async fn leave(servers: &servers::Options, keep: bool, evidence: bool) -> anyhow::Result<()> {
    let servers::Options { name, progress, .. } = servers;
    if !Layout::from_name(name)?.root().is_dir() {
        return Ok(());
    }
    if keep {
        progress.step(format!("instance `{name}` keeps running; `e2e down --name {name}` ends it"));
    } else {
        servers::down(name, evidence).await?;
        progress.step(format!("instance `{name}` is down"));
    }
    Ok(())
}
