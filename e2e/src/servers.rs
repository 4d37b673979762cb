//! Planes with fedhub beside them: brought up, or found as an earlier run left them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::fedhub::{self, Fedhub};
use crate::progress::Progress;
use crate::topology::planes::Cells;
use crate::topology::{self, Layout, Planes};

/// How long a policy has to be unused before it goes, in place of fedhub's ten seconds: suites wait for it.
const POLICY_GC_DELAY: &str = "2s";

/// The users' command line, by its own name.
const COMMAND_LINE: &str = "datumctl-compute";
/// By the names that kubectl knows it by.
const HOSTS: [&str; 2] = ["kubectl-compute", "kubectl_complete-compute"];

/// What is to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The instance of the planes.
    pub name: String,
    /// Which cells its planes have.
    pub cells: Cells,
    /// fedhub's program.
    pub fedhub: PathBuf,
    /// Flags of `fedhub run` besides the usual ones.
    pub fedhub_arguments: Vec<String>,
    /// Whether an instance that is up, and the fedhub beside it, are used as they are.
    pub reuse: bool,
    /// Whether a fedhub that runs beside such an instance is replaced nevertheless.
    pub replace: bool,
    /// Where it says what it does.
    pub progress: Progress,
}

/// Brings the planes up and starts the hub's fedhub. Everything is left running; [`down`] ends it.
pub async fn up(options: &Options) -> Result<(Planes, Fedhub), Error> {
    let progress = &options.progress;
    if options.reuse {
        let planes = Planes::load(&options.name)?;
        if planes.cells() < options.cells {
            return Err(Error::FewCells {
                instance: options.name.clone(),
                found: planes.cells().count(),
                needed: options.cells.count(),
            });
        }
        if let (false, Ok(fedhub)) = (options.replace, Fedhub::load(planes.layout())) {
            fedhub.restore().await?;
            progress.step("fedhub runs");
            return Ok((planes, fedhub));
        }
        let fedhub = start(options, &planes).await?;
        return Ok((planes, fedhub));
    }
    let up = topology::Options {
        cells: options.cells,
        progress: progress.clone(),
        ..topology::Options::new(&options.name)
    };
    let planes = Planes::up(&up, fedhub::end).await?;
    let fedhub = start(options, &planes).await?;
    Ok((planes, fedhub))
}

async fn start(options: &Options, planes: &Planes) -> Result<Fedhub, Error> {
    for simulated in fedhub::SIMULATED {
        copied(planes, &fedhub::beside(&options.fedhub, simulated), simulated)?;
    }
    let program = copied(planes, &options.fedhub, "fedhub")?;
    let mut arguments = vec![format!("--policy-gc-delay={POLICY_GC_DELAY}")];
    arguments.extend(options.fedhub_arguments.iter().cloned());
    let how = fedhub::Options { program, arguments };
    let fedhub = Fedhub::start(planes.layout(), &how).await?;
    options.progress.step("fedhub is ready");
    Ok(fedhub)
}

/// A copy of a program is run: a build meanwhile must not change what a restart or a script starts.
pub(crate) fn copied(planes: &Planes, program: &Path, name: &str) -> Result<PathBuf, Error> {
    let scratch = planes.layout().scratch("programs");
    fs::create_dir_all(&scratch).map_err(Error::file("create", &scratch))?;
    let copy = scratch.join(name);
    // One that runs cannot be written to, but its name can be given to another.
    let _ = fs::remove_file(&copy);
    fs::copy(program, &copy).map_err(Error::file("copy", program))?;
    Ok(copy)
}

/// The directory with the users' command line, by the names of the hosts that start it.
pub(crate) fn command_line(planes: &Planes, options: &Options) -> Result<PathBuf, Error> {
    let program = copied(planes, &fedhub::beside(&options.fedhub, COMMAND_LINE), COMMAND_LINE)?;
    for host in HOSTS {
        let link = program.with_file_name(host);
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(COMMAND_LINE, &link).map_err(Error::file("create", &link))?;
    }
    Ok(program.parent().unwrap_or(planes.layout().root()).to_owned())
}

/// Ends fedhub and the planes of an instance. With `evidence`, logs and audit logs stay.
pub async fn down(name: &str, evidence: bool) -> Result<(), Error> {
    let layout = Layout::from_name(name)?;
    topology::down(name, fedhub::end).await?;
    if !evidence && layout.root().is_dir() {
        layout.wipe()?;
        // Nothing but the lock is left in it, unless another process put it there.
        let _ = fs::remove_file(layout.root().join("lock"));
        let _ = fs::remove_dir(layout.root());
    }
    Ok(())
}
