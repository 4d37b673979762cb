//! The demonstration: real planes, fedhub as a process of its own, two projects with a deployment each, and every step
//! of the way there and back as watches see it. Only the cells' own controllers are simulated.

mod cell;
pub(crate) mod objects;
mod sight;
mod story;
mod voice;

use std::{fs, path::PathBuf, time::Duration};

use futures::future::try_join_all;
use kube::Client;
use tokio::signal::unix::{SignalKind, signal};

use self::{
    cell::SimulatedCell,
    objects::{Kind, NAME, NAMESPACE},
    sight::Sight,
    story::{LIMIT, Story},
    voice::{Voice, millis, say},
};
use crate::{
    fedhub::{self, Fedhub},
    planes::{
        self, Layout, Planes,
        topology::{HUB, cells, projects},
    },
    progress::Progress,
    tools::{self, Tool},
};

/// The instance that the demonstration runs on, unless another is named.
pub const DEFAULT_NAME: &str = "demo";

/// How often the demonstration looks whether its planes are still there while it waits for Ctrl-C.
const LOOK: Duration = Duration::from_millis(500);

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The planes or fedhub did not do as they should.
    #[error(transparent)]
    Harness(#[from] crate::Error),
    /// Two demonstrations would take each other's planes down.
    #[error("another demonstration runs on instance `{0}`: Ctrl-C there or `make down` ends it")]
    Busy(String),
    /// A step was not seen in time.
    #[error("NOT SEEN on {plane} within {seconds} s: {what}{trouble}\nlogs: {logs} (fedhub.log first)")]
    NotSeen {
        /// Where it should have been seen.
        plane: &'static str,
        /// What should have been seen.
        what: String,
        /// How long it was awaited.
        seconds: u64,
        /// What a watch complained of, if one did.
        trouble: String,
        /// The directory of all logs.
        logs: String,
    },
    /// A deployment stands in a cell that it was not meant for.
    #[error("{cell} has a WorkloadDeployment in {namespace} that is for another city")]
    Strayed {
        /// That cell.
        cell: &'static str,
        /// The namespace.
        namespace: String,
    },
    /// The user or the system asked for the end before the demonstration had come to its own.
    #[error("interrupted")]
    Interrupted,
    /// Somebody took the planes down in the middle of the demonstration.
    #[error("the planes were taken down from elsewhere")]
    Gone,
    /// fedhub ended although nobody asked it to.
    #[error("fedhub ended; its log: {0}")]
    FedhubEnded(PathBuf),
}

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
    let layout = Layout::of(&options.name)?;
    let _only = alone(&layout).await?;
    let mut interruption = Interruption::new()?;
    let shown = tokio::select! {
        shown = show(options, &layout) => shown,
        () = interruption.came() => Err(Error::Interrupted),
    };
    let voice = Voice::stdout();
    let result = match shown {
        Ok(planes) if !options.once => tokio::select! {
            end = stay(&planes, &layout) => end.inspect(|()| voice.head("The planes were taken down from elsewhere.")),
            () = interruption.came() => Ok(()),
        },
        Ok(_) => Ok(()),
        Err(error) => {
            voice.missed(&format!("\n{error}"));
            Err(error)
        }
    };
    voice.head("Taking everything down.");
    planes::down(&options.name).await?;
    result
}

/// Brings everything up and plays the stories. When this is dropped half way, [`planes::down`] ends what
/// it started.
async fn show(options: &Options, layout: &Layout) -> Result<Planes, Error> {
    let voice = Voice::stdout();
    voice.head("fedhub: two projects, a Karmada hub and two cells, all on this machine");
    let up = planes::Options::new(&options.name);
    let planes = Planes::up(&up).await?;
    let fedhub = Fedhub::start(layout, &fedhub::Options::new()).await?;
    up.progress.step("fedhub is ready and has engaged both projects");

    tokio::select! {
        told = tell(&planes, layout) => told?,
        end = stay(&planes, layout) => return end.and(Err(Error::Gone)),
    }
    if !options.once {
        say(&hints(&planes, &fedhub).await?);
    }
    Ok(planes)
}

/// Plays a story for each project, and sums up.
async fn tell(planes: &Planes, layout: &Layout) -> Result<(), Error> {
    let voice = Voice::stdout();
    let sight = watch(planes).await?;
    if !sight.synced(LIMIT).await {
        return Err(not_watched(&sight, layout));
    }
    let mut times = Vec::new();
    for ((project, (cell, city)), number) in projects().zip(cells()).zip(1..) {
        voice.head(&format!("{number}. {} wants to run in {city}", project.name));
        say("      hop      total  plane");
        let mut others = Vec::new();
        for (other, _) in cells().filter(|(other, _)| other.name != cell.name) {
            others.push((other.name, planes.client(other.name).await?));
        }
        let story = Story {
            voice,
            sight: &sight,
            project: project.name,
            user: planes.client(project.name).await?,
            city,
            cell: SimulatedCell {
                name: cell.name,
                cell: planes.client(cell.name).await?,
                hub: planes.client(HUB).await?,
            },
            others,
            logs: logs(layout),
        };
        times.push((project.name, cell.name, story.play().await?));
    }
    voice.head("Every step was seen.");
    for (project, cell, took) in times {
        voice.well(&format!(
            "  {project} to {cell}: {}; status back: {}; Instance back from the hub: {}",
            millis(took.down),
            millis(took.status),
            millis(took.instance)
        ));
    }
    Ok(())
}

/// All watches, each on a connection of its own.
async fn watch(planes: &Planes) -> Result<Sight, Error> {
    let mut wanted: Vec<_> =
        [Kind::Namespace, Kind::Policy, Kind::Deployment, Kind::Instance].map(|kind| (HUB, kind)).to_vec();
    wanted.extend(
        projects().flat_map(|plane| [Kind::Deployment, Kind::Instance].map(|kind| (plane.name, kind))),
    );
    wanted.extend(cells().map(|(plane, _)| (plane.name, Kind::Deployment)));
    let clients: Vec<Client> = try_join_all(wanted.iter().map(|(plane, _)| planes.client(plane))).await?;
    let mut sight = Sight::new();
    for ((plane, kind), client) in wanted.into_iter().zip(clients) {
        sight.watch(plane, &client, kind);
    }
    Ok(sight)
}

fn not_watched(sight: &Sight, layout: &Layout) -> Error {
    Error::NotSeen {
        plane: "every plane",
        what: "the first list of each watch".to_owned(),
        seconds: LIMIT.as_secs(),
        trouble: sight.trouble().map(|words| format!("; {words}")).unwrap_or_default(),
        logs: logs(layout),
    }
}

/// Waits until somebody else has taken the planes down. Fails when fedhub has ended and the planes stand.
async fn stay(planes: &Planes, layout: &Layout) -> Result<(), Error> {
    let fedhub = Fedhub::load(layout)?;
    loop {
        tokio::time::sleep(LOOK).await;
        if planes.processes().iter().all(|process| process.pid.is_none()) {
            return Ok(());
        }
        // One that was ended together with the planes is gone from the notes, too: that is for the next look.
        if fedhub.pid().is_none() && Fedhub::load(layout).is_ok() {
            return Err(Error::FedhubEnded(fedhub.log()));
        }
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

/// What is worth trying now.
async fn hints(planes: &Planes, fedhub: &Fedhub) -> Result<String, Error> {
    let kubectl = tools::ensure(Tool::Kubernetes, &Progress::silent()).await?.program("kubectl");
    let at = |plane: &str| format!("--kubeconfig {}", relative(planes.kubeconfig(plane)));
    let lines = [
        String::new(),
        planes::summary(planes.layout()),
        format!("fedhub: {0}/metrics, {0}/readyz, log {1}", fedhub.url(), relative(fedhub.log())),
        String::new(),
        "Worth trying, in another terminal:".to_owned(),
        format!("  alias kubectl={}", kubectl.display()),
        format!("  kubectl {} get workloaddeployments,instances -A", at("project-a")),
        format!(
            "  kubectl {} get workloaddeployments,propagationpolicies,instances -A --show-labels",
            at(HUB)
        ),
        format!("  kubectl {} -n {NAMESPACE} delete instance {NAME}-0     # it comes back", at("project-a")),
        format!("  kubectl {} -n {NAMESPACE} delete workloaddeployment {NAME}", at("project-a")),
        format!("  kubectl {} get workloaddeployments -A    # gone from the cell, too", at("cell-dfw")),
        format!("  curl -s {}/metrics | grep fedhub_propagation_seconds", fedhub.url()),
        String::new(),
        "Ctrl-C here, or `make down` in another terminal, ends everything.".to_owned(),
    ];
    Ok(lines.join("\n"))
}

fn logs(layout: &Layout) -> String {
    relative(layout.root().join("logs"))
}

fn relative(path: PathBuf) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(&path).display().to_string()
}

/// SIGINT, SIGTERM and SIGHUP, caught from the start to the very end: a second Ctrl-C does not leave anything behind.
struct Interruption([tokio::signal::unix::Signal; 3]);

impl Interruption {
    fn new() -> Result<Self, crate::Error> {
        let catch = |kind| signal(kind).map_err(crate::Error::file("catch signals of", "this process"));
        Ok(Self([
            catch(SignalKind::interrupt())?,
            catch(SignalKind::terminate())?,
            catch(SignalKind::hangup())?,
        ]))
    }

    async fn came(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
