//! One deployment on its way from a project to a cell, its Instances there, and what comes back.

mod back;
mod down;

use std::cell::Cell;
use std::time::{Duration, Instant};

use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client};

use super::Error;
use super::objects::{Kind, NAME, NAMESPACE};
use super::printer::{Printer, say};
use super::timeline::{Sighting, Timeline, Wanted};

/// How long one step may take. Usually it is less than a tenth of a second, and half a second more where the provider
/// starts an Instance.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A project, the city that it asks for, and the cells.
pub struct Scenario<'a> {
    /// Where it prints.
    pub printer: Printer,
    /// What is seen.
    pub timeline: &'a Timeline,
    /// The project plane's name.
    pub project: &'static str,
    /// The project's user.
    pub user: Client,
    /// The city that the user asks for.
    pub city: &'static str,
    /// The name of that city's cell.
    pub cell: &'static str,
    /// The other cells.
    pub others: Vec<(&'static str, Client)>,
    /// Where the logs are.
    pub logs: String,
}

/// What each hop took, in the order of the way.
pub type Hops = Vec<(String, Duration)>;

/// A cause, and when the last of its effects was seen.
struct Thread {
    cause: Instant,
    last: Cell<Instant>,
}

impl Thread {
    fn from(cause: Instant) -> Self {
        Self { cause, last: Cell::new(cause) }
    }

    /// How long it is since the last effect, and since the cause. It is the last one now.
    fn hop(&self, at: Instant) -> (Duration, Duration) {
        // Each plane has a watch of its own, so that two steps may be seen in another order than they were done in.
        let last = self.last.replace(self.last.get().max(at));
        (at.saturating_duration_since(last), at.saturating_duration_since(self.cause))
    }
}

/// What stands on each plane for the deployment.
struct Placed {
    /// The name of its namespace on the hub and in the cell.
    space: String,
    /// The UIDs of the three.
    in_project: String,
    on_hub: String,
    in_cell: String,
    /// When it was seen in the cell.
    at: Instant,
}

impl Scenario<'_> {
    /// Plays it. Fails at the first step that is not seen.
    pub async fn play(&self) -> Result<Hops, Error> {
        let (thread, placed) = self.down().await?;
        let mut hops = vec![("down: from the user's write to the cell".to_owned(), placed.at - thread.cause)];
        hops.extend(self.back(&thread, &placed).await?);
        self.nowhere_else(&placed.space).await?;
        Ok(hops)
    }

    /// No other cell has anything of the deployment.
    async fn nowhere_else(&self, space: &str) -> Result<(), Error> {
        for (other, client) in &self.others {
            for kind in [Kind::Deployment, Kind::Instance] {
                let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), space, &kind.resource());
                let list = api.list(&ListParams::default()).await;
                let list = list.map_err(crate::Error::api(format!("list {kind} on {other}")))?;
                if !list.items.is_empty() {
                    return Err(Error::Strayed { cell: other, kind, namespace: space.to_owned() });
                }
            }
            say(&format!("{:>20}  {other:<11} has none of it, as it should be", ""));
        }
        Ok(())
    }

    fn is_mine(&self, seen: &Sighting, uid: &str) -> bool {
        seen.is(self.project, Kind::Deployment, NAMESPACE, NAME)
            && seen.object.metadata.uid.as_deref() == Some(uid)
    }

    /// Waits for a step and prints it with the time since the last one of its thread and since its cause.
    async fn saw<T>(
        &self,
        thread: &Thread,
        plane: &'static str,
        what: &str,
        find: impl Fn(&Sighting) -> Option<T>,
    ) -> Result<T, Error> {
        let found = self.timeline.first(LIMIT, find).await;
        let (at, value) = found.ok_or_else(|| self.not_seen(plane, what))?;
        self.print(thread, at, plane, what);
        Ok(value)
    }

    /// Waits for steps that need not come in this order, and prints each like [`Self::saw`]. Says when they were.
    async fn saw_all(&self, thread: &Thread, wanted: &[Wanted<'_>]) -> Result<Vec<Instant>, Error> {
        let print = |index: usize, at| {
            let wanted = &wanted[index];
            self.print(thread, at, wanted.plane, &wanted.words);
        };
        let all = self.timeline.all(LIMIT, wanted, print).await;
        all.map_err(|missing| self.not_seen(wanted[missing].plane, &wanted[missing].words))
    }

    fn print(&self, thread: &Thread, at: Instant, plane: &str, what: &str) {
        let (hop, since) = thread.hop(at);
        self.printer.saw(hop, since, plane, what);
    }

    fn not_seen(&self, plane: &'static str, what: &str) -> Error {
        Error::NotSeen {
            plane,
            what: what.to_owned(),
            seconds: LIMIT.as_secs(),
            trouble: self.timeline.trouble().map(|words| format!("; {words}")).unwrap_or_default(),
            logs: self.logs.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_begins_where_the_latest_ended() {
        let start = Instant::now();
        let millis = Duration::from_millis;
        let thread = Thread::from(start);
        assert_eq!(thread.hop(start + millis(5)), (millis(5), millis(5)));
        // Seen late, and done before.
        assert_eq!(thread.hop(start + millis(3)), (millis(0), millis(3)));
        assert_eq!(thread.hop(start + millis(9)), (millis(4), millis(9)));
    }
}
