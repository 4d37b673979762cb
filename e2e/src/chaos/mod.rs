//! Chaos: processes are killed (SIGKILL) at random moments of rollouts in two cities and started again. Every
//! time the same end has to be reached as without a kill, on all planes, and the rules of a cell's rollouts
//! (C1, C2) have to hold all the while.
//!
//! Each of two projects has a WD for another city, which belongs to no Workload, and one has a Workload in
//! both, whose cities get the template one after the other (R1). A first, undisturbed rollout shows how long
//! one takes and how the planes end up: the `Snapshot` that every later one is compared with.

mod expected;
pub(crate) mod fixture;
mod invariants;
mod names;
mod plan;
mod report;
mod snapshot;
mod watch;

use std::time::{Duration, Instant};

use futures::future::join_all;

use self::expected::missing;
use self::fixture::{Fixture, ORDERED, ways};
use self::plan::{Kill, Victim, plan};
pub use self::report::Report;
use self::snapshot::Snapshot;
use self::watch::CellWatch;
use crate::fedhub::{Fedhub, chain};
use crate::progress::Progress;
use crate::topology::Planes;
use crate::topology::wait::{NotYet, until};
use crate::turns::Sighted;
use crate::{Error, servers};

/// How long a rollout may take to its end, killed or not; how long anything else may take.
const LIMIT: Duration = Duration::from_mins(3);
/// How many differences are printed; the first ones show what is wrong.
const MAX_PRINTED: usize = 30;

/// What to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// Against what.
    pub servers: servers::Options,
    /// How many kills.
    pub kills: usize,
    /// The seed from which victims and moments are drawn.
    pub seed: u64,
    /// How many Instances each city has.
    pub replicas: u32,
}

/// Brings everything up and kills, until all kills are done or one did not end as it should. Everything is
/// left running; [`servers::down`] ends it.
pub async fn run(options: &Options) -> Result<Report, Error> {
    let progress = &options.servers.progress;
    progress.step(format!("{} kills, seed {}", options.kills, options.seed));
    let (planes, _) = servers::up(&options.servers).await?;
    chain::start(planes.layout()).await?;
    progress.step("the cells run");
    let fixture = Fixture::from_planes(&planes).await?;
    let mut watches = Vec::new();
    for way in ways() {
        let cell = way.cell.name;
        watches.push(CellWatch::watch(cell, fixture.client(cell)?, options.replicas, LIMIT).await?);
    }
    let chaos = Chaos { planes: &planes, fixture, watches, replicas: options.replicas, progress };
    let (calm, duration) = chaos.calm().await?;
    progress.step(format!("a rollout takes {:.1} s", duration.as_secs_f64()));

    let mut report = Report::new(options.seed, options.kills, duration);
    for (number, kill) in (1..).zip(plan(options.seed, options.kills)) {
        let what = format!("kill {number:>2}/{}  {:<27}", options.kills, kill.victim.name());
        let rounds = [number - 1, number].map(|number| format!("round {number}"));
        match chaos.strike(kill, rounds.each_ref().map(String::as_str), &calm, duration).await {
            Ok(struck) => {
                progress.step(format!("{what} {struck}"));
                report.times.push(struck.recovery);
            }
            Err(error) => {
                progress.warn(format!("{what} NOT RECOVERED"));
                let at = duration.mul_f64(kill.moment).as_secs_f64();
                let logs = planes.layout().root().join("logs");
                report.failure = Some(format!("{what} at {at:.2} s: {error}\nlogs: {}", logs.display()));
                return Ok(report);
            }
        }
    }
    if let Err(error) = chaos.still(&format!("round {}", options.kills), &calm).await {
        report.failure = Some(format!("after the last kill: {error}"));
    }
    Ok(report)
}

struct Chaos<'a> {
    planes: &'a Planes,
    fixture: Fixture,
    watches: Vec<CellWatch>,
    replicas: u32,
    progress: &'a Progress,
}

/// A kill that was recovered from.
struct Struck {
    /// When it was, from the beginning of the rollout.
    at: Duration,
    /// How far the rollout was in each cell.
    rolled: Vec<usize>,
    /// The time from the kill to the end of the rollout.
    recovery: Duration,
}

impl std::fmt::Display for Struck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rolled = self.rolled.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + ");
        let at = self.at.as_secs_f64();
        let recovery = self.recovery.as_secs_f64();
        write!(f, "at {at:5.2} s, {rolled:>7} rolled; at its end {recovery:5.2} s later")
    }
}

impl Chaos<'_> {
    /// Makes the WDs, and rolls once without a kill: what stands then, and how long that took.
    async fn calm(&self) -> Result<(Snapshot, Duration), Error> {
        self.fixture.make(self.replicas, "made").await?;
        self.ended("made", None).await?;
        self.progress.step(format!("{} Instances run in each city", self.replicas));
        let seen = self.fixture.turns(["made", "round 0"]).await?;
        let begun = Instant::now();
        self.fixture.change("round 0").await?;
        self.ended("round 0", None).await?;
        let duration = begun.elapsed();
        self.taken(seen, 1).await?;
        // What is written last may come after what a rollout is awaited by.
        self.settled().await?;
        Ok((self.ended("round 0", None).await?, duration))
    }

    /// Begins a rollout, kills in its midst, starts again, and waits until everything is as after the first
    /// one.
    async fn strike(
        &self,
        kill: Kill,
        rounds: [&str; 2],
        calm: &Snapshot,
        duration: Duration,
    ) -> Result<Struck, Error> {
        let round = rounds[1];
        let seen = self.fixture.turns(rounds).await?;
        let begun = Instant::now();
        self.fixture.change(round).await?;
        // The moment is drawn: nothing is awaited by it.
        tokio::time::sleep(duration.mul_f64(kill.moment).saturating_sub(begun.elapsed())).await;
        let at = begun.elapsed();
        let rolled = self.watches.iter().map(|watch| watch.now().rolled(round)).collect();
        let killed = Instant::now();
        kill.victim.kill(self.planes).await?;
        kill.victim.start(self.planes).await?;
        self.ended(round, Some(calm)).await?;
        // A city whose cell is away is passed over, so that the next one may be under way beside it (R5).
        let most = if matches!(kill.victim, Victim::ApiServer(_)) { 2 } else { 1 };
        self.taken(seen, most).await?;
        self.running()?;
        Ok(Struck { at, rolled, recovery: killed.elapsed() })
    }

    /// Waits until the Workload's template is in both cities, and verifies that they got it in turn, with no
    /// more than `most` under way at once.
    async fn taken(&self, mut seen: Sighted, most: usize) -> Result<(), Error> {
        let cities = ways().count();
        let turns = seen.until(|turns| turns.complete() == cities).await?;
        let is_in_order = most > 1 || turns.overtakes == 0;
        if turns.most <= most && turns.strays == 0 && is_in_order {
            return Ok(());
        }
        Err(Error::Chaos(format!(
            "{ORDERED}: {} cities under way at once, {} overtook another, {} templates that no city was allowed",
            turns.most, turns.overtakes, turns.strays
        )))
    }

    /// Whether the result is stable, once nothing is left to do.
    async fn still(&self, round: &str, calm: &Snapshot) -> Result<(), Error> {
        self.settled().await?;
        self.ended(round, Some(calm)).await.map(drop)
    }

    /// Waits until a rollout has come to its end; to that end, if one is known.
    async fn ended(&self, round: &str, calm: Option<&Snapshot>) -> Result<Snapshot, Error> {
        let begun = Instant::now();
        let rolled = self.watches.iter().map(|watch| watch.rolled(self.replicas, round, LIMIT));
        // Where one was not in time, the state of the planes explains more.
        join_all(rolled).await;
        let ended = until("the end of a rollout", LIMIT.saturating_sub(begun.elapsed()), || async {
            for watch in &self.watches {
                let invariants = watch.now();
                if !invariants.breaches().is_empty() {
                    return Err(NotYet::Never(Error::Chaos(first_lines(invariants.breaches()))));
                }
            }
            let world = self.fixture.look().await?;
            let missing = missing(&world, self.replicas, round);
            if !missing.is_empty() {
                return Err(NotYet::Again(first_lines(&missing)));
            }
            let now = Snapshot::new(&world, round);
            let differences = calm.map(|calm| calm.differences(&now)).unwrap_or_default();
            if differences.is_empty() { Ok(now) } else { Err(NotYet::Again(first_lines(&differences))) }
        });
        ended.await.map_err(|error| match error {
            Error::Timeout { what, last, .. } => Error::Timeout { what, seconds: LIMIT.as_secs(), last },
            other => other,
        })
    }

    /// Waits until no fedhub has anything left to do.
    async fn settled(&self) -> Result<(), Error> {
        let layout = self.planes.layout();
        Fedhub::load(layout)?.settled().await?;
        for watch in &self.watches {
            Fedhub::cell(layout, watch.cell())?.settled().await?;
        }
        Ok(())
    }

    /// Fails where something does not run that was not killed.
    fn running(&self) -> Result<(), Error> {
        let planes = self.planes.processes().into_iter();
        let mut ended: Vec<_> =
            planes.filter(|process| process.pid.is_none()).map(|process| process.name).collect();
        ended.extend(chain::ended(self.planes.layout())?);
        if ended.is_empty() {
            Ok(())
        } else {
            Err(Error::Chaos(format!("ended by itself: {}", ended.join(", "))))
        }
    }
}

/// The first ones of some lines, each on a line of its own.
fn first_lines(lines: &[String]) -> String {
    let mut printed: Vec<_> = lines.iter().take(MAX_PRINTED).map(|line| format!("\n  {line}")).collect();
    if lines.len() > MAX_PRINTED {
        printed.push(format!("\n  and {} more", lines.len() - MAX_PRINTED));
    }
    printed.concat()
}
