//! Everything that runs on real planes, in lanes side by side: each lane has planes of its own and takes the
//! next piece of work from one queue. Most suites wait most of their time, for Karmada, leases or grace
//! periods; two lanes wait at once.
//!
//! # The way through
//!
//! 1. `queue` orders the work: suites that run together first, then checks, then the suites that need four
//!    cells, then those that run alone on their planes.
//! 2. [`run`] opens the lanes. The first one has the suites that run together, and those that run last after
//!    all that it had.
//! 3. Checks, and the suites that need four cells together, have planes that come up for them and go down
//!    after them. The planes of the lanes have two cells.
//! 4. What failed is run again, each suite on fresh planes with nothing beside it: what passes only then is
//!    flaky.
//! 5. [`Report`] says how it went.

mod check;
mod idle;
mod queue;
mod report;

use std::time::{Duration, Instant};

use futures::future::try_join_all;
use parking_lot::Mutex;

pub use self::check::Check;
use self::idle::Idle;
use self::queue::{Plan, Work};
pub use self::report::{Done, Outcome, Report};
use crate::suites::rights::Granted;
use crate::suites::{Ran, Stage, Suite, Toolbox};
use crate::topology::Layout;
use crate::topology::planes::Cells;
use crate::{Error, evidence, servers};

/// More suites than this do not fail by chance: none of them is run again.
const MOST_AGAIN: usize = 8;

/// What to run and against what.
#[derive(Debug, Clone)]
pub struct Options {
    /// The suites.
    pub suites: Vec<Suite>,
    /// What runs beside them.
    pub checks: Vec<Check>,
    /// Whether these are all suites: then every right that `deploy/` grants has to have been used.
    pub all: bool,
    /// The planes and fedhub of the first lane. The others' names have a number behind that of this instance.
    pub servers: servers::Options,
    /// How many lanes there are at most.
    pub lanes: usize,
    /// Whether the planes with four cells are left running after their suites.
    pub keep: bool,
    /// How many suites run at once in a lane.
    pub parallel: usize,
    /// How long an operation of a suite may take.
    pub timeout: Duration,
}

impl Options {
    /// The names of the lanes' instances.
    fn lanes(&self) -> impl Iterator<Item = String> {
        let name = self.servers.name.clone();
        (1..=self.lanes).map(move |lane| if lane == 1 { name.clone() } else { format!("{name}-{lane}") })
    }

    /// The instance on which what failed is run again.
    fn again(&self) -> String {
        format!("{}-again", self.servers.name)
    }

    /// The instance with four cells. One that is reused is the one that there is.
    fn four_cells(&self) -> String {
        if self.servers.reuse { self.servers.name.clone() } else { format!("{}-four", self.servers.name) }
    }

    /// The names of the instances that suites may run on, each once.
    fn of_suites(&self) -> Vec<String> {
        let mut names: Vec<_> = self.lanes().chain([self.four_cells(), self.again()]).collect();
        names.dedup();
        names
    }

    fn servers(&self, name: &str, label: &str) -> servers::Options {
        servers::Options {
            name: name.to_owned(),
            progress: self.servers.progress.labelled(label),
            ..self.servers.clone()
        }
    }

    /// The names of all instances that this run may have.
    pub fn instances(&self) -> Vec<String> {
        let checks = self.checks.iter().map(|check| format!("{}-{}", self.servers.name, check.name()));
        self.of_suites().into_iter().chain(checks).collect()
    }

    /// The instances on which suites ran, as far as they left files: some of them may never have been
    /// started.
    fn layouts(&self) -> Result<Vec<Layout>, Error> {
        let names = self.of_suites().into_iter();
        let layouts = names.map(|name| Layout::from_name(&name)).collect::<Result<Vec<_>, _>>()?;
        Ok(layouts.into_iter().filter(|layout| layout.root().is_dir()).collect())
    }
}

/// What a run found.
#[derive(Debug)]
pub struct Found {
    /// How everything went.
    pub report: Report,
    /// What took long, in words.
    pub times: String,
    /// What logs and audit logs say against it, a line each.
    pub complaints: Vec<String>,
}

/// Runs everything. The lanes are left running where nothing was run again; [`servers::down`] ends them,
/// whatever became of this.
pub async fn run(options: &Options) -> Result<Found, Error> {
    let progress = &options.servers.progress;
    let (toolbox, suites) =
        Toolbox::prepare(&options.suites, options.parallel, options.timeout, progress).await?;
    let Plan { together, queue, last } = queue::plan(suites, &options.checks);
    // A lane without work would start planes for nothing.
    let lanes = options.lanes.min(queue.len() + usize::from(!together.is_empty())).max(1);
    let queue = Mutex::new(queue);
    let begun = Instant::now();
    let idle = Idle::sample();
    let instances: Vec<_> = options.lanes().take(lanes).enumerate().collect();
    let queue = &queue;
    let toolbox = &toolbox;
    let running = instances.iter().map(|(index, instance)| {
        let (first, last) = if *index == 0 { (&*together, &*last) } else { (&[][..], &[][..]) };
        let label = if lanes == 1 { String::new() } else { format!("lane {}", index + 1) };
        Lane { options, toolbox, queue, first, last, instance, label }.run()
    });
    let ended = try_join_all(running).await?;
    let mut done = Vec::new();
    let mut granted = None;
    let mut complaints = Vec::new();
    for lane in ended {
        done.extend(lane.done);
        complaints.extend(lane.complaints);
        granted = granted.or(lane.granted);
    }
    complaints.extend(evidence::leaks(&options.layouts()?)?);
    let again = again(options, toolbox, &done, &mut complaints).await?;
    let report = Report::new(begun, done, &again);
    let layouts = options.layouts()?;
    complaints.extend(evidence::missing_rights(&layouts)?);
    if let (true, true, Some(granted)) = (options.all, report.passed(false), granted) {
        let differences = granted.differences(&layouts)?;
        complaints.extend(differences.into_iter().map(|line| format!("rights of deploy/: {line}")));
    }
    Ok(Found { times: report.times(&idle), report, complaints })
}

/// One lane.
struct Lane<'a> {
    options: &'a Options,
    toolbox: &'a Toolbox,
    queue: &'a Mutex<std::collections::VecDeque<Work>>,
    first: &'a [Suite],
    last: &'a [Suite],
    instance: &'a str,
    label: String,
}

/// What a lane did.
struct Ended {
    done: Vec<Done>,
    granted: Option<Granted>,
    /// What the logs of planes that are down already say against the run.
    complaints: Vec<String>,
}

impl Lane<'_> {
    async fn run(self) -> Result<Ended, Error> {
        let servers = match &*self.label {
            "" => self.options.servers.clone(),
            label => self.options.servers(self.instance, label),
        };
        let mut stage = None;
        let mut done = Vec::new();
        let mut complaints = Vec::new();
        if !self.first.is_empty() {
            done.extend(self.suites(&mut stage, &servers, self.first).await?);
        }
        loop {
            // The guard must not outlive this statement: the work is awaited.
            let next = self.queue.lock().pop_front();
            match next {
                Some(Work::Suite(suite)) => {
                    done.extend(self.suites(&mut stage, &servers, std::slice::from_ref(&suite)).await?);
                }
                Some(Work::Check(check)) => {
                    let name = format!("{}-{}", self.options.servers.name, check.name());
                    let servers = self.options.servers(&name, check.name());
                    done.push(check.run(&servers).await?);
                }
                Some(Work::FourCells(suites)) => {
                    done.extend(four_cells(self.options, self.toolbox, &suites, &mut complaints).await?);
                }
                None => break,
            }
        }
        for suite in self.last {
            done.extend(self.suites(&mut stage, &servers, std::slice::from_ref(suite)).await?);
        }
        let granted = match &stage {
            Some(stage) => Some(Granted::on(stage.planes()).await?),
            None => None,
        };
        Ok(Ended { done, granted, complaints })
    }

    /// Runs suites together, on planes that come up with the first ones.
    async fn suites<'b>(
        &'b self,
        stage: &mut Option<Stage<'b>>,
        servers: &'b servers::Options,
        suites: &[Suite],
    ) -> Result<Vec<Done>, Error> {
        let stage = match stage {
            Some(stage) => stage,
            None => stage.insert(Stage::up(self.toolbox, servers).await?),
        };
        Ok(stage.run(suites).await?.into_iter().map(suite_done).collect())
    }
}

/// Runs suites on planes with four cells, which are down again after them: those that may run together first.
async fn four_cells(
    options: &Options,
    toolbox: &Toolbox,
    suites: &[Suite],
    complaints: &mut Vec<String>,
) -> Result<Vec<Done>, Error> {
    let servers =
        servers::Options { cells: Cells::Four, ..options.servers(&options.four_cells(), "four cells") };
    let (alone, together): (Vec<_>, Vec<_>) = suites.iter().cloned().partition(|suite| suite.alone);
    let stage = Stage::up(toolbox, &servers).await?;
    let mut ran = Vec::new();
    if !together.is_empty() {
        ran.extend(stage.run(&together).await?);
    }
    for suite in &alone {
        ran.extend(stage.run(std::slice::from_ref(suite)).await?);
    }
    if !options.keep {
        // The credentials that are searched for go with the instance.
        complaints.extend(evidence::leaks(&[Layout::from_name(&servers.name)?])?);
        servers::down(&servers.name, true).await?;
    }
    Ok(ran.into_iter().map(suite_done).collect())
}

/// Runs what failed once more, each suite on fresh planes and with nothing beside it: the lanes are taken
/// down first.
async fn again(
    options: &Options,
    toolbox: &Toolbox,
    done: &[Done],
    complaints: &mut Vec<String>,
) -> Result<Vec<Done>, Error> {
    let failed: Vec<_> = done.iter().filter(|done| !done.passed).collect();
    let progress = &options.servers.progress;
    if failed.is_empty() || options.servers.reuse {
        return Ok(Vec::new());
    }
    if failed.len() > MOST_AGAIN {
        progress.warn(format!("{} failed, which is no chance: none is run again", failed.len()));
        return Ok(Vec::new());
    }
    for instance in options.lanes() {
        servers::down(&instance, true).await?;
    }
    let mut again = Vec::new();
    for failed in failed {
        progress.step(format!("{} failed and is run again, alone", failed.name));
        let servers = options.servers(&options.again(), "again");
        if let Some(check) = options.checks.iter().find(|check| check.name() == failed.name) {
            again.push(check.run(&servers).await?);
        } else if let Some(suite) = options.suites.iter().find(|suite| suite.name == failed.name) {
            let servers = servers::Options { cells: suite.cells, ..servers };
            let ran = Stage::up(toolbox, &servers).await?.run(std::slice::from_ref(suite)).await?;
            again.extend(ran.into_iter().map(suite_done));
            complaints.extend(evidence::leaks(&[Layout::from_name(&servers.name)?])?);
            servers::down(&servers.name, true).await?;
        }
    }
    Ok(again)
}

fn suite_done(ran: Ran) -> Done {
    let Ran { result, ended } = ran;
    // Its end is seen, its beginning is not.
    let begun = ended.checked_sub(result.time).unwrap_or(ended);
    Done {
        name: result.name,
        is_suite: true,
        passed: result.passed,
        begun,
        time: result.time,
        lines: Vec::new(),
    }
}
