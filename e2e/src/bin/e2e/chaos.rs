//! `e2e chaos`: kills processes at random moments of rollouts.

use std::process::ExitCode;

use fedhub_e2e::interruption::interruption;
use fedhub_e2e::lanes::Check;
use fedhub_e2e::output::say;
use fedhub_e2e::topology::Layout;
use fedhub_e2e::{chaos, evidence};
use jiff::Timestamp;

use crate::target::{self, Target};

/// What to kill, how often, and what is rolled out meanwhile.
#[derive(clap::Args)]
pub struct Rounds {
    /// How many times a process is killed.
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    kills: u16,
    /// What the victims and the moments are drawn from [default: another one each time; it is printed].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many Instances there are in each of the two cities.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    replicas: u32,
}

impl Rounds {
    /// What runs beside the suites.
    pub fn check(&self) -> Check {
        Check::Chaos { kills: usize::from(self.kills), seed: self.seed(), replicas: self.replicas }
    }

    fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(some_seed)
    }
}

/// Kills on planes of their own.
#[derive(clap::Args)]
pub struct Chaos {
    #[command(flatten)]
    rounds: Rounds,
    #[command(flatten)]
    target: Target,
}

/// Kills, and waits for the recovery. Exit code 1 where something did not recover.
pub async fn run(arguments: Chaos) -> anyhow::Result<ExitCode> {
    let target = arguments.target;
    let options = chaos::Options {
        servers: target.servers(),
        kills: usize::from(arguments.rounds.kills),
        seed: arguments.rounds.seed(),
        replicas: arguments.rounds.replicas,
    };
    let done = tokio::select! {
        done = chaos::run(&options) => done.map_err(anyhow::Error::from),
        interrupted = interruption() => interrupted,
    };
    let leaks = evidence::leaks(&[Layout::from_name(&options.servers.name)?])?;
    let recovered = leaks.is_empty() && done.as_ref().is_ok_and(|report| report.failure.is_none());
    target::leave(&options.servers, target.keep, target.name.is_some() || !recovered).await?;
    target::print(&leaks);
    let report = done?;
    if let Some(failure) = &report.failure {
        say(failure);
    }
    say(report.summary());
    Ok(if recovered { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Short enough to be typed.
fn some_seed() -> u64 {
    u64::from(Timestamp::now().subsec_nanosecond().unsigned_abs()) % 100_000
}
