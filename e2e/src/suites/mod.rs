//! The chainsaw suites of `e2e/suites`, run against real planes with fedhub beside them, and one in each
//! cell.
//!
//! What a script of a suite finds in its environment:
//!
//! | variable | meaning |
//! |---|---|
//! | `E2E`, `E2E_INSTANCE` | this program and the instance: `"$E2E" fedhub restart`, `"$E2E" writes --since ...` |
//! | `KUBECONFIGS` | directory with `<plane>.yaml` for every plane; `KUBECONFIG` is that of the operation's cluster |
//! | `FEDHUB_URL`, `FEDHUB_LOG` | where fedhub answers `/metrics`; what it writes. The logs of the others are beside it |
//! | `CELLS` | directory with the cell role's kubeconfig for every plane; `hub-<cell>.yaml` is that of a cell for the hub |
//! | `PREVIOUS_RELEASE` | fedhub's previous release, for suites that say that they need it; else empty |
//! | `COLLECTOR` | the OpenTelemetry Collector, likewise |
//! | `TMUX_PROGRAM`, `TMUX_LIBRARIES` | tmux and the directories of its libraries, likewise |
//! | `BASH_COMPLETION`, `FISH`, `ZSH` | the directories that these packages are unpacked in, likewise |
//! | `PATH` | begins with the directories of the planes' own `kubectl` and of the users' command line, also as its plugin |

mod catalog;
mod chainsaw;
mod output;
pub mod rights;
pub mod writes;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use catalog::{Suite, all, choose};
pub use chainsaw::Ran;
pub use output::Result as SuiteResult;

use crate::fedhub::{Fedhub, chain};
use crate::progress::Progress;
use crate::tools::{self, Tool};
use crate::topology::Planes;
use crate::{Error, servers};

/// What every suite is run with, made once before any runs.
pub struct Toolbox {
    chainsaw: PathBuf,
    kubernetes: PathBuf,
    programs: chainsaw::Programs,
    parallel: usize,
    timeout: Duration,
}

impl Toolbox {
    /// Makes what these suites need. Returns those that can run, too: a clone without the commit of the
    /// previous release cannot build it, which skips the suite that needs it, and is said. At most `parallel`
    /// suites run at once on an instance, and an operation of a suite may take so long; every suite awaits
    /// conditions and is as quick as they are.
    pub async fn prepare(
        suites: &[Suite],
        parallel: usize,
        timeout: Duration,
        progress: &Progress,
    ) -> Result<(Self, Vec<Suite>), Error> {
        let chainsaw = tools::ensure(Tool::Chainsaw, progress).await?.program("chainsaw");
        let kubernetes = tools::ensure(Tool::Kubernetes, progress).await?.dir().to_owned();
        let mut programs = chainsaw::Programs::default();
        let mut able = Vec::new();
        'suites: for suite in suites {
            for tool in suite.needs.iter().copied() {
                match tools::ensure(tool, progress).await {
                    Ok(built) => programs.keep(tool, &built),
                    Err(error @ Error::NotInHistory { .. }) => {
                        progress.warn(format!("SKIP {}: {error}", suite.name));
                        continue 'suites;
                    }
                    Err(error) => return Err(error),
                }
            }
            able.push(suite.clone());
        }
        Ok((Self { chainsaw, kubernetes, programs, parallel, timeout }, able))
    }
}

/// An instance of the planes with fedhub and what makes the chain whole, on which suites run. Dropping it
/// leaves everything running; [`servers::down`] ends it.
pub struct Stage<'a> {
    toolbox: &'a Toolbox,
    planes: Planes,
    fedhub: Fedhub,
    this: PathBuf,
    command_line: PathBuf,
    progress: &'a Progress,
}

impl<'a> Stage<'a> {
    /// Brings it up, or finds it as an earlier run left it.
    pub async fn up(toolbox: &'a Toolbox, servers: &'a servers::Options) -> Result<Self, Error> {
        let (planes, fedhub) = servers::up(servers).await?;
        Ok(Self {
            toolbox,
            this: servers::copied(&planes, Path::new("/proc/self/exe"), "e2e")?,
            command_line: servers::command_line(&planes, servers)?,
            planes,
            fedhub,
            progress: &servers.progress,
        })
    }

    /// The planes.
    pub fn planes(&self) -> &Planes {
        &self.planes
    }

    /// Runs suites together.
    pub async fn run(&self, suites: &[Suite]) -> Result<Vec<Ran>, Error> {
        // A suite that failed between a stop and a start must not take the next ones with it.
        self.fedhub.restore().await?;
        chain::start(self.planes.layout()).await?;
        if suites.iter().any(|suite| suite.alone) {
            // What others left may still be rolling out, and would be part of what this one looks at.
            if let Err(error) = self.fedhub.settled().await {
                self.progress.warn(format!("{}: begins while fedhub is at work: {error}", suites[0].name));
            }
        }
        let context = chainsaw::Context {
            chainsaw: &self.toolbox.chainsaw,
            this: &self.this,
            path: [&self.toolbox.kubernetes, &self.command_line],
            planes: &self.planes,
            fedhub_url: self.fedhub.url(),
            programs: &self.toolbox.programs,
            parallel: self.toolbox.parallel,
            timeout: self.toolbox.timeout,
            progress: self.progress,
        };
        chainsaw::run(&context, suites).await
    }
}
