//! One Workload on its way from a project to the cells of its cities, its Instances there, and what comes back.

mod back;
mod down;

use std::cell::Cell;
use std::time::{Duration, Instant};

use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client, ResourceExt};

use super::Error;
use super::objects::{Kind, NAME, NAMESPACE, SETTINGS, TOKEN, deployment_name};
use super::printer::{Hops, Printer, millis};
use super::timeline::{Sighting, Timeline, Wanted};
use crate::output::say;

/// How long one step may take. Usually it is less than a tenth of a second, and half a second more where the provider
/// starts an Instance.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A project, the cities that it asks for, and who has to see nothing of it.
pub struct Scenario<'a> {
    /// Where it prints.
    pub printer: Printer,
    /// What is seen.
    pub timeline: &'a Timeline,
    /// The project plane's name.
    pub project: &'static str,
    /// The project's user.
    pub user: Client,
    /// The cities that the user asks for.
    pub cities: Vec<City>,
    /// The name of another project, and its user.
    pub other: (&'static str, Client),
    /// Where the logs are.
    pub logs: String,
}

/// A city with a cell.
pub struct City {
    /// Its code.
    pub code: &'static str,
    /// The name of its cell.
    pub cell: &'static str,
    /// An administrator of the cell.
    pub client: Client,
}

impl City {
    /// The name of the `WorkloadDeployment` for it.
    fn deployment(&self) -> String {
        deployment_name(NAME, self.code)
    }

    /// The name of the `PropagationPolicy` for it.
    fn policy(&self) -> String {
        format!("city-{}", self.code.to_lowercase())
    }
}

/// What the Workload refers to.
const DATA: [(Kind, &str, &str); 2] =
    [(Kind::ConfigMap, SETTINGS, "ConfigMap"), (Kind::Secret, TOKEN, "Secret")];

/// Whether a `ConfigMap` or Secret is a copy of fedhub's.
fn is_companion(seen: &DynamicObject) -> bool {
    seen.labels().get("compute.datumapis.com/referenced-data").is_some_and(|value| value == "true")
}

/// What an object has to be like.
type Like<'a> = dyn Fn(&DynamicObject) -> bool + 'a;

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

/// What stands on each plane for the Workload.
struct Placed {
    /// The name of its namespace on the hub and in the cells.
    space: String,
    /// The UID of the Workload.
    workload: String,
    /// Its `WorkloadDeployment`s, in the order of the cities.
    deployments: Vec<Deployment>,
}

/// A `WorkloadDeployment`, with its UIDs on each plane.
struct Deployment {
    name: String,
    in_project: String,
    on_hub: String,
    in_cell: String,
    /// When it was seen in the cell.
    at: Instant,
}

impl Scenario<'_> {
    /// Plays it, and says what each hop took for each city. Fails at the first step that is not seen.
    pub async fn play(&self) -> Result<Vec<(&'static str, Hops)>, Error> {
        let (thread, placed) = self.down().await?;
        let ways = self.back(&thread, &placed).await?;
        self.nowhere_else(&placed).await?;
        Ok(ways)
    }

    /// No cell has anything of another city, and no other project anything at all.
    async fn nowhere_else(&self, placed: &Placed) -> Result<(), Error> {
        for (city, deployment) in self.cities.iter().zip(&placed.deployments) {
            self.only(city.cell, &city.client, &placed.space, Some(&deployment.name)).await?;
            says(city.cell, &format!("has what is for {} alone, as it should be", city.code));
        }
        let (other, client) = &self.other;
        self.only(other, client, NAMESPACE, None).await?;
        says(other, "has none of it, as it should be");
        Ok(())
    }

    /// A namespace of a plane has nothing but this `WorkloadDeployment` and its Instances.
    async fn only(
        &self,
        plane: &'static str,
        client: &Client,
        namespace: &str,
        deployment: Option<&str>,
    ) -> Result<(), Error> {
        for kind in [Kind::Deployment, Kind::Instance] {
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind.resource());
            let list = api.list(&ListParams::default()).await;
            let list = list.map_err(crate::Error::api(format!("list {kind} on {plane}")))?;
            let is_its = |name: String| deployment.is_some_and(|deployment| name.starts_with(deployment));
            if !list.items.iter().all(|object| is_its(object.name_any())) {
                return Err(Error::Strayed { plane, kind, namespace: namespace.to_owned() });
            }
        }
        Ok(())
    }

    /// When a `WorkloadDeployment` was first seen that is so, and its UID.
    async fn found(
        &self,
        plane: &'static str,
        namespace: &str,
        name: &str,
        like: &Like<'_>,
    ) -> Result<(Instant, String), Error> {
        let find = |seen: &Sighting| {
            let is_it = seen.is(plane, Kind::Deployment, namespace, name) && like(&seen.object);
            is_it.then(|| seen.object.uid()).flatten()
        };
        self.timeline.first(LIMIT, find).await.ok_or_else(|| self.not_seen(plane, name))
    }

    /// Waits for steps that need not come in this order, and prints each with the time since the last one of its thread and
    /// since its cause. Says when they were.
    async fn saw_all(&self, thread: &Thread, wanted: &[Wanted<'_>]) -> Result<Vec<Instant>, Error> {
        let print = |index: usize, at| {
            let wanted = &wanted[index];
            let (hop, since) = thread.hop(at);
            self.printer.saw(hop, since, wanted.plane, &wanted.words);
        };
        let all = self.timeline.all(LIMIT, wanted, print).await;
        all.map_err(|missing| self.not_seen(wanted[missing].plane, &wanted[missing].words))
    }

    /// Says how long it took from the user's write to the end.
    fn took(&self, thread: &Thread, end: Instant) {
        let took = millis(end.saturating_duration_since(thread.cause));
        self.printer
            .well(&format!("  From the user's write to a Workload that is available in every city: {took}"));
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

fn says(plane: &str, what: &str) {
    say(format_args!("{:>20}  {plane:<11} {what}", ""));
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
