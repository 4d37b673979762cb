//! `noisy-neighbor`: a bad plane of a hundred, and how long the WDs of the others take.
//!
//! The planes in memory share the machine with fedhub, and to make 2,000 changes a second costs them
//! something. What that alone costs the others is reported, too: laps with the same flood on a plane that is
//! not fedhub's, and that a bare client watches.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::{JoinHandle, JoinSet};

use super::Options;
use super::fake_apiserver::{Fleet, name, project_path};
use super::figure::Figure;
use super::judge::Bar;
use super::objects::{Kind, deployment};
use super::report::Findings;
use super::stats::{percentile, rounded};
use super::watch::Arrivals;
use crate::Error;

/// Planes; the first of them is the one that floods, the last the one that hangs.
const PLANES: usize = 100;
/// WDs that stand in order.
const DEPLOYMENTS: usize = 10_000;
/// WDs of a lap, made on the other planes in turn.
const MEASURED: usize = 2_000;
/// And at which pace: a hundred in a second.
const EVERY: Duration = Duration::from_millis(10);
/// WDs that wait on the plane that answers nothing.
const STUCK: usize = 200;
/// Updates of the plane that floods: as long as the lap is.
const FLOOD: usize = FLOOD_RATE * MEASURED / 100;
/// How many of them a second: some times as many as an API server takes on such a machine. As fast as a plane
/// in memory can, its own work would be what the others wait for: all share two cores here.
const FLOOD_RATE: usize = 2_000;

/// The trouble that the neighbor makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Trouble {
    None,
    Hangs,
    /// The flood is on a plane that fedhub does not know.
    FloodsElsewhere,
    Floods,
}

/// The plane after them, which is not fedhub's.
const ELSEWHERE: usize = PLANES;

impl Trouble {
    /// The plane that has it.
    fn plane(self) -> usize {
        match self {
            Self::None | Self::Floods => 0,
            Self::Hangs => PLANES - 1,
            Self::FloodsElsewhere => ELSEWHERE,
        }
    }
}

/// Laps without trouble and with it in turn: what else the machine does, and what has gathered by then,
/// weighs on both.
pub async fn run(options: &Options) -> Result<Findings, Error> {
    let mut fleet = Fleet::up(options, PLANES + 1).await?;
    fleet.withdraw_last().await?;
    let deployments = options.scaled(DEPLOYMENTS);
    fleet.populate(deployments, 0, "in-order", "wd").await?;
    let client = fleet.management().await?;
    for index in 0..deployments / PLANES {
        create(&client, ELSEWHERE, &format!("wd-{index}")).await?;
    }
    let mut fedhub = fleet.fedhub(&["--leader-elect=false"]).await?;
    let mut p99 = HashMap::<Trouble, Vec<f64>>::new();
    let mut details = Vec::new();
    let turns = [Trouble::None, Trouble::Hangs, Trouble::FloodsElsewhere, Trouble::Floods];
    let mut laps = options.laps();
    while let Some(turn) = laps.begin() {
        for trouble in turns {
            let took = lap(&fleet, options, trouble, turn).await?;
            let [p50, worst] = [50, 99].map(|percent| percentile(&took, percent).unwrap_or(f64::NAN));
            fleet.progress.step(format!("{trouble:?}: p50 {p50:.1} ms, p99 {worst:.1} ms"));
            details.push(json!({ "trouble": format!("{trouble:?}"), "p50_ms": rounded(p50, 2), "p99_ms": rounded(worst, 2) }));
            p99.entry(trouble).or_default().push(worst);
            // What a lap leaves is not to be done in the next one, which may be one without trouble.
            fedhub.settled().await?;
        }
        laps.judge(|error| figures(&p99, error));
    }
    fedhub.stop().await?;
    let details = json!({ "planes": PLANES, "laps": details });
    Ok(Findings { figures: laps.figures(), details })
}

/// The p99 of the others with a trouble, beside that of the same turn without it.
fn figures(p99: &HashMap<Trouble, Vec<f64>>, error: f64) -> Vec<Figure> {
    let laps = |trouble| p99.get(&trouble).map(Vec::as_slice).unwrap_or_default();
    let ratios = |trouble, beside| {
        laps(trouble).iter().zip(laps(beside)).map(|(with, without)| with / without).collect::<Vec<_>>()
    };
    let judged = |what, trouble| {
        Figure::ratio(what, "times the p99 without", &ratios(trouble, Trouble::None))
            .within(Bar::at_most(1.5), error)
    };
    let to_elsewhere = ratios(Trouble::Floods, Trouble::FloodsElsewhere);
    vec![
        judged("one hangs", Trouble::Hangs),
        judged("one floods", Trouble::Floods),
        Figure::ratio("one floods", "times the p99 with the flood elsewhere", &to_elsewhere),
        Figure::ratio("none has trouble", "ms", laps(Trouble::None)),
        Figure::ratio("one hangs", "ms", laps(Trouble::Hangs)),
        Figure::ratio("one floods", "ms", laps(Trouble::Floods)),
        Figure::ratio("a plane that is not fedhub's floods", "ms", laps(Trouble::FloodsElsewhere)),
    ]
}

/// Returns the times from each acknowledged create of a WD to the hub's event, in milliseconds.
async fn lap(fleet: &Fleet, options: &Options, trouble: Trouble, at: usize) -> Result<Vec<f64>, Error> {
    let prefix = format!("x{at}{}", format!("{trouble:?}").to_lowercase());
    let client = fleet.management().await?;
    let mut arrived = Arrivals::watch(&fleet.hub().await?, Kind::Deployment, &prefix, |_| true).await?;
    let bad = format!("/planes/{}", name(trouble.plane()));
    let flood = match trouble {
        Trouble::None => None,
        Trouble::Hangs => {
            for index in 0..STUCK {
                create(&client, trouble.plane(), &format!("stuck-{prefix}-{index}")).await?;
            }
            fleet.ask(Method::POST, &format!("{bad}/faults"), json!({ "fault": "hang" })).await?;
            None
        }
        Trouble::FloodsElsewhere | Trouble::Floods => Some(json!({
            "updates": options.scaled(FLOOD), "what": "spec", "per_second": FLOOD_RATE,
        })),
    };
    let watching = (trouble == Trouble::FloodsElsewhere).then(|| Drained::new(&client, ELSEWHERE));
    let count = options.scaled(MEASURED);
    let flooding = async {
        if let Some(flood) = flood {
            fleet.ask(Method::POST, &format!("{bad}/touch"), flood).await?;
        }
        Ok(())
    };
    let (made, _, ()) =
        tokio::try_join!(paced(&client, &prefix, count, 1..PLANES - 1), arrived.all(count), flooding)?;
    if let Some(watching) = watching {
        watching.end().await?;
    }
    if trouble == Trouble::Hangs {
        fleet.ask(Method::DELETE, &format!("{bad}/faults"), Value::Null).await?;
    }
    Ok(arrived.since(&made))
}

/// A bare client that watches the WDs of a plane and drops what comes. It ends when this is dropped.
pub struct Drained(JoinHandle<Result<(), Error>>);

impl Drained {
    /// Watches from now on.
    pub fn new(client: &Client, plane: usize) -> Self {
        let client = client.clone();
        Self(tokio::spawn(async move {
            loop {
                drain(&client, plane).await?;
            }
        }))
    }

    /// Stops the watch; an error if one of its watches failed.
    pub async fn end(mut self) -> Result<(), Error> {
        if self.0.is_finished() {
            return (&mut self.0).await?;
        }
        Ok(())
    }
}

impl Drop for Drained {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Reads a watch to its end.
async fn drain(client: &Client, plane: usize) -> Result<(), Error> {
    let wrong = |error: String| Error::Benchmark(format!("watch {}: {error}", name(plane)));
    let request = Request::get(format!("{}?watch=1", project_path(plane, None, "workloaddeployments")))
        .body(Vec::new().into())
        .map_err(|error| wrong(error.to_string()))?;
    let mut body = client.send(request).await.map_err(|error| wrong(error.to_string()))?.into_body();
    while let Some(frame) = body.frame().await {
        frame.map_err(|error| wrong(error.to_string()))?;
    }
    Ok(())
}

/// Makes WDs at a steady pace on these planes in turn; when each was asked for.
pub async fn paced(
    client: &Client,
    prefix: &str,
    count: usize,
    planes: Range<usize>,
) -> Result<HashMap<String, Instant>, Error> {
    let mut pace = tokio::time::interval(EVERY);
    let mut under_way = JoinSet::new();
    let mut made = HashMap::new();
    for (index, plane) in (0..count).zip(planes.cycle()) {
        pace.tick().await;
        let client = client.clone();
        let name = format!("{prefix}-{index}");
        under_way.spawn(async move {
            let began = Instant::now();
            create(&client, plane, &name).await?;
            Ok::<_, Error>((name, began))
        });
    }
    while let Some(done) = under_way.join_next().await {
        let (name, at) = done??;
        made.insert(name, at);
    }
    Ok(made)
}

async fn create(client: &Client, plane: usize, name: &str) -> Result<(), Error> {
    create_as(client, plane, name, &deployment("default", name)).await
}

/// Makes a WD of that name.
pub async fn create_as(client: &Client, plane: usize, name: &str, wd: &Value) -> Result<(), Error> {
    let wrong = |error: String| Error::Benchmark(format!("create {name}: {error}"));
    let body = wd.to_string().into_bytes();
    let request = Request::post(project_path(plane, Some("default"), "workloaddeployments"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(body)
        .map_err(|error| wrong(error.to_string()))?;
    client.request::<Value>(request).await.map(drop).map_err(|error| wrong(error.to_string()))
}
