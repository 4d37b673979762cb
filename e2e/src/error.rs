//! Everything that can go wrong between "no binaries yet" and "the planes are usable".

use std::io;
use std::path::PathBuf;

/// An error of the harness. Each says what failed and, where a log has more, the path of that log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory could not be used.
    #[error("cannot {action} {path}: {cause}")]
    File {
        /// What was attempted, as a verb.
        action: &'static str,
        /// The file it was attempted on.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// The Go toolchain is needed to know (and build) the binaries.
    #[error("`go` was not found: install Go 1.26 or newer (https://go.dev/dl) and put it on the PATH")]
    GoMissing,
    /// Prometheus and Alertmanager are unpacked from Debian packages.
    #[error(
        "`{program}` was not found, and `{tool}` comes from the Debian package of that name: install `{program}` (Debian and \
         Ubuntu have it), or put a directory with its programs at {example}"
    )]
    DebianMissing {
        /// The program that is missing.
        program: &'static str,
        /// The tool that was to be fetched.
        tool: &'static str,
        /// Where the cache would hold it.
        example: PathBuf,
    },
    /// A Debian package does not hold what it is fetched for.
    #[error("the Debian package {package} has no usr/bin/{program}")]
    DebianPackage {
        /// The package, with its version.
        package: String,
        /// The program that it lacks.
        program: &'static str,
    },
    /// The clone does not hold a commit that is to be built: it is shallow.
    #[error(
        "this clone does not hold commit {commit}, which {} names: fetch the whole history (`git fetch --unshallow`)",
        path.display()
    )]
    NotInHistory {
        /// The commit.
        commit: String,
        /// The file that names it.
        path: PathBuf,
    },
    /// A command that the harness ran said no.
    #[error("`{command}` failed ({status}):\n{output}")]
    Command {
        /// The command line, shortened to its first words.
        command: String,
        /// How it ended.
        status: String,
        /// The end of what it wrote.
        output: String,
    },
    /// A pinned module's description is not what this harness expects.
    #[error("{path}: {problem}")]
    Pin {
        /// The file with the pin.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// An instance name that could escape its directory or not be a file name.
    #[error("`{0}` is not a valid instance name: 1 to 40 of a-z, 0-9 and `-`")]
    InstanceName(String),
    /// Another command is at work on this instance.
    #[error("another `planes` command holds {0}; wait for it or end it")]
    Locked(PathBuf),
    /// Nothing runs under this name.
    #[error("instance `{0}` is not up: run `planes up --name {0}`")]
    NotUp(String),
    /// Suites need more cells than the instance has that they were to run on.
    #[error(
        "instance `{instance}` has {found} cells, and {needed} are needed: run `planes up --cells {needed}`, or leave the \
         instance to the suites"
    )]
    FewCells {
        /// The instance.
        instance: String,
        /// How many it has.
        found: usize,
        /// How many are needed.
        needed: usize,
    },
    /// There is no plane or process of this name.
    #[error("no {kind} is called `{name}`; known: {known}")]
    Unknown {
        /// What was looked for.
        kind: &'static str,
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Too few free ports are left below the ephemeral range.
    #[error("no free port left between {from} and {to}")]
    NoPorts {
        /// First port tried.
        from: u16,
        /// Last port tried.
        to: u16,
    },
    /// A program of ours found its port in use: another process took it between our check and its start.
    #[error("{process} found its port in use (log: {log})")]
    PortTaken {
        /// The process.
        process: String,
        /// Its log.
        log: PathBuf,
    },
    /// A program of ours ended although it should serve.
    #[error("{process} ended; the end of {log}:\n{tail}")]
    ProcessEnded {
        /// The process.
        process: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// A condition did not come true in time.
    #[error("waited {seconds} s for {what}; last answer: {last}")]
    Timeout {
        /// The condition.
        what: String,
        /// How long it was awaited.
        seconds: u64,
        /// What the last look at it gave.
        last: String,
    },
    /// An API server refused a request.
    #[error("{action}: {cause}")]
    Api {
        /// What was asked of which plane.
        action: String,
        /// The answer.
        cause: Box<kube::Error>,
    },
    /// A kubeconfig of ours could not be read.
    #[error("kubeconfig {path}: {cause}")]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: Box<kube::config::KubeconfigError>,
    },
    /// A manifest is not what an API server would take.
    #[error("manifest {path}: {problem}")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A benchmark saw what it cannot measure by.
    #[error("{0}")]
    Benchmark(String),
    /// What chaos left is not as it should be.
    #[error("{0}")]
    Chaos(String),
    /// An alert or a dashboard is not as it should be.
    #[error("{0}")]
    Alerts(String),
    /// The status page is not as it should be, or the browser that shows it fails.
    #[error("{0}")]
    Page(String),
    /// A background task ended without an answer.
    #[error("a background task failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

impl Error {
    /// Wraps an I/O error with what was attempted on which file.
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::File { action, path, cause }
    }

    /// Wraps an API error with what was asked.
    pub(crate) fn api(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let action = action.into();
        move |error| Self::Api { action, cause: Box::new(error) }
    }
}
