//! Which planes and which fedhub a command is about.

use std::path::PathBuf;

use fedhub_e2e::progress::Progress;
use fedhub_e2e::{fedhub, servers};

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
            fedhub_arguments: Vec::new(),
            reuse: false,
            replace: false,
            progress: Progress::stderr(),
        }
    }
}
