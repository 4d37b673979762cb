//! The alerts and dashboards of `deploy/` on a real Prometheus and a real Alertmanager.
//!
//! [`check`] runs promtool over the rules and their tests. [`run`] has Prometheus scrape fedhub beside real
//! planes, asks it every query of every dashboard and runbook, and pauses the API server of one cell: the
//! alert that names its city has to reach the webhook of Alertmanager, and no other; once the server goes on,
//! it has to be resolved.
//!
//! The rules are those of `deploy/`, with every `for:` divided by `rules::FASTER`.

mod dashboards;
mod expected;
mod rules;
mod runbooks;
mod servers;
mod webhook;

use std::fs;
use std::time::Duration;

use tokio::process::Command;

use self::rules::directory;
use self::servers::Monitoring;
use self::webhook::{Notification, Webhook};
use crate::chaos::fixture::Fixture;
use crate::fedhub::chain;
use crate::progress::Progress;
use crate::tools::{self, Built, Tool};
use crate::topology::Planes;
use crate::topology::planes::cells;
use crate::topology::wait::{NotYet, until};
use crate::{Error, servers as beside};

/// How long an alert may take to be fired or resolved: Karmada notices first.
const LIMIT: Duration = Duration::from_mins(4);
/// How long a dashboard may take to have its values.
const VALUES: Duration = Duration::from_mins(2);
/// The alert of a cell, and one that follows from it.
const UNREACHABLE: &str = "FedhubCellUnreachable";
const CONSEQUENCE: &str = "FedhubNoLeader";

/// Checks the rules and runs their tests, with promtool alone.
pub async fn check(progress: &Progress) -> Result<(), Error> {
    let prometheus = tools::ensure(Tool::Prometheus, progress).await?;
    let tests = directory().join("tests");
    let mut files = vec!["check".to_owned(), "rules".to_owned(), "rules.yaml".to_owned()];
    promtool(&prometheus, &files).await?;
    files = vec!["test".to_owned(), "rules".to_owned()];
    for entry in fs::read_dir(&tests).map_err(Error::file("list", &tests))?.flatten() {
        files.push(entry.path().display().to_string());
    }
    files[2..].sort();
    promtool(&prometheus, &files).await?;
    progress.step(format!("promtool: the rules are sound, and {} files of tests pass", files.len() - 2));
    Ok(())
}

async fn promtool(prometheus: &Built, arguments: &[String]) -> Result<(), Error> {
    let mut command = Command::new(prometheus.program("promtool"));
    command.args(arguments).current_dir(directory());
    tools::output(command).await.map(drop)
}

/// Brings everything up and tests it end to end. Everything is left running; [`beside::down`] ends it.
pub async fn run(options: &beside::Options) -> Result<(), Error> {
    let progress = &options.progress;
    check(progress).await?;
    // Before anything runs that would have to wait for it.
    tools::ensure(Tool::Alertmanager, progress).await?;
    let (planes, fedhub) = beside::up(options).await?;
    chain::start(planes.layout()).await?;
    let webhook = Webhook::listen().await?;
    let monitoring = Monitoring::start(&planes, webhook.port(), progress).await?;
    let test = Test { planes: &planes, webhook: &webhook, monitoring: &monitoring, progress };
    monitoring.scraped().await?;
    monitoring.evaluated().await?;
    progress.step("Prometheus scrapes every fedhub and evaluates the rules");

    let fixture = Fixture::from_planes(&planes).await?;
    fixture.make(1, "made").await?;
    fedhub.settled().await?;
    test.dashboards(&fixture).await?;
    test.runbooks().await?;
    test.silent("while nothing is wrong")?;
    test.unreachable_cell().await
}

struct Test<'a> {
    planes: &'a Planes,
    webhook: &'a Webhook,
    monitoring: &'a Monitoring,
    progress: &'a Progress,
}

impl Test<'_> {
    /// Every query of every dashboard gives what is expected of it, while something is rolled out.
    async fn dashboards(&self, fixture: &Fixture) -> Result<(), Error> {
        let queries = dashboards::all()?;
        expected::complete(&queries).map_err(Error::Alerts)?;
        let mut round = 0;
        for query in &queries {
            let expectation = expected::of(query).map_err(Error::Alerts)?;
            until(format!("{query} to have what is expected"), VALUES, || {
                round += 1;
                let round = round;
                let text = query.expression.clone();
                async move {
                    if round % 20 == 1 {
                        // Rates and quantiles need something that happens.
                        fixture.change(&format!("round {round}")).await?;
                    }
                    let samples = self.monitoring.query(&text).await?;
                    expectation.met(&samples).map_err(NotYet::Again)
                }
            })
            .await?;
        }
        self.progress.step(format!("{} queries of the dashboards have the values expected", queries.len()));
        Ok(())
    }

    /// Prometheus understands every query that a runbook prints.
    async fn runbooks(&self) -> Result<(), Error> {
        let queries = runbooks::all()?;
        for runbooks::Query { page, expression } in &queries {
            until(format!("an answer to `{expression}` of {page}"), VALUES, || {
                self.monitoring.query(expression)
            })
            .await?;
        }
        self.progress.step(format!("{} queries of the runbooks are understood", queries.len()));
        Ok(())
    }

    /// A cell's API server stops answering, and goes on.
    async fn unreachable_cell(&self) -> Result<(), Error> {
        let Some((cell, city)) = cells().next() else { return Ok(()) };
        let process = crate::topology::api_server_process(cell.name);
        self.planes.pause_process(&process).await?;
        self.progress.step(format!("{process} is paused"));
        let told = self.alert(cell.name, city).await;
        self.planes.resume_process(&process).await?;
        told?;
        self.progress.step(format!("{process} goes on"));
        let resolved = until(format!("{UNREACHABLE} to be resolved"), LIMIT, || async {
            self.only(cell.name, city)?;
            let told = self.webhook.notifications();
            let resolved = told.iter().find(|notification| !notification.firing);
            resolved.cloned().ok_or_else(|| NotYet::again("it still fires"))
        });
        let resolved = resolved.await?;
        self.progress.step(format!("resolved: {}", resolved.summary));
        until("no alert to fire", LIMIT, || async {
            let firing = self.monitoring.firing().await?;
            if firing.is_empty() { Ok(()) } else { Err(NotYet::Again(firing.join(", "))) }
        })
        .await?;
        self.only(cell.name, city).map_err(not_yet)
    }

    /// The alert of the cell arrives, and what follows from its failure fires and is inhibited.
    async fn alert(&self, cell: &str, city: &str) -> Result<(), Error> {
        let fired = until(format!("{UNREACHABLE} to arrive"), LIMIT, || async {
            self.only(cell, city)?;
            let told = self.webhook.notifications();
            let firing = told.iter().find(|notification| notification.firing);
            firing.cloned().ok_or_else(|| NotYet::again("nothing has arrived"))
        });
        self.progress.step(format!("arrived: {}", fired.await?.summary));
        until(format!("{CONSEQUENCE} of the cell to be inhibited"), LIMIT, || async {
            self.only(cell, city)?;
            let inhibited = self.monitoring.inhibited().await?;
            let consequence = format!("{CONSEQUENCE} {cell}");
            if inhibited.contains(&consequence) { Ok(()) } else { Err(NotYet::Again(inhibited.join(", "))) }
        })
        .await?;
        self.progress.step(format!("{CONSEQUENCE} of {cell} fires too and is inhibited"));
        self.only(cell, city).map_err(not_yet)
    }

    /// Fails once anything else was told than the alert of this cell and city.
    fn only(&self, cell: &str, city: &str) -> Result<(), NotYet> {
        let is_it = |told: &Notification| {
            told.label("alertname") == UNREACHABLE && told.label("cell") == cell && told.label("city") == city
        };
        let told = self.webhook.notifications();
        match told.iter().find(|notification| !is_it(notification)) {
            None => Ok(()),
            Some(other) => Err(NotYet::Never(Error::Alerts(format!("another alert arrived: {other:?}")))),
        }
    }

    fn silent(&self, when: &str) -> Result<(), Error> {
        match self.webhook.notifications().first() {
            None => Ok(()),
            Some(told) => Err(Error::Alerts(format!("an alert arrived {when}: {told:?}"))),
        }
    }
}

fn not_yet(reason: NotYet) -> Error {
    match reason {
        NotYet::Never(error) => error,
        NotYet::Again(reason) => Error::Alerts(reason),
    }
}
