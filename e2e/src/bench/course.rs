//! A course: what fedhub and the bare clients race over, as data. Both make the same objects, each in a place
//! of its own, and the same watch sees them arrive.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::baseline::{Bare, CONCURRENCY};
use super::environment::Environment;
use super::figure::Figure;
use super::metrics::{Label, Scrape};
use super::options::Options;
use super::process::Process;
use super::race::{Race, rates};
use super::report::Findings;
use super::stats::{number, rounded};
use crate::Error;

/// What a race is over.
pub(super) struct Course<'a, Place, Bares, Arrive, Finish, Clear> {
    pub environment: &'a Environment,
    /// The name of the objects in the report. Its first letter begins the names of the objects that laps
    /// create.
    pub objects: &'static str,
    /// How many of them a lap makes.
    pub count: usize,
    /// How many conditions fedhub writes for them, after the clock.
    pub conditions: usize,
    /// Prepares a lap: from the prefix of its names to the place of its objects.
    pub place: Place,
    /// Starts the bare clients that do there what fedhub does.
    pub bare: Bares,
    /// Measures the time from the first create to the arrival of the last object, in seconds.
    pub arrive: Arrive,
    /// Ends the fedhub of a lap, after what else is to be learnt from it.
    pub finish: Finish,
    /// Removes what a lap made.
    pub clear: Clear,
}

/// The lap of a race: its number, and the prefix of its names.
pub(super) struct Turn {
    pub lap: usize,
    pub prefix: String,
}

impl<Place, Bares, Arrive, Finish, Clear> Course<'_, Place, Bares, Arrive, Finish, Clear> {
    /// Laps of fedhub and of the bare clients in turn, and the report of them.
    pub(super) async fn race<P>(
        &self,
        options: &Options,
        figures: impl Fn(&Race<Accounted, f64>, f64) -> Vec<Figure>,
    ) -> Result<(Race<Accounted, f64>, Findings), Error>
    where
        Place: AsyncFn(&str) -> Result<P, Error>,
        Bares: AsyncFn(&P) -> Result<Vec<Bare>, Error>,
        Arrive: AsyncFn(&P, &str) -> Result<f64, Error>,
        Finish: AsyncFn(&Turn, &P, Process, &mut Accounted) -> Result<(), Error>,
        Clear: AsyncFn(&P) -> Result<(), Error>,
    {
        let (race, figures) = Race::run(
            options,
            async |lap| {
                let turn = Turn { lap, prefix: format!("{}{lap}f", &self.objects[..1]) };
                let place = (self.place)(&turn.prefix).await?;
                let mut fedhub = self.environment.fedhub().await?;
                let arrive = (self.arrive)(&place, &turn.prefix);
                let mut lap = Box::pin(accounted(&mut fedhub, self.count, self.conditions, arrive)).await?;
                Box::pin((self.finish)(&turn, &place, fedhub, &mut lap)).await?;
                Box::pin((self.clear)(&place)).await?;
                Ok(lap)
            },
            async |lap| {
                let prefix = format!("{}{lap}b", &self.objects[..1]);
                let place = (self.place)(&prefix).await?;
                let bare = (self.bare)(&place).await?;
                let took = Box::pin((self.arrive)(&place, &prefix)).await;
                for client in bare {
                    client.end().await?;
                }
                Box::pin((self.clear)(&place)).await?;
                took
            },
            figures,
        )
        .await?;
        let seconds = race.each(|ours| ours.seconds);
        let details = json!({
            self.objects: self.count,
            "concurrency": CONCURRENCY,
            (format!("{}_per_second", self.objects)): rates(self.count, &seconds),
            (format!("bare_{}_per_second", self.objects)): rates(self.count, &race.bare),
            "fedhub": race.ours.iter().map(|ours| &ours.anatomy).collect::<Vec<_>>(),
        });
        Ok((race, Findings { figures, details }))
    }
}

impl Race<Accounted, f64> {
    /// The paces of fedhub, each by that of the bare clients.
    pub(super) fn paces(&self) -> Vec<f64> {
        self.ratios(|ours| 1.0 / ours.seconds, |bare| 1.0 / bare)
    }
}

/// A lap of fedhub.
pub struct Accounted {
    /// Seconds.
    pub seconds: f64,
    /// The growth of fedhub's metrics.
    pub grown: Scrape,
    /// Where the time went.
    pub anatomy: Value,
}

/// Runs a lap beside an idle fedhub, until fedhub is idle again and has written `conditions` conditions.
async fn accounted(
    fedhub: &mut Process,
    count: usize,
    conditions: usize,
    lap: impl Future<Output = Result<f64, Error>>,
) -> Result<Accounted, Error> {
    let before = fedhub.scrape().await?;
    let cpu_before = fedhub.cpu()?;
    let seconds = lap.await?;
    let cpu = fedhub.cpu()?.saturating_sub(cpu_before);
    fedhub.settled().await?;
    if conditions > 0 {
        fedhub.conditions_written(conditions).await?;
        fedhub.settled().await?;
    }
    let grown = fedhub.scrape().await?.since(&before);
    let mut anatomy = anatomy(&grown, number(count));
    anatomy["cpu_ms_each"] = json!(rounded(milliseconds(cpu) / number(count), 3));
    anatomy["resident_mb"] = json!(rounded(fedhub.resident()? / 1e6, 1));
    Ok(Accounted { seconds, grown, anatomy })
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Where the time of a lap went, by fedhub's own metrics.
fn anatomy(grown: &Scrape, count: f64) -> Value {
    let mean = |histogram: &str, labels: &[Label<'_>]| rounded(grown.mean(histogram, labels) * 1e3, 2);
    let request = |kind: &str, verb: &str| {
        mean("fedhub_api_request_seconds", &[("plane_kind", &[kind]), ("verb", &[verb])])
    };
    let requests: BTreeMap<_, _> = grown
        .by("fedhub_api_requests_total", &["plane_kind", "verb", "resource", "code"])
        .into_iter()
        .map(|(series, sum)| (series, rounded(sum / count, 4)))
        .collect();
    json!({
        "passes_each": rounded(grown.sum("fedhub_reconciles_total", &[]) / count, 3),
        "passes": grown.by("fedhub_reconciles_total", &["controller", "outcome"]),
        "pass_ms": mean("fedhub_reconcile_seconds", &[("controller", &["federator"])]),
        "queue_wait_ms": mean("fedhub_queue_wait_seconds", &[]),
        "project_patch_ms": request("project", "patch"),
        "hub_create_ms": request("hub", "create"),
        "requests_each": requests,
    })
}
