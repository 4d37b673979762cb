//! `fedhub explain`: where a WD, those of a Workload, or an Instance is on its way, and why. Reads only, and
//! asks no fedhub (U4).
//!
//! `read` reads the objects of the chain into a plain struct (`chain`); `diagnose` decides on it alone, by
//! what fedhub's own plans say of it (`plans`, `rollout`); `rows` and `output` print it.

mod args;
mod cause;
mod chain;
mod diagnose;
mod hop;
mod output;
mod plans;
mod read;
mod rollout;
mod rows;
mod workload;

use std::process::ExitCode;

use crate::common::{misuse, perform};
use crate::operator::recording::Snapshot;
use args::{Asked, exit_code};
pub use args::{ExplainArgs, KindArg};
pub use cause::Cause;
pub use chain::{Chain, Subject, SubjectKind};
pub use diagnose::{State, diagnose};
pub use hop::Hop;
use output::Explained;
pub use output::{verdict, words};
pub use read::{ProjectPlane, Request, RolloutSource, read};
pub use rollout::{Rollout, Surroundings, decide};
pub use rows::{Row, rows};

/// Reads, decides and prints.
pub fn main(args: &ExplainArgs) -> ExitCode {
    if args.from.is_none()
        && let Some(code) = misuse(&args.sources.faults())
    {
        return code;
    }
    perform(async {
        let snapshot = args.from.as_deref().map(Snapshot::read).transpose()?;
        let asked = Asked { args, snapshot };
        match args.kind {
            KindArg::Workload => Box::pin(workload::explain(&asked)).await,
            KindArg::WorkloadDeployment => one(&asked, SubjectKind::WorkloadDeployment).await,
            KindArg::Instance => one(&asked, SubjectKind::Instance).await,
        }
    })
}

async fn one(asked: &Asked<'_>, kind: SubjectKind) -> anyhow::Result<ExitCode> {
    let chain = Box::pin(read(asked.request(kind, &asked.args.name)?)).await;
    let explained = Explained { diagnosis: diagnose(&chain), chain };
    asked.args.output.print(&explained)?;
    Ok(exit_code(diagnose::is_unreadable(&explained.chain), explained.diagnosis.state.is_trouble()))
}

/// Chains that were read, for tests of what shows them.
#[cfg(test)]
pub mod fixtures {
    pub use super::diagnose::tests::chain_of;
}
