//! `e2e page`: the status page in a real browser.

use std::path::PathBuf;
use std::process::ExitCode;

use fedhub_e2e::interruption::interruption;
use fedhub_e2e::output::say;
use fedhub_e2e::progress::Progress;
use fedhub_e2e::topology::Layout;
use fedhub_e2e::topology::planes::Cells;
use fedhub_e2e::{evidence, fedhub, servers, status_page};

use crate::target;

/// What to look at.
#[derive(clap::Args)]
pub struct Page {
    /// Look at the pages that the unit tests wrote to this directory (`FEDHUB_STATUS_PAGES`) only, without
    /// planes.
    #[arg(long, value_name = "DIRECTORY", conflicts_with_all = ["name", "keep", "fedhub"])]
    pages: Option<PathBuf>,
    /// The instance of the planes [default: a name of this run's own].
    #[arg(long, value_name = "INSTANCE")]
    name: Option<String>,
    /// Leave planes and fedhub running, for a look; `e2e down` ends them.
    #[arg(long)]
    keep: bool,
    /// The fedhub to test [default: the one beside this program].
    #[arg(long, value_name = "PATH")]
    fedhub: Option<PathBuf>,
    /// Where the pictures go [default: the directory of the pages, or of the instance, which goes with it].
    #[arg(long, value_name = "DIRECTORY")]
    pictures: Option<PathBuf>,
}

/// Looks. Exit code 1 where a page is not as it should be.
pub async fn run(arguments: Page) -> anyhow::Result<ExitCode> {
    let progress = Progress::stderr();
    if let Some(pages) = arguments.pages {
        let pictures =
            status_page::look_at(&std::path::absolute(pages)?, arguments.pictures.as_deref(), &progress)
                .await?;
        say(format_args!("status page: passed; the pictures are in {}", pictures.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let named = arguments.name.is_some();
    let servers = servers::Options {
        name: arguments.name.unwrap_or_else(|| format!("e2e-{}", std::process::id())),
        cells: Cells::default(),
        fedhub: arguments.fedhub.unwrap_or_else(|| fedhub::Options::new().program),
        fedhub_arguments: Vec::new(),
        reuse: false,
        replace: false,
        progress,
    };
    let done = tokio::select! {
        done = status_page::run(&servers, arguments.pictures.as_deref()) => done.map_err(anyhow::Error::from),
        interrupted = interruption() => interrupted,
    };
    let instance = [Layout::from_name(&servers.name)?];
    let mut complaints = evidence::leaks(&instance)?;
    // What the page reads is read with rights that `deploy/` grants.
    complaints.extend(evidence::missing_rights(&instance)?);
    let passed = complaints.is_empty() && done.is_ok();
    target::leave(&servers, arguments.keep, named || !passed).await?;
    target::print(&complaints);
    done?;
    say(format_args!("status page: {}", if passed { "passed" } else { "failed" }));
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
