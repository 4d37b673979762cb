//! `rollout`: WDs of three replicas over two cells, from their creation until all projections are Ready, and
//! on until nothing is left of them. The chain is whole: Karmada works, each cell has its fedhub, and only
//! providers are simulated; in the last laps quota and networking too.

mod hops;
mod necessary;

use std::time::Instant;

use futures::future::{try_join, try_join_all};
use jiff::Timestamp;
use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use self::hops::{Observations, Times};
use self::necessary::{Features, Plane, Request, Table, necessary};
use super::environment::{self, Environment, PROJECT, Space};
use super::figure::Figure;
use super::judge::Bar;
use super::objects::{FINALIZER, Kind, api_all};
use super::race::digits;
use super::report::Findings;
use super::stats::{number, percentile, rounded};
use super::watch::{Arrivals, Seen};
use super::{Options, loader};
use crate::Error;
use crate::demo::objects::is_true;
use crate::fedhub::{self, Fedhub, Once, chain};
use crate::suites::writes;
use crate::topology::planes::{HUB, cells};

/// WDs of a lap.
const DEPLOYMENTS: usize = 200;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 10;
/// How much more than the necessary may be asked for.
const BAR: f64 = 1.15;
/// Instances of each WD.
const REPLICAS: usize = 3;

/// The location that each cell serves, by its name.
const LOCATION: &str = "bench";

/// The planes with the whole chain beside them.
struct Chain<'a> {
    environment: &'a Environment,
    /// An administrator of each cell.
    cells: Vec<Client>,
    /// Every fedhub.
    fedhubs: Vec<Fedhub>,
    /// The features that the cells use just now.
    features: Features,
}

/// Laps one after the other.
pub async fn run(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let layout = environment.planes().layout();
    let program = fedhub::Options { program: options.fedhub()?, arguments: Vec::new() };
    let mut fedhubs = vec![Fedhub::start(layout, &program).await?];
    chain::start(layout).await?;
    let mut clients = Vec::new();
    for (cell, _) in cells() {
        fedhubs.push(Fedhub::cell(layout, cell.name)?);
        clients.push(environment::client(&layout.kubeconfig(cell.name)).await?);
    }
    let mut chain = Chain { environment, cells: clients, fedhubs, features: Features::Off };
    let plain = chain.laps("ro", options).await?;
    chain.serve().await?;
    let served = chain.laps("rs", options).await?;
    fedhub::end(layout).await?;
    let unit = "times the necessary requests";
    let figures = vec![
        Figure::exact("an Instance", unit, plain.ratio).exactly(Bar::at_most(BAR)),
        Figure::exact("an Instance with quota and networking", unit, served.ratio).exactly(Bar::at_most(BAR)),
        Figure::mean("all WDs, from created to Ready", "s", &plain.seconds),
    ];
    let count = options.scaled(DEPLOYMENTS);
    let details = json!({
        "deployments": count,
        "instances": count * REPLICAS,
        "without_quota_and_networking": plain.details,
        "with_quota_and_networking": served.details,
    });
    Ok(Findings { figures, details })
}

/// The laps of one kind.
struct Laps {
    ratio: f64,
    seconds: Vec<f64>,
    details: Value,
}

/// The results of a lap.
struct Lap {
    seconds: f64,
    ratio: f64,
    details: Value,
}

impl Chain<'_> {
    /// Laps one after the other. Requests are counted, so the most of any lap is judged.
    async fn laps(&self, prefix: &str, options: &Options) -> Result<Laps, Error> {
        let count = options.scaled(DEPLOYMENTS);
        let namespaces = options.scaled(NAMESPACES);
        let mut ratios = Vec::new();
        let mut seconds = Vec::new();
        let mut laps = Vec::new();
        for at in 0..options.counts() {
            let lap = Box::pin(self.lap(&format!("{prefix}{at}"), namespaces, count)).await?;
            ratios.push(lap.ratio);
            seconds.push(lap.seconds);
            laps.push(lap.details);
        }
        let ratio = percentile(&ratios, 100).unwrap_or(f64::NAN);
        let details = json!({
            "ratio": digits(&ratios, 3),
            "seconds": digits(&seconds, 2),
            "necessary_requests": necessary(self.features),
            "laps": laps,
        });
        Ok(Laps { ratio, seconds, details })
    }

    /// Restarts the cells with quota and networking enabled.
    async fn serve(&mut self) -> Result<(), Error> {
        let layout = self.environment.planes().layout();
        let components = ["cell-quota", "cell-networking"].map(str::to_owned).to_vec();
        let once = Once { components, ..Once::default() };
        for (client, (cell, city)) in self.cells.iter().zip(cells()) {
            let location = json!({
                "apiVersion": "networking.datumapis.com/v1alpha", "kind": "LocationBinding", "metadata": {"name": LOCATION},
                "spec": {"locationRef": {"name": LOCATION}, "topology": {"topology.datum.net/city-code": city}},
            });
            let api = api_all(client, Kind::LocationBinding);
            let applied = PatchParams::apply("fedhub-bench");
            let patched = api.patch(LOCATION, &applied, &Patch::Apply(location)).await;
            patched.map_err(Error::api(format!("apply the location of {}", cell.name)))?;
            Fedhub::cell(layout, cell.name)?.start_with(&once).await?;
        }
        self.features = Features::QuotaAndNetworking;
        self.environment.progress.step("cells ask for quota and networks");
        Ok(())
    }

    async fn lap(&self, prefix: &str, namespaces: usize, count: usize) -> Result<Lap, Error> {
        let environment = self.environment;
        let instances = count * REPLICAS;
        let spaces = loader::spaces(&environment.project, prefix, namespaces).await?;
        self.settled().await?;
        let since = Timestamp::now();
        let mut watches = Watches::begin(self, prefix).await?;
        let began = Instant::now();
        let ((), ended) = try_join(self.create(&spaces, prefix, count), watches.all(instances)).await?;
        let seconds = ended.duration_since(began).as_secs_f64();
        let (seen, hops) = watches.observations().shares();
        drop(watches);
        environment
            .progress
            .step(format!("{count} WDs: all {instances} projections are Ready after {seconds:.1} s"));
        self.settled().await?;
        self.delete(&spaces).await?;
        let requests = self.requests(since, &spaces)?;
        let table = Table::new(&requests, self.features, instances, count);
        environment.progress.step(format!(
            "{:.2} requests for an Instance, of {} necessary",
            table.each(),
            necessary(self.features)
        ));
        let details = json!({
            "seconds": rounded(seconds, 2),
            "deployments_per_second": rounded(number(count) / seconds, 1),
            "instances_seen_at_every_hop": seen,
            "hops": hops,
            "requests": table.json(),
        });
        Ok(Lap { seconds, ratio: table.ratio(), details })
    }

    /// Makes the WDs, in turn over the namespaces and in each in turn over the cities.
    async fn create(&self, spaces: &[Space], prefix: &str, count: usize) -> Result<(), Error> {
        let cities: Vec<_> = cells().map(|(_, city)| city).collect();
        loader::deployments_with(&self.environment.project, spaces, prefix, count, |index, mut wd| {
            wd["spec"]["cityCode"] = json!(cities[index / spaces.len() % cities.len()]);
            wd["spec"]["scaleSettings"]["minReplicas"] = json!(REPLICAS);
            wd
        })
        .await
    }

    /// Deletes the WDs as a user does, and waits until nothing is left of them on any plane.
    async fn delete(&self, spaces: &[Space]) -> Result<(), Error> {
        let environment = self.environment;
        let deletes = spaces
            .iter()
            .map(|space| environment::delete_all(&environment.project, Kind::Deployment, space.name.clone()));
        try_join_all(deletes).await?;
        for client in [&environment.project, &environment.hub].into_iter().chain(&self.cells) {
            for kind in [Kind::Deployment, Kind::Instance] {
                environment.gone(client, kind).await?;
            }
        }
        environment.gone(&environment.hub, Kind::Policy).await?;
        self.settled().await?;
        environment.progress.step("nothing is left of them");
        Ok(())
    }

    /// Waits until no fedhub has anything to do.
    async fn settled(&self) -> Result<(), Error> {
        try_join_all(self.fedhubs.iter().map(Fedhub::settled)).await.map(drop)
    }

    /// Returns what every fedhub requested about these namespaces, by the planes' own records.
    fn requests(&self, since: Timestamp, spaces: &[Space]) -> Result<Vec<Request>, Error> {
        let layout = self.environment.planes().layout();
        let in_project: Vec<_> = spaces.iter().map(|space| space.name.clone()).collect();
        let on_hub: Vec<_> = spaces.iter().map(Space::hub_name).collect();
        let cells = cells().map(|(cell, _)| (Plane::Cell, cell.name, &on_hub));
        let planes = [(Plane::Project, PROJECT, &in_project), (Plane::Hub, HUB, &on_hub)];
        let mut all = Vec::new();
        for (plane, name, namespaces) in planes.into_iter().chain(cells) {
            let events = writes::requests(layout, name, since, namespaces)?;
            all.extend(events.into_iter().map(|event| Request {
                plane,
                resource: event.resource(),
                refused: event.refused(),
                verb: event.verb,
            }));
        }
        Ok(all)
    }
}

/// The benchmark's own watches, one for each observation.
struct Watches {
    created: Arrivals,
    marked: Arrivals,
    on_hub: Arrivals,
    in_cell: Vec<Arrivals>,
    made: Vec<Arrivals>,
    available: Vec<Arrivals>,
    ready: Vec<Arrivals>,
    copied: Arrivals,
    projected: Arrivals,
}

impl Watches {
    async fn begin(chain: &Chain<'_>, prefix: &str) -> Result<Self, Error> {
        let project = &chain.environment.project;
        let hub = &chain.environment.hub;
        let in_cells = |kind, is_done: fn(&Seen) -> bool| {
            try_join_all(chain.cells.iter().map(move |cell| Arrivals::watch(cell, kind, prefix, is_done)))
        };
        let marked = |seen: &Seen| seen.metadata.finalizers.iter().any(|it| it == FINALIZER);
        Ok(Self {
            created: Arrivals::watch(project, Kind::Deployment, prefix, |_| true).await?,
            marked: Arrivals::watch(project, Kind::Deployment, prefix, marked).await?,
            on_hub: Arrivals::watch(hub, Kind::Deployment, prefix, |_| true).await?,
            in_cell: in_cells(Kind::Deployment, |_| true).await?,
            made: in_cells(Kind::Instance, |_| true).await?,
            available: in_cells(Kind::Instance, |seen| is_true(&seen.status, "Available")).await?,
            ready: in_cells(Kind::Instance, is_ready).await?,
            copied: Arrivals::watch(hub, Kind::Instance, prefix, is_ready).await?,
            projected: Arrivals::watch(project, Kind::Instance, prefix, is_ready).await?,
        })
    }

    /// Waits until `instances` projections are Ready. Returns when the last one was.
    async fn all(&mut self, instances: usize) -> Result<Instant, Error> {
        self.projected.all(instances).await
    }

    fn observations(&self) -> Observations {
        let together = |of: &[Arrivals]| of.iter().flat_map(Arrivals::times).collect::<Times>();
        Observations {
            created: self.created.times(),
            marked: self.marked.times(),
            on_hub: self.on_hub.times(),
            in_cell: together(&self.in_cell),
            made: together(&self.made),
            available: together(&self.available),
            ready: together(&self.ready),
            copied: self.copied.times(),
            projected: self.projected.times(),
        }
    }
}

fn is_ready(seen: &Seen) -> bool {
    is_true(&seen.status, "Ready")
}
