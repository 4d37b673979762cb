//! The chainsaw suites of `e2e/suites`, run against real planes with fedhub beside them, and one in each cell.
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
//! | `PATH` | begins with the directories of the planes' own `kubectl` and of the users' command line, also as its plugin |

mod catalog;
mod chainsaw;
mod output;
pub mod rights;
pub mod writes;

use std::path::Path;
use std::time::Duration;

pub use catalog::{Suite, all, choose};
pub use output::Result as SuiteResult;

use crate::fedhub::chain;
use crate::tools::{self, Tool};
use crate::{Error, servers};

/// What to run and against what.
#[derive(Debug, Clone)]
pub struct Options {
    /// The suites.
    pub suites: Vec<Suite>,
    /// Against what.
    pub servers: servers::Options,
    /// How many suites run at once.
    pub parallel: usize,
    /// How long an operation of a suite may take. Every suite awaits conditions and is as quick as they are.
    pub timeout: Duration,
}

/// Brings the planes up, starts fedhub and what makes the chain whole, and runs the suites: together those that can be,
/// then the others one by one. Everything is left running; [`servers::down`] ends it, whatever became of this.
pub async fn run(options: &Options) -> Result<Vec<SuiteResult>, Error> {
    let progress = &options.servers.progress;
    let chainsaw = tools::ensure(Tool::Chainsaw, progress).await?;
    let kubernetes = tools::ensure(Tool::Kubernetes, progress).await?;
    let (suites, programs) = with_programs(options).await?;
    let (planes, fedhub) = servers::up(&options.servers).await?;
    let context = chainsaw::Context {
        chainsaw: chainsaw.program("chainsaw"),
        this: servers::copied(&planes, Path::new("/proc/self/exe"), "e2e")?,
        path: [kubernetes.dir().to_owned(), servers::command_line(&planes, &options.servers)?],
        planes: &planes,
        fedhub_url: fedhub.url(),
        programs,
        parallel: options.parallel,
        timeout: options.timeout,
        progress,
    };
    let mut results = Vec::new();
    let (alone, together): (Vec<_>, Vec<_>) = suites.into_iter().partition(|suite| suite.alone);
    for batch in std::iter::once(together).chain(alone.into_iter().map(|suite| vec![suite])) {
        if batch.is_empty() {
            continue;
        }
        // A suite that failed between a stop and a start must not take the next ones with it.
        fedhub.restore().await?;
        chain::start(planes.layout()).await?;
        results.extend(chainsaw::run(&context, &batch).await?);
    }
    Ok(results)
}

/// The suites that can run, and the programs that they need. A clone without the commit of the previous release cannot
/// build it: that skips what needs it, which is said.
async fn with_programs(options: &Options) -> Result<(Vec<Suite>, chainsaw::Programs), Error> {
    let progress = &options.servers.progress;
    let (mut suites, mut programs) = (Vec::new(), chainsaw::Programs::default());
    for suite in &options.suites {
        let Some(tool) = suite.needs else {
            suites.push(suite.clone());
            continue;
        };
        match tools::ensure(tool, progress).await {
            Ok(built) => {
                programs.keep(tool, &built);
                suites.push(suite.clone());
            }
            Err(error @ Error::NotInHistory { .. }) => {
                progress.warn(format!("SKIP {}: {error}", suite.name));
            }
            Err(error) => return Err(error),
        }
    }
    Ok((suites, programs))
}
