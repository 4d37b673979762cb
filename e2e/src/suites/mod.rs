//! The chainsaw suites of `e2e/suites`, run against real planes with fedhub beside them, and one in each cell.
//!
//! What a script of a suite finds in its environment:
//!
//! | variable | meaning |
//! |---|---|
//! | `E2E`, `E2E_INSTANCE` | this program and the instance: `"$E2E" fedhub restart`, `"$E2E" writes --since ...` |
//! | `KUBECONFIGS` | directory with `<plane>.yaml` for every plane; `KUBECONFIG` is that of the operation's cluster |
//! | `FEDHUB_URL`, `FEDHUB_LOG` | where fedhub answers `/metrics`; what it writes. The logs of the others are beside it |
//! | `CELLS` | directory with the cell role's kubeconfig for every plane |
//! | `PATH` | begins with the directory of the planes' own `kubectl` |

mod catalog;
mod chainsaw;
mod output;
pub mod writes;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

pub use catalog::{Suite, all, choose};
pub use output::Result as SuiteResult;

use crate::{
    Error,
    fedhub::{self, Fedhub, chain},
    planes::{self, Layout, Planes},
    progress::Progress,
    tools::{self, Tool},
};

/// How long a policy has to be unused before it goes, in place of fedhub's ten seconds: suites wait for it.
const POLICY_QUIET_TIME: &str = "2s";

/// What to run and against what.
#[derive(Debug, Clone)]
pub struct Options {
    /// The suites.
    pub suites: Vec<Suite>,
    /// The instance of the planes.
    pub name: String,
    /// fedhub's program.
    pub fedhub: PathBuf,
    /// Flags of `fedhub run` besides the usual ones.
    pub fedhub_arguments: Vec<String>,
    /// How many suites run at once.
    pub parallel: usize,
    /// How long an operation of a suite may take. Every suite awaits conditions and is as quick as they are.
    pub timeout: Duration,
    /// Whether an instance that is up, and the fedhub beside it, are used as they are.
    pub reuse: bool,
    /// Whether a fedhub that runs beside such an instance is replaced nevertheless.
    pub replace: bool,
    /// Where it says what it does.
    pub progress: Progress,
}

/// Brings the planes up, starts fedhub and what makes the chain whole, and runs the suites: together those that can be,
/// then the others one by one. Everything is left running; [`down`] ends it, whatever became of this.
pub async fn run(options: &Options) -> Result<Vec<SuiteResult>, Error> {
    let progress = &options.progress;
    let chainsaw = tools::ensure(Tool::Chainsaw, progress).await?;
    let kubernetes = tools::ensure(Tool::Kubernetes, progress).await?;
    let (planes, fedhub) = servers(options).await?;
    let context = chainsaw::Context {
        chainsaw: chainsaw.program("chainsaw"),
        this: copied(&planes, Path::new("/proc/self/exe"), "e2e")?,
        programs: kubernetes.dir().to_owned(),
        planes: &planes,
        fedhub_url: fedhub.url(),
        parallel: options.parallel,
        timeout: options.timeout,
        progress,
    };
    let mut results = Vec::new();
    let (alone, together): (Vec<_>, Vec<_>) = options.suites.iter().cloned().partition(|suite| suite.alone);
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

async fn servers(options: &Options) -> Result<(Planes, Fedhub), Error> {
    let progress = &options.progress;
    if options.reuse {
        let planes = Planes::load(&options.name)?;
        if let (false, Ok(fedhub)) = (options.replace, Fedhub::load(planes.layout())) {
            fedhub.restore().await?;
            progress.step("fedhub runs");
            return Ok((planes, fedhub));
        }
        let fedhub = start(options, &planes).await?;
        return Ok((planes, fedhub));
    }
    // Of an earlier run that was killed.
    fedhub::end(&Layout::of(&options.name)?).await?;
    let up = planes::Options { progress: progress.clone(), ..planes::Options::new(&options.name) };
    let planes = Planes::up(&up).await?;
    let fedhub = start(options, &planes).await?;
    Ok((planes, fedhub))
}

async fn start(options: &Options, planes: &Planes) -> Result<Fedhub, Error> {
    let program = copied(planes, &options.fedhub, "fedhub")?;
    let mut arguments = vec![format!("--policy-quiet-time={POLICY_QUIET_TIME}")];
    arguments.extend(options.fedhub_arguments.iter().cloned());
    let how = fedhub::Options { program, arguments };
    let fedhub = Fedhub::start(planes.layout(), &how).await?;
    options.progress.step("fedhub is ready");
    Ok(fedhub)
}

/// A copy of a program is run: a build meanwhile must not change what a restart or a script starts.
fn copied(planes: &Planes, program: &Path, name: &str) -> Result<PathBuf, Error> {
    let scratch = planes.layout().scratch("programs");
    fs::create_dir_all(&scratch).map_err(Error::file("create", &scratch))?;
    let copy = scratch.join(name);
    // One that runs cannot be written to, but its name can be given to another.
    let _ = fs::remove_file(&copy);
    fs::copy(program, &copy).map_err(Error::file("copy", program))?;
    Ok(copy)
}

/// Ends fedhub and the planes of an instance. With `evidence`, logs and audit logs stay.
pub async fn down(name: &str, evidence: bool) -> Result<(), Error> {
    let layout = Layout::of(name)?;
    let ended = fedhub::end(&layout).await;
    planes::down(name).await?;
    ended?;
    if !evidence && layout.root().is_dir() {
        layout.wipe()?;
        // Nothing but the lock is in it now, unless somebody put it there.
        let _ = fs::remove_file(layout.root().join("lock"));
        let _ = fs::remove_dir(layout.root());
    }
    Ok(())
}
