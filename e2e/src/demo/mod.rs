//! The demonstration: real planes, fedhub beside the hub and in each cell as processes of their own, a
//! Workload in two cities with a `ConfigMap` and a Secret, and every step of the way there and back as
//! watches see it. Only other people's services (provider, network, quota) are simulated, by
//! `fedhub-simulate`.

mod error;
mod hints;
pub(crate) mod objects;
mod printer;
mod scenario;
mod steps;
mod timeline;

use std::fs;
use std::time::Duration;

use futures::future::try_join_all;
use kube::Client;

pub use self::error::Error;
use self::objects::Kind;
use self::printer::{Printer, relative};
use self::scenario::{City, LIMIT, Scenario};
use self::timeline::Timeline;
use crate::fedhub::{self, Fedhub, chain};
use crate::interruption::Interruption;
use crate::output::say;
use crate::progress::Progress;
use crate::tools::{self, Tool};
use crate::topology::planes::{HUB, cells, projects};
use crate::topology::{self, Layout, Planes, manifests};

/// The instance that the demonstration runs on, unless another is named.
pub const DEFAULT_NAME: &str = "demo";

/// How often the demonstration looks whether its planes are still there while it waits for Ctrl-C.
const LOOK: Duration = Duration::from_millis(500);

/// What the demonstration is to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// The instance of the planes.
    pub name: String,
    /// Whether to take everything down after the last step instead of waiting for Ctrl-C.
    pub once: bool,
}

/// Shows everything, waits if it is to wait, and takes everything down, whatever happened.
pub async fn run(options: &Options) -> Result<(), Error> {
    let layout = Layout::from_name(&options.name)?;
    let _only = alone(&layout).await?;
    let mut interruption = Interruption::new()?;
    let shown = tokio::select! {
        shown = show(options, &layout) => shown,
        () = interruption.came() => Err(Error::Interrupted),
    };
    let printer = Printer::stdout();
    let result = match shown {
        Ok(planes) if !options.once => tokio::select! {
            end = stay(&planes, &layout) => end.inspect(|()| printer.head("The planes were taken down by another process.")),
            () = interruption.came() => Ok(()),
        },
        Ok(_) => Ok(()),
        Err(error) => {
            printer.missed(&format!("\n{error}"));
            Err(error)
        }
    };
    printer.head("Taking everything down.");
    topology::down(&options.name, fedhub::end).await?;
    result
}

/// The project whose user asks for something, and another.
const PROJECTS: [&str; 2] = ["project-a", "project-b"];

/// The component of the cells besides `deploy/overlays/cell`: Instances wait for the `ConfigMap`s and Secrets
/// of their templates.
const OF_CELLS: &str = "cell-referenced-data";

/// Brings everything up and plays the scenario. When this is dropped half way, [`topology::down`] ends what
/// it started.
async fn show(options: &Options, layout: &Layout) -> Result<Planes, Error> {
    let printer = Printer::stdout();
    printer.head("fedhub: two projects, a Karmada hub and two cells, all on this machine");
    let up = topology::Options::new(&options.name);
    let planes = Planes::up(&up, fedhub::end).await?;
    let fedhub = Fedhub::start(layout, &fedhub::Options::new()).await?;
    up.progress.step("fedhub is ready beside the hub and has engaged both projects");
    let kubectl = tools::ensure(Tool::Kubernetes, &Progress::silent()).await?.program("kubectl");
    let component = crate::repository().join("deploy/components").join(OF_CELLS);
    let rights = manifests::kustomize(&kubectl, &component).await?;
    for (cell, _) in cells() {
        manifests::apply_all(&planes.client(cell.name).await?, cell.name, &rights).await?;
    }
    chain::start_with(layout, &[OF_CELLS.to_owned()]).await?;
    up.progress.step("fedhub is ready in both cells, with SIMULATED services beside it");

    tokio::select! {
        shown = show_scenario(&planes, layout) => shown?,
        end = stay(&planes, layout) => return end.and(Err(Error::Gone)),
    }
    if !options.once {
        say(hints::text(&planes, &fedhub).await?);
    }
    Ok(planes)
}

/// The explanation of what is real and what is not.
const CAST: &str = "
Real are all API servers, Karmada, and fedhub: one beside the hub, one in each cell.
SIMULATED, by `fedhub-simulate`, are services that fedhub needs and that others make:
  the provider of each cell, which takes half a second to start an Instance;
  the network of each cell and the quota of the projects, which are not used here: both are off in the cells.";

/// Plays the scenario, and sums up.
async fn show_scenario(planes: &Planes, layout: &Layout) -> Result<(), Error> {
    let printer = Printer::stdout();
    say(CAST);
    let timeline = watch(planes).await?;
    if !timeline.synced(LIMIT).await {
        let what = "the first list of each watch";
        return Err(Error::not_seen("every plane", what, LIMIT, timeline.trouble(), &logs(layout)));
    }
    let [project, other] = PROJECTS;
    let mut cities = Vec::new();
    for (cell, code) in cells() {
        cities.push(City { code, cell: cell.name, client: planes.client(cell.name).await? });
    }
    let codes: Vec<_> = cities.iter().map(|city| city.code).collect();
    printer.head(&format!("{project} wants to run in {}", codes.join(" and ")));
    say("      hop      total  plane");
    let scenario = Scenario {
        printer,
        timeline: &timeline,
        project,
        user: planes.client(project).await?,
        cities,
        other: (other, planes.client(other).await?),
        logs: logs(layout),
    };
    let ways = scenario.play().await?;
    printer.head("Every step was seen. What each hop of the creation took:");
    printer.table(&ways);
    Ok(())
}

/// All watches, each on a connection of its own.
async fn watch(planes: &Planes) -> Result<Timeline, Error> {
    let data = [Kind::Deployment, Kind::Instance, Kind::ConfigMap, Kind::Secret];
    let of =
        |plane: &'static str, kinds: &[Kind]| kinds.iter().map(|kind| (plane, *kind)).collect::<Vec<_>>();
    let mut wanted = of(HUB, &[Kind::Namespace, Kind::Policy]);
    wanted.extend(of(HUB, &data));
    wanted.extend(cells().flat_map(|(cell, _)| of(cell.name, &data)));
    wanted.extend(
        projects().flat_map(|project| of(project.name, &[Kind::Workload, Kind::Deployment, Kind::Instance])),
    );
    let clients: Vec<Client> = try_join_all(wanted.iter().map(|(plane, _)| planes.client(plane))).await?;
    let mut timeline = Timeline::new();
    for ((plane, kind), client) in wanted.into_iter().zip(clients) {
        timeline.watch(plane, &client, kind);
    }
    Ok(timeline)
}

/// Waits until the planes are taken down by another process. Fails when another process has ended and they
/// still run.
async fn stay(planes: &Planes, layout: &Layout) -> Result<(), Error> {
    let mut beside = chain::members(layout)?;
    beside.push(Fedhub::load(layout)?);
    let mut ended_before = None;
    loop {
        tokio::time::sleep(LOOK).await;
        if planes.processes().iter().all(|process| process.pid.is_none()) {
            return Ok(());
        }
        // A process that ends together with the planes is removed from the state as soon as whoever ends it
        // has noticed. Only a second look shows that it ended by itself.
        let ended = beside.iter().find(|process| process.ended()).map(Fedhub::log);
        if let Some(log) = ended.as_ref()
            && ended == ended_before
        {
            return Err(Error::Ended(log.clone()));
        }
        ended_before = ended;
    }
}

/// The lock that only one demonstration holds for an instance; it goes with the process that holds it.
async fn alone(layout: &Layout) -> Result<fs::File, Error> {
    layout.create_root()?;
    let path = layout.root().join("demo.lock");
    let file = fs::File::create(&path).map_err(crate::Error::file("create", &path))?;
    // One that has just lost its planes needs a moment to notice.
    for _ in 0..60 {
        if file.try_lock().is_ok() {
            return Ok(file);
        }
        tokio::time::sleep(LOOK / 5).await;
    }
    Err(Error::Busy(layout.name().to_owned()))
}

fn logs(layout: &Layout) -> String {
    relative(layout.root().join("logs"))
}
