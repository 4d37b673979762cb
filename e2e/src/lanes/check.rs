//! What runs on planes of its own beside the suites: the alerts, the status page, the kills.

use std::time::Instant;

use super::report::Done;
use crate::topology::Layout;
use crate::{Error, alerts, chaos, evidence, servers, status_page};

/// A check that brings its own planes up and takes them down again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Kills at random moments of rollouts.
    Chaos {
        /// How many.
        kills: usize,
        /// From what victims and moments are drawn.
        seed: u64,
        /// How many Instances each city has.
        replicas: u32,
    },
    /// Alerts and dashboards on a real Prometheus.
    Alerts,
    /// The status page in a real browser.
    Page,
}

impl Check {
    /// Its name, which its instance has at its end.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chaos { .. } => "chaos",
            Self::Alerts => "alerts",
            Self::Page => "page",
        }
    }

    /// Runs it. An instance that something failed on leaves its logs.
    pub async fn run(self, servers: &servers::Options) -> Result<Done, Error> {
        let begun = Instant::now();
        let (mut complaints, line) = match self.check(servers).await {
            Ok(line) => (Vec::new(), line),
            Err(error) => (vec![error.to_string()], String::new()),
        };
        let instance = [Layout::from_name(&servers.name)?];
        complaints.extend(evidence::leaks(&instance)?);
        if self == Self::Page {
            // The page reads with rights that `deploy/` grants; the others need none that the suites do not
            // need.
            complaints.extend(evidence::missing_rights(&instance)?);
        }
        let passed = complaints.is_empty();
        servers::down(&servers.name, !passed).await?;
        if passed {
            servers.progress.step(format!("PASS {}", self.name()));
        } else {
            servers.progress.warn(format!("FAIL {}:\n{}", self.name(), complaints.join("\n")));
        }
        let lines = if line.is_empty() { Vec::new() } else { vec![line] };
        Ok(Done {
            name: self.name().to_owned(),
            is_suite: false,
            passed,
            begun,
            time: begun.elapsed(),
            lines,
        })
    }

    /// The line that says how it went.
    async fn check(self, servers: &servers::Options) -> Result<String, Error> {
        match self {
            Self::Chaos { kills, seed, replicas } => {
                let options = chaos::Options { servers: servers.clone(), kills, seed, replicas };
                let report = chaos::run(&options).await?;
                match &report.failure {
                    None => Ok(report.summary()),
                    Some(failure) => Err(Error::Chaos(format!("{failure}\n{}", report.summary()))),
                }
            }
            Self::Alerts => {
                alerts::run(servers).await?;
                Ok("alerts and dashboards: passed".to_owned())
            }
            Self::Page => {
                status_page::run(servers, None).await?;
                Ok("status page: passed".to_owned())
            }
        }
    }
}
