//! `demo`: fedhub at work on real planes, step by step.

use std::process::ExitCode;

use clap::Parser;
use fedhub_e2e::{
    demo::{self, DEFAULT_NAME, Error, Options},
    progress::Progress,
};

/// Shows fedhub at work: two projects, a Karmada hub and two cells as real processes on this machine.
#[derive(Parser)]
#[command(name = "demo")]
struct Arguments {
    /// The instance of the planes.
    #[arg(long, default_value = DEFAULT_NAME)]
    name: String,
    /// Take everything down after the last step. Exit code 0 only if every step was seen.
    #[arg(long)]
    once: bool,
    /// Only end what is left of an instance: fedhub and the planes.
    #[arg(long, conflicts_with = "once")]
    down: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { name, once, down } = Arguments::parse();
    let done = if down {
        demo::down(&name).await.map_err(Error::from).map(|ended| {
            Progress::stderr()
                .step(format!("instance `{name}` is down: {ended} processes of its planes ended"));
        })
    } else {
        demo::run(&Options { name, once }).await
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Interrupted) => ExitCode::from(130),
        Err(error) => {
            eprintln!("demo: {error}");
            ExitCode::FAILURE
        }
    }
}
