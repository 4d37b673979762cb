//! The contract of providers, by processes.
//!
//! The ID of a server is its name, so that a file which is missing proves that there is none. A process that
//! has to end or to begin is seen to whenever a server is looked at, which the controller does soon after
//! each order: there is nothing to resume after a restart.

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_core::hash;
use fedhub_core::names::is_dns_label;
use fedhub_core::object::Object;
use fedhub_provider::{
    Address, AllocationId, Change, Deletion, Failure, FailureKind, Found, Health, Link, Phase, Place, Power,
    Proof, Provider, Refusal, Server, ServerId, Wanted,
};
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::command::{self, ADDRESS, Command, REGION};
use crate::folder::{Folder, Stored};
use crate::process::{self, Known};

/// How long a process that is asked to end may take before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// How long no command is started again after its last start.
const PAUSE: Duration = Duration::from_secs(10);

/// Runs servers as processes on this machine.
pub struct Processes {
    /// Calls are short, and made one at a time.
    folder: Mutex<Folder>,
    clock: Clock,
}

/// Any fault of the disk may be over the next time.
fn failed(error: io::Error) -> Failure {
    refused(FailureKind::Retry, format!("the directory of the processes: {error}"))
}

fn refused(kind: FailureKind, message: impl Into<String>) -> Failure {
    Failure { kind, message: message.into(), after: None, may_have_acted: false }
}

/// The name of a server by its ID, which comes from a status: it is to be no path.
fn name(id: &ServerId) -> Result<&str, Failure> {
    if is_dns_label(&id.0) {
        return Ok(&id.0);
    }
    Err(refused(FailureKind::Invalid, format!("the server's ID {:?} is none of this provider", id.0)))
}

fn passed(since: Option<Timestamp>, now: Timestamp) -> Duration {
    since.map_or(Duration::MAX, |since| Duration::try_from(now.duration_since(since)).unwrap_or_default())
}

impl Processes {
    /// The servers whose files are in the directory `state`.
    ///
    /// # Errors
    ///
    /// Where the directory cannot be made, or another provider uses it.
    pub fn new(state: &Path, clock: Clock) -> io::Result<Self> {
        Ok(Self { folder: Mutex::new(Folder::open(state)?), clock })
    }

    /// Sees to the process of a server, and returns what it looks like then.
    fn look(&self, folder: &Folder, name: &str) -> io::Result<Option<Server<Command>>> {
        let Some(mut stored) = folder.read(name)? else { return Ok(None) };
        let directory = folder.directory(name);
        let now = self.clock.now();
        let mut known = process::known(&directory)?;
        if let Some(since) = stored.stopping {
            match known {
                Known::Runs(process) => process.end(passed(Some(since), now) >= GRACE),
                Known::Absent if !process::prevent(&directory)? => {}
                Known::Absent | Known::Ended if stored.deleting.is_some() => {
                    folder.remove(name)?;
                    return Ok(None);
                }
                Known::Absent | Known::Ended => {
                    stored.stopping = None;
                    folder.write(name, &stored)?;
                    known = Known::Ended;
                }
            }
        }
        let ended = !matches!(known, Known::Runs(_)) && stored.stopping.is_none();
        if ended && stored.runs && passed(stored.started, now) >= PAUSE {
            stored.started = Some(now);
            folder.write(name, &stored)?;
            process::clear(&directory)?;
            process::start(&directory, &stored.command, &[(ADDRESS, &stored.address.to_string())])?;
        }
        Ok(Some(server(name, stored, known)))
    }

    /// Changes what is stored of a server, and sees to its process. Returns `false` where there is none.
    fn change(&self, id: &ServerId, change: impl FnOnce(&mut Stored, Timestamp)) -> Result<bool, Failure> {
        let name = name(id)?;
        let folder = self.folder.lock();
        let Some(mut stored) = folder.read(name).map_err(failed)? else { return Ok(false) };
        change(&mut stored, self.clock.now());
        folder.write(name, &stored).map_err(failed)?;
        self.look(&folder, name).map_err(failed)?;
        Ok(true)
    }

    /// All servers that are like that.
    fn select(&self, are: impl Fn(&Server<Command>) -> bool) -> Result<Vec<Server<Command>>, Failure> {
        let folder = self.folder.lock();
        let mut found = Vec::new();
        for name in folder.names().map_err(failed)? {
            match self.look(&folder, &name) {
                Ok(server) => found.extend(server.filter(&are)),
                // It keeps none of the others from being seen.
                Err(error) => tracing::warn!(name, %error, "failed to look at process"),
            }
        }
        Ok(found)
    }
}

/// The address of a new server: one that no other has.
fn address(folder: &Folder, instance: &str) -> io::Result<Ipv4Addr> {
    let mut taken = Vec::new();
    for name in folder.names()? {
        taken.extend(folder.read(&name)?.map(|stored| stored.address));
    }
    let [_, a, b, c, ..] = hash::text(instance).to_le_bytes();
    // 127.0.0.0/16 is for what else listens on this machine.
    let mut address = Ipv4Addr::new(127, a.clamp(1, 254), b, c.clamp(1, 254));
    while taken.contains(&address) {
        let [_, a, b, c] = address.octets();
        address = Ipv4Addr::new(127, a, b.wrapping_add(1), c);
    }
    Ok(address)
}

fn server(name: &str, stored: Stored, known: Known) -> Server<Command> {
    let runs = matches!(known, Known::Runs(_));
    let phase = match (runs, stored.stopping) {
        (_, Some(_)) => Phase::Stopping,
        (true, None) => Phase::Running,
        (false, None) if stored.runs => Phase::Pending,
        (false, None) => Phase::Stopped,
    };
    Server {
        id: ServerId(name.into()),
        instance: Some(stored.instance.into()),
        name: name.into(),
        place: Place {
            region: REGION.into(),
            project: stored.project.into(),
            network: stored.network.into(),
        },
        spec: stored.command,
        phase,
        settled: stored.stopping.is_none(),
        detail: None,
        health: if runs { Health::Healthy } else { Health::Unknown },
        deleting: stored.deleting,
        addresses: vec![Address {
            network_ip: Some(stored.address.to_string().into()),
            ..Address::default()
        }],
    }
}

impl Provider for Processes {
    type Spec = Command;

    fn name(&self) -> &'static str {
        "processes"
    }

    fn wanted(&self, project: &str, instance: &Object) -> Result<Wanted<Command>, Refusal> {
        command::wanted(project, instance)
    }

    fn change(&self, stands: &Command, wanted: &Command) -> Change {
        if stands == wanted { Change::Nothing } else { Change::Recreate }
    }

    async fn list(&self, place: &Place) -> Result<Vec<Server<Command>>, Failure> {
        self.select(|server| server.place == *place)
    }

    async fn find(&self, link: &Link) -> Result<Found<Command>, Failure> {
        let mut found = self.select(|server| server.instance.as_ref() == Some(&link.instance))?;
        Ok(match (found.pop(), found.as_slice()) {
            (None, _) => Found::Absent(Proof::NotFound(ServerId(link.name.clone()))),
            (Some(one), []) => Found::One(Box::new(one)),
            (Some(last), others) => {
                Found::Many(others.iter().chain([&last]).map(|server| server.id.clone()).collect())
            }
        })
    }

    async fn get(&self, _place: &Place, id: &ServerId) -> Result<Option<Server<Command>>, Failure> {
        let folder = self.folder.lock();
        self.look(&folder, name(id)?).map_err(failed)
    }

    async fn create(&self, link: &Link, spec: &Command) -> Result<Server<Command>, Failure> {
        let folder = self.folder.lock();
        let stored = Stored {
            instance: link.instance.to_string(),
            project: link.place.project.to_string(),
            network: link.place.network.to_string(),
            command: spec.clone(),
            address: address(&folder, &link.instance).map_err(failed)?,
            runs: true,
            started: None,
            stopping: None,
            deleting: None,
        };
        if !folder.create(&link.name, &stored).map_err(failed)? {
            return Err(refused(FailureKind::Conflict, "a server of that name stands"));
        }
        let made = self.look(&folder, &link.name);
        // It is stored: a start that fails is made up for by the next look.
        Ok(made.ok().flatten().unwrap_or_else(|| server(&link.name, stored, Known::Absent)))
    }

    async fn update(&self, link: &Link, id: &ServerId, _spec: &Command) -> Result<(), Failure> {
        let stands = self.change(id, |stored, _| stored.instance = link.instance.to_string())?;
        if stands { Ok(()) } else { Err(refused(FailureKind::Conflict, "there is no such server")) }
    }

    async fn delete(&self, _place: &Place, id: &ServerId) -> Result<Deletion, Failure> {
        let stood = self.change(id, |stored, now| {
            stored.runs = false;
            stored.stopping.get_or_insert(now);
            stored.deleting.get_or_insert(now);
        })?;
        Ok(if stood { Deletion::Accepted } else { Deletion::Gone })
    }

    async fn power(&self, _place: &Place, id: &ServerId, power: Power) -> Result<(), Failure> {
        let stands = self.change(id, |stored, now| {
            if power != Power::Start {
                stored.stopping.get_or_insert(now);
            }
            stored.runs = power != Power::Stop && stored.deleting.is_none();
            stored.started = None;
        })?;
        if stands { Ok(()) } else { Err(refused(FailureKind::Conflict, "there is no such server")) }
    }

    async fn reserve(&self, _link: &Link, _spec: &Command) -> Result<AllocationId, Failure> {
        Ok(AllocationId("".into()))
    }

    async fn reserved(&self, _link: &Link) -> Result<Vec<AllocationId>, Failure> {
        Ok(Vec::new())
    }

    async fn release(&self, _place: &Place, _id: &AllocationId) -> Result<Deletion, Failure> {
        Ok(Deletion::Gone)
    }
}
