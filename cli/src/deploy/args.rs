//! The flags of `deploy`, and what they ask for.

use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;

use super::document::{self, Document};
use super::fault::Fault;
use super::flags::Flags;
use super::plan::Wanted;
use crate::args::names;
use crate::problem::Problem;
use crate::rollout::WaitArgs;

/// The flags of `deploy`.
#[derive(Debug, clap::Args)]
pub struct DeployArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD", value_parser = names::workload, conflicts_with = "file")]
    pub name: Option<String>,
    /// What it is to be.
    #[command(flatten)]
    pub flags: Flags,
    /// File with one or more workloads, YAML or JSON; - is standard input. It says the whole spec.
    #[arg(short, long, value_name = "FILE")]
    pub file: Vec<PathBuf>,
    /// Answer yes to all questions.
    #[arg(short, long)]
    pub yes: bool,
    /// Say what would change, and change nothing: by what is known here, or as the server finds it.
    #[arg(long, value_enum, value_name = "client|server", hide_possible_values = true)]
    pub dry_run: Option<DryRun>,
    /// Whether to wait for the rollout.
    #[command(flatten)]
    pub wait: WaitArgs,
    /// Save the workload to this file, in place of workload.yaml.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "no_save"])]
    pub save: Option<PathBuf>,
    /// Save no file.
    #[arg(long)]
    pub no_save: bool,
}

impl DeployArgs {
    /// Whether something is changed: a dry run changes nothing.
    pub fn writes(&self) -> bool {
        self.dry_run.is_none()
    }
}

/// Who is asked what would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DryRun {
    /// This program alone.
    Client,
    /// The server, which checks it and stores nothing.
    Server,
}

/// The Workloads to deploy.
pub enum Asked<'a> {
    /// A workload by name and flags.
    Flags(&'a str, &'a Flags),
    /// Workloads of files, at least one.
    Documents(Vec<Document>),
}

impl Asked<'_> {
    /// Checks that documents name no other namespace than the one that commands work in.
    pub fn check(&self, namespace: &str) -> Result<(), Problem> {
        let faults: Vec<Fault> = match self {
            Self::Flags(..) => Vec::new(),
            Self::Documents(documents) => documents.iter().filter_map(|it| it.misplaced(namespace)).collect(),
        };
        if faults.is_empty() { Ok(()) } else { Err(refused(&faults)) }
    }

    /// Returns the Workloads, one after another.
    pub fn wanted(&self) -> Vec<Wanted<'_>> {
        match self {
            Self::Flags(name, flags) => vec![Wanted::Flags(name, flags)],
            Self::Documents(documents) => documents.iter().map(Wanted::Document).collect(),
        }
    }
}

/// Reads what the flags ask for, with all files read and checked as far as that can be done without a
/// project. `command` makes an example of a command line.
pub async fn asked(args: &DeployArgs, command: impl Fn(&str) -> String) -> Result<Asked<'_>, Problem> {
    if let (Some(name), true) = (&args.name, args.file.is_empty()) {
        return Ok(Asked::Flags(name, &args.flags));
    }
    if args.file.is_empty() {
        let by_flags = command("deploy WORKLOAD --image IMAGE --city CITY");
        let by_file = command("deploy -f workload.yaml");
        return Err(Problem::usage("It is not said what to deploy.")
            .remedy(format!("Name a workload, as in `{by_flags}`, or a file, as in `{by_file}`.")));
    }
    let mut documents = Vec::new();
    let mut faults = Vec::new();
    for file in &args.file {
        let (source, text) = read(file).await?;
        match document::read(&source, &text) {
            Ok(read) => documents.extend(read),
            Err(wrong) => faults.extend(wrong),
        }
    }
    faults.extend(document::distinct(&documents));
    if faults.is_empty() { Ok(Asked::Documents(documents)) } else { Err(refused(&faults)) }
}

/// The faults of a command line or a file: nothing was sent.
pub fn refused(faults: &[Fault]) -> Problem {
    let lines: Vec<_> = faults.iter().map(Fault::to_string).collect();
    let sentence = match &lines[..] {
        [line] => format!("Nothing was sent: {line}."),
        lines => format!("Nothing was sent:\n  {}", lines.join("\n  ")),
    };
    Problem::usage(sentence)
}

/// Reads a file on a thread of its own, so that Ctrl-C ends the command while a terminal or a pipe is silent.
async fn read(file: &Path) -> Result<(String, String), Problem> {
    let is_input = file == Path::new("-");
    let source = if is_input { "standard input".to_owned() } else { file.display().to_string() };
    let file = file.to_owned();
    let text = spawn_blocking(move || {
        if is_input { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(file) }
    });
    let text = text.await.unwrap_or_else(|error| Err(error.into()));
    match text {
        Ok(text) => Ok((source, text)),
        Err(error) => Err(Problem::usage(format!("Could not read {source}: {error}."))),
    }
}
